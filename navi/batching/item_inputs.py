"""The item's part of a model's inputs, made once for a whole table and looked up by row."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import I64, Array
from navi.core.column import Column
from navi.core.errors import InvalidArgument, ModelError
from navi.features.encoder import Encoder, PreparedItems
from navi.features.item_table import ItemTable

_CHUNK = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class ItemInputs:
    """encoded: inputs of item scope, [items + 1, width] each; the last row is an item of which nothing is known.

    raw: the features that inputs of item scope read. pairs: those that inputs of pair scope read.
    """

    encoder: Encoder
    encoded: Mapping[str, Array]
    raw: PreparedItems
    pairs: PreparedItems

    @classmethod
    def of(cls, encoder: Encoder, table: ItemTable | None) -> "ItemInputs":
        """ModelError where the table has no column for a feature that the model reads, or one of the wrong kind."""
        n = 0 if table is None else len(table)
        try:
            raw = PreparedItems(n, _columns(encoder.features("item"), table), {})
            pairs = encoder.prepare_items(_columns(encoder.features("pair"), table), n)
            return cls(encoder, _encoded(encoder, raw), raw, pairs)
        except InvalidArgument as error:
            raise ModelError(f"the item table does not fit the model: {error}") from error

    def at(self, rows: I64, overrides: Mapping[str, Column]) -> dict[str, Array]:
        """Inputs of item scope for `rows` int64 [n] (-1: an unknown item), [n, width] each.

        overrides: `item.*` features with n rows, in the place of the table's.
        """
        if overrides:
            rest = {name: column for name, column in self.raw.columns.items() if name not in overrides}
            resident = PreparedItems(self.raw.n, rest, {}).take(rows)
            return self.encoder.items({**resident.columns, **overrides}, len(rows))
        if len(rows) and rows.min() < 0:
            rows = np.where(rows < 0, self.raw.n, rows)
        # mode="clip" spares a copy, and can clip nothing: rows come from the table.
        return {name: values.take(rows, 0, mode="clip") for name, values in self.encoded.items()}


def _columns(features: frozenset[str], table: ItemTable | None) -> dict[str, Column]:
    found = {}
    for feature in sorted(features):
        origin, _, name = feature.partition(".")
        if origin != "item":
            continue
        if table is None:
            raise ModelError(f"the model reads {feature}, and no item table is configured for it")
        if name not in table.columns:
            raise ModelError(f"the model reads {feature}, and the item table has no column {name!r}")
        found[feature] = table.column(name)
    return found


def _encoded(encoder: Encoder, raw: PreparedItems) -> dict[str, Array]:
    """In chunks, so that what is made on the way stays small beside the result."""
    unknown = encoder.items({}, 1)
    encoded = {name: np.empty((raw.n + 1, values.shape[1]), dtype=values.dtype) for name, values in unknown.items()}
    for start in range(0, raw.n if encoded else 0, _CHUNK):
        rows = np.arange(start, min(start + _CHUNK, raw.n))
        for name, values in encoder.items(raw.take(rows).columns, len(rows)).items():
            encoded[name][start : start + len(rows)] = values
    for name, values in unknown.items():
        encoded[name][raw.n] = values[0]
    return encoded
