"""What a source, a filter or a stage is made from."""

from dataclasses import dataclass, field

from navi.batching.scorer import Scorer
from navi.bundle.bundle import Bundle
from navi.features.item_table import ItemTable
from navi.features.item_vectors import ItemVectors


@dataclass(frozen=True, slots=True)
class Parts:
    """The opened bundle, and the item table of the pipeline that is being built.

    A plug-in is made by a function `(parts, *, option: type = default, ...)`, named in `navi.toml` as
    `module:function`; its options are checked against its annotations.
    """

    bundle: Bundle
    table: ItemTable
    models: dict[str, Scorer] = field(default_factory=dict)
    """The models that the pipeline's plug-ins asked for."""

    def scorer(self, model: str) -> Scorer:
        """The scorer of one of the bundle's models; ConfigError where there is none of that name."""
        return self.models.setdefault(model, self.bundle.scorer(model))

    def vectors(self, name: str) -> ItemVectors:
        """One of the bundle's sets of item vectors, checked against its table and model."""
        return self.bundle.vectors(name)
