"""What a funnel leaves out where a query may not cost the full work."""

import math
from dataclasses import replace

import numpy as np

from candidates.blend import BLEND
from candidates.gather import OVERLOAD, SourceEntry
from candidates.lookup import is_among
from navi.core.candidates import Candidates
from navi.core.effort import Effort
from navi.core.query import Query
from ranking.runner import Runner
from ranking.steps import Steps


def within_effort(run: Runner, query: Query, steps: Steps) -> tuple[Query, Candidates | None]:
    """The query with an effort that the funnel can obey, and the items of an earlier answer where it falls back on one.

    It falls back as far as the coarse order only, and says so, where nothing is remembered and no source does without
    the user.
    """
    if query.effort.level != "fallback":
        return query, None
    recalled = _recalled(run, query, steps)
    if recalled is not None or any(_brings(entry, query) for entry in steps.sources):
        return query, recalled
    run.degrade("fallback", OVERLOAD, "no earlier answer, and no source that needs no user: the coarse order stands in")
    return replace(query, effort=Effort("coarse", query.effort.share)), None


def first(recalled: Candidates, others: Candidates) -> Candidates:
    """The items of an earlier answer in their order, then the others that are not among them. `blend` is the place."""
    rest = others.take(~is_among(others.rows, recalled.rows))
    rows, sources = np.concatenate([recalled.rows, rest.rows]), np.concatenate([recalled.sources, rest.sources])
    return Candidates(rows, sources, {BLEND: -np.arange(len(rows), dtype=np.float32)})


def share_kept(query: Query, candidates: int) -> int:
    """How many of the candidates that would be re-ranked are: their share, but no fewer than are asked for."""
    if query.effort.level != "fewer":
        return candidates
    return min(candidates, max(query.k, math.ceil(candidates * query.effort.share)))


def remember(run: Runner, query: Query, candidates: Candidates, steps: Steps) -> None:
    """Keep a full answer for harder times, where the pipeline does."""
    if steps.recent is not None and query.effort.level == "full" and not run.degradations:
        steps.recent.remember(query, candidates, steps.table)


def _recalled(run: Runner, query: Query, steps: Steps) -> Candidates | None:
    """The earlier answer's items that still exist; they are filtered as any others. None where there are none."""
    answer = None if steps.recent is None else steps.recent.recall(query)
    if answer is None or not len(answer.ids):
        return None
    rows = steps.table.lookup(answer.ids)
    known = np.flatnonzero(rows >= 0)
    age = query.as_of - answer.as_of
    run.degrade("recall", OVERLOAD, f"what was answered {age:.1f} s ago stands first", rows=len(known))
    return Candidates(rows[known], answer.sources[known])


def _brings(entry: SourceEntry, query: Query) -> bool:
    """Whether a source brings something without the user."""
    return not entry.source.uses_user and (not entry.guaranteed or query.supplied is not None)
