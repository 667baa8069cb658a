"""What a caller can say about a `Rank` or `Score` call."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, TypedDict

from navi.core.arrays import Array
from navi.core.ids import Ids, Key
from navi.core.query import Operator

Keys: TypeAlias = Ids | Array | Iterable[Key]
"""Ids of one kind: integers, or strings."""

Condition: TypeAlias = tuple[str, Operator, object]
"""(item column, "in" | "not_in" | "at_least" | "at_most", value or values)."""

PriorityName: TypeAlias = Literal["ads", "organic", "backfill"]
"""Under load, ads go before organic, and organic before backfill, which is refused first."""


class CallOptions(TypedDict, total=False):
    """For both calls.

    pipeline: its name; the only one where left out. features: request features by name, see `values.as_row`.
    columns: features of the candidates by name, see `values.as_columns`. as_of: seconds since the epoch by which
    recency and age are judged; the server's clock where left out. timeout_s: the call's deadline; the client's where
    left out. priority: of the call beside others under load; the client's where left out.
    """

    pipeline: str
    features: Mapping[str, object]
    columns: Mapping[str, object]
    as_of: float
    request_id: str
    timeout_s: float
    priority: PriorityName


class RankOptions(CallOptions, total=False):
    """For `rank` alone.

    candidates: further items to rank beside those that the pipeline finds. exclude: items that must not be answered.
    predicates: conditions that every answered item meets. seed: what random choices are drawn from. explain: tell in
    `Ranking.explanation` what became of every candidate; InvalidArgument where the server's operator has that off.
    """

    candidates: Keys
    exclude: Keys
    predicates: Iterable[Condition]
    seed: int
    explain: bool
