"""What can be chosen about a training run; every field has a default that suits the generated data set."""

from pydantic import Field

from navi.features.inputs import Strict


class RankerOptions(Strict):
    """The multi-task ranker."""

    epochs: int = Field(default=1, ge=1, description="Passes over the training rows; the best one's weights are kept.")
    batch_rows: int = Field(default=2048, ge=2, description="Rows a step, about: requests are never cut.")
    learning_rate: float = Field(default=2e-3, gt=0, description="Peak of the schedule (Adam).")
    weight_decay: float = Field(default=1e-5, ge=0, description="Decoupled (AdamW), a step, times the learning rate.")
    id_dim: int = Field(default=16, ge=1, description="Width of the embeddings of item ids.")
    category_dim: int = Field(default=8, ge=1, description="Width of all other embeddings.")
    cross_layers: int = Field(default=2, ge=0, description="Cross layers of DCN-v2.")
    cross_rank: int = Field(default=48, ge=0, description="Rank of their matrices; 0: full.")
    hidden: tuple[int, ...] = Field(default=(128, 64), description="Layers of the network beside the cross layers.")


class TowerOptions(Strict):
    """The two-tower retriever and coarse ranker."""

    epochs: int = Field(default=6, ge=1, description="Passes over the positives.")
    batch: int = Field(default=256, ge=2, description="Positives a step; they are each other's negatives.")
    learning_rate: float = Field(default=3e-3, gt=0, description="Peak of the schedule (Adam).")
    weight_decay: float = Field(default=1e-5, ge=0, description="Decoupled (AdamW), a step, times the learning rate.")
    dim: int = Field(default=96, ge=2, description="Width of the vectors, the item's bias included.")
    id_dim: int = Field(default=32, ge=1, description="Width of the embeddings of item ids.")
    category_dim: int = Field(default=16, ge=1, description="Width of all other embeddings.")
    hidden: tuple[int, ...] = Field(default=(192,), description="Hidden layers of each tower.")
    uniform_negatives: int = Field(default=512, ge=0, description="Items drawn uniformly as further negatives, a step.")
    distil: float = Field(default=3.0, ge=0, description="Weight of the loss against the ranker's order; 0: none.")
    distil_requests: int = Field(default=6_000, ge=1, description="Requests that the ranker scores for it, an epoch.")
    distil_recent: float = Field(
        default=0.3, gt=0, le=1, description="Last share of training that they are drawn from."
    )
    distil_items: int = Field(default=48, ge=2, description="Items that it scores for each of them.")


class FunnelOptions(Strict):
    """Sizes of the funnel that the bundle's `navi.toml` describes."""

    retrieve: int = Field(default=1000, ge=1, description="Candidates of the embedding source.")
    quota: int = Field(default=200, ge=1, description="Candidates of each other source.")
    keep: int = Field(default=500, ge=1, description="Candidates that the ranker scores.")
    approximate: bool = Field(default=False, description="Search the item vectors by an index, not exactly.")


class TrainOptions(Strict):
    """All of a training run."""

    seed: int = Field(default=0, ge=0, description="Of every random choice: start values, order, negatives, samples.")
    threads: int = Field(default=1, ge=1, description="Threads of torch: more than there are idle cores cost time.")
    overwrite: bool = Field(default=False, description="Replace a bundle that is already there.")
    validation: float = Field(
        default=0.05, gt=0, lt=0.5, description="Last share of the training rows, kept for metrics."
    )
    history: int = Field(default=30, ge=1, le=1024, description="Recent values of each kind that are kept of a user.")
    seen: int = Field(default=500, ge=1, le=65_536, description="Items a user has met that are kept for filtering.")
    min_count: int = Field(default=3, ge=1, description="Training rows below which an item's id counts as unknown.")
    id_dropout: float = Field(
        default=0.5, ge=0, lt=1, description="Share of rows trained as if the item's id were unknown."
    )
    negatives: int = Field(default=16, ge=1, description="Drawn a positive, where impressions are not known.")
    popular_share: float = Field(
        default=0.0, ge=0, lt=1, description="Share of them drawn by popularity, not uniformly."
    )
    sample_rows: int = Field(default=1000, ge=0, description="Training rows written out with their scores, for checks.")
    ranker: RankerOptions = RankerOptions()
    tower: TowerOptions = TowerOptions()
    funnel: FunnelOptions = FunnelOptions()
