"""What `[pipelines.NAME.options]` says of a funnel."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from navi.features.inputs import Strict

Options = Mapping[str, Any]


class SourceConfig(Strict):
    """A place where candidates come from."""

    name: str = Field(description="What replies and metrics call it.")
    use: str = Field(description="`module:function` that makes the source.")
    quota: int = Field(ge=1, le=10_000_000, description="Most candidates that it may bring.")
    timeout_ms: float | None = Field(
        default=None, gt=0, description="After which it is left out; absent: it runs inline."
    )
    weight: float = Field(default=1.0, gt=0, description="Its weight in blending.")
    options: Options = Field(default_factory=dict)


class BlendConfig(Strict):
    """How the sources' lists become one."""

    method: Literal["reciprocal_rank_fusion", "weighted_round_robin"] = "reciprocal_rank_fusion"
    limit: int = Field(default=2_000, ge=1, le=10_000_000, description="Most candidates after merging.")


class FilterConfig(Strict):
    """A rule that every answered item obeys."""

    name: str
    use: str = Field(description="`module:function` that makes the filter.")
    options: Options = Field(default_factory=dict)


class CoarseConfig(Strict):
    """The cheap scoring that chooses who is scored again."""

    use: str = "ranking.stages.coarse:coarse"
    keep: int = Field(default=500, ge=1, le=10_000_000, description="Candidates that go on.")
    options: Options = Field(default_factory=dict)


class RerankConfig(Strict):
    """The heavy model's scoring."""

    use: str = "ranking.stages.rerank:rerank"
    share: float = Field(default=0.9, gt=0, le=1, description="Share of the time left that it may take.")
    options: Options = Field(default_factory=dict)


class CombineConfig(Strict):
    """How the tasks' scores become one."""

    use: str = Field(
        default="ranking.stages.combine:single",
        description="`ranking.stages.combine:combine` for a weighted sum; the default is for a model of one task.",
    )
    options: Options = Field(default_factory=dict)


class PolicyConfig(Strict):
    """A step that changes scores or order after scoring: diversity, auction, blending."""

    name: str
    use: str = Field(description="`module:function` that makes the stage.")
    options: Options = Field(default_factory=dict)


class FallbackConfig(Strict):
    """What the server can give under the heaviest load beside what sources bring that need no user."""

    answers: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        description="Latest full answers that are kept in memory, one for each user and set of request features, the "
        "ids of their 200 best; they are filtered anew when they are used. 0: none.",
    )
    ttl_s: float = Field(default=600.0, gt=0, description="Seconds after which an answer is too old for that.")


class FunnelConfig(Strict):
    """The steps of a funnel, in the order in which they run."""

    table: str = Field(description="The bundle's table that items come from.")
    users: str | None = Field(default=None, description="The bundle's feature store of users.")
    sources: tuple[SourceConfig, ...] = Field(min_length=1, max_length=32)
    blend: BlendConfig = BlendConfig()
    filters: tuple[FilterConfig, ...] = ()
    coarse: CoarseConfig | None = None
    rerank: RerankConfig | None = None
    combine: CombineConfig = CombineConfig()
    policy: tuple[PolicyConfig, ...] = ()
    fallback: FallbackConfig = FallbackConfig()
    explain: bool = Field(default=True, description="Whether a request may ask what became of every candidate.")
    explain_limit: int = Field(
        default=10_000, ge=1, le=1_000_000, description="Most candidates that such an answer lists."
    )
    threads: int = Field(
        default=8, ge=1, le=256, description="Threads for sources with a time-out, and for lists of queries."
    )
