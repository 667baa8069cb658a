"""A scorer as those see it who send tensors instead of features: its model, through its batcher."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from navi.batching.batcher_stats import BatcherStats
from navi.batching.score_call import ScoreCall
from navi.batching.scorer import Scorer
from navi.core.arrays import I64, Array
from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument, NotFound
from navi.core.ids import Ids
from navi.core.priority import Priority
from navi.features.item_table import ItemTable
from navi.models.backend import Signature, TensorSpec
from navi.models.opening import PLATFORMS

ITEM_ID = "item_id"
"""The input that stands for all inputs of item scope, where the model has an item table."""

Scope: TypeAlias = Literal["request", "item", "pair"]


@dataclass(frozen=True, slots=True, eq=False)
class ScorerServable:
    """A `Servable`: its calls and those of pipelines share runs.

    Inputs are [rows, width]; those of request scope may also have one row for all. `item_id`, [rows] or [rows, 1],
    gives the ids of items whose inputs are resident.
    """

    scorer: Scorer
    _scopes: Mapping[str, Scope] = field(repr=False)
    _specs: Mapping[str, TensorSpec] = field(repr=False)
    resident: frozenset[str]
    item_id: TensorSpec | None

    @classmethod
    def of(cls, scorer: Scorer) -> "ScorerServable":
        scopes: dict[str, Scope] = {spec.name: spec.scope for spec in scorer.model.spec.inputs}
        specs = {spec.name: spec for spec in scorer.model.backend.signature.inputs}
        items = frozenset(name for name, scope in scopes.items() if scope == "item")
        item_id = _id_spec(scorer.table, specs) if items else None
        return cls(scorer, scopes, specs, items if item_id else frozenset(), item_id)

    @property
    def name(self) -> str:
        return self.scorer.name

    @property
    def version(self) -> int:
        return self.scorer.model.spec.version

    @property
    def platform(self) -> str:
        return PLATFORMS[self.scorer.model.format]

    @property
    def signature(self) -> Signature:
        return self.scorer.model.backend.signature

    @property
    def max_rows(self) -> int:
        return self.scorer.max_rows

    @property
    def stats(self) -> BatcherStats:
        return self.scorer.stats

    def run(self, inputs: Mapping[str, Array], deadline: Deadline, priority: Priority) -> dict[str, Array]:
        """See `Servable.run`. Inputs without rows give outputs without rows, and the model is not asked."""
        call = self._call(inputs)
        if not call.n:
            return {spec.name: _no_rows(spec) for spec in self.signature.outputs}
        return self.scorer.batcher.run(call, deadline, priority)

    def _call(self, inputs: Mapping[str, Array]) -> ScoreCall:
        self._check_names(inputs)
        given = {name: self._checked(name, values) for name, values in inputs.items() if name != ITEM_ID}
        rows = {name: values for name, values in given.items() if self._scopes[name] != "request"}
        if self.resident and ITEM_ID in inputs:
            rows |= self.scorer.items.at(self._rows_of(inputs[ITEM_ID]), {})
        n = _one_count(rows or given, apart=1 if not rows else None)
        request = {name: values for name, values in given.items() if name not in rows}
        single = {name: values for name, values in request.items() if len(values) == 1}
        for name in request.keys() - single.keys():
            if len(request[name]) != n:
                raise InvalidArgument(f"inputs[{name}]", f"has {len(request[name])} rows, where 1 or {n} are expected")
        spread = {name: request[name] for name in request if name not in single}
        return ScoreCall(single, spread | rows, n)

    def _check_names(self, inputs: Mapping[str, Array]) -> None:
        by_id = bool(self.resident) and ITEM_ID in inputs
        wanted = (self._specs.keys() - self.resident) | {ITEM_ID} if by_id else self._specs.keys()
        if inputs.keys() == wanted:
            return
        for name in sorted(inputs.keys() - wanted):
            if by_id and name in self.resident:
                raise InvalidArgument(f"inputs[{name}]", f"is given, where {ITEM_ID} stands for it")
            raise InvalidArgument(f"inputs[{name}]", f"is not known; known: {_listed(self._known())}")
        for name in sorted(wanted - inputs.keys()):
            instead = f", and so is {ITEM_ID}" if name in self.resident else ""
            raise InvalidArgument(f"inputs[{name}]", f"is missing{instead}")

    def _known(self) -> list[str]:
        return [*sorted(self._specs), *([ITEM_ID] if self.resident else [])]

    def _checked(self, name: str, values: Array) -> Array:
        spec = self._specs[name]
        fits = values.ndim == len(spec.shape) and all(
            size in (None, given) for size, given in zip(spec.shape[1:], values.shape[1:], strict=True)
        )
        if values.dtype == spec.dtype and fits:
            return values
        wanted = f"{spec.dtype} [{', '.join(['rows', *(str(size or 'any') for size in spec.shape[1:])])}]"
        raise InvalidArgument(f"inputs[{name}]", f"is {values.dtype} {list(values.shape)}, where {wanted} is expected")

    def _rows_of(self, ids: Array) -> I64:
        """Rows int64 [n] of the table."""
        field_name, table = f"inputs[{ITEM_ID}]", self.scorer.table
        assert table is not None
        if ids.ndim not in (1, 2) or (ids.ndim == 2 and ids.shape[1] != 1):
            raise InvalidArgument(field_name, f"is {list(ids.shape)}, where [rows] or [rows, 1] is expected")
        keys = _ids_of(ids.reshape(-1), field_name)
        if keys.is_text != table.ids.is_text:
            kind, wanted = ("text", "integers") if keys.is_text else ("integers", "text")
            raise InvalidArgument(field_name, f"has {kind}, where the table's ids are {wanted}")
        rows = table.lookup(keys)
        unknown = np.flatnonzero(rows < 0)
        if len(unknown):
            raise NotFound("item", keys.key(int(unknown[0])))
        return rows


def _ids_of(ids: Array, field_name: str) -> Ids:
    if ids.dtype == object:
        return Ids.of_text(ids.tolist())
    if not (ids.dtype.kind in "iu" and np.can_cast(ids.dtype, np.int64)):
        raise InvalidArgument(field_name, f"is {ids.dtype}, where int64 or text is expected")
    return Ids(ids.astype(np.int64, copy=False))


def _id_spec(table: ItemTable | None, specs: Collection[str]) -> TensorSpec | None:
    """None without a table, and where a model has an input of this name itself."""
    if table is None or ITEM_ID in specs:
        return None
    return TensorSpec(ITEM_ID, np.dtype(object) if table.ids.is_text else np.dtype(np.int64), (None,))


def _one_count(inputs: Mapping[str, Array], *, apart: int | None) -> int:
    """The number of rows of all inputs but those that have `apart` rows."""
    counts = {len(values) for values in inputs.values()}
    if len(counts) > 1:
        counts.discard(apart or -1)
    if len(counts) > 1:
        told = ", ".join(f"{name} {len(values)}" for name, values in sorted(inputs.items()))
        raise InvalidArgument("inputs", f"have different numbers of rows: {told}")
    return counts.pop()


def _no_rows(spec: TensorSpec) -> Array:
    return np.empty((0, *(size or 0 for size in spec.shape[1:])), dtype=spec.dtype)


def _listed(names: Collection[str]) -> str:
    return ", ".join(list(names)[:10])
