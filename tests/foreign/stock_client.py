"""Triton's own client against our stub: run by the environment of `make foreign`, which knows nothing of Navi.

    python stock_client.py HOST:PORT

Prints one JSON object: what the client understood.
"""

import json
import sys

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException


def filled(name: str, values: np.ndarray, datatype: str) -> triton.InferInput:
    tensor = triton.InferInput(name, list(values.shape), datatype)
    tensor.set_data_from_numpy(values)
    return tensor


def main(address: str) -> dict:
    client = triton.InferenceServerClient(address)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    ids = np.array([[10], [20]], dtype=np.int64)
    tags = np.array([["a", "é"], ["", "b"]], dtype=object)
    inputs = [filled("x", x, "FP32"), filled("id", ids, "INT64"), filled("tag", tags, "BYTES")]
    reply = client.infer("m", inputs, outputs=[triton.InferRequestedOutput("scores")], request_id="r1")
    try:
        client.infer("m", inputs[:2])
        refused = ""
    except InferenceServerException as error:
        refused = f"{error.status()} {error.message()}"
    return {
        "live": client.is_server_live(),
        "ready": client.is_server_ready() and client.is_model_ready("m"),
        "metadata": client.get_model_metadata("m", as_json=True),
        "config": client.get_model_config("m", as_json=True),
        "scores": reply.as_numpy("scores").tolist(),
        "id": reply.get_response().id,
        "refused": refused,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])))
