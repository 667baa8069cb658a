"""Diversity by decay: the k-th item of an author (or category) counts for less."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from candidates.context import Context
from candidates.parts import Parts
from navi.core.arrays import I64, Array
from navi.core.candidates import Candidates
from navi.core.errors import ConfigError
from navi.features.item_table import ItemTable
from navi.ops import top_k
from ranking.columns import SCORE


@dataclass(frozen=True, slots=True, eq=False)
class Diversity:
    """Multiplies `score` by (1 - floor) * decay^k + floor for the k-th candidate of one value, best first from k = 0.

    groups: int64 [items], equal where items share the value; an item without one has a group of its own. Scores within
    a group stay in order as long as they are not negative, so that one pass gives what choosing greedily one by one
    would.
    """

    groups: I64
    decay: float
    floor: float

    def run(self, context: Context, candidates: Candidates) -> Candidates:  # noqa: ARG002 - as every stage
        score = candidates.columns[SCORE]
        order = top_k(score, candidates.rows, len(candidates))
        repeats = occurrence(self.groups[candidates.rows[order]])
        factor = (1.0 - self.floor) * np.power(self.decay, repeats) + self.floor
        changed = np.empty_like(score)
        changed[order] = (score[order] * factor).astype(np.float32)
        return candidates.with_column(SCORE, changed)


def occurrence(groups: Array) -> I64:
    """How many equal values come before each position of `groups` [n]: int64 [n]."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))[: len(ordered)]
    lengths = np.diff(np.append(starts, len(ordered)))
    within = np.arange(len(ordered), dtype=np.int64) - np.repeat(starts, lengths)
    counts = np.empty(len(groups), dtype=np.int64)
    counts[order] = within
    return counts


def diversity(
    parts: Parts,
    *,
    column: str,
    decay: Annotated[float, Field(ge=0, le=1)] = 0.5,
    floor: Annotated[float, Field(ge=0, le=1)] = 0.25,
) -> Diversity:
    """column: of the item table, integers or strings, one value an item."""
    return Diversity(_groups(parts.table, column), decay, floor)


def _groups(table: ItemTable, column: str) -> I64:
    values = table.column(column)
    if values.ragged or values.width != 1 or values.dtype not in ("int64", "string"):
        raise ConfigError("column", f"{column!r} must hold one integer or string an item")
    codes = values.values if values.dtype == "int64" else table.codes(column)[0].astype(np.int64)
    if values.valid is None:
        return codes
    alone = np.cumsum(~values.valid) + codes.max(initial=0, where=values.valid)
    return np.where(values.valid, codes, alone)
