"""Any ONNX file is served as it is: its rows with those of others where that is safe, and otherwise call by call."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from plain_models import (
    FLOAT,
    classifier,
    forest,
    graph,
    linear,
    linear_weights,
    loaded,
    lookup,
    node,
    write_plain,
)
from pydantic import ValidationError
from tiny_model import write_version

from navi.core.errors import ModelError
from navi.models.layout import Layout
from navi.models.manifest import write_manifest
from navi.models.options import ModelOptions
from navi.models.plain import is_plain, load_plain

SHARED = Layout("shared", "rows share runs")
ONE = Layout("rows", "the batch is fixed at 1: rows are run one by one")


def test_a_file_alone_is_a_model(tmp_path: Path) -> None:
    model = loaded(tmp_path, linear())
    assert (model.name, model.version, model.platform, model.provider) == ("plain", 7, "onnxruntime_onnx", "cpu")
    assert model.layout == SHARED
    assert model.row_independent
    assert model.load_s > 0
    x = np.ones((3, 4), dtype=np.float32)
    np.testing.assert_allclose(model.backend.run({"x": x})["y"], x @ linear_weights())


def test_a_manifest_is_asked_for_unless_the_operator_says_otherwise(tmp_path: Path) -> None:
    write_plain(tmp_path, linear())
    with pytest.raises(ModelError, match=r"manifest\.json cannot be read"):
        loaded(tmp_path, manifest_required=True)
    bare = loaded(tmp_path).digest
    assert write_manifest(tmp_path) == bare == loaded(tmp_path).digest
    onnx.save(lookup(), tmp_path / "model.onnx")
    with pytest.raises(ModelError, match=r"model\.onnx is not what the manifest says"):
        loaded(tmp_path)
    with pytest.raises(ValidationError, match="loaded with its manifest only"):
        ModelOptions(format="pt2", manifest_required=False)


def test_a_plain_model_toml_may_name_the_file(tmp_path: Path) -> None:
    write_plain(tmp_path, linear()).joinpath("model.onnx").rename(tmp_path / "ranker.onnx")
    (tmp_path / "model.toml").write_text('name = "plain"\nversion = 7\nfiles = { onnx = "ranker.onnx" }\n')
    assert is_plain(tmp_path)
    assert loaded(tmp_path).layout == SHARED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "other"', "is of other None, where plain 7 is loaded"),
        ("version = 6", "is of None 6, where plain 7 is loaded"),
        ('files = { onnx = "../model.onnx" }', r"files\.onnx.*must be a path inside"),
        ('files = { pt2 = "model.pt2" }', "the model has no onnx file, only: pt2"),
        ("turbo = true", "turbo: Extra inputs are not permitted"),
        ("name = ", r"model\.toml cannot be read"),
    ],
)
def test_a_plain_model_toml_that_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    write_plain(tmp_path, linear())
    (tmp_path / "model.toml").write_text(text)
    with pytest.raises(ModelError, match=message):
        loaded(tmp_path)


def test_a_model_with_declared_inputs_is_not_plain(tmp_path: Path) -> None:
    assert not is_plain(write_version(tmp_path))
    (tmp_path / "model.toml").unlink()
    assert is_plain(tmp_path)


@pytest.mark.parametrize(
    "dtype",
    ["float", "float16", "double", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"],
)
def test_every_dtype_comes_out_as_it_went_in(tmp_path: Path, dtype: str) -> None:
    kind = getattr(TensorProto, dtype.upper())
    model = graph([node("Identity", ["x"], ["y"])], {"x": (kind, ["n", 2])}, {"y": (kind, ["n", 2])})
    plain = loaded(tmp_path, model)
    assert plain.layout == SHARED
    assert plain.signature.inputs[0].dtype == plain.signature.outputs[0].dtype == helper.tensor_dtype_to_np_dtype(kind)
    x = np.array([[0, 1], [1, 0]], dtype=plain.signature.inputs[0].dtype)
    given = plain.backend.run({"x": x})["y"]
    assert given.dtype == x.dtype
    assert given.tolist() == x.tolist()


def test_bfloat16_is_refused_with_what_to_do(tmp_path: Path) -> None:
    kind = TensorProto.BFLOAT16
    model = graph([node("Identity", ["x"], ["y"])], {"x": (kind, ["n", 2])}, {"y": (kind, ["n", 2])})
    with pytest.raises(ModelError, match=r"input 'x' is tensor\(bfloat16\).*cast \(bfloat16\) to float32 in the graph"):
        loaded(tmp_path, model)


OPSETS = (7, 9, 11, 13, 17, 21, onnx.defs.onnx_opset_version())


@pytest.mark.parametrize("opset", OPSETS)
def test_files_of_every_age_are_served(tmp_path: Path, opset: int) -> None:
    nodes = [node("Gemm", ["x", "w", "b"], ["h"]), node("Relu", ["h"], ["r"]), node("Softmax", ["r"], ["y"], axis=1)]
    weights = {"w": linear_weights(), "b": np.zeros(2, dtype=np.float32)}
    model = graph(nodes, {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", 2])}, weights, opset)
    assert loaded(tmp_path, model).layout == SHARED


def test_a_file_newer_than_the_runtime_is_refused_with_the_reason(tmp_path: Path) -> None:
    model = linear()
    model.opset_import[0].version = 1000
    with pytest.raises(ModelError, match=r"ONNX Runtime cannot load it.*1000"):
        loaded(tmp_path, model)


@pytest.mark.parametrize("rows", ["batch", None, -1, 0])
def test_a_batch_dimension_without_a_size_is_free(tmp_path: Path, rows: str | int | None) -> None:
    model = loaded(tmp_path, linear(rows=rows, out=rows))
    assert model.layout == SHARED
    assert model.signature.inputs[0].shape == (None, 4)
    assert model.backend.run({"x": np.ones((3, 4), np.float32)})["y"].shape == (3, 2)


def test_a_batch_fixed_at_one_is_run_row_by_row(tmp_path: Path) -> None:
    model = loaded(tmp_path, linear(rows=1, out=1))
    assert model.layout == ONE
    assert not model.row_independent
    assert (model.signature.inputs[0].shape, model.signature.outputs[0].shape) == ((None, 4), (None, 2))


def test_a_batch_fixed_at_another_size_is_served_call_by_call(tmp_path: Path) -> None:
    model = loaded(tmp_path, linear(rows=8, out=8))
    assert model.layout == Layout("whole", "dimension 0 of input 'x' is fixed at 8, and so no batch")
    assert model.signature.inputs[0].shape == (8, 4)


def test_a_batch_on_another_axis_is_never_shared(tmp_path: Path) -> None:
    weights = {"w": linear_weights().T.copy()}
    model = graph([node("MatMul", ["w", "x"], ["y"])], {"x": (FLOAT, [4, "n"])}, {"y": (FLOAT, [2, "n"])}, weights)
    plain = loaded(tmp_path, model)
    assert plain.layout == Layout("whole", "dimension 0 of input 'x' is fixed at 4, and so no batch")
    assert plain.signature.outputs[0].shape == (2, None)


def test_a_recurrent_model_with_time_first_is_never_shared(tmp_path: Path) -> None:
    """Both of its dimensions are free; the first is time, and what comes before changes what comes after."""
    model = graph(
        [node("CumSum", ["x", "zero"], ["y"])],
        {"x": (FLOAT, ["time", "batch", 4])},
        {"y": (FLOAT, ["time", "batch", 4])},
        {"zero": np.array(0)},
    )
    plain = loaded(tmp_path, model)
    assert plain.layout.calls == "whole"
    assert plain.layout.reason.startswith("rows depend on each other")


def test_a_model_without_a_batch_is_served_call_by_call(tmp_path: Path) -> None:
    model = graph([node("Add", ["a", "b"], ["y"])], {"a": (FLOAT, []), "b": (FLOAT, ["n"])}, {"y": (FLOAT, ["n"])})
    assert loaded(tmp_path / "scalar", model).layout == Layout("whole", "input 'a' has no dimensions")
    model = graph([node("ReduceMax", ["x"], ["y"], keepdims=0)], {"x": (FLOAT, ["n", 2])}, {"y": (FLOAT, [])})
    layout = loaded(tmp_path / "reduced", model).layout
    assert layout == Layout("whole", "output 'y' is [] for 16 rows: it has not one for each")


def test_rows_that_depend_on_each_other_are_found(tmp_path: Path) -> None:
    nodes = [node("ReduceMean", ["x"], ["m"], axes=[0]), node("Sub", ["x", "m"], ["y"])]
    plain = loaded(tmp_path, graph(nodes, {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", 4])}))
    assert plain.layout.calls == "whole"
    assert "rows depend on each other" in plain.layout.reason
    assert not plain.row_independent


def test_a_dynamically_quantised_model_is_never_shared(tmp_path: Path) -> None:
    """Its scale is that of the largest value in the batch."""
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    plain = loaded(tmp_path, graph(nodes, {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", 4])}))
    assert plain.layout.calls == "whole"
    assert "rows depend on each other" in plain.layout.reason


def test_a_half_precision_model_is_shared(tmp_path: Path) -> None:
    half, random = TensorProto.FLOAT16, np.random.default_rng(0)
    weights = {"w": random.standard_normal((64, 32)).astype(np.float16)}
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"x": (half, ["n", 64])}, {"y": (half, ["n", 32])}, weights)
    assert loaded(tmp_path, model).layout == SHARED


def test_rows_compared_with_all_others_are_not_taken_for_a_batch(tmp_path: Path) -> None:
    nodes = [node("Transpose", ["x"], ["t"]), node("MatMul", ["x", "t"], ["y"])]
    plain = loaded(tmp_path, graph(nodes, {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", "n"])}))
    assert plain.layout.calls == "whole"


def pair(first: str, second: str) -> onnx.ModelProto:
    inputs = {"a": (FLOAT, [first, 2]), "b": (FLOAT, [second, 2])}
    return graph([node("Add", ["a", "b"], ["y"])], inputs, {"y": (FLOAT, [first, 2])})


def test_dimensions_of_two_names_are_one_batch_where_the_model_takes_no_others(tmp_path: Path) -> None:
    """The legacy exporter gives each input a name of its own where it was given none."""
    assert loaded(tmp_path, pair("a_dynamic_axes_1", "b_dynamic_axes_1")).layout == SHARED


def test_inputs_that_may_have_different_numbers_of_rows_are_no_batch(tmp_path: Path) -> None:
    nodes = [node("Identity", ["a"], ["x"]), node("Identity", ["b"], ["y"])]
    inputs = {"a": (FLOAT, ["users", 2]), "b": (FLOAT, ["items", 2])}
    plain = loaded(tmp_path, graph(nodes, inputs, {"x": (FLOAT, ["users", 2]), "y": (FLOAT, ["items", 2])}))
    assert plain.layout == Layout("whole", "input 'a' may have another number of rows than the others: it is no batch")


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_ids_are_tried_in_ever_smaller_ranges(tmp_path: Path, size: int) -> None:
    layout = loaded(tmp_path, lookup(size, TensorProto.INT32)).layout
    if size == 1:
        assert layout.reason.startswith("made-up rows cannot be told apart")
    else:
        assert layout == SHARED


def test_a_model_that_takes_no_made_up_text_is_still_served(tmp_path: Path) -> None:
    one_hot = node("OneHotEncoder", ["x"], ["y"], domain="ai.onnx.ml", cats_strings=["news", "sport"], zeros=0)
    model = graph([one_hot], {"x": (TensorProto.STRING, [None, 1])}, {"y": (FLOAT, [None, 1, 2])}, opset=9)
    plain = loaded(tmp_path, model)
    assert plain.layout.calls == "whole"
    assert "it fails on made-up inputs, so its rows were not compared" in plain.layout.reason
    x = np.array([["sport"], ["news"]], dtype=object)
    assert plain.backend.run({"x": x})["y"].tolist() == [[[0, 1]], [[1, 0]]]


def test_outputs_that_are_not_finite_for_ordinary_numbers_are_refused(tmp_path: Path) -> None:
    weights = {"w": np.full((4, 2), np.nan, dtype=np.float32)}
    model = graph([node("MatMul", ["x", "w"], ["y"])], {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", 2])}, weights)
    with pytest.raises(ModelError, match="model 'plain': output 'y' is not finite for a batch of numbers from 0 to 1"):
        loaded(tmp_path, model)


def test_a_forest_that_splits_at_large_values_is_told_apart_by_large_ones(tmp_path: Path) -> None:
    assert loaded(tmp_path, forest()).layout == SHARED


def test_a_classifier_with_text_labels_is_served_and_a_wrong_shape_in_the_file_is_mended(tmp_path: Path) -> None:
    plain = loaded(tmp_path, classifier(zipmap=False))
    assert plain.layout == SHARED
    assert [(spec.name, spec.shape) for spec in plain.signature.outputs] == [
        ("label", (None,)),
        ("probabilities", (None, 3)),
    ]
    x = np.eye(4, dtype=np.float32) * 9
    outputs = plain.backend.run({"X": x})
    assert outputs["label"].shape == (4,)
    assert set(outputs["label"]) <= {"maybe", "no", "yes"}
    np.testing.assert_allclose(outputs["probabilities"].sum(axis=1), 1, rtol=1e-5)


def test_a_classifier_that_ends_in_a_zipmap_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"output 'probabilities' is seq\(map\(.*convert it with zipmap off"):
        loaded(tmp_path, classifier(zipmap=True))


def test_free_dimensions_behind_the_batch_stay_free(tmp_path: Path) -> None:
    nodes = [node("ReduceSum", ["x", "axis"], ["y"], keepdims=0)]
    model = graph(nodes, {"x": (FLOAT, ["n", "t"])}, {"y": (FLOAT, ["n"])}, {"axis": np.array([1])})
    plain = loaded(tmp_path, model)
    assert plain.layout == SHARED
    assert plain.signature.inputs[0].shape == (None, None)


def test_a_model_of_nothing_but_constants_is_served_call_by_call(tmp_path: Path) -> None:
    model = graph([node("Identity", ["w"], ["y"])], {}, {"y": (FLOAT, [4, 2])}, {"w": linear_weights()})
    assert loaded(tmp_path, model).layout.calls == "whole"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.onnx cannot be read"):
        loaded(tmp_path)
    write_manifest(tmp_path)
    with pytest.raises(ModelError, match="only where the configuration says `trusted = true`"):
        load_plain(tmp_path, ModelOptions(format="pt2"), name="plain", version=1)
