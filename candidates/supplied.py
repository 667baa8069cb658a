"""The candidates that the caller brings."""

from dataclasses import dataclass

import numpy as np

from candidates.context import Context
from candidates.lookup import rows_of
from candidates.parts import Parts
from candidates.source import Fetched


@dataclass(frozen=True, slots=True)
class SuppliedSource:
    """The query's own candidates, in the order given; each scores 0.

    Left out and counted: ids that the table does not have (`unknown_item`), repeats of an id (`duplicate`: the first
    counts), and what is more than the quota (`quota`). Raises InvalidArgument for ids of the wrong kind.
    """

    @property
    def uses_user(self) -> bool:
        return False

    def fetch(self, context: Context, quota: int) -> Fetched:
        supplied = context.query.supplied
        if supplied is None:
            return Fetched.nothing()
        rows = rows_of(context.table, supplied.ids, field="supplied.ids")
        known = rows[rows >= 0]
        _, first = np.unique(known, return_index=True)
        kept = known[np.sort(first)]
        dropped = {
            "unknown_item": len(rows) - len(known),
            "duplicate": len(known) - len(kept),
            "quota": max(len(kept) - quota, 0),
        }
        counted = {reason: count for reason, count in dropped.items() if count}
        return Fetched(kept[:quota], np.zeros(min(len(kept), quota), dtype=np.float32), counted)


def supplied(parts: Parts) -> SuppliedSource:  # noqa: ARG001 - every plug-in is made from the parts
    """Takes no options."""
    return SuppliedSource()
