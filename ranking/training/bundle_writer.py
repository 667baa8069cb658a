"""From trained models to a bundle's files."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from candidates.vector_index import build_index
from navi import __version__
from navi.core.arrays import F32, Array
from navi.features.item_vectors import ItemVectors, write_item_vectors
from navi.models.spec import OutputSpec
from ranking.training.bundle_config import PATHS, RANKER, USER_TOWER
from ranking.training.distil import item_vectors
from ranking.training.export import Exported, ExportReport, export_model
from ranking.training.models import Trained
from ranking.training.prepared import Prepared

SAMPLE = 64
INDEX_QUERIES = 300


def write_models(directory: Path, prepared: Prepared, trained: Trained) -> dict[str, ExportReport]:
    """Both models, under `models/`, and the vectors that the item tower makes of the table's rows."""
    ranker = Exported(
        name=RANKER,
        model=trained.ranker,
        inputs=prepared.declarations.all,
        output=OutputSpec(name="logits", kind="logit", tasks=prepared.corpus.dataset.tasks, sampling=prepared.sampling),
        vocabularies=prepared.declarations.vocabularies,
        sample=_sample(prepared),
    )
    request = {spec.name: ranker.sample[spec.name] for spec in prepared.declarations.request}
    tower = Exported(
        name=USER_TOWER,
        model=trained.towers.user,
        inputs=prepared.declarations.request,
        output=OutputSpec(name="vector", kind="vector"),
        vocabularies=prepared.declarations.vocabularies,
        sample=request,
    )
    reports = {one.name: export_model(one, directory / "models" / one.name / "1") for one in (ranker, tower)}
    write_item_vectors(
        directory / PATHS["vectors"],
        item_vectors(trained.towers, prepared.inputs).numpy(),
        table_digest=prepared.corpus.table.digest,
        model_digest=reports[USER_TOWER].digest,
    )
    if prepared.options.funnel.approximate:
        vectors = ItemVectors.open(directory / PATHS["vectors"])
        depth = prepared.options.funnel.retrieve
        build_index(vectors, _users(prepared, trained), directory / PATHS["index"], depth=depth)
    return reports


def _users(prepared: Prepared, trained: Trained) -> F32:
    """Vectors of users at the last moments before the validation slice: what the index is tuned on."""
    last = np.arange(max(prepared.cut - INDEX_QUERIES, 0), prepared.cut)
    with torch.inference_mode():
        vectors: F32 = trained.towers.user(*prepared.inputs.request(last)).numpy()
    return vectors


def write_report(
    directory: Path, trained: Trained, reports: Mapping[str, ExportReport], about: Mapping[str, Any]
) -> None:
    """`training.json`: what the bundle was made from, how training went, and by which versions."""
    report = {
        **about,
        "ranker": [asdict(epoch) for epoch in trained.ranker_epochs],
        "user_tower": [asdict(epoch) for epoch in trained.tower_epochs],
        "exported": {name: asdict(one) for name, one in reports.items()},
        "versions": {"navi": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    (directory / "training.json").write_text(json.dumps(report, indent=2, default=dict), encoding="utf-8")


def _sample(prepared: Prepared) -> dict[str, Array]:
    """The ranker's inputs for a few training rows, as serving gives them."""
    rows = prepared.training_rows
    rows = rows.take(np.arange(min(SAMPLE, len(rows))))
    dense, codes = prepared.inputs.request(rows.moment)
    item_codes, item_dense = prepared.inputs.item(rows.item)
    tensors = {"request_dense": dense, "request_ids": codes, "item_ids": item_codes, "item_dense": item_dense}
    sample = {name: tensor.numpy() for name, tensor in tensors.items() if tensor is not None}
    return {**sample, "pair_dense": prepared.encode(rows).pair}
