"""A two-task MLP of a few numbers, as weights, as `model.toml` and as an ONNX graph."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from navi.core.arrays import Array
from navi.core.ids import Ids
from navi.features.inputs import Bucket, Category, InputSpec, Match, Numeric
from navi.features.vocabulary import Vocabulary
from navi.models.manifest import write_manifest
from navi.models.spec import ModelSpec, OutputSpec, dump_spec

KINDS = Vocabulary(Ids.of(["news", "sport", "music"]))
INPUTS = (
    InputSpec(
        name="user",
        scope="request",
        dtype="float32",
        features=(
            Numeric(name="age", feature="user.age", mean=40.0, std=10.0, fill=40.0),
            Numeric(name="hour", feature="request.hour", std=24.0),
        ),
    ),
    InputSpec(
        name="kind",
        scope="item",
        dtype="int64",
        features=(
            Category(name="kind", feature="item.kind", vocabulary="kinds"),
            Bucket(name="price", feature="item.price", boundaries=(1.0, 10.0)),
        ),
    ),
    InputSpec(
        name="pair",
        scope="pair",
        dtype="float32",
        features=(
            Match(name="likes", values="user.liked", equals="item.kind"),
            Numeric(name="bid", feature="pair.bid"),
        ),
    ),
)
LOGITS = OutputSpec(name="logits", kind="logit", tasks=("click", "buy"), sampling={"buy": 0.25})


def spec_of(**changes: Any) -> ModelSpec:
    fields = {
        "name": "tiny",
        "version": 3,
        "files": {"onnx": "model.onnx"},
        "inputs": INPUTS,
        "outputs": (LOGITS,),
        "vocabularies": {"kinds": "kinds.arrow"},
    }
    return ModelSpec(**{**fields, **changes})


def weights() -> dict[str, Array]:
    random = np.random.default_rng(7)
    shapes = {"kinds": (KINDS.size, 3), "prices": (4, 2), "w1": (9, 8), "b1": (8,), "w2": (8, 2), "b2": (2,)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def expected(inputs: dict[str, Array]) -> Array:
    """The logits [n, 2], by numpy."""
    w = weights()
    kind = inputs["kind"]
    wide = np.concatenate([inputs["user"], w["kinds"][kind[:, 0]], w["prices"][kind[:, 1]], inputs["pair"]], axis=1)
    return np.maximum(wide @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]


def onnx_model(*, batch: str | int = "rows", centred: bool = False) -> onnx.ModelProto:
    """centred: takes the mean of the batch from the logits, so that rows depend on each other."""
    made = weights()
    made["first"], made["second"] = np.array([0]), np.array([1])
    node = helper.make_node
    nodes = [
        node("Gather", ["kind", "first"], ["kind0"], axis=1),
        node("Gather", ["kind", "second"], ["kind1"], axis=1),
        node("Squeeze", ["kind0", "second"], ["kind0s"]),
        node("Squeeze", ["kind1", "second"], ["kind1s"]),
        node("Gather", ["kinds", "kind0s"], ["kind_vector"]),
        node("Gather", ["prices", "kind1s"], ["price_vector"]),
        node("Concat", ["user", "kind_vector", "price_vector", "pair"], ["wide"], axis=1),
        node("Gemm", ["wide", "w1", "b1"], ["hidden"]),
        node("Relu", ["hidden"], ["active"]),
        node("Gemm", ["active", "w2", "b2"], ["raw"]),
    ]
    nodes += (
        [node("ReduceMean", ["raw", "first"], ["mean"]), node("Sub", ["raw", "mean"], ["logits"])]
        if centred
        else [node("Identity", ["raw"], ["logits"])]
    )
    inputs = [
        helper.make_tensor_value_info("user", TensorProto.FLOAT, [batch, 2]),
        helper.make_tensor_value_info("kind", TensorProto.INT64, [batch, 2]),
        helper.make_tensor_value_info("pair", TensorProto.FLOAT, [batch, 2]),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 2])]
    initializers = [numpy_helper.from_array(values, name) for name, values in made.items()]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def write_version(directory: Path, *, spec: ModelSpec | None = None, model: onnx.ModelProto | None = None) -> Path:
    """A version's directory: `model.toml`, the vocabulary, the ONNX file and the manifest."""
    directory.mkdir(parents=True, exist_ok=True)
    dump_spec(spec or spec_of(), directory)
    KINDS.save(directory / "kinds.arrow")
    onnx.save(model or onnx_model(), directory / "model.onnx")
    write_manifest(directory)
    return directory


def batch(rows: int, seed: int = 0) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    return {
        "user": random.standard_normal((rows, 2)).astype(np.float32),
        "kind": np.stack([random.integers(0, KINDS.size, rows), random.integers(0, 4, rows)], axis=1),
        "pair": random.random((rows, 2)).astype(np.float32),
    }
