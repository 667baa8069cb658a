"""Models in TensorFlow Serving's words: signatures, and the state of versions."""

from collections.abc import Iterable

import grpc

from navi.batching.servable import ItemKeyed, Servable, VersionState, VersionStatus
from navi.models.backend import TensorSpec
from navi.server.inference.prediction import wire_spec
from navi.server.inference.tensorflow_request import BY_ITEM_ID, SIGNATURE
from navi.wire.tensorflow_codec import tensor_infos
from navi.wire.tfserving import serving_pb2 as pb
from navi.wire.tfserving import tensorflow_pb2 as tf

METHOD = "tensorflow/serving/predict"

_STATES: dict[VersionStatus, int] = {
    "loading": pb.ModelVersionStatus.LOADING,
    "ready": pb.ModelVersionStatus.AVAILABLE,
    "draining": pb.ModelVersionStatus.UNLOADING,
    "failed": pb.ModelVersionStatus.END,
    "unloaded": pb.ModelVersionStatus.END,
}


def signatures_of(servable: Servable) -> pb.SignatureDefMap:
    """`serving_default`, and `by_item_id` where item inputs are resident."""
    signatures = pb.SignatureDefMap()
    inputs = servable.signature.inputs
    signatures.signature_def[SIGNATURE].CopyFrom(_definition(inputs, servable))
    item_id = servable.item_id if isinstance(servable, ItemKeyed) else None
    if item_id is not None:
        others = [spec for spec in inputs if spec.name not in servable.resident]
        signatures.signature_def[BY_ITEM_ID].CopyFrom(_definition([item_id, *others], servable))
    return signatures


def status_of(states: Iterable[VersionState]) -> pb.GetModelStatusResponse:
    """The newest first."""
    response = pb.GetModelStatusResponse()
    for state in sorted(states, key=lambda each: -each.version):
        told = response.model_version_status.add(version=state.version, state=_STATES[state.status])
        if state.status == "failed":
            told.status.error_code = grpc.StatusCode.UNKNOWN.value[0]
        told.status.error_message = state.reason
    return response


def _definition(inputs: Iterable[TensorSpec], servable: Servable) -> tf.SignatureDef:
    return tf.SignatureDef(inputs=_infos(inputs), outputs=_infos(servable.signature.outputs), method_name=METHOD)


def _infos(specs: Iterable[TensorSpec]) -> dict[str, tf.TensorInfo]:
    return tensor_infos(map(wire_spec, specs))
