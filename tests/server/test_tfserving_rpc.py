"""TensorFlow Serving's protocol over a real port: both encodings in, and refusals that name what is wrong."""

import grpc
import numpy as np
import pytest
from servables import DTYPES, Shelf, echo, sums

from navi.batching.servable import VersionState
from navi.wire.tensorflow_codec import DTYPES as TF_DTYPES
from navi.wire.tensorflow_codec import decode_tensors, encode_predict, model_spec
from navi.wire.tensors import NUMBERS, strings
from navi.wire.tfserving import serving_pb2 as pb
from navi.wire.tfserving import tensorflow_pb2 as tf

PREDICT = "/tensorflow.serving.PredictionService/Predict"
METADATA = "/tensorflow.serving.PredictionService/GetModelMetadata"
STATUS = "/tensorflow.serving.ModelService/GetModelStatus"
RELOAD = "/tensorflow.serving.ModelService/HandleReloadConfigRequest"
LISTS = {
    "BOOL": ("bool_val", [True, False]),
    "INT8": ("int_val", [-128, 127]),
    "INT16": ("int_val", [-(2**15), 2**15 - 1]),
    "INT32": ("int_val", [-(2**31), 2**31 - 1]),
    "INT64": ("int64_val", [-(2**63), 2**63 - 1]),
    "UINT8": ("int_val", [0, 255]),
    "UINT16": ("int_val", [0, 65535]),
    "UINT32": ("uint32_val", [0, 2**32 - 1]),
    "UINT64": ("uint64_val", [0, 2**64 - 1]),
    "FP16": ("half_val", [0x3800, 0xC000]),
    "FP32": ("float_val", [0.5, -1.5]),
    "FP64": ("double_val", [0.1, 1e300]),
    "BYTES": ("string_val", [b"", "é漢".encode()]),
}
A = np.array([[1, 2], [3, 4]], np.float32)
B = np.array([10, 20])


def values_of(datatype):
    _, listed = LISTS[datatype]
    if datatype == "BYTES":
        return strings(listed).reshape(1, 2)
    if datatype == "FP16":
        return np.array([listed], np.uint16).view(np.float16)
    return np.array([listed], DTYPES[datatype])


def listed_tensor(datatype, shape, values):
    tensor = tf.TensorProto(dtype=TF_DTYPES[datatype])
    tensor.tensor_shape.dim.extend(tf.TensorShapeProto.Dim(size=size) for size in shape)
    getattr(tensor, LISTS[datatype][0]).extend(values)
    return tensor


def ask(at, path, request, reply):
    call = at.channel.unary_unary(
        path, request_serializer=type(request).SerializeToString, response_deserializer=reply.FromString
    )
    return call(request, timeout=20)


def predict(at, request):
    return ask(at, PREDICT, request, pb.PredictResponse)


def refused(at, request, path=PREDICT):
    with pytest.raises(grpc.RpcError) as raised:
        ask(at, path, request, pb.PredictResponse)
    return raised.value.code().name, raised.value.details()


@pytest.fixture(scope="module")
def at(navi):
    models = [echo(datatype, dtype) for datatype, dtype in DTYPES.items()]
    others = [
        VersionState("sums", 11, "loading"),
        VersionState("sums", 12, "failed", reason="its file is cut off"),
        VersionState("slow", 1, "loading"),
    ]
    shelf = Shelf([*models, sums(version=9), sums(version=10)], {("sums", "canary"): 9}, others)
    with navi.serve(models=shelf) as running:
        yield running


@pytest.mark.parametrize("datatype", LISTS)
def test_every_datatype_may_come_in_a_list(at, datatype):
    request = pb.PredictRequest(model_spec=model_spec(datatype, ""))
    request.inputs["x"].CopyFrom(listed_tensor(datatype, [1, 2], LISTS[datatype][1]))
    outputs = decode_tensors(predict(at, request).outputs, "outputs")
    assert outputs["y"].tolist() == values_of(datatype).tolist()
    assert outputs["y"].shape == (1, 2)


@pytest.mark.parametrize("datatype", NUMBERS)
def test_every_number_may_come_as_content(at, datatype):
    sent = values_of(datatype)
    request = encode_predict(model_spec(datatype, ""), {"x": sent})
    assert request.inputs["x"].tensor_content
    assert decode_tensors(predict(at, request).outputs, "outputs")["y"].tolist() == sent.tolist()


def test_a_short_list_repeats_its_last_value(at):
    request = encode_predict(model_spec("sums", ""), {"b": np.array([10, 20, 30])})
    request.inputs["a"].CopyFrom(listed_tensor("FP32", [3, 2], [1.0, 2.0]))
    assert decode_tensors(predict(at, request).outputs, "outputs")["sum"].tolist() == [13.0, 24.0, 34.0]


def test_repeated_values_cannot_outgrow_a_message_together(navi):
    request = pb.PredictRequest(model_spec=model_spec("FP32", ""))
    for name in ("x", "z1", "z2"):
        request.inputs[name].CopyFrom(listed_tensor("FP32", [100, 100], [1.0]))
    with navi.serve(models=Shelf([echo("FP32", np.float32)]), max_message_bytes=50_000) as at:
        code, text = refused(at, request)
    assert code == "INVALID_ARGUMENT"
    assert "repeats its last value up to 10000 values, more than 10000 bytes" in text


