"""A plain model as those see it who send tensors: checked, and run with the rows of others where that is safe."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batcher import Batcher
from navi.batching.batcher_stats import BatcherStats
from navi.batching.observer import BatchObserver
from navi.batching.pending import Outputs
from navi.batching.score_call import ScoreCall
from navi.core.arrays import Array
from navi.core.deadline import Deadline
from navi.core.errors import BackendError, InvalidArgument
from navi.core.priority import Priority
from navi.models.backend import Signature, TensorSpec
from navi.models.plain import PlainModel

Ask: TypeAlias = Callable[[ScoreCall], Outputs]
"""One call's outputs, by the batcher."""


class PlainServable:
    """A `Servable`. Nothing is padded: calls share a run only where their rows have the same shapes.

    It owns the model from here on.
    """

    resident: frozenset[str] = frozenset()

    def __init__(self, model: PlainModel, policy: BatchPolicy, observer: BatchObserver | None = None) -> None:
        """Starts the batcher."""
        self.model = model
        self._specs = {spec.name: spec for spec in model.signature.inputs}
        self._ragged = [spec.name for spec in model.signature.inputs if None in spec.shape[1:]]
        self._shared = policy.shared and model.layout.calls == "shared"
        self._policy = replace(policy, shared=self._shared)
        run = _in_a_box(model.backend.run) if model.layout.calls == "whole" else model.backend.run
        self._batcher = Batcher(run, self._policy, name=model.name, observer=observer).start()

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def version(self) -> int:
        return self.model.version

    @property
    def platform(self) -> str:
        return self.model.platform

    @property
    def signature(self) -> Signature:
        return self.model.signature

    @property
    def max_rows(self) -> int:
        """1 where the model takes one row at a time: a call's rows are run one by one and joined."""
        if self.model.layout.calls == "rows":
            return 1
        return self._policy.max_rows if self._shared else 0

    @property
    def stats(self) -> BatcherStats:
        return self._batcher.stats

    def run(self, inputs: Mapping[str, Array], deadline: Deadline, priority: Priority) -> dict[str, Array]:
        """See `Servable.run`. InvalidArgument too where the model refuses a value, as an id out of its range.

        Text is given as `str`, or as UTF-8 `bytes`. Inputs without rows give outputs without rows, and the model is not
        asked.
        """
        given = self._checked(inputs)
        ask = partial(self._batcher.run, deadline=deadline, priority=priority)
        try:
            if self.model.layout.calls == "whole":
                return self._whole(given, ask)
            return self._by_rows(given, self._rows(given), ask)
        except BackendError as error:
            if error.by_values:
                raise InvalidArgument("inputs", f"the model refuses a value of theirs: {error}") from error
            raise

    def close(self) -> None:
        """Finish the calls that wait, and give the model back; later calls raise Unavailable."""
        self._batcher.close()
        self.model.backend.close()

    def _whole(self, given: Mapping[str, Array], ask: Ask) -> Outputs:
        boxed = {name: values[None] for name, values in given.items()}
        return _unboxed(ask(ScoreCall({}, boxed, 1)))

    def _by_rows(self, given: Mapping[str, Array], n: int, ask: Ask) -> Outputs:
        if not n:
            return {spec.name: _no_rows(spec) for spec in self.signature.outputs}
        if self.model.layout.calls == "shared":
            group = tuple(given[name].shape[1:] for name in self._ragged)
            return ask(ScoreCall({}, given, n, group))
        rows = [ask(ScoreCall({}, _row(given, row), 1)) for row in range(n)]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def _rows(self, given: Mapping[str, Array]) -> int:
        first, *others = given
        n = len(given[first])
        for name in others:
            if len(given[name]) != n:
                raise InvalidArgument(f"inputs.{name}", f"has {len(given[name])} rows, where inputs.{first} has {n}")
        return n

    def _checked(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        for name in inputs:
            if name not in self._specs:
                known = ", ".join(self._specs)
                raise InvalidArgument(f"inputs.{name}", f"model {self.name!r} has no such input; known: {known}")
        for name in self._specs:
            if name not in inputs:
                raise InvalidArgument(f"inputs.{name}", "is missing")
        return {name: _checked(spec, inputs[name]) for name, spec in self._specs.items()}


def _in_a_box(run: Callable[[Mapping[str, Array]], Mapping[str, Array]]) -> Callable[[Mapping[str, Array]], Outputs]:
    """Each call is one row of the batcher, whatever its shapes."""

    def boxed(inputs: Mapping[str, Array]) -> Outputs:
        outputs = run(_unboxed(inputs))
        return {name: values[None] for name, values in outputs.items()}

    return boxed


def _unboxed(boxed: Mapping[str, Array]) -> Outputs:
    # The dots keep what has no dimensions an array.
    return {name: values[0, ...] for name, values in boxed.items()}


def _row(inputs: Mapping[str, Array], row: int) -> dict[str, Array]:
    return {name: values[row : row + 1] for name, values in inputs.items()}


def _no_rows(spec: TensorSpec) -> Array:
    return np.empty((0, *(size or 0 for size in spec.shape[1:])), dtype=spec.dtype)


def _checked(spec: TensorSpec, values: Array) -> Array:
    fits = values.ndim == len(spec.shape) and all(
        size in (None, given) for size, given in zip(spec.shape, values.shape, strict=True)
    )
    if values.dtype != spec.dtype or not fits:
        wanted = f"{_kind(spec.dtype)} [{', '.join('any' if size is None else str(size) for size in spec.shape)}]"
        found = f"{_kind(values.dtype)} {list(values.shape)}"
        raise InvalidArgument(f"inputs.{spec.name}", f"is {found}, where {wanted} is expected")
    return _texts(spec.name, values) if values.dtype == object else values


def _kind(dtype: np.dtype) -> str:
    return "text" if dtype.kind == "O" else str(dtype)


def _texts(name: str, values: Array) -> Array:
    """All `str`: of anything else ONNX Runtime would take what Python prints for it."""
    texts = np.empty(values.size, dtype=object)
    try:
        texts[:] = [value.decode() if isinstance(value, bytes) else value for value in values.ravel()]
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"inputs.{name}", f"has a text that is not UTF-8: {error.reason}") from error
    if not all(isinstance(text, str) for text in texts):
        raise InvalidArgument(f"inputs.{name}", "has a value that is no text")
    return texts.reshape(values.shape)
