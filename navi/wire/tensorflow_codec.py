"""TensorFlow's tensors: packed content or value lists on the wire, arrays here."""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.wire.buffers import shown
from navi.wire.tensors import (
    NUMBERS,
    TensorSpec,
    as_bytes,
    datatype_of,
    narrowed,
    read_values,
    shape_of,
    shaped,
    strings,
    widened,
    write_values,
)
from navi.wire.tfserving.serving_pb2 import ModelSpec, PredictRequest, PredictResponse
from navi.wire.tfserving.tensorflow_pb2 import DataType, TensorInfo, TensorProto, TensorShapeProto

MAX_BYTES = 64 << 20
"""What the values of one tensor may take once repeated values are written out: as much as a message may by default."""

DTYPES: dict[str, DataType] = {
    "BOOL": DataType.DT_BOOL,
    "INT8": DataType.DT_INT8,
    "INT16": DataType.DT_INT16,
    "INT32": DataType.DT_INT32,
    "INT64": DataType.DT_INT64,
    "UINT8": DataType.DT_UINT8,
    "UINT16": DataType.DT_UINT16,
    "UINT32": DataType.DT_UINT32,
    "UINT64": DataType.DT_UINT64,
    "FP16": DataType.DT_HALF,
    "FP32": DataType.DT_FLOAT,
    "FP64": DataType.DT_DOUBLE,
    "BF16": DataType.DT_BFLOAT16,
    "BYTES": DataType.DT_STRING,
}
"""TensorFlow's dtype of each of our datatypes."""

DATATYPES = {dtype: datatype for datatype, dtype in DTYPES.items()}

_LISTS: dict[str, str] = {
    "BOOL": "bool_val",
    "INT8": "int_val",
    "INT16": "int_val",
    "INT32": "int_val",
    "INT64": "int64_val",
    "UINT8": "int_val",
    "UINT16": "int_val",
    "UINT32": "uint32_val",
    "UINT64": "uint64_val",
    "FP16": "half_val",
    "FP32": "float_val",
    "FP64": "double_val",
    "BF16": "half_val",
    "BYTES": "string_val",
}


def decode_tensor(tensor: TensorProto, path: str, *, max_bytes: int = MAX_BYTES) -> Array:
    """The array: a view of tensor_content where it can be, read-only; DT_BFLOAT16 as float32, DT_STRING as `bytes`.

    A list of values that is shorter than the shape repeats its last one, as TensorFlow has it; InvalidArgument where
    that makes more than `max_bytes`, and where no value is there to repeat. path: the tensor's place in the request.
    """
    datatype = DATATYPES.get(tensor.dtype)
    if datatype is None:
        raise InvalidArgument(path, f"dtype {tensor.dtype} is not supported")
    if tensor.tensor_shape.unknown_rank:
        raise InvalidArgument(path, "has a shape of unknown rank")
    shape = shape_of((dim.size for dim in tensor.tensor_shape.dim), path)
    values = _listed(tensor, datatype, path)
    content = tensor.tensor_content
    if not content:
        return shaped(_repeated(values, shape, path, max_bytes), shape, path)
    if len(values):
        raise InvalidArgument(path, f"has both tensor_content and {_LISTS[datatype]}: give one of them")
    if datatype == "BYTES":
        raise InvalidArgument(path, "has strings in tensor_content: give them in string_val")
    return shaped(read_values(content, datatype, path, "tensor_content"), shape, path)


def encode_tensor(values: Array, path: str) -> TensorProto:
    """The message of an array: tensor_content, or string_val for object arrays of `bytes` or `str`."""
    tensor = TensorProto(dtype=DTYPES[datatype_of(values)])
    tensor.tensor_shape.dim.extend(TensorShapeProto.Dim(size=size) for size in values.shape)
    if values.dtype == object:
        tensor.string_val.extend(as_bytes(values, path))
    else:
        tensor.tensor_content = write_values(values)
    return tensor


def decode_tensors(tensors: Mapping[str, TensorProto], path: str, *, max_bytes: int = MAX_BYTES) -> dict[str, Array]:
    """The inputs of a request or the outputs of a reply (`path`), by name."""
    return {
        name: decode_tensor(tensor, f"{path}[{shown(name)}]", max_bytes=max_bytes) for name, tensor in tensors.items()
    }


def tensor_infos(specs: Iterable[TensorSpec]) -> dict[str, TensorInfo]:
    """What a signature says of its inputs or outputs, by name."""
    return {
        spec.name: TensorInfo(
            name=f"{spec.name}:0",
            dtype=DTYPES[spec.datatype],
            tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in spec.dims]),
        )
        for spec in specs
    }


def model_spec(model: str, version: str, signature: str = "") -> ModelSpec:
    """What names a model: `version` is a number, a label, or empty for the server's choice."""
    spec = ModelSpec(name=model, signature_name=signature)
    if version.isdecimal():
        spec.version.value = int(version)
    elif version:
        spec.version_label = version
    return spec


def encode_predict(spec: ModelSpec, inputs: Mapping[str, Array], outputs: Iterable[str] = ()) -> PredictRequest:
    """A request; no outputs are all of them."""
    request = PredictRequest(model_spec=spec, output_filter=outputs)
    for name, values in inputs.items():
        request.inputs[name].CopyFrom(encode_tensor(values, f"inputs[{name}]"))
    return request


def encode_prediction(spec: ModelSpec, outputs: Mapping[str, Array]) -> PredictResponse:
    """A reply."""
    response = PredictResponse(model_spec=spec)
    for name, values in outputs.items():
        response.outputs[name].CopyFrom(encode_tensor(values, f"outputs[{name}]"))
    return response


def _listed(tensor: TensorProto, datatype: str, path: str) -> Array:
    """The values [n] of the one list that the dtype asks for, as many as are there."""
    wanted = _LISTS[datatype]
    for field, _ in tensor.ListFields():
        if field.name.endswith("_val") and field.name != wanted:
            raise InvalidArgument(path, f"has {field.name}, where its dtype asks for {wanted}")
    values = getattr(tensor, wanted)
    if datatype == "BYTES":
        return strings(list(values))
    if datatype in ("FP16", "BF16"):
        bits = narrowed(values, "<u2", path)
        return bits.view("<f2") if datatype == "FP16" else widened(bits)
    return narrowed(values, "?" if datatype == "BOOL" else NUMBERS[datatype], path)


def _repeated(values: Array, shape: tuple[int, ...], path: str, max_bytes: int) -> Array:
    """`values` [k], with the last one repeated up to what the shape asks for."""
    count = math.prod(shape)
    if len(values) >= count:
        return values
    if not len(values):
        raise InvalidArgument(path, f"has no values, where its shape {list(shape)} asks for {count}")
    if count * values.itemsize > max_bytes:
        raise InvalidArgument(path, f"repeats its last value up to {count} values, more than {max_bytes} bytes")
    return np.concatenate([values, np.full(count - len(values), values[-1], dtype=values.dtype)])
