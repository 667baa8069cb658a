"""What a pipeline answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from navi.core.arrays import F32, U8, U32, Array
from navi.core.column import Column
from navi.core.explanation import Explanation
from navi.core.ids import Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """What one stage did: candidates in and out, how long it took, what it dropped and why (counts by reason).

    offset: microseconds from the start of the query to that of the stage; stages may overlap.
    """

    name: str
    rows_in: int
    rows_out: int
    microseconds: int
    offset: int = 0
    degraded: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Degradation:
    """A part of the full answer that is missing: which stage, why (a short fixed word), and in how many rows."""

    stage: str
    reason: str
    detail: str
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Served:
    """The features that an answer was computed from, for the log that training reads.

    user: the user's row as it was fetched, name -> values [width]; empty for an unknown user. items: the columns of the
    answered items, a row each, as their table had them. propensities: float32 [n], the probability that the item was
    shown where it was, given the query and the models; 1 where nothing was drawn at random.
    """

    user: Mapping[str, Array]
    items: Mapping[str, Column]
    propensities: F32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The best k, best first, and how they came about.

    scores: float32 [n]. tasks: per-task probabilities or scores, float32 [n] each; NaN where a task was not scored.
    sources: uint32 [n], bits into `source_names`. shortfall: why there are fewer than k, counts by reason.
    served: tells the features behind the answer, from the snapshots it was made from; computed when called.
    explanation: where the query asked for one.
    """

    ids: Ids
    scores: F32
    sources: U32
    source_names: tuple[str, ...]
    tasks: Mapping[str, F32]
    stages: tuple[StageReport, ...]
    models: Mapping[str, str]
    degradations: tuple[Degradation, ...]
    shortfall: Mapping[str, int]
    as_of: float
    seed: int
    explanation: Explanation | None = None
    served: Callable[[], Served] | None = None

    def sources_of(self) -> list[list[str]]:
        """Names of the sources that brought each item."""
        names = list(enumerate(self.source_names))
        return [[name for bit, name in names if int(mask) >> bit & 1] for mask in self.sources]


class RowStatus(IntEnum):
    """What became of one row of a `Score` call."""

    OK = 0
    UNKNOWN_ITEM = 1
    NON_FINITE = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """Answer to `Score`, position for position with the supplied candidates.

    scores, tasks: float32 [n], NaN where `status` (uint8 [n], a `RowStatus`) is not OK.
    """

    scores: F32
    tasks: Mapping[str, F32]
    status: U8
    stages: tuple[StageReport, ...]
    models: Mapping[str, str]
    degradations: tuple[Degradation, ...]
    as_of: float
