"""Each transform's formula, and the laws that make one implementation fit training and serving."""

from collections.abc import Mapping

import numpy as np
import pytest
from encoder_cases import (
    AS_OF,
    VOCABULARIES,
    encoder,
    f32,
    floats,
    lists,
    numbers,
    pairs,
    request,
    texts,
    times,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.features.encoder import Encoder
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
    Transform,
)

# Formulas


def test_numeric_is_normalised_and_a_missing_value_is_filled_before() -> None:
    plain = Numeric(name="n", feature="user.x", mean=1.0, std=2.0, fill=7.0)
    assert request({"user.x": floats(2.0, None, -1.0)}, 3, plain) == f32(0.5, 3.0, -1.0)
    assert request({}, 2, plain) == f32(3.0, 3.0)
    logged = plain.model_copy(update={"log1p": True})
    assert request({"user.x": floats(3.0, None)}, 2, logged) == f32((np.log(4.0) - 1) / 2, (np.log(8.0) - 1) / 2)


def test_numeric_takes_integers_and_booleans_too_and_rounds_once() -> None:
    plain = Numeric(name="n", feature="user.x", mean=2.0**24, std=1.0)
    assert request({"user.x": numbers(2**24 + 1)}, 1, plain) == f32(1.0)
    assert request({"user.x": Column(np.array([True, False]))}, 2, Numeric(name="n", feature="user.x")) == f32(1, 0)


def test_a_wide_numeric_makes_as_many_columns_and_is_missing_as_a_whole() -> None:
    wide = Numeric(name="w", feature="user.v", width=2, std=2.0, fill=-2.0)
    columns = {"user.v": Column(np.array([[1, 2], [3, 4]], np.float32), valid=np.array([True, False]))}
    assert request(columns, 2, wide) == [[0.5, 1.0], [-1.0, -1.0]]
    one = Column(np.array([[4.0]], np.float32))
    assert request({"user.x": one}, 1, Numeric(name="n", feature="user.x")) == f32(4.0)


def test_a_numeric_that_changes_nothing_gives_every_bit_as_it_came() -> None:
    plain = Numeric(name="v", feature="user.v", width=2, fill=3.0)
    values = np.array([[1e-40, -0.0], [0.1, 3.4e38]], np.float32)
    assert np.array(request({"user.v": Column(values)}, 2, plain), np.float32).tobytes() == values.tobytes()
    half = Column(values, valid=np.array([False, True]))
    assert request({"user.v": half}, 2, plain) == [[3.0, 3.0], values[1].tolist()]
    with pytest.raises(InvalidArgument, match=r"user\.v: is not finite"):
        request({"user.v": Column(np.array([[np.inf, 0.0]], np.float32))}, 1, plain)


def test_columns_stand_in_the_order_of_the_transforms() -> None:
    transforms = (
        Numeric(name="a", feature="user.a"),
        Present(name="p", feature="user.p"),
        Numeric(name="b", feature="user.v", width=2, log1p=True),
        Numeric(name="c", feature="user.c"),
    )
    columns = {"user.a": floats(1), "user.v": Column(np.zeros((1, 2), np.float32)), "user.c": floats(3)}
    assert request(columns, 1, *transforms) == [[1.0, 0.0, 0.0, 0.0, 3.0]]


def test_present_tells_a_value_from_a_missing_one() -> None:
    present = Present(name="p", feature="user.x")
    assert request({"user.x": floats(0.0, None)}, 2, present) == f32(1, 0)
    assert request({"user.x": lists([[], None])}, 2, present) == f32(1, 0)
    assert request({"user.x": texts("")}, 1, present) == f32(1)
    assert request({}, 2, present) == f32(0, 0)


def test_a_category_is_its_position_in_the_vocabulary_plus_one() -> None:
    of_numbers = Category(name="c", feature="user.x", vocabulary="numbers")
    assert request({"user.x": numbers(8, 4, None, 5)}, 4, of_numbers, dtype="int64") == [[3], [0], [0], [1]]
    of_words = Category(name="c", feature="user.x", vocabulary="words")
    assert request({"user.x": texts("a", "?", None, "b")}, 4, of_words, dtype="int64") == [[2], [0], [0], [1]]
    assert request({}, 1, of_words, dtype="int64") == [[0]]


