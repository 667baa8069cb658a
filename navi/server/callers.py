"""Who calls: names that clients give themselves, kept few enough to be a label of metrics."""

import re
from collections.abc import Iterable

OTHER = "other"
_NAME = re.compile(r"[a-z0-9_.-]{1,40}")


class Callers:
    """The first `limit` distinct names are labels of their own; further ones, and what is no name, are `other`.

    A name is 1 to 40 characters of a-z, 0-9, `_`, `.`, `-`. Lives on one event loop.
    """

    def __init__(self, limit: int, always: Iterable[str] = ()) -> None:
        """always: names that are labels of their own whatever comes first."""
        self._known = {name for name in always if _NAME.fullmatch(name)}
        self._limit = limit + len(self._known)

    def label(self, name: str | bytes | None) -> str:
        """The label of a name as it was received; empty where none was."""
        if not name:
            return ""
        if name in self._known:
            return str(name)
        if len(self._known) >= self._limit or not isinstance(name, str) or not _NAME.fullmatch(name):
            return OTHER
        self._known.add(name)
        return name
