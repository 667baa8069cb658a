"""What the model protocols have in common between reading a request's tensors and writing a reply's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from navi.batching.servable import ModelDirectory, Servable
from navi.core.arrays import Array
from navi.core.deadline import Deadline
from navi.core.errors import BackendError, InvalidArgument
from navi.core.priority import Priority
from navi.models.backend import TensorSpec
from navi.server.call import Call
from navi.wire.buffers import shown
from navi.wire.tensors import OPEN, as_texts, datatype_of
from navi.wire.tensors import TensorSpec as WireSpec

UNKNOWN = "unknown"
"""Label of calls for a model that is not there: metrics are labelled by names of models only."""

MAX_EMPTY = 1 << 16
"""Largest dimension of a tensor without values: nothing in the message stands behind it."""

_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which version of which model a request is for; neither version nor label: the one that serves."""

    name: str
    version: int | None = None
    label: str | None = None

    @classmethod
    def of(cls, name: str, version: str) -> "Wanted":
        """version: a number, a label, or empty."""
        if version.isascii() and version.isdecimal() and len(version) <= _MAX_DIGITS:
            return cls(name, int(version))
        return cls(name, label=version or None)


def found(directory: ModelDirectory, wanted: Wanted, call: Call) -> Servable:
    """The model version, after which metrics and logs know the call by the model's name.

    InvalidArgument where the name is empty, and what `ModelDirectory.find` raises.
    """
    call.pipeline = UNKNOWN
    if not wanted.name:
        raise InvalidArgument("model_name", "is empty")
    servable = directory.find(wanted.name, version=wanted.version, label=wanted.label, key=call.request_id)
    call.pipeline = servable.name
    return servable


def usable(inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Decoded inputs as servables take them: strings as text.

    InvalidArgument naming the input that is no text, or that claims a size without having values.
    """
    return {name: _usable(name, values) for name, values in inputs.items()}


def run(servable: Servable, inputs: Mapping[str, Array], deadline: Deadline, priority: Priority) -> dict[str, Array]:
    """All outputs; nothing is run past the deadline.

    InvalidArgument also for values that the model cannot take, such as an id out of its range.
    """
    deadline.check("the model was asked")
    try:
        return servable.run(inputs, deadline, priority)
    except BackendError as error:
        if error.by_values:
            raise InvalidArgument("inputs", str(error)) from error
        raise


def chosen_outputs(servable: Servable, names: Iterable[str], path: str) -> tuple[str, ...]:
    """The outputs of a reply: those that were asked for, in that order, or all of them."""
    known = {spec.name for spec in servable.signature.outputs}
    asked = tuple(dict.fromkeys(names))
    for name in asked:
        if name not in known:
            raise InvalidArgument(f"{path}[{shown(name)}]", f"is no output; known: {', '.join(sorted(known))}")
    return asked or tuple(spec.name for spec in servable.signature.outputs)


def wire_spec(spec: TensorSpec) -> WireSpec:
    """A tensor of a model as the protocols tell it."""
    dims = tuple(OPEN if size is None else size for size in spec.shape)
    return WireSpec(spec.name, datatype_of(np.empty(0, dtype=spec.dtype)), dims)


def _usable(name: str, values: Array) -> Array:
    path = f"inputs[{shown(name)}]"
    if not values.size and max(values.shape) > MAX_EMPTY:
        raise InvalidArgument(path, f"has no values, and the shape {list(values.shape)}")
    return as_texts(values, path) if values.dtype == object else values
