"""Where a model keeps its rows, found out by running it: what an exporter wrote of its shapes may be wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import BackendError, ModelError
from navi.models.backend import Backend, Signature, TensorSpec
from navi.models.plain_inputs import Draw, draws, repeated
from navi.models.probe import TOLERANCE, row_difference

_ROWS = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """How calls are run, and why so.

    shared: dimension 0 of every input and output is the row, and rows of several calls may share a run. rows: the model
    takes one row at a time; a call's rows are run one by one and joined. whole: each call is one run, as it came.
    """

    calls: Literal["shared", "rows", "whole"]
    reason: str


@dataclass(frozen=True, slots=True)
class Tried:
    """layout, and the signature as callers see it: free where runs gave other sizes than the file says."""

    layout: Layout
    signature: Signature


@dataclass(frozen=True, slots=True)
class _Run:
    draw: Draw
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]


def try_out(backend: Backend, max_rows: int) -> Tried:
    """Run a model on made-up inputs, and up to `max_rows` rows where calls may share runs.

    A model that takes no made-up inputs is `whole`. ModelError where floats in [0, 1) give outputs that are not finite.
    """
    random = np.random.default_rng(0)
    signature = backend.signature
    runs, failure = _runs(backend, random)
    if not runs:
        return _untried(signature, failure)
    _check_finite(signature, runs[0])
    problem = _no_rows(signature.inputs)
    if problem:
        if all(spec.shape[:1] == (1,) for spec in signature.inputs) and _lengths(runs[0]) == {1}:
            return _seen(signature, runs[0], Layout("rows", "the batch is fixed at 1: rows are run one by one"))
        return _seen(signature, runs[0], Layout("whole", problem))
    telling = next((run for run in runs if _lengths(run) == {_ROWS} and _rows_differ(run)), None)
    if telling is None:
        return _seen(signature, runs[0], Layout("whole", _untold(runs)))
    problem = _dependence(backend, telling, max_rows, random)
    return _seen(signature, telling, Layout("whole", problem) if problem else Layout("shared", "rows share runs"))


def _runs(backend: Backend, random: np.random.Generator) -> tuple[list[_Run], str]:
    """Those draws that the model takes, up to the first whose rows can be told apart; and the last failure."""
    runs, failure = [], "it has no inputs"
    for draw in draws(backend.signature.inputs):
        inputs = draw.inputs(backend.signature.inputs, _ROWS, random)
        try:
            runs.append(_Run(draw, inputs, backend.run(inputs)))
        except BackendError as error:
            failure = str(error)
        else:
            if _rows_differ(runs[-1]):
                break
    return runs, failure


def _untried(signature: Signature, failure: str) -> Tried:
    every = (*signature.inputs, *signature.outputs)
    if all(spec.shape[:1] == (1,) for spec in every):
        reason = "the batch is fixed at 1: rows are run one by one"
        return Tried(Layout("rows", reason), _free_rows(signature))
    return Tried(Layout("whole", f"it fails on made-up inputs, so its rows were not compared: {failure}"), signature)


def _check_finite(signature: Signature, run: _Run) -> None:
    if not run.draw.small or not any(spec.dtype.kind == "f" for spec in signature.inputs):
        return
    for name, values in run.outputs.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ModelError(f"output {name!r} is not finite for a batch of numbers from 0 to 1")


def _no_rows(inputs: Sequence[TensorSpec]) -> str:
    """Why dimension 0 cannot be the row, if so."""
    for spec in inputs:
        if not spec.shape:
            return f"input {spec.name!r} has no dimensions"
        if spec.shape[0] is not None:
            return f"dimension 0 of input {spec.name!r} is fixed at {spec.shape[0]}, and so no batch"
    return ""


def _lengths(run: _Run) -> set[int]:
    """Sizes of dimension 0 of the outputs; 0 for one that has no dimensions."""
    return {len(values) if values.ndim else 0 for values in run.outputs.values()}


def _rows_differ(run: _Run) -> bool:
    """Whether a row could be taken for another: then nothing can be said of what rows depend on."""
    if any(values.dtype.kind == "f" and not np.isfinite(values).all() for values in run.outputs.values()):
        return False
    return any(values.ndim and bool((values != values[:1]).any()) for values in run.outputs.values())


def _untold(runs: Sequence[_Run]) -> str:
    for name, values in runs[0].outputs.items():
        if not values.ndim or len(values) != _ROWS:
            return f"output {name!r} is {list(values.shape)} for {_ROWS} rows: it has not one for each"
    return "made-up rows cannot be told apart by its outputs, so nothing says that they do not depend on each other"


def _dependence(backend: Backend, run: _Run, max_rows: int, random: np.random.Generator) -> str:
    """What rows of several calls would do to each other, or nothing."""
    inputs = backend.signature.inputs
    if len({spec.leading for spec in inputs}) > 1 or not inputs[0].leading:
        for spec in inputs if len(inputs) > 1 else ():
            if _takes_unequal(backend, run.inputs, spec.name):
                return f"input {spec.name!r} may have another number of rows than the others: it is no batch"
    try:
        difference = row_difference(backend, run.inputs, random)
        backend.run(repeated(run.inputs, max_rows))
    except BackendError as error:
        return f"it fails for other numbers of rows: {error}"
    return f"rows depend on each other (by {difference:.1g})" if difference > TOLERANCE else ""


def _takes_unequal(backend: Backend, inputs: Mapping[str, Array], name: str) -> bool:
    # 3 and 2 rows: no broadcast makes them one.
    try:
        backend.run({each: values[: 3 if each == name else 2] for each, values in inputs.items()})
    except BackendError:
        return False
    return True


def _seen(signature: Signature, run: _Run, layout: Layout) -> Tried:
    outputs = tuple(_corrected(spec, run.outputs[spec.name].shape) for spec in signature.outputs)
    seen = Signature(signature.inputs, outputs)
    return Tried(layout, seen if layout.calls == "whole" else _free_rows(seen))


def _corrected(spec: TensorSpec, shape: tuple[int, ...]) -> TensorSpec:
    if len(shape) != len(spec.shape):
        return replace(spec, shape=(None,) * len(shape))
    sizes = zip(spec.shape, shape, strict=True)
    return replace(spec, shape=tuple(said if said == seen else None for said, seen in sizes))


def _free_rows(signature: Signature) -> Signature:
    free = [
        tuple(replace(spec, shape=(None, *spec.shape[1:])) for spec in specs)
        for specs in (signature.inputs, signature.outputs)
    ]
    return Signature(free[0], free[1])
