"""`FeatureService` on the wire: writes, and rows as columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from navi.core.arrays import Array, Mask
from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids
from navi.wire.buffers import read_flags, write
from navi.wire.column_codec import decode_columns, encode_columns
from navi.wire.ids_codec import decode_ids, encode_ids
from navi.wire.v1 import features_pb2

Mode: TypeAlias = Literal["merge", "replace", "append"]

_MODES: dict[Mode, features_pb2.WriteMode] = {
    "merge": features_pb2.MERGE,
    "replace": features_pb2.REPLACE,
    "append": features_pb2.APPEND,
}
_NAMES: dict[int, Mode] = {number: name for name, number in _MODES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """Rows to write: `columns` have a row for each of `keys`; a missing value leaves that feature of that row out."""

    store: str
    keys: Ids
    columns: Mapping[str, Column]
    mode: Mode = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rows that were asked for: `found` bool [n] where the key is known, `columns` of n rows each."""

    found: Mask
    columns: Mapping[str, Column]

    def rows(self) -> list[dict[str, Array] | None]:
        """Each key's features by name, without those that are missing; None for an unknown key."""
        return [self._row(position) if known else None for position, known in enumerate(self.found)]

    def _row(self, position: int) -> dict[str, Array]:
        values = {name: column.row(position) for name, column in self.columns.items()}
        return {name: row for name, row in values.items() if row is not None}


def decode_upsert(message: features_pb2.UpsertRequest) -> Upsert:
    mode = _NAMES.get(message.mode)
    if mode is None:
        raise InvalidArgument("mode", f"{message.mode} is none of {', '.join(_MODES)}")
    keys = decode_ids(message.keys, "keys")
    columns = decode_columns(message.columns, "columns", rows=len(keys))
    return Upsert(store=message.store, keys=keys, columns=columns, mode=mode)


def encode_upsert(upsert: Upsert) -> features_pb2.UpsertRequest:
    """InvalidArgument for a mode that there is not."""
    if upsert.mode not in _MODES:
        raise InvalidArgument("mode", f"{upsert.mode!r} is none of {', '.join(_MODES)}")
    return features_pb2.UpsertRequest(
        store=upsert.store,
        keys=encode_ids(upsert.keys, "keys"),
        columns=encode_columns(upsert.columns),
        mode=_MODES[upsert.mode],
    )


def encode_found(found: Found) -> features_pb2.GetResponse:
    return features_pb2.GetResponse(found=write(found.found, "?"), columns=encode_columns(found.columns))


def decode_found(message: features_pb2.GetResponse) -> Found:
    found = read_flags(message.found, "reply", "found")
    return Found(found=found, columns=decode_columns(message.columns, "columns", rows=len(found)))
