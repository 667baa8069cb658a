"""All loaded versions of a live bundle's models, as the model protocols find them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from navi.batching.batcher_stats import BatcherStats
from navi.batching.plain_servable import PlainServable
from navi.batching.scorer import Scorer
from navi.batching.scorer_servable import ScorerServable
from navi.batching.servable import VersionState, VersionStatus
from navi.bundle.desired import STABLE
from navi.bundle.live import Live
from navi.bundle.live_admin import LiveAdmin
from navi.bundle.shelf import Shelf
from navi.core.arrays import Array
from navi.core.deadline import Deadline
from navi.core.errors import NotFound, Unavailable
from navi.core.model_state import VersionInfo
from navi.core.priority import Priority
from navi.models.backend import Signature, TensorSpec

_LOAD_S = 600.0
"""What a caller of the model protocols, who cannot say so, waits for a model to load at most."""

_STATUS: dict[str, VersionStatus] = {
    "loading": "loading",
    "ready": "ready",
    "draining": "draining",
    "failed": "failed",
    "unloaded": "unloaded",
}


class Leased:
    """A servable whose version is not closed before this object is gone."""

    def __init__(self, servable: ScorerServable | PlainServable, let_go: Callable[[], None]) -> None:
        self._servable = servable
        self._let_go = let_go

    def __del__(self) -> None:
        self._let_go()

    @property
    def name(self) -> str:
        return self._servable.name

    @property
    def version(self) -> int:
        return self._servable.version

    @property
    def platform(self) -> str:
        return self._servable.platform

    @property
    def signature(self) -> Signature:
        return self._servable.signature

    @property
    def resident(self) -> frozenset[str]:
        return self._servable.resident

    @property
    def item_id(self) -> TensorSpec | None:
        return self._servable.item_id if isinstance(self._servable, ScorerServable) else None

    @property
    def max_rows(self) -> int:
        return self._servable.max_rows

    @property
    def stats(self) -> BatcherStats:
        return self._servable.stats

    def run(self, inputs: Mapping[str, Array], deadline: Deadline, priority: Priority) -> dict[str, Array]:
        """See `Servable.run`."""
        return self._servable.run(inputs, deadline, priority)


@dataclass(frozen=True, slots=True)
class LiveModels:
    """A `ModelDirectory`, and what the model protocols load and unload by (`ModelControl`)."""

    live: Live

    def find(self, name: str, *, version: int | None = None, label: str | None = None, key: str = "") -> Leased:
        """See `ModelDirectory.find`."""
        shelf = self._shelf(name)
        if version is None and label is not None:
            version = self._labelled(name, label)
        if version is None:
            version = self.live.keeper.routes.of(key).versions.get(name)
        if version is None:
            raise Unavailable(f"model {name!r} is not loaded")
        shared = shelf.lease(version)
        loaded = shared.thing
        return Leased(ScorerServable.of(loaded) if isinstance(loaded, Scorer) else loaded, shared.let_go)

    def states(self, name: str | None = None) -> Sequence[VersionState]:
        """See `ModelDirectory.states`."""
        models = LiveAdmin(self.live).models(name or "")
        return [_state(model.name, version) for model in models for version in model.versions]

    def load(self, name: str) -> None:
        """See `ModelControl.load`; a model that is not followed is loaded already."""
        if self._shelf(name).followed:
            LiveAdmin(self.live).load(name, None, Deadline.after(_LOAD_S))

    def unload(self, name: str) -> None:
        """See `ModelControl.unload`; InvalidArgument for a model that a pipeline uses, or that is not followed."""
        LiveAdmin(self.live).switch_off(name, Deadline.after(_LOAD_S))

    def _shelf(self, name: str) -> Shelf:
        shelves = self.live.keeper.shelves
        if name not in shelves:
            raise NotFound("model", name, tuple(sorted(shelves)))
        return shelves[name]

    def _labelled(self, name: str, label: str) -> int:
        labels = {**self.live.desired.of(name).labels, STABLE: self.live.keeper.serving.get(name)}
        version = labels.get(label)
        if version is None:
            raise NotFound(f"version label of model {name!r}", label, tuple(sorted(labels)))
        return version


def _state(name: str, version: VersionInfo) -> VersionState:
    return VersionState(name, version.version, _STATUS[version.status], version.labels, version.reason)
