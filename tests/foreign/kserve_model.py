"""A model behind KServe's own server: run by the environment of `make foreign`, which knows nothing of Navi.

python kserve_model.py --grpc_port 8081 --http_port 8080
"""

from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer


class RowSums(Model):
    """One input, x float32 [rows, 8]; one output, scores float32 [rows]: the sum of each row."""

    def __init__(self) -> None:
        super().__init__("rowsums")
        self.ready = True

    async def get_input_types(self) -> list[dict]:
        return [{"name": "x", "datatype": "FP32", "shape": [-1, 8]}]

    async def get_output_types(self) -> list[dict]:
        return [{"name": "scores", "datatype": "FP32", "shape": [-1]}]

    async def predict(self, payload: InferRequest, headers: dict | None = None, response_headers: dict | None = None):
        sums = payload.inputs[0].as_numpy().sum(axis=1)
        output = InferOutput("scores", list(sums.shape), "FP32")
        output.set_data_from_numpy(sums, binary_data=True)
        return InferResponse(payload.id, self.name, [output])


if __name__ == "__main__":
    ModelServer(workers=1, enable_latency_logging=False).start([RowSums()])
