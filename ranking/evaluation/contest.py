"""The same queries put to several funnels, and what each user got of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.table import Table

from navi.core.arrays import F64, I64
from navi.core.errors import NaviError
from navi.core.query import Query
from navi.core.ranking import Ranking
from navi.features.item_table import ItemTable
from ranking.evaluation.bootstrap import Interval, paired_bootstrap
from ranking.evaluation.variants import FUNNEL
from ranking.funnel import Funnel
from ranking.training.progress import Progress

CHUNK = 8


@dataclass(frozen=True, slots=True)
class Answers:
    """One funnel's answers to all queries. rows: best first, int64, one array a query."""

    rows: list[I64]
    rankings: list[Ranking]


def ask(
    funnels: Mapping[str, Funnel], queries: Sequence[Query], table: ItemTable, progress: Progress
) -> dict[str, Answers]:
    """Every query to every funnel; the first error ends it."""
    answers = {}
    for name, funnel in funnels.items():
        progress.start(f"asking: {name}", len(queries))
        rankings: list[Ranking] = []
        readable = [_readable(query, funnel) for query in queries]
        for start in range(0, len(queries), CHUNK):
            rankings += [_sound(answer) for answer in funnel.rank_many(readable[start : start + CHUNK])]
            progress.advance(min(CHUNK, len(queries) - start))
        answers[name] = Answers([table.lookup(ranking.ids) for ranking in rankings], rankings)
    return answers


@dataclass(frozen=True, slots=True)
class Result:
    """metrics: name -> variant -> a value a user, float64 [users], all in one order."""

    metrics: Mapping[str, Mapping[str, F64]]

    def mean(self, metric: str, variant: str) -> float:
        return float(self.metrics[metric][variant].mean())

    def difference(self, metric: str, other: str, *, seed: int) -> Interval:
        """The funnel's value less another variant's, with the 95 % interval of a paired bootstrap over users."""
        values = self.metrics[metric]
        return paired_bootstrap(values[FUNNEL], values[other], generator=np.random.default_rng(seed))

    def table(self, *, seed: int) -> Table:
        """Means by variant, and the funnel's differences from each."""
        users = len(next(iter(next(iter(self.metrics.values())).values())))
        table = Table("variant", title=f"{users:,} users, mean (funnel - variant, 95 % interval)", title_justify="left")
        for metric in self.metrics:
            table.add_column(metric, justify="right")
        for variant in next(iter(self.metrics.values())):
            table.add_row(variant, *(self._cell(metric, variant, seed) for metric in self.metrics))
        return table

    def _cell(self, metric: str, variant: str, seed: int) -> str:
        mean = f"{self.mean(metric, variant):.4f}"
        if variant == FUNNEL:
            return mean
        gap = self.difference(metric, variant, seed=seed)
        return f"{mean} ({gap.mean:+.4f}, {gap.low:+.4f} .. {gap.high:+.4f})"


def _readable(query: Query, funnel: Funnel) -> Query:
    """The query without the request features that nothing in the funnel reads."""
    read = funnel.steps.request_features
    return replace(query, features={name: column for name, column in query.features.items() if name in read})


def _sound(answer: Ranking | NaviError) -> Ranking:
    if isinstance(answer, NaviError):
        raise answer
    return answer
