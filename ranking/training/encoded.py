"""Training data as the models take it, made by the encoder that serving uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F32, I64, Array
from navi.core.column import Column
from navi.features.encoder import Encoder
from ranking.training.corpus import Corpus
from ranking.training.moments import Moments
from ranking.training.popularity import POPULARITY, Popularity
from ranking.training.snapshots import Snapshots

_CHUNK = 50_000
"""Rows encoded at once: raw histories of all rows together would not fit."""


@dataclass(frozen=True, slots=True, eq=False)
class RawFeatures:
    """Raw features of any request and any pair, as serving would have had them at that moment."""

    corpus: Corpus
    snapshots: Snapshots
    popularity: Popularity

    @classmethod
    def of(cls, corpus: Corpus, *, history: int) -> "RawFeatures":
        snapshots = Snapshots.of(corpus.dataset, corpus.table, history=history)
        return cls(corpus, snapshots, Popularity.of(corpus.dataset.events, corpus.positive))

    def request(self, moments: Moments) -> dict[str, Column]:
        """Features `user.*` and `request.*` [m]."""
        user = self.snapshots.at(moments.user, moments.time)
        context = moments.context
        return _prefixed("user", user) | _prefixed("request", context)

    def items(self) -> dict[str, Column]:
        """Features `item.*` [items]."""
        table = self.corpus.table
        return {f"item.{name}": table.column(name) for name in table.columns}

    def pairs(self, moments: Moments, item: I64, names: frozenset[str]) -> dict[str, Column]:
        """The features in `names` for pairs of a moment and an item (table row) [n]."""
        user = self.snapshots.at(moments.user, moments.time, _named("user", names))
        columns = _prefixed("user", user)
        for name in _named("request", names):
            columns[f"request.{name}"] = moments.context[name]
        for name in _named("item", names) - {POPULARITY}:
            columns[f"item.{name}"] = self.corpus.table.column(name).take(item)
        columns[f"item.{POPULARITY}"] = Column(self.popularity.at(item, moments.time))
        return columns


def encode_requests(encoder: Encoder, raw: RawFeatures, moments: Moments) -> dict[str, Array]:
    """Request-scope inputs [m, width]; codes as int32, to halve their size."""

    def encode(index: I64) -> dict[str, Array]:
        some = moments.take(index)
        return encoder.request(raw.request(some), len(some), some.time)

    return _in_chunks(encode, len(moments))


def encode_pairs(encoder: Encoder, raw: RawFeatures, moments: Moments, pairs: tuple[I64, I64]) -> F32:
    """The pair-scope input [n, width] of pairs (position of the moment, table row of the item)."""
    moment, item = pairs
    names = encoder.features("pair")

    def encode(index: I64) -> dict[str, Array]:
        some = moments.take(moment[index])
        return encoder.pairs(raw.pairs(some, item[index], names), len(index), some.time)

    return _in_chunks(encode, len(item))["pair_dense"]


def _in_chunks(encode: Callable[[I64], Mapping[str, Array]], n: int) -> dict[str, Array]:
    """Everything that `encode` makes, chunk by chunk into one array each; codes as int32."""
    whole = {name: np.empty((n, part.shape[1]), _compact(part)) for name, part in encode(np.arange(0)).items()}
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        for name, part in encode(np.arange(start, stop)).items():
            whole[name][start:stop] = part
    return whole


def _compact(values: Array) -> type[np.generic]:
    return np.int32 if values.dtype == np.int64 else np.float32


def _prefixed(origin: str, columns: Mapping[str, Column]) -> dict[str, Column]:
    return {f"{origin}.{name}": column for name, column in columns.items()}


def _named(origin: str, names: frozenset[str]) -> set[str]:
    return {name.partition(".")[2] for name in names if name.partition(".")[0] == origin}
