"""What client processes and their coordinator tell each other."""

from dataclasses import dataclass, field

import numpy as np

from loadtest.result import Generator
from loadtest.target import Target
from navi.core.arrays import F64, I32, U8

INTERRUPTED = "interrupted"
"""The problem of a run that Ctrl-C ended."""

BEHIND = "behind the schedule"
"""Stands in the problem of a process that could not send as fast as its schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One client process's part of a plan. due: float64 [calls], its own. callers: of a closed loop. seed: its own."""

    process: int
    address: str
    due: F64
    seconds: float
    target: Target
    timeout_s: float
    connections: int
    callers: int
    connect_s: float
    seed: np.random.SeedSequence


@dataclass(frozen=True, slots=True)
class Ready:
    """Requests are made and connections stand. distinct: how many requests were made."""

    distinct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Calls that have ended since the last chunk.

    due, sent, ended: float64 [calls], seconds from the common start. outcome: uint8 [calls], index into `OUTCOMES`.
    connection: int32 [calls]. stages: seconds by stage, float64 [calls that reported it]. errors: texts, and how often.
    """

    due: F64
    sent: F64
    ended: F64
    outcome: U8
    connection: I32
    stages: dict[str, F64] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """The process has reported all its calls. generator: None where it was stopped before it began."""

    generator: Generator | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The process could not do its share; what it did do is reported before or after."""

    problem: str
