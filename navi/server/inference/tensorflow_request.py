"""What TensorFlow Serving's requests say beside their tensors, and their tensors within bounds."""

from collections.abc import Mapping

from navi.batching.servable import Servable
from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.server.inference.prediction import Wanted
from navi.wire.buffers import shown
from navi.wire.tensorflow_codec import decode_tensor
from navi.wire.tfserving.serving_pb2 import ModelSpec
from navi.wire.tfserving.tensorflow_pb2 import TensorProto

SIGNATURE = "serving_default"

BY_ITEM_ID = "by_item_id"
"""The signature of models whose item inputs are resident, with `item_id` in their place."""


def wanted_of(spec: ModelSpec) -> Wanted:
    if spec.WhichOneof("version_choice") == "version":
        return Wanted(spec.name, version=spec.version.value)
    return Wanted(spec.name, label=spec.version_label or None)


def signature_of(spec: ModelSpec, servable: Servable) -> str:
    """The signature that a reply names; InvalidArgument for one that the model has not."""
    known = (SIGNATURE, BY_ITEM_ID) if servable.resident else (SIGNATURE,)
    name = spec.signature_name or SIGNATURE
    if name not in known:
        raise InvalidArgument(
            "model_spec.signature_name", f"{shown(name)!r} is no signature of the model; known: {', '.join(known)}"
        )
    return name


def decode_inputs(tensors: Mapping[str, TensorProto], max_bytes: int) -> dict[str, Array]:
    """The inputs by name; together they may take `max_bytes` once repeated values are written out."""
    inputs: dict[str, Array] = {}
    left = max_bytes
    for name, tensor in tensors.items():
        values = decode_tensor(tensor, f"inputs[{shown(name)}]", max_bytes=left)
        left = max(left - values.nbytes, 0)
        inputs[name] = values
    return inputs
