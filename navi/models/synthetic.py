"""Made-up inputs that a model must be able to take."""

from collections.abc import Mapping, Sequence

import numpy as np

from navi.core.arrays import Array
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


def synthetic_inputs(
    inputs: Sequence[InputSpec], sizes: Mapping[str, int], rows: int, random: np.random.Generator
) -> dict[str, Array]:
    """A batch of plausible values: codes in range, normalised numbers.

    sizes: codes of each vocabulary, 0 (unknown) among them. Result: by input, [rows, width] of its dtype.
    """
    return {
        spec.name: np.concatenate([_values(each, sizes, rows, random) for each in spec.features], axis=1).astype(
            spec.dtype
        )
        for spec in inputs
    }


def _values(transform: Transform, sizes: Mapping[str, int], rows: int, random: np.random.Generator) -> Array:
    shape = (rows, transform_width(transform))
    match transform:
        case Category() | History():
            return random.integers(0, sizes[transform.vocabulary], shape)
        case Bucket():
            return random.integers(0, len(transform.boundaries) + 2, shape)
        case Present():
            return random.integers(0, 2, shape)
        case Numeric():
            return random.standard_normal(shape)
        case Age():
            return np.log1p(random.uniform(0, 365, shape))
        case Match() | Gap():
            return random.random(shape)
