"""Malformed messages for the model protocols: made from a seed, and sent through the services' handlers.

    python tests/support/inference_fuzz.py --inputs 100000

counts inputs by method and outcome, crashes (anything but an answer or a refusal), and the memory that it took.
"""

import argparse
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import numpy as np
import pyarrow as pa
from servables import DTYPES, Shelf, echo, sums
from tiny_model import write_version

from navi.batching.batch_policy import BatchPolicy
from navi.batching.scorer import Scorer
from navi.batching.scorer_servable import ScorerServable
from navi.core.clock import SystemClock
from navi.core.deadline import Deadline
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.models.loader import load_model
from navi.models.options import ModelOptions
from navi.server.boundary import Boundary
from navi.server.call import Arrival, Call
from navi.server.callers import Callers
from navi.server.inference.kserve_service import KServeService
from navi.server.inference.models import Models
from navi.server.inference.tally import Tally
from navi.server.inference.tensorflow_service import TensorFlowService
from navi.server.inference.thread_shares import ThreadShares
from navi.server.metrics import Metrics
from navi.server.status import Refusal
from navi.wire.kserve import inference_pb2 as kserve
from navi.wire.kserve_codec import encode_request
from navi.wire.tensorflow_codec import encode_predict, model_spec
from navi.wire.tfserving import serving_pb2 as tfserving

MAX_BYTES = 1 << 20
SIZES = [-(2**63), -1, 0, 0, 1, 1, 2, 2, 3, 255, 2**16, 2**31, 2**32 + 1, 2**40, 2**62, 2**63 - 1]
NAMES = ["x", "y", "a", "b", "user", "kind", "pair", "item_id", "logits", "sum", "", "é漢", "z" * 300, "\0"]
MODELS = [*DTYPES, "sums", "tiny", "none", "", "a" * 5000]
VERSIONS = [*[""] * 20, "1", "3", "9" * 5000, "-1", "canary", "٣", "1.0"]
DATATYPES = [*DTYPES, "BF16", "", "FP8", "fp32", "x" * 1000]
LISTS = ["bool", "int", "int64", "uint", "uint64", "fp32", "fp64", "bytes"]
TF_LISTS = ["float", "double", "int", "string", "int64", "bool", "half", "uint32", "uint64"]
REFUSALS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,  # of a timeout that the request asks for
}


class Target:
    """The handlers of all services, over fakes of every dtype and one real model with its item table."""

    def __init__(self, tiny: ScorerServable) -> None:
        shelf = Shelf([*(echo(name, dtype) for name, dtype in DTYPES.items()), sums(), tiny])
        self._clock = SystemClock()
        tally = Tally(self._clock, ThreadShares(8, self._clock))
        k = KServeService(Models(shelf), lambda: True, tally)
        t = TensorFlowService(Models(shelf), tally, MAX_BYTES)
        self.methods = {**k.methods, "ModelStreamInfer": k.stream_infer, **t.prediction_methods, **t.model_methods}
        self._boundary = Boundary(Metrics(), Callers(10))

    def send(self, method: str, data: bytes) -> str:
        """`OK` or the code of the refusal; `CRASH` for any other end."""
        call = Call(f"/fuzz/{method}", Deadline.after(60), Arrival.now(self._clock), request=data)
        outcome = self._boundary.answer(self.methods[method], data, call)
        if not isinstance(outcome, Refusal):
            return "OK"
        return outcome.code.name if outcome.code in REFUSALS else "CRASH"


@contextmanager
def target() -> Iterator[Target]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        columns = {"id": [10, 20, 30], "kind": ["news", "sport", None], "price": [0.5, 1.0, None]}
        write_item_table(pa.table(columns), root / "items.arrow", key="id")
        model = load_model(write_version(root / "model"), ModelOptions())
        scorer = Scorer(model, ItemTable.open(root / "items.arrow"), BatchPolicy(max_rows=64))
        try:
            yield Target(ScorerServable.of(scorer))
        finally:
            scorer.close()


def message(chance: random.Random, methods: list[str]) -> tuple[str, bytes]:
    """A method and what is sent to it: random bytes, a well-formed request with wrong values, or a damaged one."""
    kind = chance.randrange(10)
    if kind == 0:
        return chance.choice(methods), chance.randbytes(chance.randrange(200))
    if kind < 6:
        method = chance.choice(["ModelInfer", "ModelStreamInfer"])
        data = kserve_request(chance).SerializeToString()
    else:
        method, data = "Predict", predict_request(chance).SerializeToString()
    if chance.random() < 0.1:
        method = chance.choice(methods)
    return method, damaged(chance, data) if chance.random() < 0.4 else data


