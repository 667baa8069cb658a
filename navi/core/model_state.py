"""What there is to tell of a server's models."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionInfo:
    """One version. status: loading, ready, draining, failed or unloaded. share: of the traffic. in_flight: calls."""

    version: int
    status: str
    labels: tuple[str, ...] = ()
    digest: str = ""
    reason: str = ""
    share: float = 0.0
    in_flight: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowInfo:
    """How the answers of a shadow compare: see `navi.v1.ShadowReport`. rank_correlation: NaN where none can be told."""

    version: int
    share: float
    compared: int = 0
    failed: int = 0
    mean_difference: float = 0.0
    largest_difference: float = 0.0
    rank_correlation: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A model with all its versions, in the order of their numbers.

    follows: whether they come and go. pinned: whether an operator chose what serves.
    """

    name: str
    follows: bool
    pinned: bool
    versions: tuple[VersionInfo, ...]
    shadow: ShadowInfo | None = None

    @property
    def serving(self) -> int | None:
        """The version with the label `stable`."""
        return next((each.version for each in self.versions if "stable" in each.labels), None)
