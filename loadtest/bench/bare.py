"""What the bare runtime says of a workload's rows."""

import tempfile
from pathlib import Path

import numpy as np

from loadtest.bench.workload import Workload
from navi.bench.bare_run import bare_run
from navi.core.arrays import F64, Array


def bare_logits(workload: Workload, *, core: int) -> F64:
    """What the model says of the workload's rows, [sets, rows, tasks]."""
    with tempfile.TemporaryDirectory(prefix="navi-bench-") as directory:
        outputs = Path(directory) / "outputs.npz"
        bare_run(workload.model, workload.inputs, core=core, seconds=0.01, words=["--outputs", str(outputs)])
        with np.load(outputs) as file:
            (logits,) = (file[name] for name in file.files)
    wide: Array = logits.reshape(workload.sets, workload.rows, -1)
    return wide.astype(np.float64)
