"""A KServe v2 server of one model that answers after a known time."""

from collections.abc import Iterable
from dataclasses import dataclass

import grpc

from loadtest.stub.service import Method, service
from loadtest.stub.tensor_model import OUTPUT, TensorModel
from navi.wire.kserve import inference_pb2 as pb
from navi.wire.kserve_codec import decode_inputs, encode_response
from navi.wire.tensors import TensorSpec

SERVICE = "inference.GRPCInferenceService"


@dataclass(frozen=True, slots=True)
class KServeStub:
    """Answers ModelInfer, and what stock clients ask before they send."""

    model: TensorModel

    def service(self) -> grpc.GenericRpcHandler:
        """For `loadtest.stub.service.start`."""
        return service(
            SERVICE,
            {
                "ServerLive": Method(pb.ServerLiveRequest, self._live),
                "ServerReady": Method(pb.ServerReadyRequest, self._ready),
                "ServerMetadata": Method(pb.ServerMetadataRequest, self._server_metadata),
                "ModelReady": Method(pb.ModelReadyRequest, self._model_ready),
                "ModelMetadata": Method(pb.ModelMetadataRequest, self._model_metadata),
                "ModelConfig": Method(pb.ModelConfigRequest, self._model_config),
                "ModelInfer": Method(pb.ModelInferRequest, self._infer),
                "RepositoryIndex": Method(pb.RepositoryIndexRequest, self._index),
            },
        )

    async def _live(self, _: pb.ServerLiveRequest) -> pb.ServerLiveResponse:
        return pb.ServerLiveResponse(live=True)

    async def _ready(self, _: pb.ServerReadyRequest) -> pb.ServerReadyResponse:
        return pb.ServerReadyResponse(ready=True)

    async def _server_metadata(self, _: pb.ServerMetadataRequest) -> pb.ServerMetadataResponse:
        return pb.ServerMetadataResponse(name="navi-stub", version="1")

    async def _model_ready(self, request: pb.ModelReadyRequest) -> pb.ModelReadyResponse:
        self.model.check_name(request.name, request.version)
        return pb.ModelReadyResponse(ready=True)

    async def _model_metadata(self, request: pb.ModelMetadataRequest) -> pb.ModelMetadataResponse:
        self.model.check_name(request.name, request.version)
        return pb.ModelMetadataResponse(
            name=self.model.name,
            versions=[self.model.version],
            platform="stub",
            inputs=_metadata(self.model.inputs),
            outputs=_metadata([OUTPUT]),
        )

    async def _model_config(self, request: pb.ModelConfigRequest) -> pb.ModelConfigResponse:
        self.model.check_name(request.name, request.version)
        config = pb.ModelConfig(name=self.model.name, platform="stub", max_batch_size=0)
        for spec in self.model.inputs:
            config.input.add(name=spec.name, data_type=_data_type(spec.datatype), dims=spec.dims)
        config.output.add(name=OUTPUT.name, data_type=_data_type(OUTPUT.datatype), dims=OUTPUT.dims)
        return pb.ModelConfigResponse(config=config)

    async def _infer(self, request: pb.ModelInferRequest) -> pb.ModelInferResponse:
        self.model.check_name(request.model_name, request.model_version)
        outputs = await self.model.scores(decode_inputs(request))
        return encode_response(self.model.name, outputs, version=self.model.version, request_id=request.id)

    async def _index(self, _: pb.RepositoryIndexRequest) -> pb.RepositoryIndexResponse:
        model = pb.RepositoryIndexResponse.ModelIndex(name=self.model.name, version=self.model.version, state="READY")
        return pb.RepositoryIndexResponse(models=[model])


def _metadata(specs: Iterable[TensorSpec]) -> list[pb.ModelMetadataResponse.TensorMetadata]:
    return [
        pb.ModelMetadataResponse.TensorMetadata(name=spec.name, datatype=spec.datatype, shape=spec.dims)
        for spec in specs
    ]


def _data_type(datatype: str) -> str:
    """Message constructors take the name of an enum's value."""
    return "TYPE_" + {"BYTES": "STRING"}.get(datatype, datatype)
