"""`tensorflow.serving.PredictionService` and `ModelService`, over any model of a directory."""

from dataclasses import dataclass

from navi.batching.servable import Servable
from navi.core.errors import InvalidArgument, NotFound, Unsupported
from navi.server.call import Call, Handler
from navi.server.inference.models import Models
from navi.server.inference.prediction import UNKNOWN, chosen_outputs, found, run, usable
from navi.server.inference.tally import Tally
from navi.server.inference.tensorflow_description import signatures_of, status_of
from navi.server.inference.tensorflow_request import decode_inputs, signature_of, wanted_of
from navi.wire.buffers import parse
from navi.wire.tensorflow_codec import encode_prediction
from navi.wire.tfserving import serving_pb2 as pb

PREDICTION_SERVICE = pb.DESCRIPTOR.services_by_name["PredictionService"].full_name
MODEL_SERVICE = pb.DESCRIPTOR.services_by_name["ModelService"].full_name

_SIGNATURES = "signature_def"


@dataclass(frozen=True, slots=True)
class TensorFlowService:
    """max_bytes: what the inputs of a request may take once repeated values are written out."""

    models: Models
    tally: Tally
    max_bytes: int

    @property
    def prediction_methods(self) -> dict[str, Handler]:
        return {"Predict": self.predict, "GetModelMetadata": self.metadata}

    @property
    def model_methods(self) -> dict[str, Handler]:
        return {"GetModelStatus": self.status, "HandleReloadConfigRequest": self.reload}

    def predict(self, data: bytes, call: Call) -> bytes:
        request = parse(pb.PredictRequest, data)
        servable = self._find(request.model_spec, call)
        with self.tally.timed(servable, call) as lap:
            signature = signature_of(request.model_spec, servable)
            names = chosen_outputs(servable, request.output_filter, "output_filter")
            inputs = usable(decode_inputs(request.inputs, self.max_bytes))
            lap.ask()
            outputs = run(servable, inputs, call.deadline, call.priority)
            lap.answer()
            chosen = {name: outputs[name] for name in names}
            return encode_prediction(_spec(servable, signature), chosen).SerializeToString()

    def metadata(self, data: bytes, call: Call) -> bytes:
        request = parse(pb.GetModelMetadataRequest, data)
        servable = self._find(request.model_spec, call)
        if not request.metadata_field:
            raise InvalidArgument("metadata_field", f"is empty; known: {_SIGNATURES}")
        for name in request.metadata_field:
            if name != _SIGNATURES:
                raise InvalidArgument("metadata_field", f"is not known; known: {_SIGNATURES}")
        response = pb.GetModelMetadataResponse(model_spec=_spec(servable, ""))
        response.metadata[_SIGNATURES].Pack(signatures_of(servable))
        return response.SerializeToString()

    def status(self, data: bytes, call: Call) -> bytes:
        """Of all versions, of one, or of those that bear a label; NotFound where there are none."""
        wanted = wanted_of(parse(pb.GetModelStatusRequest, data).model_spec)
        call.pipeline = UNKNOWN
        if not wanted.name:
            raise InvalidArgument("model_spec.name", "is empty")
        states = self.models.directory.states(wanted.name)
        call.pipeline = wanted.name
        if wanted.version is not None:
            states = [state for state in states if state.version == wanted.version]
        if wanted.label is not None:
            states = [state for state in states if wanted.label in state.labels]
        if not states:
            raise NotFound(f"version of model {wanted.name!r}", wanted.version or wanted.label or "")
        return status_of(states).SerializeToString()

    def reload(self, _data: bytes, _call: Call) -> bytes:
        raise Unsupported("the configuration is the operator's files: it is not taken from callers")

    def _find(self, spec: pb.ModelSpec, call: Call) -> Servable:
        return found(self.models.directory, wanted_of(spec), call)


def _spec(servable: Servable, signature: str) -> pb.ModelSpec:
    spec = pb.ModelSpec(name=servable.name, signature_name=signature)
    spec.version.value = servable.version
    return spec
