"""Whether a model is what its `model.toml` says."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import ModelError
from navi.models.backend import Signature, TensorSpec
from navi.models.spec import ModelSpec, OutputSpec


def check_signature(spec: ModelSpec, signature: Signature) -> None:
    """ModelError naming every input and output whose name, dtype or shape differs, with both sides."""
    problems = [*_names("input", [each.name for each in spec.inputs], signature.inputs)]
    problems += _names("output", [each.name for each in spec.outputs], signature.outputs)
    inputs = {each.name: each for each in signature.inputs}
    for declared in spec.inputs:
        if declared.name in inputs:
            problems += _input(inputs[declared.name], declared.dtype, declared.width)
    outputs = {each.name: each for each in signature.outputs}
    for output in spec.outputs:
        if output.name in outputs:
            problems += _output(outputs[output.name], output)
    if problems:
        raise ModelError(f"model {spec.name!r}: {'; '.join(problems)}")


def check_outputs(spec: ModelSpec, outputs: Mapping[str, Array], rows: int) -> None:
    """ModelError unless what a batch of `rows` gave has the declared shapes and is finite."""
    for output in spec.outputs:
        values = outputs[output.name]
        if values.shape[:1] != (rows,) or not _fits(values.shape, output):
            raise ModelError(
                f"model {spec.name!r}: output {output.name!r} is {list(values.shape)} for {rows} rows, "
                f"where model.toml says {_expected(output)}"
            )
        if not np.isfinite(values).all():
            raise ModelError(
                f"model {spec.name!r}: output {output.name!r} is not finite for a batch of ordinary values"
            )


def _names(kind: str, declared: Sequence[str], found: Sequence[TensorSpec]) -> Iterable[str]:
    names = [each.name for each in found]
    yield from (f"{kind} {name!r} is in model.toml but not in the model" for name in declared if name not in names)
    yield from (f"{kind} {name!r} is in the model but not in model.toml" for name in names if name not in declared)


def _input(found: TensorSpec, dtype: str, width: int) -> Iterable[str]:
    if found.dtype != np.dtype(dtype):
        yield f"input {found.name!r} is {found.dtype} in the model, but {dtype} in model.toml"
    if len(found.shape) != 2 or found.shape[1] not in (None, width):
        yield f"input {found.name!r} is {_shown(found.shape)} in the model, but [rows, {width}] in model.toml"
    elif found.shape[0] is not None:
        yield f"input {found.name!r} has its batch dimension fixed at {found.shape[0]}; export it as a free one"


def _output(found: TensorSpec, output: OutputSpec) -> Iterable[str]:
    if found.dtype != np.float32:
        yield f"output {found.name!r} is {found.dtype} in the model, where float32 is needed"
    # Some exporters leave the shape out; what a run gives is checked in any case.
    if found.shape and not _fits(found.shape, output):
        yield f"output {found.name!r} is {_shown(found.shape)} in the model, but {_expected(output)} in model.toml"


def _fits(shape: Sequence[int | None], output: OutputSpec) -> bool:
    if output.kind == "vector":
        return len(shape) == 2
    if len(shape) == 1:
        return len(output.tasks) == 1
    return len(shape) == 2 and shape[1] in (None, len(output.tasks))


def _expected(output: OutputSpec) -> str:
    if output.kind == "vector":
        return "[rows, width]"
    return "[rows] or [rows, 1]" if len(output.tasks) == 1 else f"[rows, {len(output.tasks)}]"


def _shown(shape: Sequence[int | None]) -> str:
    sizes = ", ".join("*" if size is None else str(size) for size in shape)
    return f"[{sizes}]"
