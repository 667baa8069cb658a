"""The machine and the versions behind a measurement: what a number means nothing without."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("navi-ranking", "numpy", "onnxruntime", "grpcio", "protobuf", "uvloop")


def environment() -> dict[str, str]:
    """Name -> value: processor, cores, system, load before, versions of packages that matter."""
    found = {
        "cpu": _cpu_model(),
        "cores": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load before": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }
    return found | {name: known for name in _PACKAGES if (known := _version(name))}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
