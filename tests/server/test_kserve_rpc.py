"""KServe v2 over a real port: tensors in, tensors out, and refusals that name what is wrong."""

import threading

import grpc
import numpy as np
import pytest
from servables import DTYPES, Shelf, echo, sums

from navi.batching.servable import VersionState
from navi.core.priority import Priority
from navi.server.inference.models import Models
from navi.wire.kserve import inference_pb2 as pb
from navi.wire.kserve_codec import decode_outputs, encode_request
from navi.wire.tensors import strings

SERVICE = "/inference.GRPCInferenceService/"
VALUES = {
    "BOOL": [[True, False]],
    "FP16": [[0.5, -2.0]],
    "FP32": [[0.1, np.inf]],
    "FP64": [[0.1, 1e300]],
    "BYTES": [[b"", "é漢".encode()]],
}
TYPED = (
    {
        "BOOL": "bool_contents",
        "INT64": "int64_contents",
        "UINT64": "uint64_contents",
        "FP32": "fp32_contents",
        "FP64": "fp64_contents",
        "BYTES": "bytes_contents",
    }
    | {f"INT{n}": "int_contents" for n in (8, 16, 32)}
    | {f"UINT{n}": "uint_contents" for n in (8, 16, 32)}
)
A = np.array([[1, 2], [3, 4]], np.float32)
B = np.array([10, 20])


def values_of(datatype):
    if datatype == "BYTES":
        return strings(VALUES["BYTES"][0]).reshape(1, 2)
    bounds = np.iinfo(DTYPES[datatype]) if "INT" in datatype else None
    return np.array([[bounds.min, bounds.max]] if bounds else VALUES[datatype], DTYPES[datatype])


def ask(at, method, request, reply, **options):
    call = at.channel.unary_unary(
        SERVICE + method, request_serializer=type(request).SerializeToString, response_deserializer=reply.FromString
    )
    return call(request, **{"timeout": 20, **options})


def infer(at, request, **options):
    return ask(at, "ModelInfer", request, pb.ModelInferResponse, **options)


def refused(at, request, method="ModelInfer", reply=pb.ModelInferResponse):
    with pytest.raises(grpc.RpcError) as raised:
        ask(at, method, request, reply)
    return raised.value.code(), raised.value.details()


@pytest.fixture(scope="module")
def shelf():
    models = [echo(datatype, dtype) for datatype, dtype in DTYPES.items()]
    others = [VersionState("slow", 1, "loading"), VersionState("broken", 2, "failed", reason="its file is cut off")]
    return Shelf([*models, sums(version=9), sums(version=10, max_rows=8)], {("sums", "canary"): 9}, others)


@pytest.fixture(scope="module")
def at(navi, shelf):
    with navi.serve(models=shelf) as running:
        yield running


@pytest.mark.parametrize("datatype", DTYPES)
def test_every_datatype_comes_and_goes_in_raw_form(at, datatype):
    sent = values_of(datatype)
    reply = infer(at, encode_request(datatype, {"x": sent}))
    assert decode_outputs(reply)["y"].tolist() == sent.tolist()
    assert (reply.outputs[0].datatype, list(reply.outputs[0].shape)) == (datatype, [1, 2])


@pytest.mark.parametrize("datatype", TYPED)
def test_every_datatype_that_has_a_list_may_come_in_it(at, datatype):
    sent = values_of(datatype)
    request = pb.ModelInferRequest(model_name=datatype)
    tensor = request.inputs.add(name="x", datatype=datatype, shape=[1, 2])
    getattr(tensor.contents, TYPED[datatype]).extend(sent.ravel().tolist())
    assert decode_outputs(infer(at, request))["y"].tolist() == sent.tolist()


def test_bfloat16_comes_as_float32(at):
    request = pb.ModelInferRequest(model_name="FP32", raw_input_contents=[b"\xc0\x3f\x00\xc0"])
    request.inputs.add(name="x", datatype="BF16", shape=[1, 2])
    assert decode_outputs(infer(at, request))["y"].tolist() == [[1.5, -2.0]]


