"""What a supervisor knows of its workers, as metrics."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from navi.server.worker_slot import WorkerSlot

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def merged_registry(slots: Sequence[WorkerSlot], metrics: Path) -> CollectorRegistry:
    """The workers' metrics from the files in `metrics`, added up, and what is to be said of the workers themselves."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(metrics))  # type: ignore[no-untyped-call]
    registry.register(WorkerMetrics(slots, metrics))
    return registry


class WorkerMetrics(Collector):
    """Reads the kernel's tables when it is asked."""

    def __init__(self, slots: Sequence[WorkerSlot], metrics: Path) -> None:
        self._slots = slots
        self._metrics = metrics

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("navi_workers", "Workers that take calls.", sum(slot.ready for slot in self._slots))
        yield self._counter("navi_worker_restarts", "Workers that died and were replaced.", lambda slot: slot.restarts)
        yield self._counter("navi_worker_requests", "Calls that ended in a worker.", self._requests)
        yield self._counter("navi_worker_cpu_seconds", "CPU of the worker that runs now.", _of_process(_cpu_s))
        yield self._gauge("navi_worker_resident_bytes", "Memory, shared pages in full.", _of_process(_resident))
        yield self._gauge(
            "navi_worker_proportional_bytes", "Memory, of shared pages its share only.", _of_process(_proportional)
        )

    def _gauge(self, name: str, text: str, value: Callable[[WorkerSlot], float | None]) -> Metric:
        return self._filled(GaugeMetricFamily(name, text, labels=("slot",)), value)

    def _counter(self, name: str, text: str, value: Callable[[WorkerSlot], float | None]) -> Metric:
        return self._filled(CounterMetricFamily(name, text, labels=("slot",)), value)

    def _filled(
        self, family: GaugeMetricFamily | CounterMetricFamily, value: Callable[[WorkerSlot], float | None]
    ) -> Metric:
        for slot in self._slots:
            found = value(slot)
            if found is not None:
                family.add_metric((str(slot.number),), found)
        return family

    def _requests(self, slot: WorkerSlot) -> float:
        files = [str(path) for path in self._metrics.glob(f"counter_{slot.number}.db")]
        metrics: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        return sum(sample.value for one in metrics if one.name == "navi_requests" for sample in one.samples)


def _of_process(read: Callable[[Path], float | None]) -> Callable[[WorkerSlot], float | None]:
    """What is read in the folder that /proc has for a slot's process; None where there is none."""

    def value(slot: WorkerSlot) -> float | None:
        if slot.pid is None:
            return None
        with suppress(OSError):  # it ends just now, or the system has no such folder
            return read(Path(f"/proc/{slot.pid}"))
        return None

    return value


def _resident(folder: Path) -> float:
    return int((folder / "statm").read_text("ascii").split()[1]) * _PAGE


def _proportional(folder: Path) -> float | None:
    for line in (folder / "smaps_rollup").read_text("ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return None


def _cpu_s(folder: Path) -> float:
    fields = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()  # behind the name, which may hold anything
    return (int(fields[11]) + int(fields[12])) / _TICKS
