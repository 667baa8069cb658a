"""`inference.GRPCInferenceService`: KServe v2 with Triton's extensions, over any model of a directory."""

from collections.abc import Callable
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from navi import __version__
from navi.batching.servable import Servable
from navi.core.errors import InvalidArgument, NotFound, Unavailable, Unsupported
from navi.server.call import Call, Handler
from navi.server.inference.kserve_description import config_of, index_of, metadata_of, statistics_of
from navi.server.inference.kserve_request import (
    check_parameters,
    deadline_of,
    marks_the_last,
    output_names,
    priority_of,
)
from navi.server.inference.models import ModelControl, Models
from navi.server.inference.prediction import Wanted, chosen_outputs, found, run, usable
from navi.server.inference.tally import Tally
from navi.wire.buffers import parse, shown
from navi.wire.kserve import inference_pb2 as pb
from navi.wire.kserve_codec import decode_inputs, encode_response
from navi.wire.query_codec import MAX_REQUEST_ID

SERVICE = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"].full_name

EXTENSIONS = ("model_repository", "model_configuration", "schedule_policy", "parameters", "statistics")
"""By Triton's names."""


@dataclass(frozen=True, slots=True)
class KServeService:
    """ready: whether the server is."""

    models: Models
    ready: Callable[[], bool]
    tally: Tally

    @property
    def methods(self) -> dict[str, Handler]:
        return {
            "ServerLive": self.server_live,
            "ServerReady": self.server_ready,
            "ServerMetadata": self.server_metadata,
            "ModelReady": self.model_ready,
            "ModelMetadata": self.model_metadata,
            "ModelConfig": self.model_config,
            "ModelStatistics": self.model_statistics,
            "ModelInfer": self.infer,
            "RepositoryIndex": self.index,
        }

    @property
    def slow_methods(self) -> dict[str, Handler]:
        """What may take as long as loading a model."""
        return {"RepositoryModelLoad": self.load, "RepositoryModelUnload": self.unload}

    def infer(self, data: bytes, call: Call) -> bytes:
        return self._infer(parse(pb.ModelInferRequest, data), call).SerializeToString()

    def stream_infer(self, data: bytes, call: Call) -> bytes:
        """One message of ModelStreamInfer."""
        request = parse(pb.ModelInferRequest, data)
        reply = self._infer(request, call)
        if marks_the_last(request):
            reply.parameters["triton_final_response"].bool_param = True
        return pb.ModelStreamInferResponse(infer_response=reply).SerializeToString()

    def server_live(self, _data: bytes, _call: Call) -> bytes:
        return pb.ServerLiveResponse(live=True).SerializeToString()

    def server_ready(self, _data: bytes, _call: Call) -> bytes:
        return pb.ServerReadyResponse(ready=self.ready()).SerializeToString()

    def server_metadata(self, _data: bytes, _call: Call) -> bytes:
        return pb.ServerMetadataResponse(name="navi", version=__version__, extensions=EXTENSIONS).SerializeToString()

    def model_ready(self, data: bytes, call: Call) -> bytes:
        """False for a version that is known and does not serve."""
        request = parse(pb.ModelReadyRequest, data)
        try:
            self._find(request.name, request.version, call)
        except Unavailable:
            return pb.ModelReadyResponse(ready=False).SerializeToString()
        return pb.ModelReadyResponse(ready=self.ready()).SerializeToString()

    def model_metadata(self, data: bytes, call: Call) -> bytes:
        request = parse(pb.ModelMetadataRequest, data)
        servable = self._find(request.name, request.version, call)
        ready = {state.version for state in self.models.directory.states(servable.name) if state.status == "ready"}
        return metadata_of(servable, ready | {servable.version}).SerializeToString()

    def model_config(self, data: bytes, call: Call) -> bytes:
        request = parse(pb.ModelConfigRequest, data)
        return config_of(self._find(request.name, request.version, call)).SerializeToString()

    def model_statistics(self, data: bytes, call: Call) -> bytes:
        """Of every version that serves, of those of one model, or of one version."""
        request = parse(pb.ModelStatisticsRequest, data)
        if request.version:
            servables = [self._find(request.name, request.version, call)]
        else:
            servables = self._serving(request.name or None)
        told = [statistics_of(servable, self.tally.of(servable)) for servable in servables]
        return pb.ModelStatisticsResponse(model_stats=told).SerializeToString()

    def index(self, data: bytes, _call: Call) -> bytes:
        request = parse(pb.RepositoryIndexRequest, data)
        _check_repository(request.repository_name)
        return index_of(self.models.directory.states(), ready=request.ready).SerializeToString()

    def load(self, data: bytes, _call: Call) -> bytes:
        request = parse(pb.RepositoryModelLoadRequest, data)
        for name in request.parameters:
            raise InvalidArgument(f"parameters[{shown(name)}]", "is not read: a model comes from its repository alone")
        self._control(request.repository_name).load(request.model_name)
        return pb.RepositoryModelLoadResponse().SerializeToString()

    def unload(self, data: bytes, _call: Call) -> bytes:
        request = parse(pb.RepositoryModelUnloadRequest, data)
        self._control(request.repository_name).unload(request.model_name)
        return pb.RepositoryModelUnloadResponse().SerializeToString()

    def _infer(self, request: pb.ModelInferRequest, call: Call) -> pb.ModelInferResponse:
        call.request_id = request.id[:MAX_REQUEST_ID] or call.request_id
        servable = self._find(request.model_name, request.model_version, call)
        with self.tally.timed(servable, call) as lap:
            check_parameters(request)
            deadline, priority = deadline_of(request, call.deadline), priority_of(request, call.priority)
            names = chosen_outputs(servable, output_names(request), "outputs")
            inputs = usable(decode_inputs(request))
            lap.ask()
            outputs = run(servable, inputs, deadline, priority)
            lap.answer()
            chosen = {name: outputs[name] for name in names}
            return encode_response(servable.name, chosen, version=str(servable.version), request_id=request.id)

    def _find(self, name: str, version: str, call: Call) -> Servable:
        return found(self.models.directory, Wanted.of(name, version), call)

    def _serving(self, name: str | None) -> list[Servable]:
        servables = []
        for state in self.models.directory.states(name):
            if state.status == "ready":
                try:
                    servables.append(self.models.directory.find(state.name, version=state.version))
                except (NotFound, Unavailable):  # gone since
                    continue
        return servables

    def _control(self, repository: str) -> ModelControl:
        _check_repository(repository)
        if self.models.control is None:
            raise Unsupported("models of this server are loaded when it starts, and stay: it has no model repository")
        return self.models.control


def refused_message(data: bytes, message: str) -> bytes:
    """How a stream tells that one of its messages (`data`) was refused; the stream goes on."""
    try:
        request_id = pb.ModelInferRequest.FromString(data).id
    except DecodeError:
        request_id = ""
    reply = pb.ModelStreamInferResponse(error_message=message)
    reply.infer_response.id = request_id
    return reply.SerializeToString()


def _check_repository(name: str) -> None:
    if name:
        raise Unsupported(f"there is one repository, without a name; {shown(name)!r} is not it")
