"""Strategies that the codec tests share."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st

from navi.core.column import DTYPES, Column
from navi.core.deadline import Deadline
from navi.core.explanation import Explanation
from navi.core.ids import Ids
from navi.core.query import MAX_K, Predicate, Query, Supplied
from navi.core.ragged import offsets_of
from navi.core.ranking import Degradation, Ranking, Scores, StageReport

ALPHABET = "az09 \n\0é漢😀"  # one to four bytes; all of Unicode takes hypothesis a second to prepare
TEXT = st.text(ALPHABET, max_size=6)
NAMES = st.text(ALPHABET, min_size=1, max_size=4)
INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
ANY_FLOAT32 = st.floats(width=32)
VALUES = {"float32": FLOAT32, "int64": INT64, "bool": st.booleans(), "string": TEXT}
TIMES = st.floats(0, 4e9).map(lambda seconds: round(seconds, 3))


def arrays(dtype, values, count):
    def build(listed):
        array = np.empty(count, dtype=DTYPES[dtype])
        array[:] = listed
        return array

    return st.lists(values, min_size=count, max_size=count).map(build)


def masks(rows):
    return st.none() | arrays("bool", st.booleans(), rows) if rows else st.none()


@st.composite
def columns(draw, rows, dtypes=("float32", "int64", "bool", "string")):
    """A column with `rows` rows: one value a row, several, or rows of different lengths."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.sampled_from(["scalar", "fixed", "ragged"]))
    valid = draw(masks(rows))
    if shape == "ragged":
        lengths = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
        offsets = offsets_of(np.array(lengths, dtype=np.int64))
        return Column(draw(arrays(dtype, VALUES[dtype], int(offsets[-1]))), offsets, valid)
    width = 1 if shape == "scalar" else draw(st.integers(2, 4))
    values = draw(arrays(dtype, VALUES[dtype], rows * width))
    return Column(values if width == 1 else values.reshape(rows, width), valid=valid)


def named_columns(rows):
    return st.dictionaries(NAMES, columns(rows), max_size=3)


def ids(count=None):
    size = st.integers(0, 5) if count is None else st.just(count)
    return size.flatmap(
        lambda n: (
            st.lists(INT64, min_size=n, max_size=n).map(Ids.of)
            | st.lists(TEXT, min_size=n, max_size=n).map(Ids.of_text)
        )
    )


@st.composite
def supplied(draw, min_count=0):
    count = draw(st.integers(min_count, 4))
    return Supplied(ids=draw(ids(count)), columns=draw(named_columns(count)))


@st.composite
def predicates(draw):
    operator = draw(st.sampled_from(["in", "not_in", "at_least", "at_most"]))
    bound = operator in ("at_least", "at_most")
    dtype = draw(st.sampled_from(["float32", "int64"] if bound else list(VALUES)))
    count = 1 if bound else draw(st.integers(0, 4))
    return Predicate(column=draw(NAMES), operator=operator, values=Column(draw(arrays(dtype, VALUES[dtype], count))))


@st.composite
def queries(draw, *, score=False):
    """A query as it can travel; for `Score`, with candidates and without what only `Rank` has."""
    given = draw(supplied(1)) if score else draw(st.none() | supplied())
    rank_only = (
        {}
        if score
        else {
            "exclude": draw(ids()),
            "predicates": tuple(draw(st.lists(predicates(), max_size=2))),
            "explain": draw(st.booleans()),
        }
    )
    return Query(
        pipeline=draw(TEXT),
        user=draw(st.none() | INT64 | TEXT),
        k=len(given.ids) if score else draw(st.integers(1, MAX_K)),
        deadline=Deadline.never(),
        as_of=draw(TIMES),
        seed=0 if score else draw(st.integers(0, 2**64 - 1)),
        request_id=draw(TEXT),
        features=draw(named_columns(1)),
        supplied=given,
        **rank_only,
    )


COUNTS = st.integers(0, 2**32 - 1)
STAGES = st.builds(
    StageReport,
    name=TEXT,
    rows_in=COUNTS,
    rows_out=COUNTS,
    microseconds=st.integers(0, 2**63),
    offset=st.integers(0, 2**63),
    degraded=st.booleans(),
    dropped=st.dictionaries(TEXT, COUNTS, max_size=2),
)
DEGRADATIONS = st.builds(Degradation, stage=TEXT, reason=TEXT, detail=TEXT, rows=COUNTS)


@st.composite
def reports(draw, rows):
    """What both kinds of answer have, and their score columns."""
    return {
        "scores": draw(arrays("float32", ANY_FLOAT32, rows)),
        "tasks": draw(st.dictionaries(NAMES, arrays("float32", ANY_FLOAT32, rows), max_size=2)),
        "stages": tuple(draw(st.lists(STAGES, max_size=2))),
        "models": draw(st.dictionaries(TEXT, TEXT, max_size=2)),
        "degradations": tuple(draw(st.lists(DEGRADATIONS, max_size=2))),
        "as_of": draw(TIMES),
    }


@st.composite
def explanations(draw):
    listed = draw(ids())
    n, drops = len(listed), draw(st.lists(st.tuples(TEXT, TEXT), max_size=3))
    masks_ = draw(st.lists(COUNTS, min_size=n, max_size=n))
    drop = draw(st.lists(st.integers(-1, len(drops) - 1), min_size=n, max_size=n))
    return Explanation(
        ids=listed,
        sources=np.array(masks_, dtype=np.uint32),
        scores=draw(st.dictionaries(NAMES, arrays("float32", ANY_FLOAT32, n), max_size=2)),
        drop=np.array(drop, dtype=np.int32),
        drops=tuple(drops),
        candidates=draw(st.integers(n, 2**32 - 1)),
    )


@st.composite
def rankings(draw):
    found = draw(ids())
    return Ranking(
        ids=found,
        sources=np.array(draw(st.lists(COUNTS, min_size=len(found), max_size=len(found))), dtype=np.uint32),
        source_names=tuple(draw(st.lists(TEXT, max_size=3))),
        shortfall=draw(st.dictionaries(TEXT, COUNTS, max_size=2)),
        seed=draw(st.integers(0, 2**64 - 1)),
        **draw(reports(len(found))),
    )


@st.composite
def scores(draw):
    rows = draw(st.integers(0, 5))
    status = np.array(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)), dtype=np.uint8)
    return Scores(status=status, **draw(reports(rows)))


def same_column(one: Column, other: Column) -> bool:
    """Bitwise equal, shapes and dtypes included."""
    parts = ((one.values, other.values), (one.offsets, other.offsets), (one.valid, other.valid))
    return all(
        a is b or (a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b, **_nan(a)))
        for a, b in parts
    )


def same_columns(one, other) -> bool:
    return list(one) == list(other) and all(same_column(one[name], other[name]) for name in one)


def _nan(array):
    return {"equal_nan": True} if array.dtype.kind == "f" else {}


@pytest.fixture(scope="session")
def make():
    """The strategies, for tests that draw from them (`data.draw(make.columns(3))`)."""
    return SimpleNamespace(
        columns=columns,
        named_columns=named_columns,
        ids=ids,
        explanations=explanations,
        predicates=predicates,
        queries=queries,
        rankings=rankings,
        scores=scores,
    )


@pytest.fixture(scope="session")
def same():
    return SimpleNamespace(column=same_column, columns=same_columns)
