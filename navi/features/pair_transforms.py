"""What the transforms of `inputs.py` that compare request and candidate do."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from navi.core.arrays import F64, I64, Array, Mask
from navi.core.column import DTYPES
from navi.core.errors import InvalidArgument
from navi.core.ragged import offsets_of
from navi.features.coded_text import CodedText
from navi.features.frame import Frame, Lists, check_finite

_Compared: TypeAlias = tuple[Lists, I64, Mask | None]
"""Lists of integers, the candidates' integers [n], equal where the features are, and which rows count."""


@dataclass(frozen=True, slots=True)
class GapWriter:
    request: str
    item: str
    scale: float
    fill: float
    at: int

    def write(self, out: Array, frame: Frame) -> None:
        request, item = frame.numbers(self.request, 1), frame.numbers(self.item, 1)
        if request is None or item is None:
            out[:, self.at] = self.fill
            return
        gap = np.abs(np.subtract(request.values, item.values, dtype=np.float64)) / self.scale
        valid = _both(request.valid, item.valid)
        out[:, self.at] = gap if valid is None else np.where(valid, gap, self.fill)


@dataclass(frozen=True, slots=True)
class MatchWriter:
    values: str
    equals: str
    weights: str | None
    at: int

    def write(self, out: Array, frame: Frame) -> None:
        compared = self._compared(frame)
        if compared is None:
            return
        lists, wanted, valid = compared
        weights = None
        if self.weights is not None:
            weights = frame.lists(self.weights, "float32")
            if weights is None:
                return
            check_finite(self.weights, frame.columns[self.weights])
            valid = _both(valid, weights.valid)
            lists, weights = self._aligned(lists, weights)
        matched = _matched(lists, wanted, None if weights is None else weights.values)
        if weights is None:
            matched /= np.maximum(lists.offsets[1:] - lists.offsets[:-1], 1)
        out[:, self.at] = matched if valid is None else np.where(valid, matched, 0.0)

    def _compared(self, frame: Frame) -> _Compared | None:
        coded, item = frame.coded.get(self.equals), frame.columns.get(self.equals)
        if coded is None and item is not None and item.values.dtype == DTYPES["string"]:
            column = frame.scalar(self.equals, "string")
            coded = None if column is None else CodedText.of(column)
        return self._numbers(frame) if coded is None else self._texts(frame, coded)

    def _numbers(self, frame: Frame) -> _Compared | None:
        column = frame.scalar(self.equals, "int64")
        lists = None if column is None else frame.lists(self.values, "int64")
        if column is None or lists is None:
            return None
        return lists, column.values, _both(lists.valid, column.valid)

    def _texts(self, frame: Frame, coded: CodedText) -> _Compared | None:
        lists = frame.lists(self.values, "string")
        if lists is None:
            return None
        codes = coded.vocabulary.encode(lists.values)
        codes[codes == 0] = -1  # a text that no candidate has is not a candidate's missing text
        return Lists(codes, lists.offsets, lists.valid), coded.codes, lists.valid

    def _aligned(self, lists: Lists, weights: Lists) -> tuple[Lists, Lists]:
        """Both without the rows where either is missing; InvalidArgument where lengths differ."""
        assert self.weights is not None
        if len(lists.offsets) == len(weights.offsets):
            valid = _both(lists.valid, weights.valid)
            lists, weights = _emptied(lists, valid), _emptied(weights, valid)
            if np.array_equal(lists.offsets, weights.offsets):
                return lists, weights
        raise InvalidArgument(self.weights, f"must have one weight for each value of {self.values}")


def _matched(lists: Lists, wanted: I64, weights: Array | None) -> F64:
    """For each of n rows, the sum of the weights (ones, where None) of its list's values that equal `wanted` [n].

    One list may stand for all rows. Either way equal values are added in the list's order, in float64, so that both
    give the same bits.
    """
    if len(lists.offsets) == 2:
        values = lists.values[lists.offsets[0] : lists.offsets[1]]
        weights = None if weights is None else weights[lists.offsets[0] : lists.offsets[1]]
        return _matched_by_one(values, wanted, weights)
    lengths = lists.offsets[1:] - lists.offsets[:-1]
    flat = slice(lists.offsets[0], lists.offsets[-1])
    hits = np.flatnonzero(lists.values[flat] == np.repeat(wanted, lengths))
    rows = np.repeat(np.arange(len(wanted)), lengths)[hits]
    return np.bincount(rows, None if weights is None else weights[flat][hits], len(wanted)).astype(np.float64)


def _matched_by_one(values: I64, wanted: I64, weights: Array | None) -> F64:
    if not len(values):
        return np.zeros(len(wanted))
    order = values.argsort(kind="stable")
    ascending = values[order]
    first = np.empty(len(values), dtype=np.bool_)
    first[0] = True
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    sums = np.bincount(first.cumsum() - 1, None if weights is None else weights[order])
    distinct = ascending[first]
    at = distinct.searchsorted(wanted)
    at[at == len(distinct)] = 0
    return np.where(distinct[at] == wanted, sums[at], 0.0)


def _emptied(lists: Lists, valid: Mask | None) -> Lists:
    """The same lists, without values where not valid."""
    values, lengths = lists.values[lists.offsets[0] : lists.offsets[-1]], np.diff(lists.offsets)
    if valid is None or valid.all():
        return Lists(values, offsets_of(lengths), valid)
    return Lists(values[np.repeat(valid, lengths)], offsets_of(np.where(valid, lengths, 0)), valid)


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
