"""The seam to what is measured: which method is called, with what, and how its replies are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply says. stages: seconds by the server's own account, empty where it gives none."""

    outcome: Literal["ok", "degraded"] = "ok"
    stages: Mapping[str, float] = field(default_factory=dict)


class Target(Protocol):
    """One unary gRPC method under load. Picklable: every client process makes its own requests."""

    @property
    def method(self) -> str:
        """The full path, `/package.Service/Method`."""
        ...

    def requests(self, count: int, generator: np.random.Generator) -> list[bytes]:
        """Serialised requests, drawn from the workload; made before the run, so that sending costs nothing else."""
        ...

    def read(self, reply: bytes) -> Reply:
        """What a reply says; raises ValueError where it is damaged."""
        ...
