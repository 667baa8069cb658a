"""CSV files of other people, read with their types or refused with the column's name."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import csv

from navi.core.arrays import F64, I64, Mask
from navi.core.errors import ConfigError

Kind: TypeAlias = Literal["int64", "float64", "string", "seconds"]
"""Type of a column; `seconds`: a date and time (UTC), as timestamp[s]."""

_TYPES: Mapping[Kind, pa.DataType] = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "seconds": pa.timestamp("s"),
}
_EXACT = 2.0**53


def read_columns(path: Path, kinds: Mapping[str, Kind], *, optional: Collection[str] = ()) -> pa.Table:
    """The columns named in `kinds` (compressed where the name says so); an empty value of an `optional` one is null.

    Raises ConfigError, naming file and column, for a file that is missing, damaged or empty, a column that is missing,
    a value of another type, and an empty value of a column that is not optional.
    """
    table = _read(path, kinds)
    if table.num_rows == 0:
        raise ConfigError(str(path), "has no rows")
    for name in kinds:
        if name not in optional and table[name].null_count:
            refuse(path, name, table[name].is_null().to_numpy(), "is empty")
    return table


def refuse(path: Path, column: str, wrong: Mask, problem: str) -> None:
    """Raise ConfigError where `wrong` [n] is true, naming the first such row (from 1, without the header)."""
    if wrong.any():
        raise ConfigError(f"{path}: column {column!r}", f"row {int(wrong.argmax()) + 1} {problem}")


def numbers(table: pa.Table, column: str, path: Path) -> F64:
    """A column of finite numbers, float64 [n]; ConfigError where one is not."""
    values: F64 = table[column].to_numpy().astype(np.float64)
    refuse(path, column, ~np.isfinite(values), "is not finite")
    return values


def whole(table: pa.Table, column: str, path: Path) -> I64:
    """A column of integers that was read as float64, since some files write 100000 as 1e+05: int64 [n].

    Raises ConfigError for a fraction and for what a float64 cannot hold exactly.
    """
    values = numbers(table, column, path)
    refuse(path, column, (values != np.floor(values)) | (np.abs(values) > _EXACT), "is not a whole number below 2^53")
    return values.astype(np.int64)


def keyed(table: pa.Table, column: str, path: Path) -> tuple[pa.Table, I64]:
    """The rows by ascending key, and the keys, int64 [n]; ConfigError naming a key that repeats."""
    keys = whole(table, column, path)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    repeated = keys[1:][keys[1:] == keys[:-1]]
    if len(repeated):
        raise ConfigError(f"{path}: column {column!r}", f"{repeated[0]} stands there twice")
    return table.take(order), keys


def take_or_null(table: pa.Table, rows: I64) -> pa.Table:
    """The rows at positions int64 [n]; all null at -1."""
    return table.take(pa.array(rows, type=pa.int64(), mask=rows < 0))


def _read(path: Path, kinds: Mapping[str, Kind]) -> pa.Table:
    if not path.is_file():
        raise ConfigError(str(path), "is not there")
    names: list[str] = []
    try:
        with csv.open_csv(path) as reader:
            names = reader.schema.names
        missing = [name for name in kinds if names.count(name) != 1]
        if not missing:
            return csv.read_csv(path, convert_options=_options(kinds))
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(*_where(path, names, str(error))) from error
    raise ConfigError(f"{path}: column {missing[0]!r}", f"must stand there once; columns: {', '.join(names)}")


def _options(kinds: Mapping[str, Kind]) -> csv.ConvertOptions:
    return csv.ConvertOptions(
        include_columns=list(kinds),
        column_types={name: _TYPES[kind] for name, kind in kinds.items()},
        strings_can_be_null=True,
        null_values=[""],
    )


def _where(path: Path, names: list[str], problem: str) -> tuple[str, str]:
    """Arrow counts columns; people know them by name."""
    found = re.search(r"[Cc]olumn #(\d+): ", problem)
    if found is None:
        return str(path), f"cannot be read: {problem}"
    return f"{path}: column {names[int(found[1])]!r}", problem[found.end() :]


def positions(keys: I64, values: I64) -> I64:
    """Where each of `values` [n] stands in ascending `keys` [m]: int64 [n], -1 where it does not."""
    found = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
    return np.where(keys[found] == values, found, -1)
