"""What a run is to do: the schedule, and by what processes it is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from navi.core.arrays import F64
from navi.core.errors import InvalidArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run.

    address: host:port. due: float64 [calls], seconds from the start, sorted; empty for a closed loop. seconds: length
    of the schedule, or for how long a closed loop goes on. timeout_s: deadline of each call. processes, connections:
    client processes, and separate connections of each. closed: callers of a closed loop, each of which sends when its
    answer came; 0 for an open loop. seed: of the requests. server_pid: whose CPU is read beside. protocol, words: what
    the result says of the run.
    """

    address: str
    seconds: float
    due: F64 = field(default_factory=lambda: np.empty(0))
    timeout_s: float = 1.0
    processes: int = 1
    connections: int = 16
    closed: int = 0
    seed: int = 0
    server_pid: int | None = None
    connect_s: float = 5.0
    protocol: str = ""
    words: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise InvalidArgument, naming the field, where the plan cannot be run."""
        for name in ("timeout_s", "processes", "connections", "connect_s", "seconds"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(name, f"is {getattr(self, name)}, where a number above 0 is expected")
        if self.closed < 0:
            raise InvalidArgument("closed", f"is {self.closed}, where a number of callers is expected")
        if not self.closed and not len(self.due):
            raise InvalidArgument("rate", "gives a schedule without a single call: raise it, or the duration")
        if self.closed and len(self.due):
            raise InvalidArgument("closed", "goes without a schedule: its callers send when their answers come")
        if len(self.due) and not (self.due[0] >= 0 and np.all(np.diff(self.due) >= 0)):
            raise InvalidArgument("due", "is not a sorted list of seconds from the start")
        if 0 < self.closed < self.processes:
            raise InvalidArgument("processes", f"are {self.processes} for {self.closed} callers")
