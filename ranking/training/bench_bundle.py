"""Bundles that `navi bench` measures: a plain network, the multi-task ranker, and a funnel over many items.

They hold what to ask: `bench/NAME-N.request.npz` (ids [sets, N], `user`, `as_of`, `request.*`, `item.*`, and the served
model's inputs `tensor.SCOPE.NAME`, [sets, width] of scope `request`, [sets, N, width] of `item` and `pair`), the inputs
of the same rows for the bare runtime in `bench/NAME-N.inputs.npz` ([sets, N, width]), and the model as it was before
anything was done for serving, `bench/NAME.onnx`.
"""

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
import tomli_w

from navi.batching.batch_policy import BatchPolicy
from navi.batching.scorer import Scorer, ScoringRequest
from navi.bundle.config import BundleConfig, read_config
from navi.core.arrays import Array
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.ids import Key
from navi.features.item_table import ItemTable
from navi.features.lmdb_store import LmdbStore
from navi.features.store import Row
from navi.models.backend import Backend, Signature
from navi.models.loader import load_model
from navi.models.options import ModelOptions
from ranking.training.bundle_config import ITEMS, PATHS, PIPELINE, RANKER, USERS
from ranking.training.generated import generate
from ranking.training.options import FunnelOptions, TowerOptions, TrainOptions
from ranking.training.progress import Progress
from ranking.training.train import train

SETS = 8
"""Requests of each size, asked in turn."""
MERGED, KEPT = 20_000, 500
"""Of the funnel: candidates after merging, and candidates that the ranker scores."""
FUNNEL_TOWER = TowerOptions(epochs=5, dim=64, distil_requests=2_000, distil_items=96)
"""So that the coarse order follows the ranker's, at a million items in minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large a bundle is. rows: candidates of the requests that it brings."""

    items: int
    users: int = 2_000
    events: int = 20_000
    rows: tuple[int, ...] = ()


def write_ranker(out: Path, sizes: Sizes, *, seed: int, report: Progress) -> None:
    """The multi-task ranker as `navi train generated` makes it, hardly trained: what a row costs is the same."""
    tower = TowerOptions(epochs=1, distil_requests=100)
    options = TrainOptions(seed=seed, sample_rows=0, tower=tower)
    _train(out, sizes, options, seed=seed, report=report)
    _write_bench(out, sizes.rows, seed=seed)


def write_funnel(out: Path, sizes: Sizes, *, seed: int, report: Progress, tower: TowerOptions = FUNNEL_TOWER) -> None:
    """A trained funnel whose sources bring `MERGED` candidates, of which the ranker scores `KEPT`."""
    funnel = FunnelOptions(retrieve=MERGED, quota=MERGED // 20, keep=KEPT, approximate=True)
    _train(out, sizes, TrainOptions(seed=seed, threads=2, tower=tower, funnel=funnel), seed=seed, report=report)
    path = out / "navi.toml"
    config = tomllib.loads(path.read_text(encoding="utf-8"))
    config["pipelines"][PIPELINE]["options"]["blend"]["limit"] = MERGED
    path.write_text(tomli_w.dumps(config), encoding="utf-8")
    _write_bench(out, (KEPT,), seed=seed)


def _write_bench(out: Path, rows: Sequence[int], *, seed: int) -> None:
    (out / "bench").mkdir()
    shutil.copy(out / "models" / RANKER / "1" / "model.onnx", out / "bench" / f"{RANKER}.onnx")
    for n in rows:
        _write_requests(out, n, np.random.default_rng(seed))


def _train(out: Path, sizes: Sizes, options: TrainOptions, *, seed: int, report: Progress) -> None:
    made = generate(items=sizes.items, users=sizes.users, events=sizes.events, seed=seed)
    origin = {"kind": "generated", "items": sizes.items, "users": sizes.users, "events": sizes.events, "seed": seed}
    train(made.dataset, out, options, report, origin=origin)


@dataclass(frozen=True, slots=True)
class Recording:
    """A backend that keeps the inputs of its runs."""

    backend: Backend
    runs: list[dict[str, Array]] = field(default_factory=list)

    @property
    def signature(self) -> Signature:
        return self.backend.signature

    @property
    def provider(self) -> str:
        return self.backend.provider

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        self.runs.append({name: values.copy() for name, values in inputs.items()})
        return self.backend.run(inputs)

    def warm(self, rows: Sequence[int]) -> None:
        self.backend.warm(rows)

    def close(self) -> None:
        self.backend.close()


def _write_requests(bundle: Path, n: int, random: np.random.Generator) -> None:
    """Requests of known users for random items, and what the ranker is given for them."""
    config = read_config(bundle)
    table = ItemTable.open(bundle / PATHS[ITEMS])
    model = load_model(bundle / "models" / RANKER / "1", ModelOptions())
    recording = Recording(model.backend)
    scorer = Scorer(replace(model, backend=recording), table, BatchPolicy(max_rows=n))
    rows = random.integers(0, len(table), (SETS, n))
    users = _users(bundle, config)
    features = {"hour": np.arange(SETS) + 8, "device": np.array(["mobile", "desktop"] * SETS)[:SETS]}
    as_of = generate(items=100, users=10, events=1_000).dataset.split
    for at, (_, row) in enumerate(users):
        given = {name: Column(_plain(values[at : at + 1])) for name, values in features.items()}
        scorer.score(ScoringRequest(user=row, features=given, as_of=as_of, deadline=Deadline.never()), rows[at])
    scorer.close()
    model.backend.close()
    read = model.encoder.features("item") | model.encoder.features("pair")
    names = sorted(name for name in read if name.startswith("item.") and name != "item.id")
    asked = {"ids": table.ids.values[rows], "user": np.array([key for key, _ in users]), "as_of": np.array([as_of])}
    asked |= {f"request.{name}": values for name, values in features.items()}
    asked |= {name: _texts(table.column(name.removeprefix("item.")).values[rows]) for name in names}
    inputs = {name: np.stack([run[name] for run in recording.runs]) for name in recording.runs[0]}
    for spec in model.spec.inputs:
        values = inputs[spec.name]
        asked[f"tensor.{spec.scope}.{spec.name}"] = values[:, 0] if spec.scope == "request" else values
    np.savez(bundle / "bench" / f"{RANKER}-{n}.request.npz", allow_pickle=False, **asked)
    np.savez(bundle / "bench" / f"{RANKER}-{n}.inputs.npz", allow_pickle=False, **inputs)


def _users(bundle: Path, config: BundleConfig) -> list[tuple[Key, Row]]:
    store = config.features[USERS]
    assert store.path is not None
    opened = LmdbStore.open(bundle / store.path, store.schema_of_rows(), key=store.key)
    try:
        return list(islice(opened.items(), SETS))
    finally:
        opened.close()


def _texts(values: Array) -> Array:
    """Text without Python objects, which a file of arrays does not hold."""
    return values.astype(np.str_) if values.dtype == object else values


def _plain(values: Array) -> Array:
    return values.astype(object) if values.dtype.kind == "U" else values