def test_a_reply_names_model_version_and_signature(at):
    spec = predict(at, encode_predict(model_spec("sums", ""), {"a": A, "b": B})).model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("sums", 10, "serving_default")


def test_a_version_is_a_number_or_a_label(at):
    for version, number in (("9", 9), ("10", 10), ("canary", 9)):
        reply = predict(at, encode_predict(model_spec("sums", version), {"a": A, "b": B}))
        assert reply.model_spec.version.value == number


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("none", "", "NOT_FOUND"),
        ("sums", "7", "NOT_FOUND"),
        ("sums", "stable", "NOT_FOUND"),
        ("sums", "11", "UNAVAILABLE"),
        ("slow", "", "UNAVAILABLE"),
        ("", "", "INVALID_ARGUMENT"),
    ],
)
def test_a_model_that_is_not_there_is_told_from_one_that_is_not_loaded(at, name, version, code):
    assert refused(at, encode_predict(model_spec(name, version), {"a": A}))[0] == code


def test_an_output_filter_chooses_and_a_misspelt_one_is_an_error(at):
    request = encode_predict(model_spec("sums", ""), {"a": A, "b": B}, outputs=["sum"])
    assert list(predict(at, request).outputs) == ["sum"]
    request.output_filter.append("sun")
    assert refused(at, request) == ("INVALID_ARGUMENT", "output_filter[sun]: is no output; known: both, sum")


def test_a_signature_that_the_model_has_not_is_refused(at):
    request = encode_predict(model_spec("sums", "", "classify"), {"a": A, "b": B})
    code, text = refused(at, request)
    assert code == "INVALID_ARGUMENT"
    assert text == "model_spec.signature_name: 'classify' is no signature of the model; known: serving_default"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda r: r.inputs["b"].int64_val.append(1), "inputs[b]: has both tensor_content and int64_val"),
        (lambda r: r.inputs["b"].float_val.append(1), "inputs[b]: has float_val, where its dtype asks for int64_val"),
        (lambda r: r.inputs.pop("b"), "inputs[b]: is missing"),
        (lambda r: r.inputs["c"].CopyFrom(r.inputs["b"]), "inputs[c]: is not known"),
        (lambda r: setattr(r.inputs["b"], "dtype", tf.DataType.DT_DOUBLE), "inputs[b]: is float64, not int64"),
        (lambda r: setattr(r.inputs["b"], "dtype", 30), "inputs[b]: dtype 30 is not supported"),
        (lambda r: setattr(r.inputs["b"].tensor_shape.dim[0], "size", -1), "inputs[b]: has the size -1"),
        (lambda r: setattr(r.inputs["b"].tensor_shape.dim[0], "size", 2**62), "inputs[b]: asks for more than"),
        (lambda r: setattr(r.inputs["b"].tensor_shape, "unknown_rank", True), "inputs[b]: has a shape of unknown"),
        (lambda r: setattr(r.inputs["b"], "tensor_content", b"123"), "inputs[b]: tensor_content has 3 bytes"),
    ],
)
def test_what_is_wrong_is_refused_by_name(at, change, text):
    request = encode_predict(model_spec("sums", ""), {"a": A, "b": B})
    change(request)
    code, said = refused(at, request)
    assert code == "INVALID_ARGUMENT"
    assert text in said


def test_the_signature_is_told(at):
    request = pb.GetModelMetadataRequest(model_spec=model_spec("sums", "9"), metadata_field=["signature_def"])
    reply = ask(at, METADATA, request, pb.GetModelMetadataResponse)
    signatures = pb.SignatureDefMap()
    assert reply.metadata["signature_def"].Unpack(signatures)
    assert reply.model_spec.version.value == 9
    told = signatures.signature_def["serving_default"]
    assert told.method_name == "tensorflow/serving/predict"
    assert (told.inputs["a"].dtype, [dim.size for dim in told.inputs["a"].tensor_shape.dim]) == (1, [-1, 2])
    assert set(told.outputs) == {"sum", "both"}
    del request.metadata_field[:]
    assert refused(at, request, METADATA)[0] == "INVALID_ARGUMENT"


def test_the_state_of_every_version_is_told(at):
    def states(spec):
        reply = ask(at, STATUS, pb.GetModelStatusRequest(model_spec=spec), pb.GetModelStatusResponse)
        return [
            (each.version, pb.ModelVersionStatus.State.Name(each.state), each.status.error_message)
            for each in reply.model_version_status
        ]

    assert states(model_spec("sums", "")) == [
        (12, "END", "its file is cut off"),
        (11, "LOADING", ""),
        (10, "AVAILABLE", ""),
        (9, "AVAILABLE", ""),
    ]
    assert states(model_spec("sums", "canary")) == states(model_spec("sums", "9")) == [(9, "AVAILABLE", "")]
    for spec in (model_spec("none", ""), model_spec("sums", "7"), model_spec("sums", "stable")):
        assert refused(at, pb.GetModelStatusRequest(model_spec=spec), STATUS)[0] == "NOT_FOUND"


def test_a_caller_cannot_change_the_configuration(at):
    code, text = refused(at, pb.GetModelStatusRequest(), RELOAD)
    assert code == "UNIMPLEMENTED"
    assert "not taken from callers" in text
