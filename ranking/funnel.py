"""The funnel: from a query to the best k, step by step."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from candidates.context import Context
from candidates.gather import Gather
from candidates.parts import Parts
from navi.bundle.bundle import Bundle
from navi.bundle.config import validated
from navi.core.clock import Clock
from navi.core.errors import NaviError
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores
from ranking.config import FunnelConfig
from ranking.effort import remember, within_effort
from ranking.filtering import apply_filters
from ranking.hydration import hydrate
from ranking.merging import merge
from ranking.parallel import answer_each
from ranking.runner import Runner
from ranking.scoring import coarse, rerank, score_supplied
from ranking.selection import select
from ranking.steps import Steps, build_steps


@dataclass(frozen=True, slots=True, eq=False)
class Funnel:
    """A pipeline of stages over one item table. Safe to call from many threads."""

    name: str
    steps: Steps
    gather: Gather
    clock: Clock
    pool: ThreadPoolExecutor

    def rank_many(self, queries: Sequence[Query]) -> list[Ranking | NaviError]:
        """The best k for each query; several at once go side by side, so that their rows meet in the batcher."""
        return answer_each(self.rank, queries, self.pool)

    def score_many(self, queries: Sequence[Query]) -> list[Scores | NaviError]:
        """The model's scores of each query's supplied candidates, position for position."""
        return answer_each(self.score, queries, self.pool)

    def rank(self, query: Query) -> Ranking:
        """What happens to one query, from top to bottom."""
        steps = self.steps
        steps.check(query)
        run = Runner.start(self.clock, query.deadline, steps.trail(query))
        query, recalled = within_effort(run, query, steps)
        fetching = self.gather.start(Context(query, steps.table))
        context = hydrate(run, query, steps)
        candidates = merge(run, fetching.finish(context), recalled, steps)
        candidates = apply_filters(run, context, candidates, steps.filters)
        candidates = coarse(run, context, candidates, steps)
        candidates = rerank(run, context, candidates, steps)
        for step in steps.policy:
            candidates = run.stage(step.name, step.stage, context, candidates)
        remember(run, query, candidates, steps)
        return select(run, context, candidates, steps)

    def score(self, query: Query) -> Scores:
        """The model's scores of the supplied candidates: no sources, no filters, no policy."""
        self.steps.check(query)
        return score_supplied(Runner.start(self.clock, query.deadline), query, self.steps)

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.gather.close()


def build(bundle: Bundle, name: str, options: Mapping[str, Any]) -> Funnel:
    """The factory that `navi.toml` names: `[pipelines.NAME.options]` as a funnel. ConfigError where they are wrong."""
    field = f"pipelines.{name}.options"
    config = validated(FunnelConfig, options, field=field)
    users = None if config.users is None else bundle.store(config.users)
    parts = Parts(bundle, bundle.table(config.table), users)
    steps = build_steps(config, parts, users, field=field)
    gather = Gather(steps.sources, ThreadPoolExecutor(config.threads, f"{name}-source"), bundle.clock)
    return Funnel(name, steps, gather, bundle.clock, ThreadPoolExecutor(config.threads, f"{name}-query"))


build.options_model = FunnelConfig  # type: ignore[attr-defined]  # what `navi config` documents
