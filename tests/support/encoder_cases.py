"""Columns and encoders for tests of transforms, written shortly."""

from collections.abc import Mapping

import numpy as np

from navi.core.column import Column
from navi.core.ids import Ids
from navi.core.ragged import offsets_of
from navi.features.encoder import Encoder
from navi.features.inputs import (
    InputSpec,
    Scope,
    Transform,
)
from navi.features.vocabulary import Vocabulary

VOCABULARIES = {"numbers": Vocabulary(Ids.of([5, 3, 8])), "words": Vocabulary(Ids.of_text(["b", "a", "c"]))}
AS_OF = 1_000_000.0


def floats(*values: float | None) -> Column:
    return marked(list(values), np.float32, 0.0)


def numbers(*values: int | None) -> Column:
    return marked(list(values), np.int64, 0)


def texts(*values: str | None) -> Column:
    return marked(list(values), object, "")


def marked(values: list, dtype: object, filler: object) -> Column:
    array = np.empty(len(values), dtype=dtype)
    array[:] = [filler if value is None else value for value in values]
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    return Column(array, valid=None if valid.all() else valid)


def lists(rows: list[list | None], dtype: object = np.int64) -> Column:
    flat = [value for row in rows for value in row or []]
    array = np.empty(len(flat), dtype=dtype)
    array[:] = flat
    valid = np.array([row is not None for row in rows], dtype=np.bool_)
    return Column(array, offsets_of(np.array([len(row or []) for row in rows])), None if valid.all() else valid)


def encoder(scope: Scope, *transforms: Transform, dtype: str = "float32") -> Encoder:
    spec = InputSpec(name="x", scope=scope, dtype=dtype, features=transforms)  # type: ignore[arg-type]
    return Encoder([spec], VOCABULARIES)


def times(n: int) -> np.ndarray:
    return np.full(n, AS_OF)


def request(columns: Mapping[str, Column], n: int, *transforms: Transform, dtype: str = "float32") -> list:
    return encoder("request", *transforms, dtype=dtype).request(columns, n, times(n))["x"].tolist()


def pairs(columns: Mapping[str, Column], n: int, *transforms: Transform, dtype: str = "float32") -> list:
    return encoder("pair", *transforms, dtype=dtype).pairs(columns, n, times(n))["x"].tolist()


def f32(*values: float) -> list[list[float]]:
    return [[float(np.float32(value))] for value in values]
