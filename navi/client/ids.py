"""From Python and numpy values to ids."""

from collections.abc import Iterable

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids, Key


def as_ids(keys: "Ids | Array | Iterable[Key]", field: str) -> Ids:
    """Ids of one kind, from ids, an array, or anything that yields integers or strings.

    Raises InvalidArgument naming `field` where kinds are mixed, or a number does not fit into 64 bits.
    """
    if isinstance(keys, Ids):
        return keys
    if isinstance(keys, str | bytes):
        raise InvalidArgument(field, "is one key, where a list of keys is expected")
    if isinstance(keys, np.ndarray) and keys.dtype.kind == "i" and keys.ndim == 1:
        return Ids(keys.astype(np.int64, copy=False))
    listed = keys.tolist() if isinstance(keys, np.ndarray) else keys
    try:
        return Ids.of(key.item() if isinstance(key, np.generic) else key for key in listed)
    except (TypeError, OverflowError, UnicodeEncodeError) as error:
        raise InvalidArgument(field, str(error)) from error
