"""The whole of a training run: a data set in, a bundle out."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from navi.core.errors import ConfigError
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from ranking.training.bundle_config import PATHS, RANKER, USER_TOWER, write_config
from ranking.training.bundle_writer import write_models, write_report
from ranking.training.corpus import KEY, Corpus, before_split, items_with_popularity, with_table_rows
from ranking.training.dataset import Dataset
from ranking.training.export import ExportReport
from ranking.training.models import Trained, train_models
from ranking.training.options import TrainOptions
from ranking.training.prepared import Prepared, fingerprint, prepare
from ranking.training.progress import Progress
from ranking.training.sample_rows import write_sample
from ranking.training.user_rows import write_users

CHECKPOINTS = ".checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainReport:
    """What came of a run. metrics, digests: by model. seconds: by phase."""

    path: Path
    metrics: Mapping[str, Mapping[str, float]]
    digests: Mapping[str, str]
    seconds: Mapping[str, float]


def train(
    dataset: Dataset, out: Path, options: TrainOptions, report: Progress, *, origin: Mapping[str, Any]
) -> TrainReport:
    """Make a bundle in `out` from what the data set holds before its split.

    It is made beside `out`, in `out`.partial, and renamed when complete; a run that was interrupted leaves its
    checkpoints there, and the same run goes on from them to the same result. origin: what `training.json` says of where
    the data came from. Raises ConfigError where `out` has something in it (unless `options.overwrite`), or the data
    cannot be trained on; BundleError where the items make no table; ModelError where an exported file does not agree
    with its model.
    """
    _check_target(out, overwrite=options.overwrite)
    work = out.with_name(out.name + ".partial")
    _clear(work)
    seconds: dict[str, float] = {}
    with _threads(options.threads):
        with _timed(seconds, "encoding"):
            corpus = _corpus(dataset, work, report)
            report.start("encoding", 1)
            prepared = prepare(corpus, options)
        with _timed(seconds, "training"):
            trained = train_models(prepared, work / CHECKPOINTS, fingerprint(corpus, options), report)
        with _timed(seconds, "writing"):
            exported = _write(work, prepared, trained, report)
    about = {"origin": origin, "dataset": dataset.name, "split": dataset.split, "options": options.model_dump()}
    write_report(work, trained, exported, {**about, "seconds": seconds})
    shutil.rmtree(work / CHECKPOINTS)
    _replace(work, out)
    return TrainReport(
        path=out,
        metrics={RANKER: trained.ranker_epochs[-1].metrics, USER_TOWER: trained.tower_epochs[-1].metrics},
        digests={name: one.digest for name, one in exported.items()},
        seconds=seconds,
    )


def _corpus(dataset: Dataset, work: Path, report: Progress) -> Corpus:
    """The past of the data set, with its items written first: training reads the table that serving will."""
    past = before_split(dataset)
    report.start("writing items", 1)
    write_item_table(items_with_popularity(past), _parent(work / PATHS["items"]), key=KEY)
    return with_table_rows(past, ItemTable.open(work / PATHS["items"]))


def _write(work: Path, prepared: Prepared, trained: Trained, report: Progress) -> dict[str, ExportReport]:
    report.start("exporting", 1)
    _parent(work / PATHS["vectors"])
    exported = write_models(work, prepared, trained)
    users = write_users(work, prepared.corpus, prepared.raw.snapshots, prepared.options, report)
    write_sample(work, prepared, trained)
    write_config(work, prepared.corpus.dataset, users, prepared.options.funnel)
    return exported


def _check_target(out: Path, *, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise ConfigError("out", f"{out} is no directory")
    if out.exists() and any(out.iterdir()) and not overwrite:
        raise ConfigError("out", f"{out} is not empty; say --overwrite to replace it")


def _clear(work: Path) -> None:
    """Leave nothing of an earlier run but its checkpoints."""
    work.mkdir(parents=True, exist_ok=True)
    for entry in work.iterdir():
        if entry.name != CHECKPOINTS:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _replace(work: Path, out: Path) -> None:
    """Put the finished bundle in place; what was there before goes only then."""
    old = out.with_name(out.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    work.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Torch's threads are the whole process': set for the run, then as they were."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[phase] = round(time.monotonic() - started, 2)
