"""The steps of a funnel, made from its configuration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from candidates.blend import Blend
from candidates.gather import SourceEntry
from candidates.parts import Parts
from candidates.source import Filter
from navi.batching.scorer import Scorer
from navi.bundle.plugins import make
from navi.core.errors import ConfigError, InvalidArgument
from navi.core.query import Query
from navi.features.item_table import ItemTable
from navi.features.store import FeatureStore
from ranking.config import CoarseConfig, FunnelConfig, RerankConfig, SourceConfig
from ranking.recent_answers import RecentAnswers
from ranking.stage import Stage
from ranking.trail import Trail


@dataclass(frozen=True, slots=True)
class Step:
    """A stage under the name by which replies and metrics call it, and its share of the time that is left."""

    name: str
    stage: Stage
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What a funnel runs, in order.

    models: every model that a step asked for. explain_limit: most candidates that an explanation lists; None where it
    is turned off. recent: earlier answers to fall back on under overload; None where none are kept.
    """

    table: ItemTable
    users: FeatureStore | None
    sources: tuple[SourceEntry, ...]
    blend: Blend
    filters: tuple[Filter, ...]
    coarse: Step | None
    keep: int
    rerank: Step | None
    combine: Step
    policy: tuple[Step, ...]
    models: Mapping[str, Scorer]
    explain_limit: int | None = 10_000
    recent: RecentAnswers | None = None

    def scoring(self) -> Iterator[Step]:
        """The steps that score given candidates: the ranker where there is one, otherwise the coarse score."""
        if self.rerank is not None:
            return iter((self.rerank, self.combine))
        return iter(() if self.coarse is None else (self.coarse,))

    def versions(self) -> dict[str, str]:
        return {name: scorer.version for name, scorer in self.models.items()}

    @property
    def request_features(self) -> frozenset[str]:
        """Names of the request features that a model of the pipeline reads."""
        return frozenset().union(*(scorer.request_features for scorer in self.models.values()))

    def trail(self, query: Query) -> Trail | None:
        """What follows the query's candidates, where it asks; InvalidArgument where that is turned off."""
        if not query.explain:
            return None
        if self.explain_limit is None:
            raise InvalidArgument("explain", f"is turned off for pipeline {query.pipeline!r}")
        return Trail(self.explain_limit)

    def check(self, query: Query) -> None:
        """InvalidArgument where the query holds a feature that nothing here reads."""
        read = self.request_features
        for name in query.features:
            if name not in read:
                known = ", ".join(sorted(read)) or "none"
                raise InvalidArgument(f"features.{name}", f"no model reads it; known: {known}")


def build_steps(config: FunnelConfig, parts: Parts, users: FeatureStore | None, *, field: str) -> Steps:
    """Every plug-in that the configuration names, made and put in its place."""
    names = [source.name for source in config.sources]
    if len(set(names)) != len(names):
        raise ConfigError(f"{field}.sources", "two sources have one name")
    sources = tuple(_source(parts, entry, f"{field}.sources.{entry.name}") for entry in config.sources)
    return Steps(
        table=parts.table,
        users=users,
        sources=sources,
        blend=Blend(
            method=config.blend.method,
            weights=tuple(entry.weight for entry in config.sources),
            limit=config.blend.limit,
            guaranteed=frozenset(at for at, entry in enumerate(sources) if entry.guaranteed),
        ),
        filters=tuple(_plugin(parts, entry, f"{field}.filters.{entry.name}") for entry in config.filters),
        coarse=_step(parts, "coarse", config.coarse, field),
        keep=config.coarse.keep if config.coarse else config.blend.limit,
        rerank=_step(parts, "rerank", config.rerank, field),
        combine=Step("combine", _plugin(parts, config.combine, f"{field}.combine")),
        policy=tuple(
            Step(entry.name, _plugin(parts, entry, f"{field}.policy.{entry.name}")) for entry in config.policy
        ),
        models=parts.models,
        explain_limit=config.explain_limit if config.explain else None,
        recent=RecentAnswers(config.fallback.answers, config.fallback.ttl_s) if config.fallback.answers else None,
    )


def _source(parts: Parts, entry: SourceConfig, field: str) -> SourceEntry:
    timeout = None if entry.timeout_ms is None else entry.timeout_ms / 1000
    return SourceEntry(entry.name, _plugin(parts, entry, field), entry.quota, timeout)


def _step(parts: Parts, name: str, config: CoarseConfig | RerankConfig | None, field: str) -> Step | None:
    if config is None:
        return None
    share = config.share if isinstance(config, RerankConfig) else 1.0
    return Step(name, _plugin(parts, config, f"{field}.{name}"), share)


def _plugin(parts: Parts, entry: Any, field: str) -> Any:
    return make(entry.use, parts, options=entry.options, field=field)
