"""All services of the model protocols, as the server registers them."""

from collections.abc import Callable
from dataclasses import dataclass

import grpc

from navi.core.clock import Clock
from navi.server.front import Front
from navi.server.inference import kserve_service, tensorflow_service
from navi.server.inference.kserve_service import KServeService, refused_message
from navi.server.inference.message_stream import MessageStreams
from navi.server.inference.models import Models
from navi.server.inference.tally import Tally
from navi.server.inference.tensorflow_service import TensorFlowService
from navi.server.inference.thread_shares import ThreadShares

SERVICES = (kserve_service.SERVICE, tensorflow_service.PREDICTION_SERVICE, tensorflow_service.MODEL_SERVICE)

_STREAM = "ModelStreamInfer"


@dataclass(frozen=True, slots=True)
class InferenceServices:
    """Lives on one event loop, as its streams do."""

    kserve: KServeService
    tensorflow: TensorFlowService
    streams: MessageStreams

    @classmethod
    def of(
        cls, models: Models, ready: Callable[[], bool], clock: Clock, *, max_bytes: int, threads: int
    ) -> "InferenceServices":
        """ready: whether the server is. max_bytes: of the largest message. threads: that work on calls."""
        tally = Tally(clock, ThreadShares(threads, clock))
        return cls(KServeService(models, ready, tally), TensorFlowService(models, tally, max_bytes), MessageStreams())

    def handlers(self, front: Front, aside: Front) -> tuple[grpc.GenericRpcHandler, ...]:
        """aside: for what may take as long as loading a model."""
        service = kserve_service.SERVICE
        path = f"/{service}/{_STREAM}"
        stream = self.streams.handler(front.behavior(path, self.kserve.stream_infer), refused_message)
        return (
            front.handlers(service, self.kserve.methods),
            aside.handlers(service, self.kserve.slow_methods),
            grpc.method_handlers_generic_handler(service, {_STREAM: front.gate.stream(path, stream)}),
            front.handlers(tensorflow_service.PREDICTION_SERVICE, self.tensorflow.prediction_methods),
            front.handlers(tensorflow_service.MODEL_SERVICE, self.tensorflow.model_methods),
        )

    def close(self) -> None:
        """End the streams, once what they have asked is answered."""
        self.streams.close()
