"""Triton's messages and ours in one process: run by the environment of `make foreign`, this project on its path."""

import numpy as np
from tritonclient.grpc import service_pb2 as theirs

from navi.wire.kserve.inference_pb2 import ModelInferRequest
from navi.wire.kserve_codec import decode_inputs, encode_request

data = encode_request("m", {"x": np.ones((2, 3), dtype=np.float32)}, version="1").SerializeToString()
assert theirs.ModelInferRequest is not ModelInferRequest
read = theirs.ModelInferRequest.FromString(data)
assert read.inputs[0].datatype == "FP32"
assert decode_inputs(ModelInferRequest.FromString(read.SerializeToString()))["x"].sum() == 6.0
