"""What the encoder refuses, by the name of the feature that does not fit."""

import numpy as np
import pytest
from encoder_cases import encoder, f32, floats, lists, numbers, pairs, request, texts

from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.features.inputs import (
    Age,
    Bucket,
    Category,
    Gap,
    History,
    InputSpec,
    Match,
    Numeric,
    Present,
    Scope,
    Transform,
)

NUMERIC = Numeric(name="n", feature="user.x")
BUCKET = Bucket(name="b", feature="user.x", boundaries=(1.0,))
WORD = Category(name="c", feature="user.x", vocabulary="words")
HISTORY = History(name="h", feature="user.x", vocabulary="numbers", length=2)
AGE = Age(name="a", feature="user.x")


@pytest.mark.parametrize(
    ("transform", "column", "problem"),
    [
        (NUMERIC, texts("a"), "is string, where a number is expected"),
        (NUMERIC, Column(np.array([1.0])), "is float64, where a number is expected"),
        (NUMERIC, Column(np.zeros((1, 2), np.float32)), "has 2 values a row, where 1 are expected"),
        (NUMERIC, lists([[1]]), "has rows of different lengths"),
        (NUMERIC, floats(1, 2), "has 2 rows, where 1 are expected"),
        (NUMERIC, floats(), "has 0 rows, where 1 are expected"),
        (NUMERIC, floats(float("nan")), "is not finite"),
        (NUMERIC, floats(float("-inf")), "is not finite"),
        (Numeric(name="n", feature="user.x", width=2), floats(1), "has 1 values a row, where 2 are expected"),
        (Numeric(name="n", feature="user.x", log1p=True), floats(-1), "numeric 'n' of it has no finite float32 value"),
        (Numeric(name="n", feature="user.x", log1p=True), floats(-2), "numeric 'n' of it has no finite float32 value"),
        (Numeric(name="n", feature="user.x", std=1e-9), floats(3e38), "numeric 'n' of it has no finite float32 value"),
        (Present(name="p", feature="user.x"), floats(float("inf")), "is not finite"),
        (Present(name="p", feature="user.x"), texts("a", "b"), "has 2 rows, where 1 are expected"),
        (AGE, floats(1), "is float32, where int64 is expected"),
        (WORD, numbers(1), "is int64, where string is expected"),
        (WORD, lists([["a"]], object), "has rows of different lengths"),
        (BUCKET, floats(float("nan")), "is not finite"),
        (BUCKET, texts("a"), "is string, where a number is expected"),
        (HISTORY, lists([["a"]], object), "is string, where int64 is expected"),
        (HISTORY, lists([[1], [2]]), "has 2 rows, where 1 are expected"),
    ],
)
def test_a_feature_that_does_not_fit_is_refused_by_name(transform: Transform, column: Column, problem: str) -> None:
    dtype = "int64" if isinstance(transform, Category | Bucket | History) else "float32"
    with pytest.raises(InvalidArgument) as refused:
        request({"user.x": column}, 1, transform, dtype=dtype)
    assert refused.value.field == "user.x"
    assert problem in refused.value.problem


MATCH = Match(name="m", values="user.h", equals="item.x", weights="user.w")
FITTING = {"user.h": lists([[1]]), "user.w": lists([[1.0]], np.float32), "item.x": numbers(1, 2)}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"item.x": numbers(1)}, "item.x"),
        ({"item.x": floats(1, 2)}, "item.x"),
        ({"item.x": lists([[1], [2]])}, "item.x"),
        ({"item.x": texts("a", "b")}, "user.h"),
        ({"user.h": lists([["a"]], object)}, "user.h"),
        ({"user.h": lists([[1], [1], [1]])}, "user.h"),
        ({"user.h": lists([[1, 2]])}, "user.w"),
        ({"user.h": lists([[1], [1]])}, "user.w"),
        ({"user.w": lists([[1]])}, "user.w"),
        ({"user.w": lists([[float("nan")]], np.float32)}, "user.w"),
    ],
)
def test_match_refuses_by_name_what_it_cannot_compare(changed: dict[str, Column], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        pairs({**FITTING, **changed}, 2, MATCH)
    assert refused.value.field == field


def test_one_row_stands_for_all_only_where_it_is_the_requests() -> None:
    user = Numeric(name="u", feature="user.x")
    assert pairs({"user.x": floats(1)}, 2, user) == f32(1, 1)
    for feature in ("item.x", "pair.x"):
        with pytest.raises(InvalidArgument, match=f"{feature}: has 1 rows, where 2 are expected"):
            pairs({feature: floats(1)}, 2, Numeric(name="u", feature=feature))


def test_a_missing_row_may_hold_anything() -> None:
    hidden = Column(np.array([np.nan, 2.0], np.float32), valid=np.array([False, True]))
    present, bucket = Present(name="p", feature="user.x"), Bucket(name="b", feature="user.x", boundaries=(1.0,))
    assert request({"user.x": hidden}, 2, NUMERIC, present) == [[0, 0], [2, 1]]
    assert request({"user.x": hidden}, 2, bucket, dtype="int64") == [[0], [2]]


def test_a_time_that_is_not_finite_is_refused() -> None:
    made = encoder("request", Age(name="a", feature="user.t"))
    with pytest.raises(InvalidArgument, match="as_of: is not finite"):
        made.request({"user.t": numbers(1)}, 1, np.array([np.nan]))


@pytest.mark.parametrize(
    ("scope", "transform", "problem"),
    [
        ("item", Age(name="a", feature="item.t"), "age depends on the request's time"),
        ("request", Match(name="m", values="user.h", equals="user.x"), "pair scope only"),
        ("item", Gap(name="g", request="item.a", item="item.b"), "pair scope only"),
        ("pair", Match(name="m", values="item.h", equals="item.x"), "'item.h' cannot stand here"),
        ("pair", Match(name="m", values="user.h", equals="user.x"), "'user.x' cannot stand here"),
        ("pair", Match(name="m", values="user.h", equals="item.x", weights="item.w"), "'item.w' cannot stand here"),
        ("pair", Gap(name="g", request="item.a", item="item.a"), "'item.a' cannot stand here"),
        ("request", Numeric(name="n", feature="item.x"), "'item.x' cannot stand here"),
        ("request", Numeric(name="n", feature="age"), "'age' cannot stand here"),
        ("request", Numeric(name="n", feature="user."), "'user.' cannot stand here"),
        ("request", Category(name="c", feature="user.x", vocabulary="v"), "category makes int64"),
    ],
)
def test_a_declaration_that_cannot_be_computed_is_refused(scope: Scope, transform: Transform, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        InputSpec(name="x", scope=scope, dtype="float32", features=(transform,))


@pytest.mark.parametrize("boundaries", [(2.0, 1.0), (1.0, 1.0), (float("nan"),), ()])
def test_boundaries_rise(boundaries: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="boundaries"):
        Bucket(name="b", feature="user.x", boundaries=boundaries)


def test_a_fill_without_logarithm_is_refused() -> None:
    with pytest.raises(ValueError, match=r"n: fill -1\.0 has no log1p"):
        Numeric(name="n", feature="user.x", log1p=True, fill=-1.0)
