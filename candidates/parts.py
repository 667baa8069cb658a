"""What a source, a filter or a stage is made from."""

from dataclasses import dataclass, field
from pathlib import Path

from navi.batching.scorer import Scorer
from navi.bundle.bundle import Bundle
from navi.core.errors import ConfigError
from navi.features.item_table import ItemTable
from navi.features.item_vectors import ItemVectors
from navi.features.schema import Field
from navi.features.store import FeatureStore


@dataclass(frozen=True, slots=True)
class Parts:
    """The opened bundle, and the item table and store of users of the pipeline that is being built.

    A plug-in is made by a function `(parts, *, option: type = default, ...)`, named in `navi.toml` as
    `module:function`; its options are checked against its annotations.
    """

    bundle: Bundle
    table: ItemTable
    users: FeatureStore | None = None
    models: dict[str, Scorer] = field(default_factory=dict)
    """The models that the pipeline's plug-ins asked for."""

    def scorer(self, model: str) -> Scorer:
        """The scorer of one of the bundle's models; ConfigError where there is none of that name."""
        return self.models.setdefault(model, self.bundle.scorer(model))

    def vectors(self, name: str) -> ItemVectors:
        """One of the bundle's sets of item vectors, checked against its table and model."""
        return self.bundle.vectors(name)

    def path(self, relative: str) -> Path:
        """Where a file of the bundle is; BundleError for one outside it."""
        return self.bundle.path(relative)

    def user_list(self, feature: str) -> Field:
        """The schema of a user's list of integers or strings; ConfigError where the pipeline's users have none such."""
        known = {} if self.users is None else self.users.schema.fields
        schema = known.get(feature)
        if schema is None or not schema.ragged or schema.dtype not in ("int64", "string"):
            lists = sorted(name for name, kind in known.items() if kind.ragged and kind.dtype in ("int64", "string"))
            raise ConfigError(
                "feature",
                f"{feature!r} is no list of integers or strings of the users; they have: {', '.join(lists) or 'none'}",
            )
        return schema
