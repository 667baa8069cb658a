"""From ids to row numbers, many at a time."""

import numpy as np

from navi.core.arrays import I64
from navi.core.ids import Ids
from navi.ops import checks
from navi.ops.native import native


class IdIndex:
    """A hash table over a column of ids; row numbers are the positions of the ids in it.

    Keeps the arrays of text `ids` without a copy: they must not change afterwards. Reading is safe from any thread.

    Raises ValueError naming the first repeated id, or where offsets of text do not ascend; TypeError for other dtypes.
    """

    def __init__(self, ids: Ids) -> None:
        ids = checks.ids("ids", ids)
        self._count = len(ids)
        self._index: native.IntegerIndex | native.TextIndex
        if ids.offsets is None:
            self._index = native.IntegerIndex(ids.values)
        else:
            self._index = native.TextIndex(ids.values, ids.offsets)
        if self._index.repeat is not None:
            first, again = self._index.repeat
            raise ValueError(f"ids: {ids.key(again)!r} is repeated (rows {first} and {again})")

    def __len__(self) -> int:
        return self._count

    def lookup(self, ids: Ids) -> I64:
        """Rows int64 [n], -1 where an id is not in the index.

        Raises TypeError where text is looked up among integers or the reverse (no ids at all are of either kind).
        """
        ids = checks.ids("ids", ids)
        rows = np.empty(len(ids), dtype=np.int64)
        if not len(ids):
            return rows
        if isinstance(self._index, native.IntegerIndex) and ids.offsets is None:
            self._index.lookup(ids.values, rows)
        elif isinstance(self._index, native.TextIndex) and ids.offsets is not None:
            self._index.lookup(ids.values, ids.offsets, rows)
        else:
            raise TypeError(f"ids: are {'text' if ids.is_text else 'integers'}, those of the index are not")
        return rows
