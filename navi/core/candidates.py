"""The items under consideration for one query."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from navi.core.arrays import I64, U32, Array


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """A struct of arrays, one row a candidate.

    rows: int64 [n], row numbers into the query's `ItemTable` snapshot (row order is id order).
    sources: uint32 [n], bit i set where source i of the pipeline brought the candidate.
    columns: further values by name, each [n] or [n, width].
    """

    rows: I64
    sources: U32
    columns: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> "Candidates":
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: Array) -> "Candidates":
        """The candidates at positions `index` (int64 [m], or a mask [n]), with their columns."""
        taken = {name: column[index] for name, column in self.columns.items()}
        return Candidates(self.rows[index], self.sources[index], taken)

    def with_column(self, name: str, values: Array) -> "Candidates":
        """The same candidates with a column added or replaced; ValueError unless it has a row for each."""
        if len(values) != len(self):
            raise ValueError(f"column {name!r} has {len(values)} rows for {len(self)} candidates")
        return replace(self, columns={**self.columns, name: values})
