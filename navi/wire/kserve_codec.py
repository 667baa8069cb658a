"""KServe v2 tensors: raw or typed on the wire, arrays by name here."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.wire.buffers import shown
from navi.wire.kserve.inference_pb2 import InferTensorContents, ModelInferRequest, ModelInferResponse
from navi.wire.tensors import (
    NUMBERS,
    as_bytes,
    datatype_of,
    known,
    narrowed,
    read_values,
    shape_of,
    shaped,
    strings,
    write_values,
)

_LENGTH = struct.Struct("<I")

_LISTS: dict[str, str] = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


class _Tensor(Protocol):
    """What inputs and outputs have in common."""

    @property
    def name(self) -> str: ...
    @property
    def datatype(self) -> str: ...
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def contents(self) -> InferTensorContents: ...
    def HasField(self, field_name: str) -> bool: ...  # noqa: N802


def decode_inputs(request: ModelInferRequest) -> dict[str, Array]:
    """The inputs of a request by name: raw numbers are views of the message's bytes, BYTES object arrays of `bytes`.

    Raises InvalidArgument naming the input: for a name that is empty or given twice, an unknown datatype, values that
    are not what shape and datatype say, raw and typed values in one request, and shared memory, which is not read.
    """
    for tensor in request.inputs:
        if "shared_memory_region" in tensor.parameters:
            raise InvalidArgument(f"inputs[{shown(tensor.name)}]", "stands in shared memory, which is not supported")
    return _decode(request.inputs, request.raw_input_contents, "inputs", "raw_input_contents")


def decode_outputs(response: ModelInferResponse) -> dict[str, Array]:
    """The outputs of a reply by name; as `decode_inputs` of a request."""
    return _decode(response.outputs, response.raw_output_contents, "outputs", "raw_output_contents")


def encode_request(
    model: str, inputs: Mapping[str, Array], *, version: str = "", outputs: Iterable[str] = (), request_id: str = ""
) -> ModelInferRequest:
    """A request with its inputs in raw form; object arrays (of `bytes` or `str`) are BYTES. No outputs: all of them."""
    request = ModelInferRequest(model_name=model, model_version=version, id=request_id)
    for name, values in inputs.items():
        request.inputs.add(name=name, datatype=datatype_of(values), shape=values.shape)
        request.raw_input_contents.append(_raw(values, f"inputs[{name}]"))
    for name in outputs:
        request.outputs.add(name=name)
    return request


def encode_response(
    model: str, outputs: Mapping[str, Array], *, version: str = "", request_id: str = ""
) -> ModelInferResponse:
    """A reply with its outputs in raw form, as `encode_request`."""
    response = ModelInferResponse(model_name=model, model_version=version, id=request_id)
    for name, values in outputs.items():
        response.outputs.add(name=name, datatype=datatype_of(values), shape=values.shape)
        response.raw_output_contents.append(_raw(values, f"outputs[{name}]"))
    return response


def _decode(tensors: Sequence[_Tensor], raw: Sequence[bytes], path: str, raw_path: str) -> dict[str, Array]:
    if raw and len(raw) != len(tensors):
        raise InvalidArgument(raw_path, f"has {len(raw)} entries for {len(tensors)} {path}")
    arrays: dict[str, Array] = {}
    for position, tensor in enumerate(tensors):
        place = f"{path}[{shown(tensor.name) or position}]"
        if not tensor.name or tensor.name in arrays:
            raise InvalidArgument(place, "is given twice" if tensor.name else "has no name")
        if raw and tensor.HasField("contents"):
            raise InvalidArgument(place, f"has contents, where there are {raw_path}: give one of them")
        arrays[tensor.name] = _decode_tensor(tensor, raw[position] if raw else None, place)
    return arrays


def _decode_tensor(tensor: _Tensor, raw: bytes | None, path: str) -> Array:
    datatype, shape = known(tensor.datatype, path), shape_of(tensor.shape, path)
    if raw is None:
        return shaped(_typed(tensor.contents, datatype, path), shape, path)
    if datatype == "BYTES":
        return shaped(strings(_split_strings(raw, path)), shape, path)
    return shaped(read_values(raw, datatype, path, "its raw value"), shape, path)


def _typed(contents: InferTensorContents, datatype: str, path: str) -> Array:
    """The values [n] of the one list that the datatype asks for."""
    wanted = _LISTS.get(datatype)
    for field, _ in contents.ListFields():
        if field.name != wanted:
            raise InvalidArgument(path, f"has {field.name}, where {datatype} asks for {wanted or 'raw contents'}")
    if wanted is None:
        raise InvalidArgument(path, f"{datatype} travels as raw contents only")
    values = getattr(contents, wanted)
    if datatype == "BYTES":
        return strings(list(values))
    return narrowed(values, "?" if datatype == "BOOL" else NUMBERS[datatype], path)


def _split_strings(data: bytes, path: str) -> list[bytes]:
    """Strings that stand one after another, each after its length (uint32, little-endian)."""
    found: list[bytes] = []
    at, end = 0, len(data)
    while at < end:
        start = at + _LENGTH.size
        if start > end:
            raise InvalidArgument(path, f"string {len(found)} has no whole length before it")
        at = start + _LENGTH.unpack_from(data, at)[0]
        if at > end:
            raise InvalidArgument(path, f"string {len(found)} is longer than what is left of the value")
        found.append(data[start:at])
    return found


def _raw(values: Array, path: str) -> bytes:
    if values.dtype != object:
        return write_values(values)
    return b"".join(_LENGTH.pack(len(value)) + value for value in as_bytes(values, path))
