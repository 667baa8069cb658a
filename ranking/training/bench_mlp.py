"""A plain network in a bundle, for `navi bench`: 64 -> 256 -> 128 -> 1 with ReLU, one logit, random weights."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import tomli_w
from onnx import TensorProto, helper, numpy_helper

from navi.core.arrays import F32, I64, Array
from navi.features.inputs import InputSpec, Numeric
from navi.features.item_table_writer import write_item_table
from navi.models.manifest import write_manifest
from navi.models.spec import ModelSpec, OutputSpec, dump_spec
from ranking.training.bench_bundle import SETS
from ranking.training.bundle_config import ITEMS, PATHS, PIPELINE

REQUEST_WIDTH, ITEM_WIDTH, HIDDEN = 40, 24, (256, 128)
MLP = "mlp"


def write_mlp(out: Path, *, items: int, rows: Sequence[int], seed: int) -> None:
    """40 request inputs, 24 item inputs; see `bench_bundle` for what lies beside the model. rows: of the requests."""
    random = np.random.default_rng(seed)
    version = out / "models" / MLP / "1"
    for directory in (version, out / "bench", out / "tables"):
        directory.mkdir(parents=True)
    weights = _weights(random)
    onnx.save(_mlp(weights, {"request": REQUEST_WIDTH, "item": ITEM_WIDTH}), version / "model.onnx")
    onnx.save(_mlp(weights, {"x": REQUEST_WIDTH + ITEM_WIDTH}), out / "bench" / f"{MLP}.onnx")
    dump_spec(_mlp_spec(), version)
    write_manifest(version)
    vectors = random.standard_normal((items, ITEM_WIDTH), dtype=np.float32)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), ITEM_WIDTH)
    write_item_table(pa.table({"id": _ids(np.arange(items)), "values": flat}), out / PATHS[ITEMS], key="id")
    (out / "navi.toml").write_text(tomli_w.dumps(_mlp_config()), encoding="utf-8")
    for n in rows:
        _write_requests(out / "bench", n, vectors, random)


def _write_requests(directory: Path, n: int, vectors: F32, random: np.random.Generator) -> None:
    """vectors: of all items, [items, ITEM_WIDTH]."""
    items = random.integers(0, len(vectors), (SETS, n))
    request = random.standard_normal((SETS, REQUEST_WIDTH), dtype=np.float32)
    asked: dict[str, Array] = {"ids": _ids(items), "as_of": np.zeros(1)}
    asked |= {"request.context": request, "item.values": vectors[items]}
    asked |= {"tensor.request.request": request, "tensor.item.item": vectors[items]}
    np.savez(directory / f"{MLP}-{n}.request.npz", allow_pickle=False, **asked)
    spread = np.repeat(request[:, None, :], n, axis=1)
    np.savez(directory / f"{MLP}-{n}.inputs.npz", x=np.concatenate([spread, vectors[items]], axis=2))


def _ids(rows: I64) -> I64:
    """Ids that are no row numbers."""
    return rows * 7 + 1_000


def _weights(random: np.random.Generator) -> list[tuple[F32, F32]]:
    """Weights [in, out] and biases [out] of each layer, scaled so that values keep their size (He et al. 2015)."""
    widths = (REQUEST_WIDTH + ITEM_WIDTH, *HIDDEN, 1)
    return [
        (
            (random.standard_normal((a, b)) * np.sqrt(2 / a)).astype(np.float32),
            (random.standard_normal(b) * 0.1).astype(np.float32),
        )
        for a, b in pairwise(widths)
    ]


def _mlp(weights: Sequence[tuple[F32, F32]], inputs: Mapping[str, int]) -> onnx.ModelProto:
    """The network over its inputs side by side."""
    nodes, constants, value = [], [], next(iter(inputs))
    if len(inputs) > 1:
        value = "wide"
        nodes.append(helper.make_node("Concat", list(inputs), [value], axis=1))
    for at, (matrix, bias) in enumerate(weights):
        constants += [numpy_helper.from_array(matrix, f"w{at}"), numpy_helper.from_array(bias, f"b{at}")]
        last = at == len(weights) - 1
        nodes.append(helper.make_node("Gemm", [value, f"w{at}", f"b{at}"], ["logit" if last else f"layer{at}"]))
        if not last:
            nodes.append(helper.make_node("Relu", [f"layer{at}"], [f"active{at}"]))
            value = f"active{at}"
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", w]) for name, w in inputs.items()]
    made = [helper.make_tensor_value_info("logit", TensorProto.FLOAT, ["rows", 1])]
    graph = helper.make_graph(nodes, MLP, given, made, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _mlp_spec() -> ModelSpec:
    request = Numeric(name="context", feature="request.context", width=REQUEST_WIDTH)
    item = Numeric(name="values", feature="item.values", width=ITEM_WIDTH)
    return ModelSpec(
        name=MLP,
        version=1,
        files={"onnx": "model.onnx"},
        inputs=(
            InputSpec(name="request", scope="request", dtype="float32", features=(request,)),
            InputSpec(name="item", scope="item", dtype="float32", features=(item,)),
        ),
        outputs=(OutputSpec(name="logit", kind="logit", tasks=("click",)),),
    )


def _mlp_config() -> dict[str, Any]:
    source = {"name": "supplied", "use": "candidates.supplied:supplied", "quota": 10_000}
    options = {"table": ITEMS, "sources": [source], "rerank": {"options": {"model": MLP}}}
    return {
        "name": "bench",
        "tables": {ITEMS: {"path": PATHS[ITEMS]}},
        "models": {MLP: {"path": f"models/{MLP}/1", "table": ITEMS}},
        "pipelines": {PIPELINE: {"factory": "ranking.funnel:build", "options": options}},
    }
