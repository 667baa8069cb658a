"""What every op demands of its arguments, with messages that name the argument."""

from operator import index
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from navi.core.arrays import F32, Array
from navi.core.ids import Ids


def vector(name: str, values: Array, dtype: DTypeLike, *, length: int | None = None) -> Array:
    """`values` as a contiguous [n], copied only where it was not contiguous.

    Raises TypeError for another dtype, ValueError for another shape or length.
    """
    _typed(name, values, dtype)
    if values.ndim != 1:
        raise ValueError(f"{name}: has shape {values.shape}, not one dimension")
    if length is not None and len(values) != length:
        raise ValueError(f"{name}: has {len(values)} entries, not {length}")
    if values.flags.c_contiguous and values.flags.aligned:  # np.require takes a microsecond to find out
        return values
    return np.require(values, requirements=["C", "A"])


def matrix(name: str, values: F32) -> F32:
    """`values` itself: float32 [N, D], in C order. It is never copied: it may be as large as memory.

    Raises TypeError for another dtype, ValueError for another shape or layout.
    """
    _typed(name, values, np.float32)
    if values.ndim != 2:
        raise ValueError(f"{name}: has shape {values.shape}, not two dimensions")
    if not (values.flags.c_contiguous and values.flags.aligned):
        raise ValueError(f"{name}: its rows must lie one after the other in memory (C order, aligned)")
    return values


def count(name: str, value: int) -> int:
    """`value` as an int of at least 1; ValueError below that, TypeError for what is no integer."""
    number = index(value)
    if number < 1:
        raise ValueError(f"{name}: is {number}, must be at least 1")
    return number


def ids(name: str, values: Ids) -> Ids:
    """The same ids as contiguous int64 values, or uint8 values with int64 offsets; TypeError, ValueError otherwise."""
    if values.offsets is None:
        return Ids(vector(name, values.values, np.int64))
    offsets = vector(f"{name}.offsets", values.offsets, np.int64)
    if not len(offsets):
        raise ValueError(f"{name}.offsets: is empty; n texts have n + 1 offsets")
    return Ids(vector(name, values.values, np.uint8), offsets)


def _typed(name: str, values: Any, dtype: DTypeLike) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != dtype:
        found = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
        raise TypeError(f"{name}: is {found}, must be an array of {np.dtype(dtype)}")
