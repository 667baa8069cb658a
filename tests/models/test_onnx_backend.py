"""ONNX models run as they are, or are refused with the reason."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from tiny_model import batch, expected, onnx_model

from navi.core.errors import BackendError, ModelError
from navi.models.onnx_backend import OnnxBackend, bound_run
from navi.models.onnx_session import open_session


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    onnx.save(onnx_model(), path)
    return path


@pytest.fixture(scope="module")
def backend(path: Path) -> OnnxBackend:
    return OnnxBackend.load(path)


@pytest.mark.parametrize("rows", [1, 2, 33])
def test_outputs_are_the_models(backend: OnnxBackend, rows: int) -> None:
    inputs = batch(rows)
    outputs = backend.run(inputs)
    assert list(outputs) == ["logits"]
    np.testing.assert_allclose(outputs["logits"], expected(inputs), atol=1e-5)


def test_the_signature_has_names_dtypes_and_shapes(backend: OnnxBackend) -> None:
    found = [(each.name, each.dtype.name, each.shape) for each in backend.signature.inputs]
    assert found == [("user", "float32", (None, 2)), ("kind", "int64", (None, 2)), ("pair", "float32", (None, 2))]


def test_many_threads_may_run_one_model(backend: OnnxBackend) -> None:
    backend.warm((1, 8))
    batches = [batch(rows, seed=rows) for rows in range(1, 40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(backend.run, batches))
    for inputs, outputs in zip(batches, answers, strict=True):
        np.testing.assert_allclose(outputs["logits"], expected(inputs), atol=1e-5)


def test_no_plan_of_memory_is_kept_for_each_number_of_rows(path: Path) -> None:
    session = open_session(path, ["CPUExecutionProvider"], 1, allow_fallback=False)
    assert not session.get_session_options().enable_mem_pattern  # or memory would grow with every new shape


def test_a_bound_run_gives_what_a_plain_one_gives(backend: OnnxBackend, path: Path) -> None:
    run = bound_run(ort.InferenceSession(path, providers=["CPUExecutionProvider"]), ["logits"], "cpu")
    inputs = batch(5)
    inputs["user"] = np.asfortranarray(inputs["user"])
    np.testing.assert_array_equal(run(inputs)[0], backend.run(inputs)["logits"])


@pytest.mark.parametrize("change", ["missing", "dtype", "width", "rows", "code"])
def test_a_wrong_batch_is_a_backend_error(backend: OnnxBackend, change: str) -> None:
    inputs = batch(4)
    wrong = {
        "missing": {name: inputs[name] for name in ("user", "kind")},
        "dtype": {**inputs, "user": inputs["user"].astype(np.float64)},
        "width": {**inputs, "user": inputs["user"][:, :1]},
        "rows": {**inputs, "user": inputs["user"][:2]},
        "code": {**inputs, "kind": inputs["kind"] + 100},
    }
    with pytest.raises(BackendError, match="ONNX Runtime"):
        backend.run(wrong[change])


@pytest.mark.parametrize("provider", ["cuda", "tensorrt"])
def test_a_gpu_that_is_not_here_is_an_error_unless_allowed(path: Path, provider: str) -> None:
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("this ONNX Runtime has GPU providers")
    with pytest.raises(ModelError, match=f"'{provider}' is not in this ONNX Runtime"):
        OnnxBackend.load(path, providers=[provider, "cuda"])
    fallen = OnnxBackend.load(path, providers=[provider, "cuda"], allow_fallback=True)
    assert fallen.provider == "cpu"
    assert fallen.run(batch(3))["logits"].shape == (3, 2)


def test_a_file_that_is_no_model_is_a_model_error(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "other.onnx").write_bytes(onnx_model().SerializeToString()[:-20])
    for name in ("model.onnx", "empty.onnx", "other.onnx"):
        with pytest.raises(ModelError, match=f"{name} is no ONNX file"):
            OnnxBackend.load(tmp_path / name)
    with pytest.raises(ModelError, match=r"missing\.onnx cannot be read"):
        OnnxBackend.load(tmp_path / "missing.onnx")


def relu_model(path: Path, rows_in: int | None, rows_out: int | None) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows_in, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows_out, 2])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


@pytest.mark.parametrize("rows", [(None, None), (-1, -1), (None, 0), (-1, 0), (0, 0)])
def test_an_unnamed_or_zero_batch_dimension_is_free(tmp_path: Path, rows: tuple[int | None, int | None]) -> None:
    backend = OnnxBackend.load(relu_model(tmp_path / "model.onnx", *rows))
    assert backend.signature.inputs[0].shape == backend.signature.outputs[0].shape == (None, 2)
    assert backend.run({"x": np.ones((3, 2), np.float32)})["y"].shape == (3, 2)


def test_a_fixed_batch_dimension_is_in_the_signature(tmp_path: Path) -> None:
    backend = OnnxBackend.load(relu_model(tmp_path / "model.onnx", 8, 8))
    assert backend.signature.inputs[0].shape == (8, 2)


def test_an_output_that_is_no_tensor_is_refused_with_the_reason(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2])
    y = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("SequenceConstruct", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(ModelError, match=r"output 'y' is seq\(tensor\(float\)\), where a plain tensor is needed"):
        OnnxBackend.load(tmp_path / "model.onnx")


def test_a_gpu_gives_what_the_cpu_gives(backend: OnnxBackend, path: Path) -> None:
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        pytest.skip("this ONNX Runtime has no CUDA provider")
    gpu = OnnxBackend.load(path, providers=["cuda"])
    assert gpu.provider.startswith("cuda:0")
    np.testing.assert_allclose(gpu.run(batch(33))["logits"], backend.run(batch(33))["logits"], atol=1e-4)