def test_a_bucket_holds_its_lower_boundary_and_not_its_upper_one() -> None:
    bucket = Bucket(name="b", feature="user.x", boundaries=(0.0, 1.5))
    values = floats(-0.5, 0.0, 1.0, 1.5, 9.0, None)
    assert request({"user.x": values}, 6, bucket, dtype="int64") == [[1], [2], [2], [3], [3], [0]]
    assert request({"user.x": numbers(-1, 0, 2)}, 3, bucket, dtype="int64") == [[1], [2], [3]]
    assert request({}, 1, bucket, dtype="int64") == [[0]]


def test_a_history_keeps_the_last_values_oldest_first_with_zeros_behind() -> None:
    history = History(name="h", feature="user.h", vocabulary="numbers", length=3)
    rows = [[5], [3, 5, 8, 7], [], None]
    expected = [[1, 0, 0], [1, 3, 0], [0, 0, 0], [0, 0, 0]]
    assert request({"user.h": lists(rows)}, 4, history, dtype="int64") == expected
    for row, codes in zip(rows, expected, strict=True):
        assert request({"user.h": lists([row])}, 1, history, dtype="int64") == [codes]
    fixed = Column(np.array([[3, 5, 8, 3]]))
    assert request({"user.h": fixed}, 1, history, dtype="int64") == [[1, 3, 2]]
    assert request({}, 1, history, dtype="int64") == [[0, 0, 0]]


def test_age_is_log1p_of_days_and_zero_for_the_future() -> None:
    age = Age(name="a", feature="user.t")
    day = 86_400
    values = numbers(int(AS_OF) - 3 * day, int(AS_OF), int(AS_OF) + day, None)
    assert request({"user.t": values}, 4, age) == f32(np.log(4.0), 0, 0, 0)
    assert request({}, 1, age) == f32(0)


def test_match_is_the_share_of_equal_values() -> None:
    match = Match(name="m", values="user.h", equals="item.x")
    columns = {"user.h": lists([[5, 3, 5, 9]]), "item.x": numbers(5, 9, 4, None)}
    assert pairs(columns, 4, match) == f32(0.5, 0.25, 0, 0)
    assert pairs({**columns, "user.h": lists([[]])}, 4, match) == f32(0, 0, 0, 0)
    assert pairs({**columns, "user.h": lists([None])}, 4, match) == f32(0, 0, 0, 0)
    assert pairs({"item.x": numbers(5)}, 1, match) == pairs({"user.h": lists([[5]])}, 1, match) == f32(0)
    assert pairs({"user.h": lists([[0]]), "item.x": numbers(None)}, 1, match) == f32(0)


def test_match_compares_texts_too() -> None:
    match = Match(name="m", values="user.h", equals="item.x")
    columns = {"user.h": lists([["a", "q", "", "a"]], object), "item.x": texts("a", "z", None, "")}
    assert pairs(columns, 4, match) == f32(0.5, 0, 0, 0.25)


def test_weighted_match_sums_the_weights_of_equal_values() -> None:
    match = Match(name="m", values="user.h", equals="item.x", weights="user.w")
    columns = {"user.h": lists([[5, 3, 5]]), "user.w": lists([[0.5, 2, 4]], np.float32), "item.x": numbers(5, 3, 1)}
    assert pairs(columns, 3, match) == f32(4.5, 2, 0)
    assert pairs({**columns, "user.w": lists([None], np.float32)}, 3, match) == f32(0, 0, 0)
    del columns["user.w"]
    assert pairs(columns, 3, match) == f32(0, 0, 0)


def test_a_row_without_weights_is_zero_beside_rows_that_have_them() -> None:
    match = Match(name="m", values="user.h", equals="item.x", weights="user.w")
    columns = {"user.h": lists([[5, 5], [5], None]), "item.x": numbers(5, 5, 5)}
    columns["user.w"] = lists([None, [2.0], [7.0, 7.0]], np.float32)
    assert pairs(columns, 3, match) == f32(0, 2, 0)


def test_gap_is_the_scaled_distance_and_fill_where_either_is_missing() -> None:
    gap = Gap(name="g", request="user.a", item="item.b", scale=2.0, fill=9.0)
    columns = {"user.a": floats(1.0), "item.b": numbers(4, -2, None)}
    assert pairs(columns, 3, gap) == f32(1.5, 1.5, 9)
    assert pairs({"user.a": floats(1.0)}, 2, gap) == pairs({"item.b": numbers(1, 2)}, 2, gap) == f32(9, 9)


def test_item_inputs_need_items_only() -> None:
    made = encoder("item", Category(name="c", feature="item.c", vocabulary="words"), dtype="int64")
    assert made.items({"item.c": texts("c", "a")}, 2)["x"].tolist() == [[3], [2]]
    assert made.items({}, 1)["x"].tolist() == [[0]]
    assert made.items({}, 0)["x"].shape == (0, 1)


