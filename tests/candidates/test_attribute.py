"""Items that share a value with the user's: turns, order, time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.attribute import attribute
from candidates.context import Context
from candidates.parts import Parts
from navi.core.errors import ConfigError
from navi.features.schema import Field

ITEMS = 40
_DRAW = np.random.default_rng(5)
CREATOR = [None if value == 0 else int(value) for value in _DRAW.integers(0, 6, ITEMS)]
TOPICS = [[f"t{value}" for value in _DRAW.integers(0, 5, size)] for size in _DRAW.integers(0, 4, ITEMS)]
CREATED = [None if value == 0 else int(value) for value in _DRAW.integers(0, 20, ITEMS)]
POPULARITY = [float(value) for value in _DRAW.integers(0, 8, ITEMS)]


@pytest.fixture(scope="module")
def parts(make_table: Callable[..., object], make_parts: Callable[..., Parts]) -> Parts:
    table = make_table(
        {
            "id": list(range(ITEMS)),
            "creator": CREATOR,
            "topics": TOPICS,
            "created_at": CREATED,
            "popularity": POPULARITY,
        }
    )
    users = {
        "follows": Field(dtype="int64", max_length=100),
        "likes": Field(dtype="string", max_length=100),
        "age": Field(dtype="int64"),
    }
    return make_parts(table, users)


def naive(
    wanted: Sequence[Any], has: Callable[[int, Any], bool], order: Sequence[float | None], as_of: float | None
) -> list[tuple[int, float]]:
    """(row, score) by turns, the last value first."""
    known = [
        row
        for row in range(ITEMS)
        if order[row] is not None and (as_of is None or order[row] <= as_of)  # type: ignore[operator]
    ]
    ranked = sorted(known, key=lambda row: (-order[row], row))  # type: ignore[operator]
    queues = [[row for row in ranked if has(row, value)] for value in dict.fromkeys(reversed(wanted))]
    found: dict[int, float] = {}
    for turn in range(ITEMS):
        for queue in queues:
            if turn < len(queue):
                found.setdefault(queue[turn], 1 / (turn + 1))
    return list(found.items())


@given(follows=st.lists(st.integers(0, 8), max_size=12), as_of=st.floats(0, 25), quota=st.integers(1, 45))
def test_followed_creators_take_turns_newest_first(
    parts: Parts, make_context: Callable[..., Context], follows: list[int], as_of: float, quota: int
) -> None:
    source = attribute(parts, feature="follows", column="creator")
    user = {"follows": np.array(follows, dtype=np.int64)}
    found = source.fetch(make_context(parts.table, user=user, as_of=as_of), quota)
    expected = naive(follows, lambda row, value: CREATOR[row] == value, CREATED, as_of)[:quota]
    assert found.rows.tolist() == [row for row, _ in expected]
    np.testing.assert_allclose(found.scores, [score for _, score in expected], rtol=1e-6)


@given(likes=st.lists(st.sampled_from(["t0", "t1", "t2", "t3", "t4", "none"]), max_size=8), quota=st.integers(1, 45))
def test_an_item_of_several_topics_comes_once_at_its_first_turn(
    parts: Parts, make_context: Callable[..., Context], likes: list[str], quota: int
) -> None:
    source = attribute(parts, feature="likes", column="topics", order="popularity", kind="number")
    user = {"likes": np.array(likes, dtype=object)}
    found = source.fetch(make_context(parts.table, user=user), quota)
    expected = naive(likes, lambda row, value: value in TOPICS[row], POPULARITY, None)[:quota]
    assert found.rows.tolist() == [row for row, _ in expected]
    np.testing.assert_allclose(found.scores, [score for _, score in expected], rtol=1e-6)


def test_only_the_latest_values_take_turns(parts: Parts, make_context: Callable[..., Context]) -> None:
    source = attribute(parts, feature="follows", column="creator", order="popularity", kind="number")
    row = next(row for row in range(ITEMS) if CREATOR[row] == 1)
    follows = np.array([1, *range(100, 150)], dtype=np.int64)
    assert source.fetch(make_context(parts.table, user={"follows": follows}), 9).rows.tolist() == []
    assert row in source.fetch(make_context(parts.table, user={"follows": follows[:50]}), 40).rows


def test_a_user_without_the_feature_gets_nothing(parts: Parts, make_context: Callable[..., Context]) -> None:
    source = attribute(parts, feature="follows", column="creator")
    assert len(source.fetch(make_context(parts.table), 5).rows) == 0
    assert len(source.fetch(make_context(parts.table, user={}), 5).rows) == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"feature": "nobody", "column": "creator"}, "feature: 'nobody' is no list.*follows, likes"),
        ({"feature": "age", "column": "creator"}, "feature: 'age' is no list"),
        ({"feature": "likes", "column": "creator"}, "feature: 'likes' holds values of another type"),
        ({"feature": "likes", "column": "no"}, "column: .*'no' is not known"),
        ({"feature": "likes", "column": "topics", "order": "popularity"}, "order: .*seconds"),
        ({"feature": "likes", "column": "topics", "order": "topics", "kind": "number"}, "order: .*number"),
    ],
)
def test_options_that_do_not_fit_are_configuration_errors(parts: Parts, options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=f"^{says}"):
        attribute(parts, **options)  # type: ignore[arg-type]
