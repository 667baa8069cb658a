"""From raw features to a model's inputs: the one implementation, which training and serving both call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from navi.core.arrays import F64, I64, Array, Mask
from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.features.coded_text import CodedText
from navi.features.frame import Frame, all_finite, check_finite
from navi.features.inputs import InputSpec, Match, Scope, Transform, transform_features, transform_width
from navi.features.transforms import Writer
from navi.features.vocabulary import Vocabulary
from navi.features.writers import make_writers

_NO_TIME = np.zeros(1)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedItems:
    """The item's side of pair features, kept ready for every item of a table; made by `Encoder.prepare_items`."""

    n: int
    columns: Mapping[str, Column]
    coded: Mapping[str, CodedText]

    def take(self, rows: I64) -> "PreparedItems":
        """Those of `rows` int64 [m], in that order; -1 is an item of which nothing is known."""
        known = rows >= 0
        if known.all():
            columns = {name: column.take(rows) for name, column in self.columns.items()}
            return PreparedItems(len(rows), columns, {name: text.take(rows, None) for name, text in self.coded.items()})
        if not known.any():
            return PreparedItems(len(rows), {}, {})
        some = np.where(known, rows, rows[known][0])
        columns = {name: _masked(column.take(some), known) for name, column in self.columns.items()}
        return PreparedItems(len(rows), columns, {name: text.take(some, known) for name, text in self.coded.items()})


@dataclass(frozen=True, slots=True)
class _InputPlan:
    spec: InputSpec
    dtype: np.dtype
    width: int
    writers: tuple[Writer, ...]

    def encode(self, frame: Frame) -> Array:
        out = np.zeros((frame.n, self.width), dtype=self.dtype)
        for writer in self.writers:
            writer.write(out, frame)
        if self.dtype.kind == "f" and not all_finite(out):
            _refuse(self.spec, out, frame)
        return out


class Encoder:
    """Runs the transforms that `inputs` declare. Has no state: safe to use from many threads.

    Arithmetic is in float64, rounded to float32 once at the end; a row's result does not depend on other rows, nor on
    whether the features of the user and the request were given once or row by row (bitwise, on one machine).

    A feature that is not in `columns` is missing in every row; columns that no transform reads are ignored.
    Every method raises InvalidArgument, naming the feature (`user.age`), for another dtype, width or number of rows
    than its transform takes, for a value that is NaN or infinite and not marked missing, and for a result that float32
    cannot hold (log1p of -1 or less among them).
    """

    __slots__ = ("_features", "_matched", "_plans", "_unmatched")

    def __init__(self, inputs: Sequence[InputSpec], vocabularies: Mapping[str, Vocabulary]) -> None:
        """KeyError where a vocabulary that an input names is not given."""
        self._plans: dict[Scope, tuple[_InputPlan, ...]] = {"request": (), "item": (), "pair": ()}
        self._features: dict[Scope, frozenset[str]] = {}
        for scope in self._plans:
            chosen = [spec for spec in inputs if spec.scope == scope]
            self._plans[scope] = tuple(
                _InputPlan(spec, np.dtype(spec.dtype), spec.width, make_writers(spec, vocabularies)) for spec in chosen
            )
            read = [transform_features(transform) for spec in chosen for transform in spec.features]
            self._features[scope] = frozenset(name for names in read for name in names)
        pairs = [transform for spec in inputs if spec.scope == "pair" for transform in spec.features]
        self._matched = frozenset(transform.equals for transform in pairs if isinstance(transform, Match))
        self._unmatched = frozenset(
            name for transform in pairs if not isinstance(transform, Match) for name in transform_features(transform)
        )

    def features(self, scope: Scope) -> frozenset[str]:
        """Names of the raw features that inputs of this scope read."""
        return self._features[scope]

    def request(self, columns: Mapping[str, Column], n: int, as_of: F64) -> dict[str, Array]:
        """Inputs of request scope, name -> [n, width]. columns: `user.*`, `request.*`, n rows. as_of: float64 [n]."""
        return self._encode("request", Frame(columns, n, as_of))

    def items(self, columns: Mapping[str, Column], n: int) -> dict[str, Array]:
        """Inputs of item scope, name -> [n, width]. columns: `item.*` with n rows."""
        return self._encode("item", Frame(columns, n, _NO_TIME))

    def prepare_items(self, columns: Mapping[str, Column], n: int) -> PreparedItems:
        """What `pairs` needs of n items, made once: text that `match` reads is numbered. columns: `item.*`, n rows."""
        frame = Frame(columns, n, _NO_TIME)
        read = {name: column for name in self._features["pair"] if (column := _item(frame, name)) is not None}
        coded = {
            name: CodedText.of(column)
            for name in self._matched & read.keys()
            if (column := read[name]).dtype == "string" and frame.scalar(name, "string") is not None
        }
        kept = {name: column for name, column in read.items() if name not in coded or name in self._unmatched}
        return PreparedItems(n, kept, coded)

    def pairs(
        self, columns: Mapping[str, Column], n: int, as_of: F64, items: PreparedItems | None = None
    ) -> dict[str, Array]:
        """Inputs of pair scope for n candidates, name -> [n, width].

        columns: `user.*` and `request.*` with n rows or one for all, `item.*` and `pair.*` with n.
        as_of: float64 [n] or [1]. items: n prepared items, for the `item.*` features that are not in `columns`.
        """
        if items is None:
            return self._encode("pair", Frame(columns, n, as_of, broadcast=True))
        if items.n != n:
            raise ValueError(f"{items.n} prepared items for {n} candidates")
        coded = {name: text for name, text in items.coded.items() if name not in columns}
        return self._encode("pair", Frame({**items.columns, **columns}, n, as_of, broadcast=True, coded=coded))

    def _encode(self, scope: Scope, frame: Frame) -> dict[str, Array]:
        if frame.as_of.shape not in ((frame.n,), (1,)):
            raise ValueError(f"as_of has shape {frame.as_of.shape} for {frame.n} rows")
        with np.errstate(all="ignore"):  # what overflows is found in the result
            return {plan.spec.name: plan.encode(frame) for plan in self._plans[scope]}


def _item(frame: Frame, name: str) -> Column | None:
    return frame.any(name) if name.startswith("item.") else None


def _masked(column: Column, known: Mask) -> Column:
    valid = known if column.valid is None else column.valid & known
    return Column(column.values, column.offsets, valid)


def _refuse(spec: InputSpec, out: Array, frame: Frame) -> NoReturn:
    """InvalidArgument for the first column of `out` that is not finite, naming the feature that is to blame."""
    transform = _maker(spec, int((~np.isfinite(out).all(axis=0)).argmax()))
    names = transform_features(transform)
    for name in names:
        if name in frame.columns:
            check_finite(name, frame.columns[name])
    if not np.isfinite(frame.as_of).all():
        raise InvalidArgument("as_of", "is not finite")
    raise InvalidArgument(names[0], f"{transform.transform} {transform.name!r} of it has no finite float32 value")


def _maker(spec: InputSpec, column: int) -> Transform:
    """The transform that makes this column of the input."""
    ends = np.cumsum([transform_width(transform) for transform in spec.features])
    return spec.features[int(ends.searchsorted(column, side="right"))]
