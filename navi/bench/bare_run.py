"""The bare runtime beside what is measured: `navi.bench.bare_runtime` in a process of its own, on one core."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from navi.bench.processes import pinned
from navi.core.errors import SetupError


@dataclass(frozen=True, slots=True)
class BareRun:
    """rows scored in `runs`, and the CPU seconds of the process that did it. p50, p99: seconds a run."""

    rows: int
    runs: int
    cpu_seconds: float
    p50: float
    p99: float


def bare_run(model: Path, inputs: Path, *, core: int, seconds: float, words: Sequence[str] = ()) -> BareRun:
    """Run a model alone for `seconds` on one thread; inputs, words: as its command line has them.

    SetupError where that fails.
    """
    command = [sys.executable, "-m", "navi.bench.bare_runtime", str(model), "--inputs", str(inputs)]
    with pinned(core):
        done = subprocess.run(
            [*command, "--seconds", str(seconds), *words], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise SetupError(f"the bare runtime failed: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
    return BareRun(**json.loads(done.stdout))
