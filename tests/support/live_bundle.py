"""A small bundle whose models have versions: each adds a known amount to every logit."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import tiny_model
import tomli_w
from onnx import TensorProto, helper, numpy_helper

from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.features.item_vectors import write_item_vectors
from navi.models.golden import write_golden
from navi.models.manifest import write_manifest
from navi.models.spec import OutputSpec, dump_spec

STEP = 0.0625
"""What a version adds to the logits, times its number."""

ITEMS = 60
TOWER = OutputSpec(name="vector", kind="vector")
DERIVED = "models/tower/{version}/derived/items.arrow"


def write_bundle(root: Path, *, repository: dict[str, Any] | None = None, ranker: int = 1, **more: Any) -> Path:
    """A bundle with a followed `ranker` in one version, and one pipeline, `home`. more: entries of `navi.toml`."""
    write_items(root)
    add_ranker(root, ranker)
    source = {"name": "popular", "use": "candidates.popular:popular", "quota": 40, "options": {"column": "price"}}
    home = {
        "table": "items",
        "users": "users",
        "sources": [source],
        "rerank": {"options": {"model": "ranker"}},
        "combine": {"use": "ranking.stages.combine:combine", "options": {"weights": {"click": 1.0}}},
    }
    config: dict[str, Any] = {
        "name": "live",
        "tables": {"items": {"path": "tables/items.arrow"}},
        "features": {
            "users": {
                "key": "int64",
                "path": "features/users",
                "fields": {"age": {"dtype": "float32"}, "liked": {"dtype": "string", "max_length": 4}},
            }
        },
        "models": {"ranker": {"path": "models/ranker", "version": "latest", "table": "items"}},
        "pipelines": {"home": {"factory": "ranking.funnel:build", "options": home}},
        "repository": repository or {},
    }
    (root / "navi.toml").write_text(tomli_w.dumps({**config, **more}))
    return root


def with_tower(root: Path) -> Path:
    """The same bundle with a followed `tower`, whose vectors bring the candidates and order them."""
    import tomllib

    add_tower(root, 1)
    config = tomllib.loads((root / "navi.toml").read_text())
    config["models"]["tower"] = {"path": "models/tower", "version": "latest"}
    config["vectors"] = {"items": {"path": DERIVED, "table": "items", "model": "tower"}}
    by_vector = {"model": "tower", "vectors": "items"}
    config["pipelines"]["home"]["options"]["coarse"] = {"keep": 20, "options": by_vector}
    (root / "navi.toml").write_text(tomli_w.dumps(config))
    return root


def write_items(root: Path) -> None:
    random = np.random.default_rng(3)
    items = pa.table(
        {
            "id": np.arange(ITEMS),
            "kind": random.choice(["news", "sport", "music"], ITEMS).tolist(),
            "price": pa.array(random.uniform(0, 20, ITEMS), pa.float32()),
        }
    )
    (root / "tables").mkdir(parents=True, exist_ok=True)
    write_item_table(items, root / "tables/items.arrow", key="id")


def add_ranker(root: Path, version: int, *, name: str = "ranker", golden: float | None = None, **spec: Any) -> Path:
    """golden: adds a golden file whose expected logits are off by so much."""
    directory = root / "models" / name / str(version)
    draft = directory.with_name(f".{version}.draft")
    draft.mkdir(parents=True)
    dump_spec(tiny_model.spec_of(**{"name": name, "version": version, **spec}), draft)
    tiny_model.KINDS.save(draft / "kinds.arrow")
    onnx.save(shifted(version * STEP), draft / "model.onnx")
    if golden is not None:
        inputs = tiny_model.batch(5)
        write_golden(draft, inputs, {"logits": tiny_model.expected(inputs) + version * STEP + golden})
    write_manifest(draft)
    return draft.rename(directory)


def shifted(amount: float) -> onnx.ModelProto:
    model = tiny_model.onnx_model()
    for tensor in model.graph.initializer:
        if tensor.name == "b2":
            moved = numpy_helper.to_array(tensor) + np.float32(amount)
            tensor.CopyFrom(numpy_helper.from_array(moved, "b2"))
    return model


def add_tower(root: Path, version: int, *, vectors_of: str = "") -> Path:
    """vectors_of: a digest to write into its vectors, in the place of its own; `none`: it has no vectors."""
    directory = root / "models/tower" / str(version)
    draft = directory.with_name(f".{version}.draft")
    draft.mkdir(parents=True)
    user = tiny_model.INPUTS[0]
    dump_spec(
        tiny_model.spec_of(name="tower", version=version, inputs=(user,), outputs=(TOWER,), vocabularies={}), draft
    )
    weights = np.random.default_rng(version).standard_normal((2, 4)).astype(np.float32)
    onnx.save(_linear(weights), draft / "model.onnx")
    digest = write_manifest(draft)
    if vectors_of != "none":
        (draft / "derived").mkdir()
        matrix = np.random.default_rng(version).standard_normal((ITEMS, 4)).astype(np.float32)
        table = ItemTable.open(root / "tables/items.arrow").digest
        write_item_vectors(draft / "derived/items.arrow", matrix, table_digest=table, model_digest=vectors_of or digest)
    return draft.rename(directory)


def add_plain(root: Path, version: int) -> Path:
    """A model without transforms, x [rows, 2] to y, that multiplies by its version."""
    draft = root / "models/plain" / f".{version}.draft"
    draft.mkdir(parents=True)
    factor = numpy_helper.from_array(np.float32(version), "factor")
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        "plain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 2])],
        [factor],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), draft / "model.onnx"
    )
    write_manifest(draft)
    return draft.rename(draft.with_name(str(version)))


def half_copied(whole: Path, directory: Path) -> Path:
    """A copy that has come as far as half of the model's file; the manifest is there already."""
    directory.mkdir(parents=True)
    for file in whole.iterdir():
        if file.is_file():
            shutil.copy(file, directory / file.name)
    model = (whole / "model.onnx").read_bytes()
    (directory / "model.onnx").write_bytes(model[: len(model) // 2])
    return directory


def _linear(weights: np.ndarray) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["user", "w"], ["vector"])],
        "tower",
        [helper.make_tensor_value_info("user", TensorProto.FLOAT, ["rows", 2])],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["rows", 4])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
