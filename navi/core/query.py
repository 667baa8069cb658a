"""What a caller asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.effort import FULL, Effort
from navi.core.ids import Ids, Key
from navi.core.priority import Priority

Operator: TypeAlias = Literal["in", "not_in", "at_least", "at_most"]

MAX_K = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplied:
    """Candidates that the caller brings, with optional per-candidate features.

    ids: [n], duplicates allowed. columns: each with n rows; a column named like an item's feature replaces the
    resident value for these candidates, any other is a `pair` feature.
    """

    ids: Ids
    columns: Mapping[str, Column] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A condition on an item's column: `in` / `not_in` a set of values, or a bound on a number.

    An item whose value is missing meets no `in`, `at_least` or `at_most`, and meets every `not_in`.
    """

    column: str
    operator: Operator
    values: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One request, checked and ready to be ranked.

    user: None for an anonymous caller. features: request features, one row each. as_of: seconds since the epoch, the
    time by which recency, age and time splits are judged. seed: what any random choice is drawn from. explain: tell
    what became of every candidate. effort: how much of the full work it may cost; set by the server under load.
    priority: whose work goes first under load.
    """

    pipeline: str
    user: Key | None
    k: int
    deadline: Deadline
    as_of: float
    seed: int = 0
    request_id: str = ""
    features: Mapping[str, Column] = field(default_factory=dict)
    supplied: Supplied | None = None
    exclude: Ids = field(default_factory=Ids.empty)
    predicates: tuple[Predicate, ...] = ()
    explain: bool = False
    effort: Effort = FULL
    priority: Priority = Priority.ORGANIC
