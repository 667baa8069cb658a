"""A TensorFlow Serving server of one model that answers after a known time."""

from dataclasses import dataclass

import grpc

from loadtest.stub.service import Method, service
from loadtest.stub.tensor_model import OUTPUT, TensorModel
from navi.core.errors import InvalidArgument
from navi.wire.tensorflow_codec import decode_tensors, encode_prediction, model_spec, tensor_infos
from navi.wire.tfserving import serving_pb2 as pb
from navi.wire.tfserving import tensorflow_pb2 as tf

SIGNATURE = "serving_default"


@dataclass(frozen=True, slots=True)
class TensorFlowStub:
    """Answers Predict, GetModelMetadata and GetModelStatus."""

    model: TensorModel

    def services(self) -> list[grpc.GenericRpcHandler]:
        """For `loadtest.stub.service.start`."""
        predictions = {
            "Predict": Method(pb.PredictRequest, self._predict),
            "GetModelMetadata": Method(pb.GetModelMetadataRequest, self._metadata),
        }
        models = {"GetModelStatus": Method(pb.GetModelStatusRequest, self._status)}
        return [
            service("tensorflow.serving.PredictionService", predictions),
            service("tensorflow.serving.ModelService", models),
        ]

    async def _predict(self, request: pb.PredictRequest) -> pb.PredictResponse:
        self._check(request.model_spec)
        unknown = sorted(set(request.output_filter) - {OUTPUT.name})
        if unknown:
            raise InvalidArgument("output_filter", f"asks for {unknown[0]!r}; known: {OUTPUT.name}")
        outputs = await self.model.scores(decode_tensors(request.inputs, "inputs"))
        return encode_prediction(self._spec(), outputs)

    async def _metadata(self, request: pb.GetModelMetadataRequest) -> pb.GetModelMetadataResponse:
        self._check(request.model_spec)
        if list(request.metadata_field) != ["signature_def"]:
            raise InvalidArgument("metadata_field", "is not signature_def")
        signatures = pb.SignatureDefMap()
        signatures.signature_def[SIGNATURE].CopyFrom(
            tf.SignatureDef(inputs=tensor_infos(self.model.inputs), outputs=tensor_infos([OUTPUT]))
        )
        response = pb.GetModelMetadataResponse(model_spec=self._spec())
        response.metadata["signature_def"].Pack(signatures)
        return response

    async def _status(self, request: pb.GetModelStatusRequest) -> pb.GetModelStatusResponse:
        self._check(request.model_spec)
        status = pb.ModelVersionStatus(version=int(self.model.version), state=pb.ModelVersionStatus.AVAILABLE)
        return pb.GetModelStatusResponse(model_version_status=[status])

    def _spec(self) -> pb.ModelSpec:
        return model_spec(self.model.name, self.model.version, SIGNATURE)

    def _check(self, spec: pb.ModelSpec) -> None:
        version = str(spec.version.value) if spec.HasField("version") else spec.version_label
        self.model.check_name(spec.name, version)
        if spec.signature_name not in ("", SIGNATURE):
            raise InvalidArgument("model_spec.signature_name", f"is {spec.signature_name!r}, not {SIGNATURE!r}")
