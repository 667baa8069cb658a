"""KServe v2 ModelInfer under load."""

from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError

from loadtest.target import Reply
from loadtest.targets.discovery import ask
from loadtest.targets.tensor_inputs import TensorInputs
from navi.wire.kserve import inference_pb2 as pb
from navi.wire.kserve_codec import encode_request
from navi.wire.tensors import TensorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class KServeInfer:
    """Asks one model with random inputs in raw form. version: empty for the server's choice."""

    model: str
    inputs: TensorInputs
    version: str = ""

    @property
    def method(self) -> str:
        return "/inference.GRPCInferenceService/ModelInfer"

    def requests(self, count: int, generator: np.random.Generator) -> list[bytes]:
        return [
            encode_request(self.model, inputs, version=self.version).SerializeToString()
            for inputs in self.inputs.draw(count, generator)
        ]

    def read(self, reply: bytes) -> Reply:
        """ok, where there is an output at least; ValueError where there is none."""
        try:
            message = pb.ModelInferResponse.FromString(reply)
        except DecodeError as error:
            raise ValueError("it is no inference.ModelInferResponse") from error
        if not message.outputs:
            raise ValueError("it has no outputs")
        return Reply()


def discover_kserve(address: str, model: str, version: str = "") -> tuple[TensorSpec, ...]:
    """The model's inputs by the server's own account; NotFound or Unavailable where it gives none."""
    request = pb.ModelMetadataRequest(name=model, version=version)
    method = "/inference.GRPCInferenceService/ModelMetadata"
    metadata = ask(address, model, method=method, request=request, reply=pb.ModelMetadataResponse)
    return tuple(TensorSpec(one.name, one.datatype, tuple(one.shape)) for one in metadata.inputs)
