"""A bundle's funnel beside what it is compared with: the same code with parts of its configuration taken out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from candidates.context import Context
from candidates.parts import Parts
from candidates.source import Fetched
from navi.bundle.bundle import Bundle
from navi.core.arrays import I64
from navi.core.candidates import Candidates
from navi.core.errors import ConfigError
from navi.core.query import Query
from navi.features.item_table import ItemTable
from ranking.filtering import apply_filters
from ranking.funnel import Funnel, build
from ranking.hydration import hydrate
from ranking.runner import Runner

POPULARITY = "popularity"
COARSE = "coarse only"
FUNNEL = "funnel"
EXHAUSTIVE = "exhaustive"

MODEL_STEPS = ("coarse", "rerank", "combine", "policy")


@dataclass(frozen=True, slots=True)
class Named:
    """A pipeline of an opened bundle."""

    bundle: Bundle
    name: str

    @property
    def table(self) -> ItemTable:
        return self.bundle.table(self.bundle.config.pipelines[self.name].options["table"])


@dataclass(frozen=True, slots=True)
class Everything:
    """A source that brings the whole table."""

    @property
    def uses_user(self) -> bool:
        return False

    def fetch(self, context: Context, quota: int) -> Fetched:
        rows = np.arange(min(len(context.table), quota), dtype=np.int64)
        return Fetched(rows, np.zeros(len(rows), dtype=np.float32))


def everything(parts: Parts) -> Everything:  # noqa: ARG001 - as every plug-in
    """Takes no options."""
    return Everything()


@contextmanager
def variants(bundle: Bundle, name: str, *, exhaustive: bool = True) -> Iterator[dict[str, Funnel]]:
    """The pipeline `name` as it is, without its ranker, by popularity alone, and (on demand) with every item scored.

    All obey the pipeline's filters; all but popularity its policy.
    """
    options = dict(bundle.config.pipelines[name].options)
    made = {
        POPULARITY: _by_popularity(options, items=len(bundle.table(options["table"]))),
        COARSE: {key: value for key, value in options.items() if key not in ("rerank", "combine")},
        FUNNEL: options,
    }
    if exhaustive:
        made[EXHAUSTIVE] = _exhaustive(options, items=len(bundle.table(options["table"])))
    funnels = {variant: build(bundle, f"{name}/{variant}", chosen) for variant, chosen in made.items()}
    try:
        yield funnels
    finally:
        for funnel in funnels.values():
            funnel.close()


def eligible(funnel: Funnel, query: Query) -> I64:
    """Rows of all items that the funnel's filters let the query see, int64, ascending."""
    run = Runner.start(funnel.clock, query.deadline)
    context = hydrate(run, query, funnel.steps)
    n = len(funnel.steps.table)
    every = Candidates(np.arange(n, dtype=np.int64), np.zeros(n, dtype=np.uint32))
    return apply_filters(run, context, every, funnel.steps.filters).rows


def _by_popularity(options: Mapping[str, Any], *, items: int) -> dict[str, Any]:
    popular = [dict(source) for source in options["sources"] if source["use"].startswith("candidates.popular:")]
    if not popular:
        raise ConfigError("sources", "there is no popular source to compare with")
    kept = {key: value for key, value in options.items() if key not in MODEL_STEPS}
    return {**kept, "sources": [{**popular[0], "quota": items, "timeout_ms": None}], "blend": {"limit": items}}


def _exhaustive(options: Mapping[str, Any], *, items: int) -> dict[str, Any]:
    kept = {key: value for key, value in options.items() if key != "coarse"}
    source = {"name": "everything", "use": "ranking.evaluation.variants:everything", "quota": items}
    return {**kept, "sources": [source], "blend": {"limit": items}}
