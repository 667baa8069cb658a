"""How a request names one of the things that a server has."""

from collections.abc import Mapping
from typing import TypeVar

from navi.core.errors import InvalidArgument, NotFound

T = TypeVar("T")


def choose(field: str, name: str, known: Mapping[str, T]) -> tuple[str, T]:
    """(name, thing) by its name; no name means the only one there is.

    Raises NotFound for an unknown name, InvalidArgument for no name where there are several.
    """
    if not name and len(known) == 1:
        return next(iter(known.items()))
    if not name and known:
        raise InvalidArgument(field, f"is empty, and there are several: {', '.join(sorted(known)[:10])}")
    if name not in known:
        raise NotFound(field, name, tuple(sorted(known)))
    return name, known[name]
