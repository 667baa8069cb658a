"""TensorFlow Serving's Predict under load."""

from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError

from loadtest.target import Reply
from loadtest.targets.discovery import ask
from loadtest.targets.tensor_inputs import TensorInputs
from navi.core.errors import NotFound, Unavailable
from navi.wire.tensorflow_codec import DATATYPES, encode_predict, model_spec
from navi.wire.tensors import OPEN, TensorSpec
from navi.wire.tfserving import serving_pb2 as pb
from navi.wire.tfserving.tensorflow_pb2 import TensorInfo

SIGNATURE = "serving_default"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFlowPredict:
    """Asks one model with random inputs. version: a number, a label, or empty for the server's choice."""

    model: str
    inputs: TensorInputs
    version: str = ""
    signature: str = SIGNATURE

    @property
    def method(self) -> str:
        return "/tensorflow.serving.PredictionService/Predict"

    def requests(self, count: int, generator: np.random.Generator) -> list[bytes]:
        spec = model_spec(self.model, self.version, self.signature)
        return [encode_predict(spec, inputs).SerializeToString() for inputs in self.inputs.draw(count, generator)]

    def read(self, reply: bytes) -> Reply:
        """ok, where there is an output at least; ValueError where there is none."""
        try:
            message = pb.PredictResponse.FromString(reply)
        except DecodeError as error:
            raise ValueError("it is no tensorflow.serving.PredictResponse") from error
        if not message.outputs:
            raise ValueError("it has no outputs")
        return Reply()


def discover_tensorflow(
    address: str, model: str, version: str = "", signature: str = SIGNATURE
) -> tuple[TensorSpec, ...]:
    """The inputs of a signature by the server's own account; NotFound or Unavailable where it gives none."""
    spec = model_spec(model, version)
    request = pb.GetModelMetadataRequest(model_spec=spec, metadata_field=["signature_def"])
    method = "/tensorflow.serving.PredictionService/GetModelMetadata"
    reply = ask(address, model, method=method, request=request, reply=pb.GetModelMetadataResponse)
    signatures = pb.SignatureDefMap()
    if not reply.metadata["signature_def"].Unpack(signatures):
        raise Unavailable(f"{address} answered without the signatures of model {model!r}")
    if signature not in signatures.signature_def:
        raise NotFound(f"signature of model {model!r}", signature, tuple(sorted(signatures.signature_def)))
    return tuple(_spec(name, info) for name, info in sorted(signatures.signature_def[signature].inputs.items()))


def _spec(name: str, info: TensorInfo) -> TensorSpec:
    dims = tuple(max(dim.size, OPEN) for dim in info.tensor_shape.dim)
    return TensorSpec(name, DATATYPES.get(info.dtype, str(info.dtype)), dims)
