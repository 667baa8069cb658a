"""What a row becomes by a write: the one implementation of merge, replace and append for every store."""

from collections.abc import Callable, Sequence

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.core.ids import Key
from navi.features.schema import FeatureSchema
from navi.features.store import Row, WriteMode


def checked_rows(schema: FeatureSchema, keys: Sequence[Key], rows: Sequence[Row], mode: WriteMode) -> list[Row]:
    """Rows as the schema has them; InvalidArgument, naming the feature, where they or the mode do not fit."""
    if len(keys) != len(rows):
        raise InvalidArgument("rows", f"has {len(rows)} rows for {len(keys)} keys")
    if mode not in ("merge", "replace", "append"):
        raise InvalidArgument("mode", f"is {mode!r}, where merge, replace or append is expected")
    checked: list[Row] = [schema.check(row) for row in rows]
    if mode == "append":
        for name in {name for row in checked for name in row}:
            if not schema.fields[name].ragged:
                raise InvalidArgument(name, "cannot be appended to: only ragged features can")
    return checked


def rows_after(
    schema: FeatureSchema,
    keys: Sequence[Key],
    rows: Sequence[Row],
    *,
    mode: WriteMode,
    old: Callable[[Key], Row | None],
) -> dict[Key, Row]:
    """What the rows of `keys` are once checked `rows` are written in order; `old` reads a row as it was before."""
    after: dict[Key, Row] = {}
    for key, row in zip(keys, rows, strict=True):
        if mode == "replace":
            after[key] = row
            continue
        before = after[key] if key in after else old(key)
        changed = row if mode == "merge" else _appended(schema, before or {}, row)
        after[key] = {**(before or {}), **changed}
    return after


def _appended(schema: FeatureSchema, before: Row, row: Row) -> Row:
    return {name: _joined(before.get(name), values, schema.fields[name].max_length) for name, values in row.items()}


def _joined(before: Array | None, values: Array, max_length: int | None) -> Array:
    assert max_length is not None
    if before is None:
        return values
    joined = np.concatenate([before, values])
    return joined[max(len(joined) - max_length, 0) :]
