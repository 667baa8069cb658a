"""Our messages of other people's protocols, beside those people's own in one process."""

import os
import subprocess
import sys

import pytest

# Another registration of the same full names, with other fields, in protobuf's default pool.
CLASH = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

def register(package, names):
    file = descriptor_pb2.FileDescriptorProto(name=package + "_of_others.proto", package=package)
    for name in names:
        file.message_type.add(name=name).field.add(name="other", number=99, label=1, type=9)
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    found = descriptor_pool.Default().FindMessageTypeByName(package + "." + names[0])
    return message_factory.GetMessageClass(found)

theirs = register("inference", ["ModelInferRequest", "ModelInferResponse", "InferParameter"])
register("tensorflow", ["TensorProto", "TensorShapeProto"])
register("tensorflow.serving", ["PredictRequest", "ModelSpec"])
"""

OURS = """
import numpy as np
from navi.wire.kserve_codec import decode_inputs, encode_request
from navi.wire.kserve.inference_pb2 import ModelInferRequest
from navi.wire.tensorflow_codec import decode_tensors, encode_predict, model_spec
inputs = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
"""

USE = """
request = ModelInferRequest.FromString(encode_request("m", inputs).SerializeToString())
assert decode_inputs(request)["x"].shape == (2, 3)
assert decode_tensors(encode_predict(model_spec("m", "3"), inputs).inputs, "inputs")["x"].shape == (2, 3)
assert theirs(other="text").other == "text"
assert not hasattr(theirs(), "model_name")
"""


@pytest.mark.parametrize("order", [CLASH + OURS, OURS + CLASH], ids=["theirs-first", "ours-first"])
@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_a_process_may_hold_other_messages_of_the_same_names(order, implementation):
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation}
    ended = subprocess.run(
        [sys.executable, "-c", order + USE], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