def damaged(chance: random.Random, data: bytes) -> bytes:
    """Some bytes flipped, cut out, doubled, or the end missing."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if not changed:
            return chance.randbytes(4)
        at = chance.randrange(len(changed))
        end = min(at + chance.randint(1, 9), len(changed))
        match chance.randrange(5):
            case 0:
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                changed[at] = chance.choice([0, 0x7F, 0x80, 0xFF])
            case 2:
                del changed[at:end]
            case 3:
                changed[at:at] = changed[at:end]
            case _:
                del changed[at:]
    return bytes(changed)


def kserve_request(chance: random.Random) -> kserve.ModelInferRequest:
    if chance.random() < 0.3:
        request = encode_request(*good(chance), request_id="r")
    else:
        request = kserve.ModelInferRequest(model_name=chance.choice(MODELS), model_version=chance.choice(VERSIONS))
        for _ in range(chance.choice([0, 1, 1, 2, 3, 4])):
            _add_input(chance, request)
    for _ in range(chance.choice([0, 0, 1, 2])):
        request.outputs.add(name=chance.choice(NAMES))
    if chance.random() < 0.2:
        _add_parameter(chance, request)
    return request


def predict_request(chance: random.Random) -> tfserving.PredictRequest:
    model, inputs = good(chance)
    version = chance.choice([*[""] * 9, "1", "3", "canary", str(2**62)])
    request = encode_predict(model_spec(model, version, chance.choice([*[""] * 9, "by_item_id", "x"])), inputs)
    if chance.random() < 0.7:
        for name in chance.sample(NAMES, chance.choice([0, 1, 2, 3])):
            _fill(chance, request.inputs[name])
    request.output_filter.extend(chance.choice(NAMES) for _ in range(chance.choice([0, 0, 1, 2])))
    return request


def good(chance: random.Random) -> tuple[str, dict[str, np.ndarray]]:
    """A model and inputs that it takes, but for ids that may be out of its range."""
    n = chance.randint(0, 5)
    if chance.random() < 0.4:
        return "sums", {"a": np.ones((n, 2), np.float32), "b": np.full(n, chance.choice([1, 1, -1]))}
    items = {"kind": np.array([[chance.choice([0, 1, 3, 9, -9, 2**62]), 0] for _ in range(n)], int).reshape(n, 2)}
    if chance.random() < 0.5:
        items = {"item_id": np.array([chance.choice([10, 20, 30, 30, 31]) for _ in range(n)], int)}
    return "tiny", {"user": np.ones((1, 2), np.float32), "pair": np.ones((n, 2), np.float32), **items}


def _add_input(chance: random.Random, request: kserve.ModelInferRequest) -> None:
    tensor = request.inputs.add(name=chance.choice(NAMES), datatype=chance.choice(DATATYPES))
    tensor.shape.extend(_shape(chance))
    if chance.random() < 0.7:
        request.raw_input_contents.append(_raw(chance, tensor.datatype))
    if chance.random() < 0.4:
        kind = chance.choice(LISTS)
        values = getattr(tensor.contents, f"{kind}_contents")
        values.extend(_values(chance, kind) for _ in range(chance.randrange(5)))
    if chance.random() < 0.05:
        tensor.parameters["shared_memory_region"].string_param = "s"


def _add_parameter(chance: random.Random, request: kserve.ModelInferRequest) -> None:
    parameter = request.parameters[chance.choice(["timeout", "priority", "triton_x", "é", "sequence_id"])]
    match chance.randrange(5):
        case 0:
            parameter.int64_param = chance.choice([0, 1, 10**12, 2**63 - 1, -1])
        case 1:
            parameter.uint64_param = chance.choice([0, 1, 10**12, 2**64 - 1])
        case 2:
            parameter.string_param = "1"
        case 3:
            parameter.double_param = float("nan")


def _fill(chance: random.Random, tensor) -> None:
    tensor.dtype = chance.choice([*range(24), 30, 101, 2**31 - 1])
    for size in _shape(chance):
        tensor.tensor_shape.dim.add(size=size)
    tensor.tensor_shape.unknown_rank = chance.random() < 0.05
    if chance.random() < 0.4:
        tensor.tensor_content = _raw(chance, "")
    for kind in chance.sample(TF_LISTS, chance.choice([0, 1, 1, 2])):
        getattr(tensor, f"{kind}_val").extend(_values(chance, kind) for _ in range(chance.randrange(4)))


def _shape(chance: random.Random) -> list[int]:
    rank = chance.choice([0, 1, 1, 2, 2, 2, 3, 65])
    if chance.random() < 0.5:
        return [chance.choice([0, 1, 2, 3]) for _ in range(rank)]
    return [chance.choice(SIZES) for _ in range(rank)]


def _raw(chance: random.Random, datatype: str) -> bytes:
    if datatype == "BYTES" and chance.random() < 0.7:
        length = chance.choice([0, 1, 3, 2**31, 2**32 - 1])
        return struct.pack("<I", length) + chance.choice([b"", b"a", b"\xff\xfe\xfd", "é".encode()])
    return chance.randbytes(chance.choice([0, 1, 4, 8, 16, 16, 24, 63]))


def _values(chance: random.Random, kind: str) -> object:
    if kind in ("bytes", "string"):
        return chance.choice([b"", b"a", b"\xff\xfe", b"x" * 100])
    if kind == "bool":
        return chance.random() < 0.5
    if kind in ("fp32", "fp64", "float", "double"):
        return chance.choice([0.0, 1.5, float("nan"), float("inf"), 3e38])
    return chance.choice([0, 1, 255, 65_536, 2**31 - 1, *([2**63 - 1] if "64" in kind else [])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    chance, counts = random.Random(chosen.seed), Counter()
    with target() as at:
        methods, before, started = list(at.methods), _peak(), time.monotonic()
        for number in range(chosen.inputs):
            method, data = message(chance, methods)
            outcome = at.send(method, data)
            counts[method, outcome] += 1
            if outcome == "CRASH":
                sys.stdout.write(f"input {number} of seed {chosen.seed} crashes {method}: {data.hex()}\n")
        seconds, grown = time.monotonic() - started, _peak() - before
    for (method, outcome), count in sorted(counts.items()):
        sys.stdout.write(f"{method:28} {outcome:18} {count:9,}\n")
    crashes = sum(count for (_, outcome), count in counts.items() if outcome == "CRASH")
    sys.stdout.write(f"{counts.total():,} inputs in {seconds:.0f} s, {crashes} crashes; memory grew {grown:.0f} MiB\n")
    sys.exit(bool(crashes))


def _peak() -> float:
    """Peak resident memory so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