def test_an_encoder_says_what_it_reads() -> None:
    match = Match(name="m", values="user.h", equals="item.x", weights="user.w")
    made = encoder("pair", match, Age(name="a", feature="item.t"))
    assert made.features("pair") == {"user.h", "item.x", "user.w", "item.t"}
    assert made.features("request") == made.features("item") == frozenset()


# Laws

MAYBE_TEXT = st.none() | st.sampled_from(["a", "b", "", "é", "zz"])
MAYBE_NUMBER = st.none() | st.integers(-3, 9)
MAYBE_FLOAT = st.none() | st.floats(0, 1e6, width=32)
MAYBE_TIME = st.none() | st.integers(0, 2_000_000)

FLOAT_TRANSFORMS: tuple[Transform, ...] = (
    Numeric(name="n", feature="user.f", mean=0.3, std=1.7, fill=0.1),
    Age(name="a", feature="user.t"),
    Numeric(name="l", feature="user.g", log1p=True, mean=0.1, std=3.0, fill=0.7),
    Present(name="p", feature="user.c"),
    Numeric(name="i", feature="user.i", std=3.0),
)
CODE_TRANSFORMS: tuple[Transform, ...] = (
    Category(name="c", feature="user.c", vocabulary="words"),
    History(name="h", feature="user.h", vocabulary="numbers", length=2),
    Bucket(name="b", feature="user.f", boundaries=(1.0, 10.0)),
    Category(name="i", feature="user.i", vocabulary="numbers"),
)
PAIR_TRANSFORMS: tuple[Transform, ...] = (
    *FLOAT_TRANSFORMS,
    Match(name="m", values="user.h", equals="item.i"),
    Match(name="mt", values="user.s", equals="item.c"),
    Match(name="mw", values="user.h", equals="item.i", weights="user.w"),
    Gap(name="g", request="user.f", item="item.f", scale=0.3, fill=0.2),
    Age(name="ia", feature="item.t"),
    Numeric(name="pf", feature="pair.f", log1p=True),
    Present(name="pc", feature="item.c"),
)
ENCODER = Encoder(
    [
        InputSpec(name="dense", scope="request", dtype="float32", features=FLOAT_TRANSFORMS),
        InputSpec(name="codes", scope="request", dtype="int64", features=CODE_TRANSFORMS),
        InputSpec(name="pair", scope="pair", dtype="float32", features=PAIR_TRANSFORMS),
        InputSpec(name="pair_codes", scope="pair", dtype="int64", features=CODE_TRANSFORMS),
    ],
    VOCABULARIES,
)


@st.composite
def users(draw: st.DrawFn, n: int) -> dict[str, Column]:
    def rows(values: st.SearchStrategy) -> list:
        return draw(st.lists(values, min_size=n, max_size=n))

    history = rows(st.none() | st.lists(st.integers(2, 9), max_size=5))
    weight = st.floats(-10, 10, width=32)
    weights = [None if row is None else [draw(weight) for _ in row] for row in history]
    columns = {
        "user.f": floats(*rows(MAYBE_FLOAT)),
        "user.g": floats(*rows(MAYBE_FLOAT)),
        "user.i": numbers(*rows(MAYBE_NUMBER)),
        "user.t": numbers(*rows(MAYBE_TIME)),
        "user.c": texts(*rows(MAYBE_TEXT)),
        "user.h": lists(history),
        "user.w": lists(weights, np.float32),
        "user.s": lists(rows(st.none() | st.lists(st.sampled_from(["a", "b", "", "q"]), max_size=5)), object),
    }
    absent = draw(st.sets(st.sampled_from(sorted(columns)), max_size=2))
    return {name: column for name, column in columns.items() if name not in absent}


@st.composite
def items(draw: st.DrawFn, n: int) -> dict[str, Column]:
    def rows(values: st.SearchStrategy) -> list:
        return draw(st.lists(values, min_size=n, max_size=n))

    columns = {
        "item.f": floats(*rows(MAYBE_FLOAT)),
        "item.i": numbers(*rows(MAYBE_NUMBER)),
        "item.t": numbers(*rows(MAYBE_TIME)),
        "item.c": texts(*rows(MAYBE_TEXT)),
        "pair.f": floats(*rows(MAYBE_FLOAT)),
    }
    absent = draw(st.sets(st.sampled_from(sorted(columns)), max_size=2))
    return {name: column for name, column in columns.items() if name not in absent}


def taken(columns: Mapping[str, Column], rows: list[int]) -> dict[str, Column]:
    return {name: column.take(np.array(rows, dtype=np.int64)) for name, column in columns.items()}


