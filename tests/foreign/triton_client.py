"""Triton's own client against a running Navi: run by the environment of `make foreign`, which knows nothing of Navi.

    python triton_client.py HOST:PORT [ID...]

ID: of items that the server's models have features of.

Calls every method that the client has, with every datatype for which the server has a model of that name (one input x,
one output y with the same values), and every other model that is ready with inputs of zeros. Prints a line a call:
method, what was tried, what came of it; ends with status 1 where that was not what it should be.
"""

import queue
import sys
import time
from functools import partial

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

VALUES = {
    "BOOL": np.array([[True, False, True]]),
    "FP16": np.array([[0.5, -2.0, 65504.0]], np.float16),
    "FP32": np.array([[0.1, -np.inf, 3e38]], np.float32),
    "FP64": np.array([[0.1, 1e300, -0.0]]),
    "BYTES": np.array([["", "é漢", "plain"]], dtype=object),
}
ROWS = 3


class Transcript:
    """Lines of a table; `wrong` counts what was not as it should be."""

    def __init__(self) -> None:
        self.wrong = 0

    def line(self, method: str, tried: str, came: object, *, well: bool = True) -> None:
        self.wrong += not well
        sys.stdout.write(f"{method:28} | {tried:34} | {'' if well else 'WRONG: '}{came}\n")

    def refused(self, method: str, tried: str, code: str, ask) -> None:
        try:
            self.line(method, tried, f"answered {ask()}", well=False)
        except InferenceServerException as error:
            said = f"{error.status()} {error.message()}"
            self.line(method, tried, said[:110], well=error.status() == f"StatusCode.{code}")


def filled(name: str, values: np.ndarray, datatype: str) -> triton.InferInput:
    tensor = triton.InferInput(name, list(values.shape), datatype)
    tensor.set_data_from_numpy(values)
    return tensor


def values_of(datatype: str) -> np.ndarray:
    if datatype in VALUES:
        return VALUES[datatype]
    bounds = np.iinfo(triton_to_np_dtype(datatype))
    return np.array([[bounds.min, 1, bounds.max]], triton_to_np_dtype(datatype))


def server(client: triton.InferenceServerClient, told: Transcript) -> list[str]:
    told.line("is_server_live", "", client.is_server_live(), well=client.is_server_live())
    told.line("is_server_ready", "", client.is_server_ready(), well=client.is_server_ready())
    metadata = client.get_server_metadata()
    told.line("get_server_metadata", "", f"{metadata.name} {metadata.version}: {', '.join(metadata.extensions)}")
    index = client.get_model_repository_index().models
    ready = [model.name for model in index if model.state == "READY"]
    told.line("get_model_repository_index", "", f"{len(index)} versions, {len(ready)} ready")
    return sorted(set(ready))


def models(client: triton.InferenceServerClient, told: Transcript, names: list[str]) -> None:
    for name in names:
        told.line("is_model_ready", name, client.is_model_ready(name), well=client.is_model_ready(name))
        metadata, config = client.get_model_metadata(name), client.get_model_config(name).config
        shapes = ", ".join(f"{each.name} {each.datatype} {list(each.shape)}" for each in metadata.inputs)
        told.line("get_model_metadata", name, f"{metadata.platform} {list(metadata.versions)}: {shapes}"[:110])
        same = {each.name for each in config.input} == {each.name for each in metadata.inputs}
        told.line("get_model_config", name, f"{config.backend}, max_batch_size {config.max_batch_size}", well=same)
    told.refused("is_model_ready", "unknown model", "NOT_FOUND", lambda: client.is_model_ready("nothing"))
    told.refused(
        "get_model_metadata", "unknown version", "NOT_FOUND", lambda: client.get_model_metadata(names[0], "99")
    )


def datatypes(client: triton.InferenceServerClient, told: Transcript, names: list[str]) -> None:
    for name in names:
        sent = values_of(name)
        reply = client.infer(name, [filled("x", sent, name)], request_id="r1")
        found = reply.as_numpy("y")
        if name == "BYTES":
            found = np.array([[value.decode() for value in row] for row in found.tolist()], dtype=object)
        same = found.dtype == sent.dtype and found.tolist() == sent.tolist() and reply.get_response().id == "r1"
        told.line("infer", f"{name}, raw", found.tolist(), well=same)


def zeros(client: triton.InferenceServerClient, told: Transcript, names: list[str], ids: list[int]) -> None:
    """Whatever a model takes, in `ROWS` rows; and again with ids in the place of inputs named `item_*`."""
    for name in names:
        inputs = []
        for spec in client.get_model_metadata(name).inputs:
            shape = [ROWS if size < 0 else size for size in spec.shape]
            made = (
                np.full(shape, "0", object)
                if spec.datatype == "BYTES"
                else np.zeros(shape, triton_to_np_dtype(spec.datatype))
            )
            inputs.append(filled(spec.name, made, spec.datatype))
        reply = client.infer(name, inputs).get_response()
        outputs = ", ".join(f"{each.name} {each.datatype} {list(each.shape)}" for each in reply.outputs)
        told.line("infer", f"{name} v{reply.model_version}, zeros", outputs, well=bool(reply.outputs))
        few = partial(client.infer, name, inputs[1:])
        told.refused("infer", f"{name}, an input missing", "INVALID_ARGUMENT", few)
        others = [tensor for tensor in inputs if not tensor.name().startswith("item_")]
        if ids and len(others) < len(inputs):
            by_id(client, told, name, others, ids)


