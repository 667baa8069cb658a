"""ONNX Runtime alone, in a process of its own: the loop that no server can beat. `python -m navi.bench.bare_runtime`.

Runs `InferenceSession.run` of a model on sets of inputs in turn, one thread, with default options otherwise, and prints
one line of JSON: rows, runs, cpu_seconds (of the whole process, over the loop), p50 and p99 (seconds a run).
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnxruntime as ort

from navi.core.arrays import Array

Inputs: TypeAlias = dict[str, Array]


def main() -> None:
    """Read the command line, run, print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path, help="ONNX file")
    arguments.add_argument("--inputs", type=Path, required=True, help="npz file: inputs by name, [sets, rows, width]")
    arguments.add_argument("--seconds", type=float, required=True, help="how long the loop runs")
    arguments.add_argument("--outputs", type=Path, help="npz file to write the model's outputs to")
    given = arguments.parse_args()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(given.model, options, providers=["CPUExecutionProvider"])
    sets = _sets(given.inputs)
    if given.outputs is not None:
        outputs = [session.run(None, inputs) for inputs in sets]
        names = [output.name for output in session.get_outputs()]
        stacked = {name: np.stack(values) for name, *values in zip(names, *outputs, strict=True)}
        np.savez(given.outputs, allow_pickle=False, **stacked)
    json.dump(loop(session, sets, seconds=given.seconds), sys.stdout)


def loop(session: ort.InferenceSession, sets: Sequence[Inputs], *, seconds: float) -> dict[str, float]:
    """Run for `seconds`, after a tenth of that to warm up."""
    _timed(session, sets, seconds / 10)
    before = time.process_time()
    took = _timed(session, sets, seconds)
    cpu_seconds = time.process_time() - before
    rows = len(next(iter(sets[0].values())))
    p50, p99 = np.quantile(took, (0.5, 0.99)).tolist()
    return {"rows": rows * len(took), "runs": len(took), "cpu_seconds": cpu_seconds, "p50": p50, "p99": p99}


def _sets(path: Path) -> list[Inputs]:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    count = len(next(iter(arrays.values())))
    return [{name: np.ascontiguousarray(values[at]) for name, values in arrays.items()} for at in range(count)]


def _timed(session: ort.InferenceSession, sets: Sequence[Inputs], seconds: float) -> list[float]:
    took: list[float] = []
    started = last = time.perf_counter()
    while last - started < seconds or not took:
        session.run(None, sets[len(took) % len(sets)])
        now = time.perf_counter()
        took.append(now - last)
        last = now
    return took


if __name__ == "__main__":
    main()
