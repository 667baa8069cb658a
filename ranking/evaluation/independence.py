"""Does a candidate's score depend on its company? It must not."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.table import Table

from navi.batching.scorer import Scorer, ScoringRequest
from navi.bundle.bundle import Bundle
from navi.cli.offline import default_pipeline
from navi.core.arrays import F32, I64
from navi.core.deadline import Deadline
from ranking.evaluation.asking import known_users, largest_logit_gap

ROWS = 500
ALONE = 100
COMPANY = 8
BOUND = 1e-5

Scores = dict[str, F32]


def report(path: Path, pipeline: str | None, *, seed: int) -> Table:
    """The largest difference of logits, relative to max(1, |logit|), that company makes for some users' candidates.

    Read back from probabilities in float32, whose own rounding is part of what is shown.
    """
    table = Table("model", "alone", "shuffled", "padded", "in company", "bound", title="largest difference of a logit")
    with Bundle.open(path) as bundle:
        name = default_pipeline(bundle, pipeline)
        users = known_users(bundle, name, COMPANY)
        (row,) = bundle.store(bundle.config.pipelines[name].options["users"]).get_many(users[:1])
        generator = np.random.default_rng(seed)
        for model, scorer in bundle.scorers.items():
            if scorer.tasks:
                n = len(bundle.table(bundle.config.pipelines[name].options["table"]))
                rows = generator.choice(n, size=min(ROWS, n), replace=False).astype(np.int64)
                request = ScoringRequest(row or {}, {}, bundle.clock.time(), Deadline.never())
                gaps = largest_gaps(scorer, request, rows, generator)
                table.add_row(model, *(f"{gap:.1e}" for gap in gaps), f"{BOUND:.0e}")
    return table


def largest_gaps(scorer: Scorer, request: ScoringRequest, rows: I64, generator: np.random.Generator) -> list[float]:
    """The gaps (alone, shuffled, padded, in company) between a row's score there and in one call of all `rows`."""

    def score(chosen: I64) -> Scores:
        return scorer.score(request, chosen)

    together = score(rows)
    order = generator.permutation(len(rows))
    return [
        max(_gap(together, score(rows[at : at + 1]), slice(at, at + 1)) for at in range(min(ALONE, len(rows)))),
        _gap(together, score(rows[order]), order),
        _gap(together, {task: values[: len(rows)] for task, values in score(np.tile(rows, 3)).items()}, slice(None)),
        _in_company(together, score, rows),
    ]


def _in_company(together: Scores, score: Callable[[I64], Scores], rows: I64) -> float:
    """Many callers at once, each with a slice of its own: their rows meet in the batcher."""
    slices = [slice(start, start + 7) for start in range(0, len(rows), 7)]
    with ThreadPoolExecutor(COMPANY) as pool:
        answers = pool.map(lambda part: score(rows[part]), slices)
        return max(_gap(together, answer, part) for answer, part in zip(answers, slices, strict=True))


def _gap(together: Scores, other: Scores, index: slice | I64) -> float:
    return max(largest_logit_gap(values[index], other[task]) for task, values in together.items())
