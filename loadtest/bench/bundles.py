"""Bundles for benchmarks, made by the application's own command where they are not there yet."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from navi.core.errors import SetupError


def bundle_of(directory: Path, kind: str, rows: Sequence[int] = ()) -> Path:
    """The bundle `kind` (see `navi bench bundle`) for requests of these sizes, below `directory`.

    SetupError where it cannot be made.
    """
    name = "-".join([kind, *map(str, rows)])
    path = directory / name
    if path.exists():
        return path
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "navi.cli", "bench", "bundle", kind, str(path)]
    for n in rows:
        command += ["--rows", str(n)]
    if subprocess.run(command, check=False).returncode != 0:
        raise SetupError(f"`navi bench bundle {kind}` failed: there is nothing to measure")
    return path
