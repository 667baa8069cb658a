"""A model asked over KServe v2, without a pipeline."""

from dataclasses import dataclass

import numpy as np

from loadtest.bench.workload import Workload
from navi.core.arrays import F32, F64, Array
from navi.wire.buffers import parse
from navi.wire.kserve import inference_pb2
from navi.wire.kserve_codec import decode_outputs, encode_request

ITEM_ID = "item_id"


@dataclass(frozen=True, slots=True)
class KServeInfer:
    """`inference.GRPCInferenceService/ModelInfer`, with raw contents.

    ids: whether ids stand for the inputs of item scope and inputs of request scope have one row; otherwise every input
    travels in full, as for a server that knows nothing of requests and items.
    """

    ids: bool

    @property
    def says(self) -> str:
        return "KServe v2, ids only" if self.ids else "KServe v2, all inputs"

    @property
    def method(self) -> str:
        return "/inference.GRPCInferenceService/ModelInfer"

    def request(self, workload: Workload, at: int) -> bytes:
        return encode_request(workload.name, self._inputs(workload, at)).SerializeToString()

    def probabilities(self, reply: bytes) -> F32:
        """Of a model whose outputs are logits, [rows, tasks]."""
        outputs = decode_outputs(parse(inference_pb2.ModelInferResponse, reply))
        logits: F64 = np.concatenate(list(outputs.values()), axis=1, dtype=np.float64)
        return (1.0 / (1.0 + np.exp(-logits))).astype(np.float32)

    def _inputs(self, workload: Workload, at: int) -> dict[str, Array]:
        inputs: dict[str, Array] = {}
        for key, values in workload.tensors.items():
            scope, _, name = key.partition(".")
            if scope == "request":
                inputs[name] = values[at, None].repeat(1 if self.ids else workload.rows, 0)
            elif scope == "pair" or not self.ids:
                inputs[name] = values[at]
        return inputs | {ITEM_ID: workload.ids[at]} if self.ids else inputs
