"""The simplest batch that a model takes."""

from collections.abc import Sequence

import numpy as np

from navi.core.arrays import Array
from navi.models.backend import TensorSpec


def zeros(inputs: Sequence[TensorSpec], rows: int) -> dict[str, Array]:
    """A batch of zeros (for codes: `unknown`); free dimensions but the first are 1."""
    return {spec.name: np.zeros((rows, *(size or 1 for size in spec.shape[1:])), dtype=spec.dtype) for spec in inputs}
