"""TensorFlow's own messages against a running Navi: run by an environment with `tensorflow-serving-api` and
`tensorflow-cpu`, which knows nothing of Navi.

    python tensorflow_client.py HOST:PORT

Asks the models that are named after datatypes (one input x, one output y with the same values), with tensors as
`make_tensor_proto` packs them and as lists. Prints a line a call: method, what was tried, what came of it; ends with
status 1 where that was not what it should be.
"""

import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

DTYPES = {
    "BOOL": tf.bool,
    "INT8": tf.int8,
    "INT16": tf.int16,
    "INT32": tf.int32,
    "INT64": tf.int64,
    "UINT8": tf.uint8,
    "UINT16": tf.uint16,
    "UINT32": tf.uint32,
    "UINT64": tf.uint64,
    "FP16": tf.float16,
    "FP32": tf.float32,
    "FP64": tf.float64,
    "BYTES": tf.string,
}
LISTS = {"FP32": "float_val", "FP64": "double_val", "INT64": "int64_val", "INT32": "int_val", "BOOL": "bool_val"}
TIMEOUT_S = 20


class Transcript:
    """Lines of a table; `wrong` counts what was not as it should be."""

    def __init__(self) -> None:
        self.wrong = 0

    def line(self, method: str, tried: str, came: object, *, well: bool = True) -> None:
        self.wrong += not well
        sys.stdout.write(f"{method:18} | {tried:30} | {'' if well else 'WRONG: '}{came}\n")

    def refused(self, method: str, tried: str, code: str, ask) -> None:
        try:
            self.line(method, tried, f"answered {ask()}", well=False)
        except grpc.RpcError as error:
            self.line(method, tried, f"{error.code().name} {error.details()}"[:110], well=error.code().name == code)


def values_of(name: str) -> np.ndarray:
    if name == "BYTES":
        return np.array([[b"", "é漢".encode(), b"plain"]], dtype=object)
    if name == "BOOL":
        return np.array([[True, False, True]])
    dtype = DTYPES[name].as_numpy_dtype
    return np.array([[DTYPES[name].min, 1, DTYPES[name].max]], dtype)


def request_of(model: str, tensor, **spec) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    for name, value in spec.items():
        if name == "version":
            request.model_spec.version.value = value
        else:
            setattr(request.model_spec, name, value)
    request.inputs["x"].CopyFrom(tensor)
    return request


def predictions(stub, told: Transcript) -> None:
    for name, dtype in DTYPES.items():
        sent = values_of(name)
        reply = stub.Predict(request_of(name, tf.make_tensor_proto(sent, dtype=dtype)), timeout=TIMEOUT_S)
        found = tf.make_ndarray(reply.outputs["y"])
        same = found.dtype == sent.dtype and found.tolist() == sent.tolist() and reply.model_spec.version.value == 1
        told.line("Predict", f"{name}, make_tensor_proto", found.tolist(), well=same)
    for name, field in LISTS.items():
        tensor = tf.make_tensor_proto(values_of(name), dtype=DTYPES[name])
        tensor.tensor_content = b""
        del getattr(tensor, field)[:]
        getattr(tensor, field).append(1)
        reply = stub.Predict(request_of(name, tensor), timeout=TIMEOUT_S)
        found = tf.make_ndarray(reply.outputs["y"]).tolist()
        told.line("Predict", f"{name}, one value in {field}", found, well=found == [[1, 1, 1]])


def refusals(stub, told: Transcript) -> None:
    tensor = tf.make_tensor_proto(values_of("FP32"))
    for tried, code, spec in (
        ("unknown version", "NOT_FOUND", {"version": 99}),
        ("unknown label", "NOT_FOUND", {"version_label": "stable"}),
        ("unknown signature", "INVALID_ARGUMENT", {"signature_name": "classify"}),
    ):
        told.refused("Predict", tried, code, lambda spec=spec: stub.Predict(request_of("FP32", tensor, **spec)))
    told.refused("Predict", "unknown model", "NOT_FOUND", lambda: stub.Predict(request_of("nothing", tensor)))
    wrong = tf.make_tensor_proto(values_of("INT64"))
    told.refused("Predict", "another dtype", "INVALID_ARGUMENT", lambda: stub.Predict(request_of("FP32", wrong)))
    filtered = request_of("FP32", tensor)
    filtered.output_filter.append("z")
    told.refused("Predict", "unknown output", "INVALID_ARGUMENT", lambda: stub.Predict(filtered))
    told.refused("Classify", "", "UNIMPLEMENTED", lambda: stub.Classify(classification_pb2.ClassificationRequest()))


def descriptions(stub, states, told: Transcript) -> None:
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "FP32"
    reply = stub.GetModelMetadata(request, timeout=TIMEOUT_S)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    reply.metadata["signature_def"].Unpack(signatures)
    signature = signatures.signature_def["serving_default"]
    words = f"{signature.method_name}: {dict.fromkeys(signature.inputs)} -> {dict.fromkeys(signature.outputs)}"
    told.line("GetModelMetadata", "FP32", words, well=signature.inputs["x"].dtype == tf.float32.as_datatype_enum)
    asked = get_model_status_pb2.GetModelStatusRequest()
    asked.model_spec.name = "FP32"
    [status] = states.GetModelStatus(asked, timeout=TIMEOUT_S).model_version_status
    name = get_model_status_pb2.ModelVersionStatus.State.Name(status.state)
    told.line("GetModelStatus", "FP32", f"version {status.version} {name}", well=name == "AVAILABLE")
    reload = model_management_pb2.ReloadConfigRequest()
    told.refused("ReloadConfig", "", "UNIMPLEMENTED", lambda: states.HandleReloadConfigRequest(reload))


def main(address: str) -> int:
    told = Transcript()
    with grpc.insecure_channel(address, options=[("grpc.default_authority", "rustserving")]) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        predictions(stub, told)
        refusals(stub, told)
        descriptions(stub, model_service_pb2_grpc.ModelServiceStub(channel), told)
    return bool(told.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
