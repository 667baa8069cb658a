"""Small ONNX files of the kinds that other people's tools write."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from navi.core.arrays import Array
from navi.models.options import ModelOptions
from navi.models.plain import PlainModel, load_plain

FLOAT = TensorProto.FLOAT
Shape = Sequence[int | str | None]
node = helper.make_node


def graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[int, Shape]],
    outputs: Mapping[str, tuple[int, Shape]],
    weights: Mapping[str, Array] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    return helper.make_model(
        helper.make_graph(
            list(nodes),
            "plain",
            [helper.make_tensor_value_info(name, *spec) for name, spec in inputs.items()],
            [helper.make_tensor_value_info(name, *spec) for name, spec in outputs.items()],
            [numpy_helper.from_array(values, name) for name, values in (weights or {}).items()],
        ),
        opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 1)],
        ir_version=8 if opset < 21 else 10,
    )


def linear(rows: Any = "rows", out: Any = "rows", opset: int = 17) -> onnx.ModelProto:
    """y = x @ w, [rows, 4] -> [rows, 2]."""
    inputs, outputs = {"x": (FLOAT, [rows, 4])}, {"y": (FLOAT, [out, 2])}
    return graph([node("MatMul", ["x", "w"], ["y"])], inputs, outputs, {"w": linear_weights()}, opset)


def linear_weights() -> Array:
    return np.arange(8, dtype=np.float32).reshape(4, 2) / 8


def lookup(size: int = 5, dtype: int = TensorProto.INT64) -> onnx.ModelProto:
    """y = table[ids], [rows] -> [rows, 2]; row i of the table is [i, 10 i]."""
    table = np.stack([np.arange(size), 10 * np.arange(size)], axis=1).astype(np.float32)
    inputs, outputs = {"ids": (dtype, ["rows"])}, {"y": (FLOAT, ["rows", 2])}
    return graph([node("Gather", ["table", "ids"], ["y"])], inputs, outputs, {"table": table})


def classifier(*, zipmap: bool, labels: Sequence[str] = ("maybe", "no", "yes")) -> onnx.ModelProto:
    """A scaled linear classifier with labels of text, as scikit-learn's converter writes one."""
    names = {"classlabels_strings": list(labels)}
    nodes = [
        node("Scaler", ["X"], ["scaled"], domain="ai.onnx.ml", offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5] * 4),
        node(
            "LinearClassifier",
            ["scaled"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            coefficients=[float(i % 5) - 2 for i in range(12)],
            intercepts=[0.0, 0.1, 0.2],
            multi_class=1,
            post_transform="SOFTMAX",
            **names,
        ),
    ]
    if zipmap:
        nodes.append(node("ZipMap", ["scores"], ["probabilities"], domain="ai.onnx.ml", **names))
    else:
        nodes.append(node("Identity", ["scores"], ["probabilities"]))
    inputs = {"X": (FLOAT, [None, 4])}
    # LightGBM's converter says that there is one label, whatever the number of rows.
    outputs = {"label": (TensorProto.STRING, [1]), "probabilities": (FLOAT, [None, 3])}
    model = graph(nodes, inputs, outputs, opset=9)
    if zipmap:
        key = helper.make_tensor_type_proto(FLOAT, [])
        mapped = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, key))
        model.graph.output[1].CopyFrom(helper.make_value_info("probabilities", mapped))
    return model


def forest(splits: Sequence[float] = (500.0, 2000.0)) -> onnx.ModelProto:
    """One stump a split of feature 0 (1 above it, else -1), as LightGBM's and XGBoost's converters write trees."""
    count = len(splits)
    trees = [tree for tree in range(count) for _ in range(3)]
    leaves = [tree for tree in range(count) for _ in range(2)]
    nodes = node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=trees,
        nodes_nodeids=[0, 1, 2] * count,
        nodes_featureids=[0] * 3 * count,
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * count,
        nodes_values=[value for split in splits for value in (split, 0.0, 0.0)],
        nodes_truenodeids=[1, 0, 0] * count,
        nodes_falsenodeids=[2, 0, 0] * count,
        target_treeids=leaves,
        target_nodeids=[1, 2] * count,
        target_ids=[0] * 2 * count,
        target_weights=[-1.0, 1.0] * count,
    )
    return graph([nodes], {"x": (FLOAT, [None, 3])}, {"y": (FLOAT, [None, 1])}, opset=8)


def write_plain(directory: Path, model: onnx.ModelProto) -> Path:
    """A version's directory with nothing but the file, as Triton's users have it."""
    directory.mkdir(parents=True, exist_ok=True)
    onnx.save(model, directory / "model.onnx")
    return directory


def loaded(directory: Path, model: onnx.ModelProto | None = None, **options: Any) -> PlainModel:
    """The model of a directory, once `model` is written there, without asking for a manifest."""
    if model is not None:
        write_plain(directory, model)
    chosen = ModelOptions(**{"manifest_required": False, "max_rows": 64, **options})
    return load_plain(directory, chosen, name="plain", version=7)