def by_id(client: triton.InferenceServerClient, told: Transcript, name: str, others: list, ids: list[int]) -> None:
    given = [filled("item_id", np.array(ids, np.int64), "INT64")]
    for tensor in others:
        values = np.zeros([len(ids), *tensor.shape()[1:]], triton_to_np_dtype(tensor.datatype()))
        given.append(filled(tensor.name(), values, tensor.datatype()))
    [first, *_] = client.infer(name, given).get_response().outputs
    well = first.shape[0] == len(ids)
    told.line("infer", f"{name}, by item_id", f"{first.name} {list(first.shape)}", well=well)
    unknown = [filled("item_id", np.full(len(ids), -1), "INT64"), *given[1:]]
    told.refused("infer", f"{name}, unknown item_id", "NOT_FOUND", partial(client.infer, name, unknown))


def options(client: triton.InferenceServerClient, told: Transcript, name: str) -> None:
    inputs = [filled("x", values_of(name), name)]

    def asked(output: str, **more) -> triton.InferResult:
        return client.infer(name, inputs, outputs=[triton.InferRequestedOutput(output, **more)])

    told.line("infer", "one output asked for", [each.name for each in asked("y").get_response().outputs])
    told.refused("infer", "unknown output", "INVALID_ARGUMENT", lambda: asked("z"))
    told.refused("infer", "classification", "INVALID_ARGUMENT", lambda: asked("y", class_count=2))
    told.refused("infer", "unknown model", "NOT_FOUND", lambda: client.infer("nothing", inputs))
    told.refused("infer", "unknown version", "NOT_FOUND", lambda: client.infer(name, inputs, model_version="99"))
    reply = client.infer(
        name, inputs, priority=1, timeout=5_000_000, parameters={"session": "s"}, compression_algorithm="gzip"
    )
    told.line("infer", "priority, timeout, own parameter, gzip", reply.get_response().model_name)
    told.refused("infer", "timeout of 1 us", "DEADLINE_EXCEEDED", lambda: client.infer(name, inputs, timeout=1))
    shared = triton.InferInput("x", [1, 3], name)
    shared.set_shared_memory("region", 12)
    told.refused("infer", "shared memory", "INVALID_ARGUMENT", lambda: client.infer(name, [shared]))


def concurrent(client: triton.InferenceServerClient, told: Transcript, name: str) -> None:
    answers: queue.Queue = queue.Queue()
    sent = [np.full((1, 3), number, triton_to_np_dtype(name)) for number in range(50)]
    for number, values in enumerate(sent):
        client.async_infer(
            name,
            [filled("x", values, name)],
            request_id=str(number),
            callback=lambda result, error: answers.put((result, error)),
        )
    found = [answers.get(timeout=20) for _ in sent]
    right = all(
        error is None and result.as_numpy("y").tolist() == sent[int(result.get_response().id)].tolist()
        for result, error in found
    )
    told.line("async_infer", "50 at once", f"{len(found)} answers, each its own", well=right)


def stream(client: triton.InferenceServerClient, told: Transcript, name: str) -> None:
    answers: queue.Queue = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    for number in range(20):
        values = np.full((1, 3), number, triton_to_np_dtype(name))
        client.async_stream_infer(name, [filled("x", values, name)], request_id=str(number))
    found = [answers.get(timeout=20) for _ in range(20)]
    right = all(error is None for _, error in found) and [
        int(result.as_numpy("y")[0, 0]) for result, _ in found
    ] == list(range(20))
    told.line("async_stream_infer", "20 messages", "answered in their order", well=right)
    values = filled("x", np.zeros((1, 3), triton_to_np_dtype(name)), name)
    client.async_stream_infer("nothing", [values], request_id="bad")
    client.async_stream_infer(name, [values], request_id="good", enable_empty_final_response=True)
    (_, error), (result, none) = answers.get(timeout=20), answers.get(timeout=20)
    told.line("async_stream_infer", "unknown model in a stream", error, well=error is not None)
    final = result.get_response().parameters["triton_final_response"].bool_param
    told.line("async_stream_infer", "the stream goes on", f"final response {final}", well=none is None and final)
    client.stop_stream()
    told.line("stop_stream", "", "closed")


def statistics(client: triton.InferenceServerClient, told: Transcript, name: str) -> None:
    [stats] = client.get_inference_statistics(name).model_stats
    done = stats.inference_stats
    words = f"{done.success.count} ok, {done.fail.count} failed, {stats.execution_count} runs"
    well = done.success.count > 0 and done.fail.count > 0 and abs(stats.last_inference / 1000 - time.time()) < 60
    told.line("get_inference_statistics", name, words, well=well)
    told.line(
        "get_inference_statistics", "all models", f"{len(client.get_inference_statistics().model_stats)} versions"
    )


def not_here(client: triton.InferenceServerClient, told: Transcript, name: str) -> None:
    told.refused("load_model", name, "UNIMPLEMENTED", lambda: client.load_model(name))
    told.refused("load_model", "its files in the request", "INVALID_ARGUMENT",
                 lambda: client.load_model(name, config="{}", files={"file:1/model.onnx": b"code"}))  # fmt: skip
    told.refused("unload_model", name, "UNIMPLEMENTED", lambda: client.unload_model(name))
    for method in (
        "get_trace_settings",
        "get_log_settings",
        "get_system_shared_memory_status",
        "get_cuda_shared_memory_status",
    ):
        told.refused(method, "", "UNIMPLEMENTED", getattr(client, method))


def main(address: str, ids: list[int]) -> int:
    told = Transcript()
    with triton.InferenceServerClient(address) as client:
        names = server(client, told)
        models(client, told, names)
        typed = [name for name in names if name == "BYTES" or name in VALUES or name.startswith(("INT", "UINT"))]
        datatypes(client, told, typed)
        zeros(client, told, [name for name in names if name not in typed], ids)
        if "FP32" in typed:
            for part in (options, concurrent, stream, statistics, not_here):
                part(client, told, "FP32")
    return bool(told.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], [int(word) for word in sys.argv[2:]]))
