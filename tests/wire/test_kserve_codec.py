"""KServe v2 tensors travel whole, and wrong ones are refused by name."""

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_cases import named_tensors, same_tensor, same_tensors

from navi.core.errors import InvalidArgument
from navi.wire.buffers import parse
from navi.wire.kserve.inference_pb2 import InferTensorContents, ModelInferRequest, ModelInferResponse
from navi.wire.kserve_codec import decode_inputs, decode_outputs, encode_request, encode_response
from navi.wire.tensors import as_texts, strings

Input = ModelInferRequest.InferInputTensor
TYPED = {
    "BOOL": ("bool_contents", [True, False]),
    "INT8": ("int_contents", [-128, 127]),
    "INT16": ("int_contents", [-(2**15), 2**15 - 1]),
    "INT32": ("int_contents", [-(2**31), 2**31 - 1]),
    "INT64": ("int64_contents", [-(2**63), 2**63 - 1]),
    "UINT8": ("uint_contents", [0, 255]),
    "UINT16": ("uint_contents", [0, 2**16 - 1]),
    "UINT32": ("uint_contents", [0, 2**32 - 1]),
    "UINT64": ("uint64_contents", [0, 2**64 - 1]),
    "FP32": ("fp32_contents", [0.5, -1.5]),
    "FP64": ("fp64_contents", [0.1, 1e300]),
    "BYTES": ("bytes_contents", [b"a\0", b""]),
}


def typed(datatype, shape, **lists):
    return ModelInferRequest(
        inputs=[Input(name="x", datatype=datatype, shape=shape, contents=InferTensorContents(**lists))]
    )


def raw(datatype, shape, data):
    return ModelInferRequest(inputs=[Input(name="x", datatype=datatype, shape=shape)], raw_input_contents=[data])


@given(inputs=named_tensors)
def test_a_request_comes_back_as_it_was_sent(inputs):
    sent = encode_request("m", inputs, version="3", outputs=["y"], request_id="r")
    read = ModelInferRequest.FromString(sent.SerializeToString())
    assert same_tensors(decode_inputs(read), inputs)
    assert (read.model_name, read.model_version, read.id, read.outputs[0].name) == ("m", "3", "r", "y")


@given(outputs=named_tensors)
def test_a_reply_comes_back_as_it_was_sent(outputs):
    read = ModelInferResponse.FromString(encode_response("m", outputs).SerializeToString())
    assert same_tensors(decode_outputs(read), outputs)


@pytest.mark.parametrize("datatype", TYPED)
def test_typed_contents_are_what_the_raw_form_is(datatype):
    field, values = TYPED[datatype]
    [found] = decode_inputs(typed(datatype, [2], **{field: values})).values()
    [again] = decode_inputs(encode_request("m", {"x": found})).values()
    assert found.tolist() == values
    assert same_tensor(found, again)


def test_bfloat16_is_read_as_float32():
    data = np.array([1.5, -2.0, np.inf], dtype="<f4").view("<u4") >> 16
    found = decode_inputs(raw("BF16", [3], data.astype("<u2").tobytes()))["x"]
    assert found.dtype == np.float32
    assert found.tolist() == [1.5, -2.0, np.inf]


def test_raw_numbers_are_not_copied():
    found = decode_inputs(raw("FP32", [2, 1], bytes(8)))["x"]
    assert not found.flags.owndata
    assert not found.flags.writeable


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (raw("FP32", [2], bytes(4)), "has 1 values, where its shape"),
        (raw("FP32", [1], bytes(5)), "not a multiple of 4"),
        (raw("FP32", [-1, 2], bytes(8)), "has the size -1"),
        (raw("FP32", [2**62, 2**62], b""), "asks for more than"),
        (raw("FP32", [0, 2**62, 2**62], b""), "asks for more than"),
        (raw("FP32", [2**39], b""), "has 0 values"),
        (raw("FP32", [1] * 65, bytes(4)), "65 dimensions"),
        (raw("float", [1], bytes(4)), "datatype 'float' is none of"),
        (raw("BOOL", [1], b"\2"), "neither 0 nor 1"),
        (raw("BYTES", [1], b"\1\0"), "no whole length"),
        (raw("BYTES", [1], struct.pack("<I", 2**32 - 1) + b"a"), "longer than what is left"),
        (raw("BYTES", [2**39], b""), "has 0 values"),
        (typed("INT8", [1], int_contents=[300]), "int8 does not hold"),
        (typed("UINT16", [1], uint_contents=[2**16]), "uint16 does not hold"),
        (typed("FP32", [1], fp64_contents=[1.0]), "has fp64_contents, where FP32 asks for fp32_contents"),
        (typed("FP16", [1]), "FP16 travels as raw contents only"),
        (typed("FP32", [3]), "has 0 values"),
    ],
)
def test_a_wrong_tensor_is_refused_by_name(request_, problem):
    with pytest.raises(InvalidArgument, match=problem) as refused:
        decode_inputs(request_)
    assert refused.value.field == "inputs[x]"


def test_raw_and_typed_values_do_not_mix():
    request = typed("FP32", [1], fp32_contents=[1.0])
    request.raw_input_contents.append(bytes(4))
    with pytest.raises(InvalidArgument, match=r"inputs\[x\]: has contents, where there are raw_input_contents"):
        decode_inputs(request)
    request.raw_input_contents.append(bytes(4))
    with pytest.raises(InvalidArgument, match="raw_input_contents: has 2 entries for 1 inputs"):
        decode_inputs(request)


def test_names_are_there_and_different():
    request = ModelInferRequest(inputs=[Input(name="x", datatype="FP32", shape=[0])] * 2)
    with pytest.raises(InvalidArgument, match=r"inputs\[x\]: is given twice"):
        decode_inputs(request)
    with pytest.raises(InvalidArgument, match=r"inputs\[0\]: has no name"):
        decode_inputs(ModelInferRequest(inputs=[Input(datatype="FP32", shape=[0])]))


def test_shared_memory_is_refused():
    request = raw("FP32", [1], b"")
    request.inputs[0].parameters["shared_memory_region"].string_param = "region"
    with pytest.raises(InvalidArgument, match="shared memory, which is not supported"):
        decode_inputs(request)


def test_bytes_that_are_not_text_are_refused_where_text_is_asked():
    assert as_texts(strings(["é".encode(), b""]), "inputs[x]").tolist() == ["é", ""]
    with pytest.raises(InvalidArgument, match=r"inputs\[x\]: string 1 is not UTF-8"):
        as_texts(strings([b"a", b"\xff"]), "inputs[x]")


@given(st.data())
def test_any_bytes_are_a_request_or_refused(data):
    good = encode_request("m", data.draw(named_tensors)).SerializeToString()
    at = data.draw(st.integers(0, len(good) - 1))
    changed = good[:at] + data.draw(st.binary(max_size=3)) + good[at + data.draw(st.integers(0, 3)) :]
    with suppress(InvalidArgument):
        decode_inputs(parse(ModelInferRequest, changed))
