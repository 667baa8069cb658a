"""`golden.json`: inputs with the outputs that a version has to give for them, written by who made it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from navi.core.arrays import Array
from navi.core.errors import BackendError, ModelError
from navi.features.inputs import Strict
from navi.models.backend import Backend

GOLDEN_FILE = "golden.json"

_TOLERANCE = 1e-4


class _Golden(Strict):
    inputs: Mapping[str, list[Any]]
    outputs: Mapping[str, list[Any]] = Field(min_length=1)
    tolerance: float = Field(default=_TOLERANCE, ge=0, description="|difference| <= tolerance * max(1, |expected|)")


def write_golden(
    directory: Path, inputs: Mapping[str, Array], outputs: Mapping[str, Array], *, tolerance: float = _TOLERANCE
) -> None:
    """Write the file into a version's directory; the manifest comes after it.

    inputs, outputs: by name, as `Backend.run` takes and gives them; some of the outputs are enough.
    """
    golden = {"inputs": _lists(inputs), "outputs": _lists(outputs), "tolerance": tolerance}
    (directory / GOLDEN_FILE).write_text(json.dumps(golden), encoding="utf-8")


def check_golden(directory: Path, backend: Backend) -> None:
    """Nothing where a version has no such file, or gives what it says; otherwise ModelError with the difference."""
    path = directory / GOLDEN_FILE
    if not path.exists():
        return
    try:
        golden = _Golden.model_validate_json(path.read_bytes())
        dtypes = {spec.name: spec.dtype for spec in backend.signature.inputs}
        given = {name: np.array(values, dtype=dtypes.get(name)) for name, values in golden.inputs.items()}
        outputs = backend.run(given)
    except (OSError, ValidationError, ValueError, BackendError) as error:
        raise ModelError(f"{path}: the expected outputs cannot be compared: {error}") from error
    for name, values in golden.outputs.items():
        if name not in outputs:
            raise ModelError(f"{path}: the model has no output {name!r}")
        _compare(path, name, outputs[name], np.array(values), golden.tolerance)


def _lists(tensors: Mapping[str, Array]) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in tensors.items()}


def _compare(path: Path, name: str, found: Array, expected: Array, tolerance: float) -> None:
    if found.shape != expected.shape:
        raise ModelError(f"{path}: output {name!r} is {list(found.shape)}, where {list(expected.shape)} is expected")
    if found.dtype.kind not in "fiu":
        if (found != expected).any():
            raise ModelError(f"{path}: output {name!r} is not what is expected")
        return
    difference = np.abs(found.astype(np.float64) - expected) / np.maximum(1.0, np.abs(expected))
    if not (difference <= tolerance).all():  # so that NaN does not pass
        worst = float(difference.max())
        raise ModelError(f"{path}: output {name!r} differs from what is expected by {worst:.3g}, not {tolerance:.3g}")