def test_a_reply_names_model_version_and_request(at):
    reply = infer(at, encode_request("sums", {"a": A, "b": B}, request_id="r1"))
    assert (reply.model_name, reply.model_version, reply.id) == ("sums", "10", "r1")
    assert [output.name for output in reply.outputs] == ["sum", "both"]
    assert decode_outputs(reply)["sum"].tolist() == [13.0, 27.0]


def test_a_version_is_a_number_or_a_label(at):
    for version, number in (("9", "9"), ("10", "10"), ("canary", "9"), ("", "10")):
        reply = infer(at, encode_request("sums", {"a": A, "b": B}, version=version))
        assert reply.model_version == number


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("none", "", "NOT_FOUND"),
        ("sums", "11", "NOT_FOUND"),
        ("sums", "9" * 5000, "NOT_FOUND"),
        ("sums", "stable", "NOT_FOUND"),
        ("slow", "", "UNAVAILABLE"),
        ("", "", "INVALID_ARGUMENT"),
    ],
)
def test_a_model_that_is_not_there_is_told_from_one_that_is_not_loaded(at, name, version, code):
    assert refused(at, encode_request(name, {"a": A}, version=version))[0].name == code


def test_outputs_are_those_asked_for_in_that_order(at):
    reply = infer(at, encode_request("sums", {"a": A, "b": B}, outputs=["both"]))
    assert [output.name for output in reply.outputs] == ["both"]
    code, text = refused(at, encode_request("sums", {"a": A, "b": B}, outputs=["sum", "sun"]))
    assert (code.name, text) == ("INVALID_ARGUMENT", "outputs[sun]: is no output; known: both, sum")


