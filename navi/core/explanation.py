"""Where every candidate of one query came from, how it was scored, and where it was dropped."""

from collections.abc import Mapping
from dataclasses import dataclass

from navi.core.arrays import F32, I32, U32
from navi.core.ids import Ids


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Explanation:
    """Columns with a row for each candidate that a source brought, answered ones first, in their order.

    sources: uint32 [n], bits into the answer's `source_names`. scores: what stages computed, by column name, float32
    [n] each, NaN where a candidate did not get that far. drop: int32 [n], index into `drops`, -1 for an answered item.
    drops: (stage, reason) pairs. candidates: how many there were before the list was bounded.
    """

    ids: Ids
    sources: U32
    scores: Mapping[str, F32]
    drop: I32
    drops: tuple[tuple[str, str], ...]
    candidates: int
