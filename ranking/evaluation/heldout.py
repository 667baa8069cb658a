"""Quality on recorded data: what users did after the split, against popularity."""

from dataclasses import dataclass, replace

import numpy as np

from navi.core.arrays import F64, I64
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import NaviError
from navi.core.ids import Ids
from navi.core.query import Query, Supplied
from navi.features.item_table import ItemTable
from ranking.evaluation.contest import Result, ask
from ranking.evaluation.metrics import auc, ndcg_at_k, recall_at_k
from ranking.evaluation.negatives import Chosen, matched_negatives, uniform_negatives
from ranking.evaluation.variants import FUNNEL, POPULARITY, Named, eligible, variants
from ranking.training.dataset import Dataset
from ranking.training.progress import Progress

NEGATIVES = 100
K = 20
HEAD = 10


@dataclass(frozen=True, slots=True)
class Person:
    """A user with something to find after the split. rows: rows of the item table, without repeats."""

    position: int
    query: Query
    rows: I64


@dataclass(frozen=True, slots=True)
class Setting:
    """What is asked of whom, by which seed."""

    pipeline: Named
    dataset: Dataset
    seed: int

    @property
    def table(self) -> ItemTable:
        return self.pipeline.table


def evaluate_ranking(setting: Setting, progress: Progress) -> Result:
    """recall@20 and NDCG@10 through `Rank`, as of the split, for users who did something afterwards.

    Relevant is what a user did after the split, as far as the pipeline may show it (an item that the pipeline hides
    because the user has met it cannot be found again). Users with nothing left are not counted.
    """
    with variants(setting.pipeline.bundle, setting.pipeline.name, exhaustive=False) as funnels:
        people = [
            Person(person.position, person.query, rows)
            for person in people_of(setting)
            if len(rows := np.intersect1d(person.rows, eligible(funnels[FUNNEL], person.query)))
        ]
        answers = ask(funnels, [person.query for person in people], setting.table, progress)
    return Result(
        {
            f"recall@{K}": {
                name: np.array([recall_at_k(rows, one.rows, K) for rows, one in zip(answer.rows, people, strict=True)])
                for name, answer in answers.items()
            },
            f"NDCG@{HEAD}": {
                name: np.array(
                    [
                        ndcg_at_k(rows, one.rows, np.ones(len(one.rows)), HEAD)
                        for rows, one in zip(answer.rows, people, strict=True)
                    ]
                )
                for name, answer in answers.items()
            },
        }
    )


def evaluate_auc(setting: Setting, progress: Progress) -> Result:
    """AUC a user, through `Score`: what the user did after the split against items that the user never chose.

    Negatives are drawn uniformly, and as popular as the positives; `popularity` scores the same items by that column.
    """
    people = people_of(setting)
    generator = np.random.default_rng(setting.seed)
    chosen = _chosen(setting)
    users = np.array([person.position for person in people])
    positives = np.concatenate([person.rows for person in people])
    drawn = {
        "AUC, uniform negatives": uniform_negatives(chosen, users, NEGATIVES, generator),
        "AUC, popular negatives": matched_negatives(chosen, users, NEGATIVES, generator, positives=positives),
    }
    return Result({name: _aucs(setting, people, negatives, progress) for name, negatives in drawn.items()})


def people_of(setting: Setting) -> list[Person]:
    """Every user with a positive after the split, in order of position."""
    dataset, events = setting.dataset, setting.dataset.events
    later = (events.time >= dataset.split) & (events.labels[dataset.positive] > 0)
    rows = _rows(setting)[events.item[later]]
    users = events.user[later]
    return [Person(user, _query(setting, user), np.unique(rows[users == user])) for user in np.unique(users).tolist()]


def _query(setting: Setting, user: int) -> Query:
    dataset = setting.dataset
    return Query(
        pipeline=setting.pipeline.name,
        user=dataset.user_ids.key(user),
        k=K,
        deadline=Deadline.never(),
        as_of=dataset.split,
        features=_context(dataset, user),
    )


def _context(dataset: Dataset, user: int) -> dict[str, Column]:
    """The request features of the user's first event after the split: what the request knew at that moment."""
    events = dataset.events
    at = np.flatnonzero((events.user == user) & (events.time >= dataset.split))[:1]
    return {name: column.take(at) for name, column in events.context.items()}


def _rows(setting: Setting) -> I64:
    """For each position in the data set's items, its row in the bundle's table."""
    return setting.table.lookup(Ids.of(setting.dataset.items.column("id").to_pylist()))  # type: ignore[arg-type]


def _chosen(setting: Setting) -> Chosen:
    """Every pair of user and row of a positive, before or after the split."""
    events = setting.dataset.events
    positive = events.labels[setting.dataset.positive] > 0
    return Chosen.of(events.user[positive], _rows(setting)[events.item[positive]], items=len(setting.table))


def _aucs(setting: Setting, people: list[Person], negatives: I64, progress: Progress) -> dict[str, F64]:
    popularity = np.nan_to_num(setting.table.column("popularity").values.astype(np.float64))
    pipeline = setting.pipeline.bundle.pipelines[setting.pipeline.name]
    ours, theirs = np.empty(len(people)), np.empty(len(people))
    progress.start("scoring", len(people))
    for at, (person, others) in enumerate(zip(people, negatives, strict=True)):
        rows = np.concatenate([person.rows, others])
        labels = np.arange(len(rows)) < len(person.rows)
        query = _supplied(person.query, setting.table, rows)
        (scores,) = pipeline.score_many([query])
        if isinstance(scores, NaviError):
            raise scores
        ours[at], theirs[at] = auc(scores.scores, labels), auc(popularity[rows], labels)
        progress.advance()
    return {POPULARITY: theirs, FUNNEL: ours}


def _supplied(query: Query, table: ItemTable, rows: I64) -> Query:
    return replace(query, supplied=Supplied(ids=table.ids.take(rows)))
