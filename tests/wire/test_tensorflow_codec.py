"""TensorFlow's tensors are read in both encodings, and wrong ones are refused by name."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_cases import named_tensors, same_tensors

from navi.core.errors import InvalidArgument
from navi.wire.buffers import parse
from navi.wire.tensorflow_codec import (
    DTYPES,
    decode_tensor,
    decode_tensors,
    encode_predict,
    encode_prediction,
    model_spec,
)
from navi.wire.tfserving.serving_pb2 import PredictRequest, PredictResponse
from navi.wire.tfserving.tensorflow_pb2 import TensorProto

HALVES = np.array([1.5, -2.0], dtype="<f2").view("<u2").tolist()
BFLOATS = (np.array([1.5, -2.0], dtype="<f4").view("<u4") >> 16).tolist()
LISTED = {
    "BOOL": ("bool_val", [True, False], [True, False]),
    "INT8": ("int_val", [-128, 127], [-128, 127]),
    "INT16": ("int_val", [-(2**15), 5], [-(2**15), 5]),
    "INT32": ("int_val", [-(2**31), 5], [-(2**31), 5]),
    "INT64": ("int64_val", [-(2**63), 5], [-(2**63), 5]),
    "UINT8": ("int_val", [0, 255], [0, 255]),
    "UINT16": ("int_val", [0, 2**16 - 1], [0, 2**16 - 1]),
    "UINT32": ("uint32_val", [0, 2**32 - 1], [0, 2**32 - 1]),
    "UINT64": ("uint64_val", [0, 2**64 - 1], [0, 2**64 - 1]),
    "FP16": ("half_val", HALVES, [1.5, -2.0]),
    "FP32": ("float_val", [0.5, -1.5], [0.5, -1.5]),
    "FP64": ("double_val", [0.1, 1e300], [0.1, 1e300]),
    "BF16": ("half_val", BFLOATS, [1.5, -2.0]),
    "BYTES": ("string_val", [b"a\0", b""], [b"a\0", b""]),
}


def tensor(datatype, dims, **fields):
    message = TensorProto(dtype=DTYPES[datatype], **fields)
    for size in dims:
        message.tensor_shape.dim.add(size=size)
    return message


@given(inputs=named_tensors)
def test_a_request_and_a_reply_come_back_as_they_were_sent(inputs):
    request = encode_predict(model_spec("m", "3", "s"), inputs, outputs=["y"])
    read = PredictRequest.FromString(request.SerializeToString())
    assert same_tensors(decode_tensors(read.inputs, "inputs"), inputs)
    assert (read.model_spec.name, read.model_spec.version.value, list(read.output_filter)) == ("m", 3, ["y"])
    reply = PredictResponse.FromString(encode_prediction(read.model_spec, inputs).SerializeToString())
    assert same_tensors(decode_tensors(reply.outputs, "outputs"), inputs)


@pytest.mark.parametrize("datatype", LISTED)
def test_a_list_shorter_than_the_shape_repeats_its_last_value(datatype):
    field, given_, values = LISTED[datatype]
    assert decode_tensor(tensor(datatype, [2], **{field: given_}), "x").tolist() == values
    found = decode_tensor(tensor(datatype, [2, 2], **{field: given_}), "x")
    assert found.ravel().tolist() == [*values, values[-1], values[-1]]


def test_tensor_content_is_not_copied():
    found = decode_tensor(tensor("INT64", [2, 1], tensor_content=bytes(16)), "x")
    assert found.dtype == np.int64
    assert not found.flags.owndata


def test_a_version_is_a_number_or_a_label():
    assert model_spec("m", "12").version.value == 12
    assert model_spec("m", "canary").version_label == "canary"
    assert model_spec("m", "").WhichOneof("version_choice") is None


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (tensor("FP32", [2], tensor_content=bytes(4)), "has 1 values, where its shape"),
        (tensor("FP32", [1], tensor_content=bytes(5)), "not a multiple of 4"),
        (tensor("FP32", [-1], float_val=[1.0]), "has the size -1"),
        (tensor("FP32", [2**62, 2**62], float_val=[1.0]), "asks for more than"),
        (tensor("FP32", [2**39], float_val=[1.0]), "repeats its last value up to"),
        (tensor("BYTES", [2**39], string_val=[b"a"]), "repeats its last value up to"),
        (tensor("FP32", [3]), "has no values, where its shape"),
        (tensor("FP32", [1], float_val=[1.0, 2.0]), "has 2 values, where its shape"),
        (tensor("FP32", [1], float_val=[1.0], tensor_content=bytes(4)), "both tensor_content and float_val"),
        (tensor("FP32", [1], double_val=[1.0]), "has double_val, where its dtype asks for float_val"),
        (tensor("INT8", [1], int_val=[128]), "int8 does not hold"),
        (tensor("FP16", [1], half_val=[-1]), "uint16 does not hold"),
        (tensor("BOOL", [1], tensor_content=b"\2"), "neither 0 nor 1"),
        (tensor("BYTES", [1], tensor_content=b"\1a"), "give them in string_val"),
        (TensorProto(dtype=8), "dtype 8 is not supported"),
        (TensorProto(dtype=1, tensor_shape={"unknown_rank": True}), "unknown rank"),
    ],
)
def test_a_wrong_tensor_is_refused_by_name(message, problem):
    with pytest.raises(InvalidArgument, match=problem) as refused:
        decode_tensors({"x": message}, "inputs")
    assert refused.value.field == "inputs[x]"


@given(st.data())
def test_any_bytes_are_a_request_or_refused(data):
    good = encode_predict(model_spec("m", ""), data.draw(named_tensors)).SerializeToString(deterministic=True)
    at = data.draw(st.integers(0, len(good) - 1))
    changed = good[:at] + data.draw(st.binary(max_size=3)) + good[at + data.draw(st.integers(0, 3)) :]
    with suppress(InvalidArgument):
        decode_tensors(parse(PredictRequest, changed).inputs, "inputs")
