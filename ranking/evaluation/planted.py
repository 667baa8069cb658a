"""Quality on generated data, where each user's true best is known."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F64, I64
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.query import Query
from navi.core.ranking import Ranking
from ranking.evaluation.contest import Answers, Result, ask
from ranking.evaluation.metrics import ndcg_at_k, recall_at_k
from ranking.evaluation.variants import FUNNEL, Named, eligible, variants
from ranking.training.dataset import Events
from ranking.training.generated import Generated
from ranking.training.progress import Progress

K = 100
HEAD = 10


@dataclass(frozen=True, slots=True)
class Funnelled:
    """How little of the corpus the funnel looked at: the most over all queries."""

    brought: int
    reranked: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A user, and the request features with which the user asks."""

    user: int
    context: dict[str, Column]


def evaluate_planted(
    pipeline: Named, generated: Generated, *, users: int, seed: int, progress: Progress
) -> tuple[Result, Funnelled]:
    """recall@100 of the true best hundred, and NDCG@10 with the true values as gains, for some users drawn by seed.

    What counts as best is the truth's expected value among the items that the pipeline's filters let the user see.
    Every query is asked as of the split, with the context of the user's first request after it.
    """
    asked = _drawn(generated, users, np.random.default_rng(seed))
    queries = [_query(pipeline.name, generated, one) for one in asked]
    with variants(pipeline.bundle, pipeline.name) as funnels:
        answers = ask(funnels, queries, pipeline.table, progress)
        shown = [eligible(funnels[FUNNEL], query) for query in queries]
    position = _positions(generated, pipeline.table.ids.values)
    split = generated.dataset.split
    values = [generated.truth.value(one.user, one.context, split)[position] for one in asked]
    worth = [_only(value, rows) for value, rows in zip(values, shown, strict=True)]
    return Result(_metrics(answers, worth)), _funnelled(answers[FUNNEL].rankings)


def _drawn(generated: Generated, users: int, generator: np.random.Generator) -> list[Asked]:
    """Users who came back after the split, each with the context of the first request then: traffic as it was."""
    dataset, events = generated.dataset, generated.dataset.events
    later = np.flatnonzero(events.time >= dataset.split)
    returning, first = np.unique(events.user[later], return_index=True)
    chosen = np.sort(generator.choice(len(returning), size=min(users, len(returning)), replace=False))
    return [Asked(int(returning[one]), _context(events, later[first[one]])) for one in chosen.tolist()]


def _context(events: Events, at: int) -> dict[str, Column]:
    return {name: column.take(np.array([at])) for name, column in events.context.items()}


def _query(pipeline: str, generated: Generated, asked: Asked) -> Query:
    return Query(
        pipeline=pipeline,
        user=generated.dataset.user_ids.key(asked.user),
        k=K,
        deadline=Deadline.never(),
        as_of=generated.dataset.split,
        features=asked.context,
    )


def _positions(generated: Generated, ids: I64) -> I64:
    """For each row of the item table, the item's position in the generated world."""
    made = generated.dataset.items.column("id").to_numpy()
    order = np.argsort(made, kind="stable")
    found = order[np.searchsorted(made[order], ids)]
    if not np.array_equal(made[found], ids):
        raise ValueError("the bundle's items are not those of the data set generated")
    return found.astype(np.int64)


def _only(values: F64, rows: I64) -> F64:
    """The values [items], 0 for items that may not be shown."""
    left = np.zeros_like(values)
    left[rows] = values[rows]
    return left


def _metrics(answers: dict[str, Answers], worth: list[F64]) -> dict[str, dict[str, F64]]:
    best = [np.argsort(-value, kind="stable")[:K] for value in worth]
    rows = np.arange(len(worth[0]))
    return {
        f"recall@{K}": {
            name: np.array([recall_at_k(got, top, K) for got, top in zip(answer.rows, best, strict=True)])
            for name, answer in answers.items()
        },
        f"NDCG@{HEAD}": {
            name: np.array([ndcg_at_k(got, rows, value, HEAD) for got, value in zip(answer.rows, worth, strict=True)])
            for name, answer in answers.items()
        },
    }


def _funnelled(rankings: list[Ranking]) -> Funnelled:
    reports = [{stage.name: stage for stage in ranking.stages} for ranking in rankings]
    brought = max(
        sum(stage.rows_out for name, stage in report.items() if name.startswith("source.")) for report in reports
    )
    return Funnelled(brought, max(report["rerank"].rows_in for report in reports))