def assert_same_bits(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype
        assert one[name].shape == other[name].shape
        assert one[name].tobytes() == other[name].tobytes(), name


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_request_row_is_encoded_as_it_is_alone(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 5))
    columns = data.draw(users(n))
    as_of = AS_OF + np.arange(n) * 1e5
    together = ENCODER.request(columns, n, as_of)
    assert together["dense"].shape == (n, 5)
    for row in range(n):
        alone = ENCODER.request(taken(columns, [row]), 1, as_of[row : row + 1])
        assert_same_bits(alone, {name: values[row : row + 1] for name, values in together.items()})


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_user_features_given_once_count_as_given_for_every_candidate(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 6))
    user, item = data.draw(users(1)), data.draw(items(n))
    once = ENCODER.pairs({**user, **item}, n, np.array([AS_OF]))
    aligned = ENCODER.pairs({**taken(user, [0] * n), **item}, n, times(n))
    assert_same_bits(once, aligned)
    for row in range(n):
        alone = ENCODER.pairs({**user, **taken(item, [row])}, 1, np.array([AS_OF]))
        assert_same_bits(alone, {name: values[row : row + 1] for name, values in once.items()})


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_pair_row_is_encoded_as_it_is_alone(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    columns = {**data.draw(users(n)), **data.draw(items(n))}
    together = ENCODER.pairs(columns, n, times(n))
    for row in range(n):
        alone = ENCODER.pairs(taken(columns, [row]), 1, times(1))
        assert_same_bits(alone, {name: values[row : row + 1] for name, values in together.items()})


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_prepared_items_encode_as_their_columns_do(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    user, item = data.draw(users(1)), data.draw(items(n))
    resident = {name: column for name, column in item.items() if name.startswith("item.")}
    rows = data.draw(st.lists(st.integers(-1, n - 1), max_size=6))
    prepared = ENCODER.prepare_items(resident, n).take(np.array(rows, dtype=np.int64))
    made = ENCODER.pairs(user, len(rows), np.array([AS_OF]), prepared)
    for position, row in enumerate(rows):
        columns = {**user, **taken(resident, [row])} if row >= 0 else user
        alone = ENCODER.pairs(columns, 1, np.array([AS_OF]))
        assert_same_bits(alone, {name: values[position : position + 1] for name, values in made.items()})


def test_a_column_of_the_request_replaces_the_prepared_one() -> None:
    made = encoder("pair", Match(name="m", values="user.h", equals="item.c"), Numeric(name="n", feature="item.f"))
    prepared = made.prepare_items({"item.c": texts("a", "b"), "item.f": floats(1, 2)}, 2)
    user = {"user.h": lists([["b"]], object)}
    assert made.pairs(user, 2, times(1), prepared)["x"].tolist() == [[0, 1], [1, 2]]
    replaced = {**user, "item.c": texts("b", "a"), "item.f": floats(None, 5)}
    assert made.pairs(replaced, 2, times(1), prepared)["x"].tolist() == [[1, 0], [0, 5]]


def test_items_of_an_empty_table_are_unknown() -> None:
    made = encoder(
        "pair", Match(name="m", values="user.h", equals="item.c"), Numeric(name="n", feature="item.f", fill=3)
    )
    prepared = made.prepare_items({"item.c": texts(), "item.f": floats()}, 0).take(np.array([-1]))
    assert made.pairs({"user.h": lists([["b"]], object)}, 1, times(1), prepared)["x"].tolist() == [[0, 3]]


def test_log1p_of_a_value_does_not_depend_on_its_place_in_a_batch() -> None:
    values = np.random.default_rng(7).exponential(100, 1000).astype(np.float32)
    made = encoder("request", Numeric(name="n", feature="user.x", log1p=True, std=0.37))
    together = made.request({"user.x": Column(values)}, len(values), times(len(values)))["x"]
    alone = [made.request({"user.x": Column(values[i : i + 1])}, 1, times(1))["x"] for i in range(len(values))]
    assert together.tobytes() == np.concatenate(alone).tobytes()


def test_prepared_items_of_the_wrong_number_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="1 prepared items for 2 candidates"):
        ENCODER.pairs({}, 2, times(1), ENCODER.prepare_items({}, 1))


def test_resident_columns_are_checked_when_they_are_prepared() -> None:
    with pytest.raises(InvalidArgument, match=r"item.i: has 1 rows, where 2 are expected"):
        ENCODER.prepare_items({"item.i": numbers(1)}, 2)
