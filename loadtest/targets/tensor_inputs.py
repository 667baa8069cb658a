"""Inputs of a model under load: what they are, and random values for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from loadtest.counts import Counts
from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.wire.tensors import DATATYPES, NUMBERS, OPEN, TensorSpec, strings

BELOW = 100
"""Integers are drawn from 0 to 99 by default: a model may look them up in a small table."""


@dataclass(frozen=True, slots=True)
class TensorInputs:
    """Draws the inputs of a request. The first open dimension of each is the rows, `counts` of them. below: what
    integers, and strings of them, are drawn below."""

    specs: tuple[TensorSpec, ...]
    counts: Counts = field(default_factory=Counts)
    below: int = BELOW

    def __post_init__(self) -> None:
        if not self.specs:
            raise InvalidArgument("input", "is not given: the model needs one at least")
        if not 0 < self.below <= 128:
            raise InvalidArgument("integers_below", f"is {self.below}, not from 1 to 128, which every dtype holds")
        for spec in self.specs:
            if spec.datatype == "BF16" or spec.datatype not in DATATYPES:
                raise InvalidArgument(f"input {spec.name}", f"has the datatype {spec.datatype}, which is not drawn")
            if spec.dims.count(OPEN) > 1:
                raise InvalidArgument(
                    f"input {spec.name}",
                    f"has {spec.dims.count(OPEN)} open dimensions {list(spec.dims)}: give it whole",
                )

    def draw(self, count: int, generator: np.random.Generator) -> list[dict[str, Array]]:
        """The inputs of so many requests, by name."""
        return [
            {spec.name: _values(spec, rows, self.below, generator) for spec in self.specs}
            for rows in self.counts.draw(count, generator).tolist()
        ]


def inputs_of(words: Sequence[str]) -> tuple[TensorSpec, ...]:
    """From `NAME:DATATYPE:DIMS` each, such as `x:FP32:-1,64`; -1 is the rows."""
    return tuple(_spec(word) for word in words)


def _spec(word: str) -> TensorSpec:
    try:
        name, datatype, dims = word.rsplit(":", 2)
    except ValueError as error:
        raise InvalidArgument("input", f"{word!r} is not NAME:DATATYPE:DIMS, such as x:FP32:-1,64") from error
    try:
        sizes = tuple(int(size) for size in dims.split(",")) if dims else ()
    except ValueError as error:
        raise InvalidArgument("input", f"{word!r} has dimensions that are not numbers: {dims!r}") from error
    if not name:
        raise InvalidArgument("input", f"{word!r} has no name")
    if any(size < OPEN for size in sizes):
        raise InvalidArgument("input", f"{word!r} has a dimension below -1")
    if datatype not in DATATYPES:
        raise InvalidArgument("input", f"{word!r} has the datatype {datatype!r}, none of {', '.join(DATATYPES)}")
    return TensorSpec(name, datatype, sizes)


def _values(spec: TensorSpec, rows: int, below: int, generator: np.random.Generator) -> Array:
    """Floats from the normal distribution, integers from 0, bools, or strings of those integers."""
    shape = tuple(rows if size == OPEN else size for size in spec.dims)
    if spec.datatype == "BOOL":
        return generator.random(shape) < 0.5
    if spec.datatype.startswith("FP"):
        return generator.standard_normal(shape, dtype=np.float32).astype(NUMBERS[spec.datatype])
    numbers = generator.integers(0, below, size=shape)
    if spec.datatype == "BYTES":
        return strings([b"%d" % number for number in numbers.ravel().tolist()]).reshape(shape)
    return numbers.astype(NUMBERS[spec.datatype])
