"""`navi.v1.FeatureService`: keyed features, written and read over the wire."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from navi.core.errors import InvalidArgument
from navi.features.schema import FeatureSchema
from navi.features.store import FeatureStore
from navi.server.call import Call, Handler
from navi.server.choose import choose
from navi.server.feature_rows import column_of, rows_of
from navi.wire.buffers import parse, shown
from navi.wire.feature_codec import Found, decode_upsert, encode_found
from navi.wire.ids_codec import decode_ids
from navi.wire.v1 import features_pb2

SERVICE = features_pb2.DESCRIPTOR.services_by_name["FeatureService"].full_name


@dataclass(frozen=True, slots=True)
class FeatureService:
    """Answers `Upsert`, `Get` and `Delete` by the store that a request names."""

    stores: Mapping[str, FeatureStore]

    @property
    def methods(self) -> dict[str, Handler]:
        return {"Upsert": self.upsert, "Get": self.get, "Delete": self.delete}

    def upsert(self, request: bytes, call: Call) -> bytes:
        message = parse(features_pb2.UpsertRequest, request)
        _, store = choose("store", message.store, self.stores)
        upsert = decode_upsert(message)
        places = {name: f"columns[{i}] ({shown(name)})" for i, name in enumerate(upsert.columns)}
        for name, place in places.items():
            _check_known(name, place, store.schema)
        call.deadline.check("the rows were written")
        with _placed(places):
            store.put_many(upsert.keys.tolist(), rows_of(upsert.columns, len(upsert.keys)), upsert.mode)
        return features_pb2.UpsertResponse(rows=len(upsert.keys)).SerializeToString()

    def get(self, request: bytes, call: Call) -> bytes:
        message = parse(features_pb2.GetRequest, request)
        _, store = choose("store", message.store, self.stores)
        names = _names(message.names, store.schema)
        keys = decode_ids(message.keys, "keys").tolist()
        call.deadline.check("the rows were read")
        with _placed({}):
            rows = store.get_many(keys)
        found = Found(
            found=np.array([row is not None for row in rows], dtype=np.bool_),
            columns={name: column_of(name, store.schema.fields[name], rows) for name in names},
        )
        return encode_found(found).SerializeToString()

    def delete(self, request: bytes, call: Call) -> bytes:
        message = parse(features_pb2.DeleteRequest, request)
        _, store = choose("store", message.store, self.stores)
        keys = decode_ids(message.keys, "keys").tolist()
        call.deadline.check("the rows were deleted")
        with _placed({}):
            deleted = store.delete_many(keys)
        return features_pb2.DeleteResponse(deleted=deleted).SerializeToString()


@contextmanager
def _placed(features: Mapping[str, str]) -> Iterator[None]:
    """Tell what a store refuses by its place in the request; features: places by the feature's name."""
    try:
        yield
    except InvalidArgument as error:
        place = {"key": "keys", **features}.get(error.field, error.field)
        raise InvalidArgument(place, error.problem) from error


def _names(asked: Sequence[str], schema: FeatureSchema) -> list[str]:
    """The features asked for, each once; all of the schema where none is."""
    for position, name in enumerate(asked):
        _check_known(name, f"names[{position}] ({shown(name)})", schema)
    return list(dict.fromkeys(asked)) or sorted(schema.fields)


def _check_known(name: str, place: str, schema: FeatureSchema) -> None:
    if name not in schema.fields:
        raise InvalidArgument(place, f"is no feature here; known: {', '.join(sorted(schema.fields)[:10])}")
