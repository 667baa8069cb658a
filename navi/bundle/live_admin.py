"""What operators ask of a live bundle's models, and what there is to tell them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from navi.batching.scorer import Scorer
from navi.bundle import wishes
from navi.bundle.desired import STABLE, Change, Wish
from navi.bundle.live import Live
from navi.bundle.loaded import Loaded
from navi.bundle.shelf import Shelf, Standing
from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument, NotFound
from navi.core.model_state import ModelInfo, VersionInfo
from navi.models.repository import FoundVersion


@dataclass(frozen=True, slots=True)
class LiveAdmin:
    """Every change raises NotFound or InvalidArgument for what cannot be asked, the SetupError for which it cannot be
    done, and DeadlineExceeded where it takes longer; the first two kinds change nothing. Safe to use from many threads.
    """

    live: Live

    @property
    def mode(self) -> str:
        return self.live.base.config.repository.mode

    def models(self, name: str = "") -> list[ModelInfo]:
        """All models, or one; NotFound for an unknown name."""
        names = [self._shelf(name).name] if name else sorted(self.live.keeper.shelves)
        return [self._info(each) for each in names]

    def load(self, name: str, version: int | None, deadline: Deadline, *, aside: bool = False) -> None:
        """Let a version serve, or keep it loaded aside; None: the newest."""
        shelf, keeper = self._changeable(name), self.live.keeper
        keep = self.live.base.config.repository.keep
        if version is None and not (self.mode == "poll" and shelf.config.version == "latest" and not aside):
            version = next(iter(shelf.newest()), None)
            if version is None:
                raise NotFound(f"version of model {name!r}", "latest")
        if aside and version is not None:
            self._apply(name, lambda wish: wishes.hold(wish, version), deadline)
        else:
            self._apply(name, lambda wish: wishes.serve(wish, version, keeper.serving.get(name), keep), deadline)

    def unload(self, name: str, version: int, deadline: Deadline) -> None:
        self._changeable(name)
        self._known(name, version)
        keeper = self.live.keeper
        self._apply(name, lambda wish: wishes.release(wish, version, keeper.serving.get(name)), deadline)

    def set_label(self, name: str, label: str, version: int | None, deadline: Deadline) -> None:
        """None takes the label away. `stable` is the label of what serves."""
        self._changeable(name)
        if label == STABLE and version is not None:
            self.load(name, version, deadline)
        else:
            self._apply(name, lambda wish: wishes.label(wish, label, version), deadline)

    def set_split(self, name: str, shares: Mapping[str, float], deadline: Deadline) -> None:
        self._changeable(name)
        self._apply(name, lambda wish: wishes.split(wish, shares), deadline)

    def set_shadow(self, name: str, version: int | None, share: float, deadline: Deadline) -> None:
        self._changeable(name)
        if version is not None and version == self.live.keeper.serving.get(name):
            raise InvalidArgument("version", f"{version} serves, and would be compared with itself")
        self._apply(name, lambda wish: wishes.shadow(wish, version, share), deadline)

    def roll_back(self, name: str, deadline: Deadline) -> None:
        self._changeable(name)
        keeper = self.live.keeper
        self._apply(name, lambda wish: wishes.roll_back(wish, keeper.serving.get(name), keeper.before(name)), deadline)

    def switch_off(self, name: str, deadline: Deadline) -> None:
        """Unload all of a model; InvalidArgument where a pipeline uses it."""
        self._changeable(name)
        built = self.live.keeper.routes.stable.built
        users = sorted(pipeline for pipeline, each in built.items() if name in each.models)
        if users:
            raise InvalidArgument(
                "model", f"pipeline {users[0]!r} uses {name!r}: its versions can change, it has to stay"
            )
        self._apply(name, lambda _: Wish(off=True), deadline)

    def _apply(self, name: str, change: Callable[[Wish], Wish], deadline: Deadline) -> None:
        whole: Change = lambda desired: desired.with_wish(name, change(desired.of(name)))  # noqa: E731
        self.live.apply(whole, name, deadline)

    def _shelf(self, name: str) -> Shelf:
        shelves = self.live.keeper.shelves
        if name not in shelves:
            raise NotFound("model", name, tuple(sorted(shelves)))
        return shelves[name]

    def _changeable(self, name: str) -> Shelf:
        shelf = self._shelf(name)
        if not shelf.followed:
            problem = (
                f"{name!r} stays as it is: navi.toml names one version of it; give its entry a `version` to change"
            )
            raise InvalidArgument("model", problem)
        return shelf

    def _known(self, name: str, version: int) -> None:
        if version not in {each.version for each in self._info(name).versions}:
            raise NotFound(f"version of model {name!r}", version)

    def _info(self, name: str) -> ModelInfo:
        shelf, wish = self._shelf(name), self.live.desired.of(name)
        standings, found = shelf.standings(), shelf.found()
        shares = self._shares(name)
        labels = _labels(wish, self.live.keeper.serving.get(name))
        versions = tuple(
            VersionInfo(
                version=number,
                labels=tuple(sorted(label for label, of in labels.items() if of == number)),
                share=shares.get(number, 0.0),
                in_flight=self.live.keeper.calls(name, number),
                **_told(standings.get(number), found.get(number)),
            )
            for number in sorted({*standings, *found})
        )
        return ModelInfo(name=name, follows=shelf.followed, pinned=wish.serves is not None, versions=versions)

    def _shares(self, name: str) -> Mapping[int, float]:
        routes = self.live.keeper.routes
        split = next((each for each in routes.splits if each.model == name), None)
        if split is None:
            return {number: 1.0 for model, number in routes.stable.versions.items() if model == name}
        shares: dict[int, float] = {}
        start = 0.0
        for end, version in (*split.parts, (1.0, split.rest)):
            shares[version] = shares.get(version, 0.0) + max(end - start, 0.0)
            start = end
        return shares


def _labels(wish: Wish, serving: int | None) -> dict[str, int]:
    return {**wish.labels, **({} if serving is None else {STABLE: serving})}


def _told(standing: Standing | None, found: FoundVersion | None) -> dict[str, str]:
    if standing is None:
        problem = "" if found is None else found.problem
        return {"status": "unloaded", "reason": problem}
    digest = "" if standing.shared is None else digest_of(standing.shared.thing)
    return {"status": standing.status, "reason": standing.reason, "digest": digest}


def digest_of(loaded: Loaded) -> str:
    return loaded.digest if isinstance(loaded, Scorer) else loaded.model.digest
