"""The whole of a training run: a data set in, a bundle out."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from navi.core.errors import ConfigError
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from ranking.training.bundle_config import PATHS, write_config
from ranking.training.bundle_writer import write_models, write_report
from ranking.training.corpus import KEY, before_split, items_with_popularity, with_table_rows
from ranking.training.dataset import Dataset
from ranking.training.models import train_models
from ranking.training.options import TrainOptions
from ranking.training.prepared import fingerprint, prepare
from ranking.training.progress import Progress
from ranking.training.sample_rows import write_sample
from ranking.training.user_rows import write_users

CHECKPOINTS = ".checkpoint"


def train(dataset: Dataset, out: Path, options: TrainOptions, report: Progress, *, origin: Mapping[str, Any]) -> None:
    """Make a bundle in `out` from what the data set holds before its split.

    It is made beside `out`, in `out`.partial, and renamed when complete; a run that was interrupted leaves its
    checkpoints there, and the same run goes on from them to the same result. origin: what `training.json` says of where
    the data came from. Raises ConfigError where `out` has something in it (unless `options.overwrite`), or the data
    cannot be trained on.
    """
    if out.exists() and any(out.iterdir()) and not options.overwrite:
        raise ConfigError("out", f"{out} is not empty; say --overwrite to replace it")
    torch.set_num_threads(options.threads)
    work = out.with_name(out.name + ".partial")
    _clear(work)
    past = before_split(dataset)
    report.start("writing items", 1)
    write_item_table(items_with_popularity(past), _parent(work / PATHS["items"]), key=KEY)
    corpus = with_table_rows(past, ItemTable.open(work / PATHS["items"]))
    report.start("encoding", 1)
    prepared = prepare(corpus, options)
    trained = train_models(prepared, work / CHECKPOINTS, fingerprint(corpus, options), report)
    report.start("exporting", 1)
    _parent(work / PATHS["vectors"])
    exported = write_models(work, prepared, trained)
    users = write_users(work, corpus, prepared.raw.snapshots, options, report)
    write_sample(work, prepared, trained)
    write_config(work, dataset, users, options.funnel)
    about = {"origin": origin, "dataset": dataset.name, "split": dataset.split, "options": options.model_dump()}
    write_report(work, trained, exported, about)
    shutil.rmtree(work / CHECKPOINTS)
    _replace(work, out)


def _clear(work: Path) -> None:
    """Leave nothing of an earlier run but its checkpoints."""
    work.mkdir(parents=True, exist_ok=True)
    for entry in work.iterdir():
        if entry.name != CHECKPOINTS:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _replace(work: Path, out: Path) -> None:
    """Put the finished bundle in place; what was there before goes only then."""
    old = out.with_name(out.name + ".old")
    if out.exists():
        out.rename(old)
    work.rename(out)
    if old.exists():
        shutil.rmtree(old)


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
