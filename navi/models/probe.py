"""Whether a row's outputs depend on the rows beside it."""

from collections.abc import Mapping

import numpy as np

from navi.core.arrays import I64, Array
from navi.models.backend import Backend

TOLERANCE = 1e-5
"""Two outputs are the same where |a - b| <= TOLERANCE * max(1, |a|)."""


def row_difference(backend: Backend, inputs: Mapping[str, Array], random: np.random.Generator) -> float:
    """The largest |a - b| / max(1, |a|) between a row's outputs in a batch and alone, shuffled, padded or in company.

    inputs: a batch of valid rows. Infinite where outputs are not finite.
    """
    rows = len(next(iter(inputs.values())))
    together = backend.run(inputs)
    ways = [np.array([row]) for row in range(rows)]
    ways += [random.permutation(rows), np.arange(rows // 2), np.tile(np.arange(rows), 16)]
    found = [_difference(together, way, backend.run(_take(inputs, way))) for way in ways]
    padding = {name: np.zeros_like(values) for name, values in inputs.items()}
    padded = {name: np.concatenate([values, padding[name]]) for name, values in inputs.items()}
    return max(*found, _difference(together, np.arange(rows), backend.run(padded)))


def _take(inputs: Mapping[str, Array], way: I64) -> dict[str, Array]:
    return {name: values[way] for name, values in inputs.items()}


def _difference(together: Mapping[str, Array], way: I64, outputs: Mapping[str, Array]) -> float:
    """How far the first rows of `outputs` are from the rows `way` of `together`."""
    return max((_apart(values[way], outputs[name][: len(way)]) for name, values in together.items()), default=0.0)


def _apart(expected: Array, given: Array) -> float:
    if expected.shape != given.shape:
        return np.inf
    if expected.dtype == object:
        return np.inf if (expected != given).any() else 0.0
    wanted = expected.astype(np.float64)
    apart = np.abs(given - wanted) / np.maximum(1.0, np.abs(wanted))
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))
