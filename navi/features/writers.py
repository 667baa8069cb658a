"""From the declared transforms of an input to the writers that carry them out."""

from collections.abc import Mapping

import numpy as np

from navi.core.arrays import I64
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
    transform_width,
)
from navi.features.pair_transforms import GapWriter, MatchWriter
from navi.features.transforms import (
    AgeWriter,
    BucketWriter,
    CategoryWriter,
    HistoryWriter,
    NumericPart,
    NumericWriter,
    PresentWriter,
    Writer,
)
from navi.features.vocabulary import Vocabulary


def make_writers(spec: InputSpec, vocabularies: Mapping[str, Vocabulary]) -> tuple[Writer, ...]:
    """One writer for all `numeric` transforms of the input and one for each other."""
    writers: list[Writer] = []
    numerics: list[tuple[int, Numeric]] = []
    at = 0
    for transform in spec.features:
        if isinstance(transform, Numeric):
            numerics.append((at, transform))
        else:
            writers.append(_number_writer(transform, at) or _code_writer(transform, at, vocabularies))
        at += transform_width(transform)
    return (_numeric(numerics), *writers) if numerics else tuple(writers)


def _number_writer(transform: Transform, at: int) -> Writer | None:
    match transform:
        case Present(feature=feature):
            return PresentWriter(feature, at)
        case Age(feature=feature):
            return AgeWriter(feature, at)
        case Match(values=values, equals=equals, weights=weights):
            return MatchWriter(values, equals, weights, at)
        case Gap(request=request, item=item, scale=scale, fill=fill):
            return GapWriter(request, item, scale, fill, at)
    return None


def _code_writer(transform: Transform, at: int, vocabularies: Mapping[str, Vocabulary]) -> Writer:
    match transform:
        case Category(feature=feature, vocabulary=name):
            return CategoryWriter(feature, vocabularies[name], at)
        case Bucket(feature=feature, boundaries=boundaries):
            return BucketWriter(feature, np.array(boundaries, dtype=np.float64), at)
        case History(feature=feature, vocabulary=name, length=length):
            return HistoryWriter(feature, vocabularies[name], length, at)
    raise AssertionError(transform)


def _numeric(placed: list[tuple[int, Numeric]]) -> NumericWriter:
    """placed: transforms, each with its first column of the input."""
    parts, at = [], 0
    for _, transform in placed:
        where = at if transform.width == 1 else slice(at, at + transform.width)
        parts.append(NumericPart(transform.feature, transform.width, transform.fill, where))
        at += transform.width
    widths = [transform.width for _, transform in placed]
    columns = np.concatenate([np.arange(start, start + transform.width) for start, transform in placed])
    logs = np.flatnonzero(np.repeat([transform.log1p for _, transform in placed], widths))
    mean = np.repeat([transform.mean for _, transform in placed], widths).astype(np.float64)
    std = np.repeat([transform.std for _, transform in placed], widths).astype(np.float64)
    return NumericWriter(
        tuple(parts),
        _as_slice(columns),
        width=at,
        mean=mean if mean.any() else None,
        std=std if (std != 1.0).any() else None,
        logs=_as_slice(logs) if len(logs) else None,
    )


def _as_slice(columns: I64) -> slice | I64:
    """The same columns as a slice, where they are neighbours: it is much faster for one row."""
    first, last = int(columns[0]), int(columns[-1])
    return slice(first, last + 1) if last - first + 1 == len(columns) else columns
