"""Do the ways to one score agree? Offline and served, trained and served, ONNX and Torch."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from navi.bundle.bundle import Bundle
from navi.bundle.config import read_config
from navi.cli.offline import Run, default_pipeline
from navi.cli.request_table import Defaults
from navi.client import Client
from navi.core.column import Column
from navi.core.ids import Key
from navi.features.arrow_normalise import columns_of
from navi.features.vocabulary import Vocabulary
from navi.models.loader import load_model
from navi.models.synthetic import synthetic_inputs
from ranking.evaluation.asking import (
    REQUEST,
    USER,
    Asker,
    asker_of,
    known_users,
    largest_logit_gap,
    sample_rows,
)
from ranking.evaluation.serving import serving

K = 100
ROWS = 256
BOUND = 1e-5


@dataclass(frozen=True, slots=True)
class Agreement:
    """compared: how many. same: whether what must be equal is. gap: the largest difference, in `unit`."""

    name: str
    compared: str
    same: str
    gap: float
    unit: str


def report(path: Path, pipeline: str | None, *, users: int) -> Table:
    """All comparisons, a row each. Starts a server of the bundle, and writes a scratch user to its store."""
    with Bundle.open(path) as bundle:
        name = default_pipeline(bundle, pipeline)
        asker, keys = asker_of(path, name), known_users(bundle, name, users)
        offline = _offline(bundle, asker, keys)
    with serving(path) as server, Client(server.address, timeout_s=30.0) as client:
        rows = [_offline_and_served(offline, client, asker, keys), _trained_and_served(path, name, client)]
    rows += _onnx_and_torch(path)
    table = Table("comparison", "compared", "same", "largest difference", "of")
    for row in rows:
        table.add_row(row.name, row.compared, row.same, f"{row.gap:.1e}", row.unit)
    return table


def _offline(bundle: Bundle, asker: Asker, keys: Sequence[Key]) -> list[dict[str, Any]]:
    """The answers of `navi rank` to a query for each user, as rows."""
    columns: dict[str, list[Any]] = {"user": list(keys)}
    for name, column in asker.features.items():
        columns[name] = [column.values[0]] * len(keys)
    with tempfile.TemporaryDirectory() as folder:
        requests, out = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
        pq.write_table(pa.table(columns), requests)
        run = Run(bundle, requests, out, Defaults(pipeline=asker.pipeline, k=K, as_of=asker.as_of))
        run.parts.mkdir()
        for _ in run.execute():
            pass
        return pq.read_table(out).to_pylist()


def _offline_and_served(
    offline: Sequence[dict[str, Any]], client: Client, asker: Asker, keys: Sequence[Key]
) -> Agreement:
    same, gap = 0, 0.0
    for key, answer in zip(keys, offline, strict=True):
        served = client.rank(key, k=K, pipeline=asker.pipeline, features=dict(asker.features), as_of=asker.as_of)
        if answer["ids"] == served.ids.tolist():
            same += 1
            gap = max(gap, float(np.max(np.abs(np.float32(answer["scores"]) - served.scores), initial=0.0)))
    return Agreement("`navi rank` and `Rank` over gRPC", f"{len(keys)} users", f"ids of {same}", gap, "score")


def _trained_and_served(path: Path, pipeline: str, client: Client) -> Agreement:
    """Each sample row's user is written to the store as it was then, under a scratch key, and its item is scored."""
    rows = sample_rows(path)
    columns = columns_of(rows, [name for name in rows.schema.names if "." in name or name == "popularity"])
    tasks = [name.removeprefix("logit.") for name in columns if name.startswith("logit.")]
    items: list[Any] = rows.column("item").to_pylist()
    times: list[Any] = rows.column("as_of").to_pylist()
    store = str(read_config(path).pipelines[pipeline].options["users"])
    scratch: Key = "navi-parity" if isinstance(rows.column("user")[0].as_py(), str) else -(1 << 62)
    gap = 0.0
    for at, (item, as_of) in enumerate(zip(items, times, strict=True)):
        one = {name: column.take(np.array([at])) for name, column in columns.items()}
        client.upsert([scratch], _of(one, USER), store=store, mode="replace")
        scores = client.score(
            [item],
            scratch,
            pipeline=pipeline,
            features=_of(one, REQUEST),
            as_of=as_of,
            columns={"popularity": one["popularity"]},
        )
        for task in tasks:
            gap = max(gap, largest_logit_gap(one[f"probability.{task}"].values, scores.tasks[task]))
    client.delete([scratch], store=store)
    return Agreement("the trainer and `Score` over gRPC", f"{len(items)} training rows", "", gap, "logit, relative")


def _of(columns: dict[str, Column], origin: str) -> dict[str, object]:
    """Columns of one origin that have a value in their one row, by bare name."""
    there = {name: column for name, column in columns.items() if column.row(0) is not None}
    return {name.removeprefix(origin): column for name, column in there.items() if name.startswith(origin)}


def _onnx_and_torch(path: Path) -> list[Agreement]:
    """Both files of each model on the same random rows."""
    rows = []
    for name, config in read_config(path).models.items():
        directory = path / config.path
        onnx = load_model(directory, config.model_copy(update={"format": "onnx"}))
        trusted = {"format": "pt2", "trusted": True, "digests": (onnx.digest,)}
        torch = load_model(directory, config.model_copy(update=trusted))
        sizes = {word: Vocabulary.load(directory / file).size for word, file in onnx.spec.vocabularies.items()}
        inputs = synthetic_inputs(onnx.spec.inputs, sizes, ROWS, np.random.default_rng(0))
        ours, theirs = onnx.backend.run(inputs), torch.backend.run(inputs)
        gap = max(
            float(np.max(np.abs(ours[output] - theirs[output]) / np.maximum(1.0, np.abs(ours[output]))))
            for output in ours
        )
        onnx.backend.close()
        torch.backend.close()
        rows.append(Agreement(f"ONNX and Torch: {name}", f"{ROWS} random rows", "", gap, "output, relative"))
    return rows
