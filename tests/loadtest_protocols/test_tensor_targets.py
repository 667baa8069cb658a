"""Other protocols under load: the same harness, against stub servers over a real port."""

import grpc
import numpy as np
import pytest

from loadtest.counts import Counts
from loadtest.run import Plan, run
from loadtest.targets.kserve_infer import KServeInfer, discover_kserve
from loadtest.targets.tensor_inputs import TensorInputs, inputs_of
from loadtest.targets.tensorflow_predict import TensorFlowPredict, discover_tensorflow
from navi.core.errors import InvalidArgument, NotFound, Unavailable
from navi.wire.kserve.inference_pb2 import ModelInferRequest, ModelInferResponse
from navi.wire.kserve_codec import decode_inputs, decode_outputs
from navi.wire.tensorflow_codec import decode_tensors
from navi.wire.tensors import OPEN, TensorSpec
from navi.wire.tfserving.serving_pb2 import PredictRequest, PredictResponse

TARGETS = {"kserve": (KServeInfer, discover_kserve), "tfserving": (TensorFlowPredict, discover_tensorflow)}


@pytest.fixture(params=TARGETS)
def protocol(request):
    """(target class, discovery, address) of each protocol."""
    return *TARGETS[request.param], request.getfixturevalue(request.param)


def plan(address, calls=40, seconds=0.4):
    return Plan(address=address, due=np.arange(calls) * seconds / calls, seconds=seconds, connections=2, timeout_s=10)


def test_what_the_server_says_of_its_inputs_is_enough_to_load_it(protocol, model):
    kind, discover, address = protocol
    specs = discover(address, "m")
    assert {spec.name: spec for spec in specs} == {spec.name: spec for spec in model.inputs}
    result = run(plan(address), kind(model="m", inputs=TensorInputs(specs, Counts((1, 5)))))
    assert result.outcomes == {"ok": 40, "degraded": 0, "shed": 0, "deadline": 0, "error": 0}
    assert result.latency["p50"] >= model.delay_s
    assert sum(result.connections.values()) == 40


def test_integers_can_be_kept_within_the_range_of_a_models_ids():
    inputs = TensorInputs(inputs_of(["id:INT64:-1,1", "tag:BYTES:-1"]), Counts((50,)), 3)
    [drawn] = inputs.draw(1, np.random.default_rng(0))
    assert set(drawn["id"].ravel().tolist()) == {0, 1, 2}
    assert set(drawn["tag"].tolist()) == {b"0", b"1", b"2"}
    with pytest.raises(InvalidArgument, match="integers_below: is 0"):
        TensorInputs(inputs.specs, below=0)


def test_a_server_that_refuses_is_reported_with_its_words(protocol, model):
    kind, _, address = protocol
    wrong = inputs_of(["x:FP32:-1,3", "id:INT64:-1,1", "tag:BYTES:-1,2"])
    result = run(plan(address, calls=10), kind(model="m", inputs=TensorInputs(wrong, Counts((2,)))))
    assert result.outcomes["error"] == 10
    [text] = result.errors
    assert "inputs[x]: is FP32 [2, 3], where FP32 [-1, 4] is expected" in text


def test_the_server_scores_what_was_sent(protocol, model):
    kind, _, address = protocol
    target = kind(model="m", version="7", inputs=TensorInputs(model.inputs, Counts((3,))))
    [request] = target.requests(1, np.random.default_rng(0))
    with grpc.insecure_channel(address) as channel:
        reply = channel.unary_unary(target.method)(request, timeout=10, wait_for_ready=True)
    if kind is KServeInfer:
        inputs = decode_inputs(ModelInferRequest.FromString(request))
        outputs = decode_outputs(ModelInferResponse.FromString(reply))
    else:
        inputs = decode_tensors(PredictRequest.FromString(request).inputs, "inputs")
        outputs = decode_tensors(PredictResponse.FromString(reply).outputs, "outputs")
    assert np.allclose(outputs["scores"], inputs["x"].sum(axis=1) + inputs["id"][:, 0])
    assert target.read(reply).outcome == "ok"


def test_a_model_or_version_that_is_not_there_is_told_before_the_run(protocol):
    _, discover, address = protocol
    with pytest.raises(NotFound, match="'other' is not known"):
        discover(address, "other")
    with pytest.raises(NotFound):
        discover(address, "m", "8")


def test_a_server_that_does_not_answer_is_told_before_the_run(protocol, monkeypatch):
    _, discover, _ = protocol
    monkeypatch.setattr("loadtest.targets.discovery.TIMEOUT_S", 0.2)
    with pytest.raises(Unavailable, match="does not tell the inputs"):
        discover("127.0.0.1:1", "m")


@pytest.mark.parametrize("kind", [KServeInfer, TensorFlowPredict])
def test_a_reply_without_outputs_is_damaged(kind):
    target = kind(model="m", inputs=TensorInputs((TensorSpec("x", "FP32", (OPEN,)),)))
    with pytest.raises(ValueError, match="has no outputs"):
        target.read(b"")
    with pytest.raises(ValueError, match="it is no "):
        target.read(b"\xff")


@pytest.mark.parametrize("kind", [KServeInfer, TensorFlowPredict])
def test_the_same_seed_makes_the_same_requests(kind, model):
    target = kind(model="m", inputs=TensorInputs(model.inputs))
    one, other = (target.requests(3, np.random.default_rng(5)) for _ in range(2))
    read = ModelInferRequest if kind is KServeInfer else PredictRequest
    assert [read.FromString(data) for data in one] == [read.FromString(data) for data in other]


def test_every_datatype_that_can_be_drawn_is(model):
    datatypes = ["BOOL", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64", "FP16", "FP32"]
    specs = inputs_of([f"x{datatype}:{datatype}:-1" for datatype in [*datatypes, "FP64", "BYTES"]])
    [request] = KServeInfer(model="m", inputs=TensorInputs(specs, Counts((3,)))).requests(1, np.random.default_rng(0))
    message = ModelInferRequest.FromString(request)
    assert [one.datatype for one in message.inputs] == [spec.datatype for spec in specs]
    assert all(values.shape == (3,) for values in decode_inputs(message).values())


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("x", "is not NAME:DATATYPE:DIMS"),
        ("x:FP32:a", "dimensions that are not numbers"),
        ("x:FP32:-2", "a dimension below -1"),
        ("x:float:1", "the datatype 'float', none of"),
        (":FP32:1", "has no name"),
    ],
)
def test_an_input_that_makes_no_sense_is_told(word, problem):
    with pytest.raises(InvalidArgument, match=problem):
        inputs_of([word])


def test_inputs_that_cannot_be_drawn_are_told():
    with pytest.raises(InvalidArgument, match="2 open dimensions"):
        TensorInputs(inputs_of(["x:FP32:-1,-1"]))
    with pytest.raises(InvalidArgument, match="BF16, which is not drawn"):
        TensorInputs(inputs_of(["x:BF16:-1"]))
    with pytest.raises(InvalidArgument, match="one at least"):
        TensorInputs(())
    assert inputs_of(["a:b:INT64:"]) == (TensorSpec("a:b", "INT64", ()),)
