"""Where a started server listens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ports:
    """`http` is None where it is turned off."""

    grpc: int
    http: int | None
