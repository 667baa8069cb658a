"""The models of an opened bundle, each in its one version, as the model protocols find them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from navi.batching.scorer import Scorer
from navi.batching.scorer_servable import ScorerServable
from navi.batching.servable import VersionState
from navi.core.errors import NotFound


@dataclass(frozen=True, slots=True)
class BundleModels:
    """A `ModelDirectory`. The scorers stay the bundle's."""

    servables: Mapping[str, ScorerServable] = field(default_factory=dict)

    @classmethod
    def of(cls, scorers: Mapping[str, Scorer]) -> "BundleModels":
        return cls({name: ScorerServable.of(scorer) for name, scorer in scorers.items()})

    def find(
        self,
        name: str,
        *,
        version: int | None = None,
        label: str | None = None,
        key: str = "",  # noqa: ARG002 (there is one version, so no traffic to split)
    ) -> ScorerServable:
        """See `ModelDirectory.find`; a bundle gives no labels."""
        servable = self._known(name)
        if label is not None:
            raise NotFound(f"version label of model {name!r}", label)
        if version is not None and version != servable.version:
            raise NotFound(f"version of model {name!r}", version, (str(servable.version),))
        return servable

    def states(self, name: str | None = None) -> Sequence[VersionState]:
        """See `ModelDirectory.states`."""
        chosen = self.servables.values() if name is None else [self._known(name)]
        return [VersionState(each.name, each.version, "ready") for each in chosen]

    def _known(self, name: str) -> ScorerServable:
        if name not in self.servables:
            raise NotFound("model", name, tuple(sorted(self.servables)))
        return self.servables[name]