def wrong(change):
    request = encode_request("sums", {"a": A, "b": B})
    change(request)
    return request


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda r: r.inputs[0].contents.fp32_contents.append(1), "inputs[a]: has contents, where there are raw"),
        (lambda r: r.outputs.add(name="sum").parameters["classification"].MergeFrom(
            pb.InferParameter(int64_param=3)), "outputs[sum].parameters[classification]: classes are not made here"),
        (lambda r: r.inputs[0].parameters["shared_memory_region"].MergeFrom(pb.InferParameter(string_param="m")),
         "inputs[a]: stands in shared memory"),
        (lambda r: r.parameters["triton_secret"].MergeFrom(pb.InferParameter(bool_param=True)),
         "parameters[triton_secret]: is a reserved name"),
        (lambda r: r.parameters["timeout"].MergeFrom(pb.InferParameter(string_param="1")),
         "parameters[timeout]: is no integer from 0"),
        (lambda r: r.parameters["priority"].MergeFrom(pb.InferParameter(int64_param=-1)),
         "parameters[priority]: is no integer from 0"),
        (lambda r: r.inputs.pop() and r.raw_input_contents.pop(), "inputs[b]: is missing"),
        (lambda r: r.inputs[1].shape.__setitem__(0, -1), "inputs[b]: has the size -1"),
        (lambda r: r.inputs[1].shape.__setitem__(0, 2**62), "inputs[b]: asks for more than"),
        (lambda r: r.raw_input_contents.__setitem__(1, b"\xff" * 8 + bytes(8)), "inputs: b is out of its range"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_name(at, change, text):
    code, said = refused(at, wrong(change))
    assert code.name == "INVALID_ARGUMENT"
    assert text in said


def test_text_that_is_not_utf8_is_refused(at):
    code, text = refused(at, encode_request("BYTES", {"x": strings([b"\xff\xfe"]).reshape(1, 1)}))
    assert (code.name, text) == ("INVALID_ARGUMENT", "inputs[x]: string 0 is not UTF-8")


def test_rows_that_are_only_claimed_are_refused(at):
    request = pb.ModelInferRequest(model_name="FP32", raw_input_contents=[b""])
    request.inputs.add(name="x", datatype="FP32", shape=[2**39, 0])
    assert "has no values, and the shape" in refused(at, request)[1]


def test_parameters_that_are_not_for_us_are_ignored(at):
    request = encode_request("sums", {"a": A, "b": B})
    request.parameters["session"].string_param = "s"
    request.parameters["sequence_id"].int64_param = 7
    request.inputs[0].parameters["binary_data_size"].int64_param = 16
    request.outputs.add(name="sum").parameters["binary_data"].bool_param = True
    assert decode_outputs(infer(at, request))["sum"].tolist() == [13.0, 27.0]


def test_time_and_rank_of_a_request_reach_the_model(at, shelf):
    request = encode_request("sums", {"a": A, "b": B}, version="9")
    request.parameters["timeout"].int64_param = 2_000_000
    request.parameters["priority"].uint64_param = 3
    infer(at, request)
    infer(at, encode_request("sums", {"a": A, "b": B}, version="9", request_id="key"))
    model = next(each for each in shelf.servables if each.version == 9)
    (short, low), (long, normal) = model.calls[-2:]
    assert short.remaining() < 2.0 < long.remaining()
    assert (low, normal) == (Priority.BACKFILL, Priority.ORGANIC)
    assert shelf.keys[-1] == "key"


def test_a_timeout_ends_the_call_before_its_deadline(navi):
    waits = sums()
    waits.fn = lambda _: threading.Event().wait(0.01) or waits.calls[-1][0].check("it was done") or {}
    request = encode_request("sums", {"a": A, "b": B})
    request.parameters["timeout"].int64_param = 1000
    with navi.serve(models=Shelf([waits])) as at:
        assert refused(at, request)[0].name == "DEADLINE_EXCEEDED"


def test_readiness_is_told(navi, at):
    assert ask(at, "ServerLive", pb.ServerLiveRequest(), pb.ServerLiveResponse).live
    assert ask(at, "ServerReady", pb.ServerReadyRequest(), pb.ServerReadyResponse).ready
    for name, version, ready in (("sums", "", True), ("sums", "9", True), ("slow", "", False), ("broken", "2", False)):
        request = pb.ModelReadyRequest(name=name, version=version)
        assert ask(at, "ModelReady", request, pb.ModelReadyResponse).ready is ready
    missing = pb.ModelReadyRequest(name="sums", version="3")
    assert refused(at, missing, "ModelReady", pb.ModelReadyResponse)[0].name == "NOT_FOUND"


def test_metadata_and_configuration_are_told(at):
    server = ask(at, "ServerMetadata", pb.ServerMetadataRequest(), pb.ServerMetadataResponse)
    assert server.name == "navi"
    assert "statistics" in server.extensions
    model = ask(at, "ModelMetadata", pb.ModelMetadataRequest(name="sums"), pb.ModelMetadataResponse)
    assert (model.platform, list(model.versions)) == ("fake", ["9", "10"])
    assert [(each.name, each.datatype, list(each.shape)) for each in model.inputs] == [
        ("a", "FP32", [-1, 2]),
        ("b", "INT64", [-1]),
    ]
    batched, whole = (
        ask(at, "ModelConfig", pb.ModelConfigRequest(name="sums", version=version), pb.ModelConfigResponse).config
        for version in ("10", "9")
    )
    assert (batched.max_batch_size, list(batched.input[0].dims)) == (8, [2])
    assert (whole.max_batch_size, list(whole.input[0].dims)) == (0, [-1, 2])


def test_the_index_tells_every_version_and_its_state(at):
    found = ask(at, "RepositoryIndex", pb.RepositoryIndexRequest(), pb.RepositoryIndexResponse).models
    told = {(each.name, each.version): (each.state, each.reason) for each in found}
    assert told["sums", "9"] == ("READY", "")
    assert told["slow", "1"] == ("LOADING", "")
    assert told["broken", "2"] == ("UNAVAILABLE", "its file is cut off")
    ready = ask(at, "RepositoryIndex", pb.RepositoryIndexRequest(ready=True), pb.RepositoryIndexResponse).models
    assert {each.name for each in ready} == {*DTYPES, "sums"}


def test_models_are_not_loaded_by_callers_where_nobody_controls_them(at):
    load = pb.RepositoryModelLoadRequest(model_name="sums")
    code, text = refused(at, load, "RepositoryModelLoad", pb.RepositoryModelLoadResponse)
    assert code.name == "UNIMPLEMENTED"
    assert "no model repository" in text


def test_a_model_never_comes_from_a_request(navi):
    class Control:
        asked = ()

        def load(self, name):
            self.asked += (("load", name),)

        def unload(self, name):
            self.asked += (("unload", name),)

    control = Control()
    with navi.serve(models=Models(Shelf([]), control)) as at:
        load = pb.RepositoryModelLoadRequest(model_name="m")
        ask(at, "RepositoryModelLoad", load, pb.RepositoryModelLoadResponse)
        ask(
            at,
            "RepositoryModelUnload",
            pb.RepositoryModelUnloadRequest(model_name="m"),
            pb.RepositoryModelUnloadResponse,
        )
        load.parameters["file:1/model.onnx"].bytes_param = b"code"
        code, text = refused(at, load, "RepositoryModelLoad", pb.RepositoryModelLoadResponse)
    assert control.asked == (("load", "m"), ("unload", "m"))
    assert (code.name, "file:1/model.onnx" in text) == ("INVALID_ARGUMENT", True)


def test_statistics_count_what_went_well_and_what_failed(navi):
    with navi.serve(models=Shelf([sums()])) as at:
        good = encode_request("sums", {"a": A, "b": B})
        for _ in range(3):
            infer(at, good)
        refused(at, encode_request("sums", {"a": A}))
        asked = pb.ModelStatisticsRequest(name="sums")
        [told] = ask(at, "ModelStatistics", asked, pb.ModelStatisticsResponse).model_stats
    stats = told.inference_stats
    assert (stats.success.count, stats.fail.count, stats.compute_infer.count) == (3, 1, 3)
    parts = stats.compute_input.ns + stats.compute_infer.ns + stats.compute_output.ns
    assert 0 < parts <= stats.success.ns
    assert told.last_inference > 1e12


def test_calls_are_counted_by_model_and_unknown_names_make_no_labels(navi):
    with navi.serve(models=Shelf([sums()])) as at:
        infer(at, encode_request("sums", {"a": A, "b": B}))
        refused(at, encode_request("sums", {"a": A}))
        for name in ("x1", "x2"):
            refused(at, encode_request(name, {"a": A}))
        count = {
            (model, outcome): at.value("navi_requests_total", method="ModelInfer", pipeline=model, outcome=outcome)
            for model, outcome in (("sums", "ok"), ("sums", "invalid"), ("unknown", "invalid"), ("x1", "invalid"))
        }
    assert list(count.values()) == [1, 1, 2, 0]


def test_compression_a_strange_authority_and_repeated_metadata_do_no_harm(at):
    options = [("grpc.default_authority", "rustserving"), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(at.target, options=options, compression=grpc.Compression.Gzip) as channel:
        call = channel.unary_unary(SERVICE + "ModelInfer")
        metadata = [("navi-caller", "a"), ("navi-caller", "b"), ("x-bin", b"\0\xff"), ("x-bin", b"")]
        reply = call(
            encode_request("sums", {"a": A, "b": B}).SerializeToString(),
            timeout=20,
            metadata=metadata,
            compression=grpc.Compression.Gzip,
        )
    assert decode_outputs(pb.ModelInferResponse.FromString(reply))["sum"].tolist() == [13.0, 27.0]


def test_a_request_past_four_mebibytes_is_taken(at):
    big = np.zeros((600_000, 2), np.float32)
    options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(at.target, options=options) as channel:
        call = channel.unary_unary(SERVICE + "ModelInfer", response_deserializer=pb.ModelInferResponse.FromString)
        request = encode_request("sums", {"a": big, "b": np.zeros(len(big), np.int64)})
        assert len(decode_outputs(call(request.SerializeToString(), timeout=20))["sum"]) == len(big)


def test_a_stranger_finds_the_messages_by_reflection(at):
    from google.protobuf.descriptor_pool import DescriptorPool
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

    pool = DescriptorPool(ProtoReflectionDescriptorDatabase(at.channel))
    infer_method = pool.FindServiceByName("inference.GRPCInferenceService").FindMethodByName("ModelInfer")
    assert infer_method.input_type.fields_by_name["raw_input_contents"].number == 7
    assert pool.FindServiceByName("tensorflow.serving.PredictionService").FindMethodByName("Predict")
