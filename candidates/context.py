"""What sources, filters and stages are told about the query at hand."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from navi.core.deadline import Deadline
from navi.core.query import Query
from navi.features.item_table import ItemTable
from navi.features.store import Row

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """One query on its way through a pipeline. `user` is empty for an unknown or anonymous user."""

    query: Query
    table: ItemTable
    user: Row = field(default_factory=dict)
    user_found: bool = False
    stage_deadline: Deadline | None = None
    _memo: dict[str, Any] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @property
    def deadline(self) -> Deadline:
        """Until when the stage that is asked may take: the query's deadline, or an earlier one of its own."""
        return self.stage_deadline or self.query.deadline

    def once(self, name: str, make: Callable[[], T]) -> T:
        """`make()`, computed at most once a query however many stages ask (the user's vector, say)."""
        with self._lock:
            if name not in self._memo:
                self._memo[name] = make()
            made: T = self._memo[name]
            return made
