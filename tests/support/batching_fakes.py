"""A model that is a function of single rows, and one that waits until it is told to go on."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from navi.batching.batcher import Batcher
from navi.batching.score_call import ScoreCall
from navi.core.arrays import Array

Start = Callable[..., Batcher]
"""Starts a batcher of a function, with a policy's fields; the fixture `start` is one."""


def call(n: int, mark: int = 0, *, poison: bool = False) -> ScoreCall:
    """n rows whose answers say which call and row they belong to."""
    item = np.arange(n, dtype=np.float32)[:, None]
    request = np.array([[mark, -1 if poison else 0]], dtype=np.float32)
    return ScoreCall({"user": request}, {"item": item}, n)


def answer(n: int, mark: int = 0) -> list[float]:
    return [1000.0 * mark + row for row in range(n)]


def rowwise(inputs: Mapping[str, Array]) -> dict[str, Array]:
    if (inputs["user"][:, 1] < 0).any():
        raise ValueError("poisoned")
    return {"y": 1000 * inputs["user"][:, 0] + inputs["item"][:, 0], "xy": np.hstack([inputs["item"], inputs["user"]])}


@dataclass
class Held:
    """Runs `rowwise`, but each run waits for `go`. Remembers the rows of every run."""

    go: threading.Event = field(default_factory=threading.Event)
    running: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    runs: list[list[float]] = field(default_factory=list)

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        self.runs.append(inputs["user"][:, 0].tolist())
        self.running.release()
        assert self.go.wait(30)
        return rowwise(inputs)
