"""Brings a bundle's models from what is to what is desired: loads, builds, swaps, lets go."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from threading import Lock

from navi.bundle.bundle import Bundle
from navi.bundle.desired import Desired, Wish
from navi.bundle.fitting import check_fits
from navi.bundle.generation import Generation, build_generation
from navi.bundle.routes import Routes, Shadowing, Split
from navi.bundle.shelf import Janitor, Shelf
from navi.bundle.swap_observer import SwapObserver
from navi.core.errors import BundleError, InvalidArgument, NaviError, SetupError

_LOG = logging.getLogger(__name__)

_MOST = 16
"""Combinations of versions that traffic is split over."""


class Keeper:
    """`start` it, then `realise` what is desired, again and again, on one thread; `acquire` and `release` are for any.

    A version that cannot be loaded, or from which nothing can be built, changes nothing but its own standing.
    """

    def __init__(self, base: Bundle, shelves: Mapping[str, Shelf], observer: SwapObserver, janitor: Janitor) -> None:
        self.shelves = shelves
        self._base = base
        self._observer = observer
        self._janitor = janitor
        self._keep = base.config.repository.keep
        self._polls = base.config.repository.mode == "poll"
        self._generations: list[Generation] = []
        self._before: dict[str, tuple[int, ...]] = {}
        self._lock = Lock()
        self._routes: Routes | None = None

    @property
    def routes(self) -> Routes:
        assert self._routes is not None, "not started"
        return self._routes

    @property
    def serving(self) -> Mapping[str, int]:
        return self.routes.stable.versions

    def before(self, model: str) -> tuple[int, ...]:
        """Versions that served before, last first, and are still loaded."""
        return self._before.get(model, ())

    def acquire(self, key: str) -> Generation:
        """The generation of a key, for one call, which gives it back by `release`."""
        with self._lock:
            generation = self.routes.of(key)
            generation.calls += 1
        return generation

    def acquire_this(self, generation: Generation) -> bool:
        """The same for a generation that may be gone by now."""
        with self._lock:
            if generation.retired:
                return False
            generation.calls += 1
        return True

    def release(self, generation: Generation) -> None:
        with self._lock:
            generation.calls -= 1
            ended = generation.retired and generation.calls == 0
            if ended:
                self._generations.remove(generation)
        if ended:
            self._janitor(generation.close)

    def calls(self, model: str, version: int) -> int:
        """Calls in flight in generations that have this version."""
        with self._lock:
            return sum(each.calls for each in self._generations if each.versions.get(model) == version)

    def start(self, desired: Desired) -> None:
        """Load what is to serve at first; raises SetupError where a model has no version that can."""
        choices = {
            name: self._first(shelf, desired.of(name))
            for name, shelf in self.shelves.items()
            if not desired.of(name).off
        }
        stable = self._fitting({name: next(choice) for name, choice in choices.items()}, choices)
        self._swap(Routes(stable))
        self.realise(desired)

    def realise(self, desired: Desired, *, strict: str = "") -> None:
        """Do what is desired as far as it can be done. Raises NaviError for what cannot be done of the model `strict`;
        something may have been loaded then, and nothing serves that did not serve before."""
        serving = {name: version for name, version in self.serving.items() if not desired.of(name).off}
        for name, shelf in self._followed():
            wish = desired.of(name)
            if wish.off:
                continue
            number = self._wanted(shelf, wish, strict=name == strict)
            if number is not None:
                serving[name] = number
            for number in sorted(wish.versions):
                self._try(shelf, number, strict=name == strict)
            for number in wish.before[: self._keep - 1]:
                self._try(shelf, number, strict=False)
        made: list[Generation] = []
        try:
            built = self._buildable(serving, made, strict)
            routes = self._routed(built, desired, made, strict)
        except BaseException:
            self._close_unused(made, self.routes)
            raise
        self._remember(built, desired)
        self._swap(routes, made)
        self._let_go(desired)

    def close(self) -> None:
        """Let go of everything; the calls have ended."""
        with self._lock:
            generations, self._generations = self._generations, []
        for generation in generations:
            generation.close()
        for shelf in self.shelves.values():
            shelf.close()

    def _followed(self) -> Iterator[tuple[str, Shelf]]:
        return ((name, shelf) for name, shelf in self.shelves.items() if shelf.followed)

    def _first(self, shelf: Shelf, wish: Wish) -> Iterator[int]:
        """Versions that may serve at the start, the best one first, each loaded; SetupError where none is left."""
        if not shelf.followed:
            yield shelf.load_pinned()
            return
        last: Exception = BundleError(f"model {shelf.name!r} has no whole version in {shelf.config.path}")
        for number in _ordered(shelf, wish):
            try:
                shelf.load(number)
            except NaviError as error:
                _LOG.error("model %s %d cannot serve: %s", shelf.name, number, error)
                last = error
            else:
                yield number
        raise BundleError(f"model {shelf.name!r} has no version that can serve: {last}") from last

    def _fitting(self, chosen: Mapping[str, int], choices: Mapping[str, Iterator[int]]) -> Generation:
        """A generation of the chosen versions, or with an older one of one model where they do not fit each other."""
        try:
            return self._generation(chosen, [])
        except NaviError as error:
            for name, shelf in self._followed():
                for older in _rest(choices[name]):
                    with suppress(NaviError):
                        generation = self._generation({**chosen, name: older}, [])
                        self._refuse(shelf, chosen[name], error)
                        return generation
            raise

    def _wanted(self, shelf: Shelf, wish: Wish, *, strict: bool) -> int | None:
        """The version that is to serve, loaded; the one that serves, if any does, where that cannot be."""
        now = self.serving.get(shelf.name)
        number = wish.serves
        if number is None and shelf.config.version != "latest":
            number = shelf.config.version
        if number is None and (self._polls or now is None):
            number = next(iter(shelf.newest()), None)
        if number is None or number == now or not self._try(shelf, number, strict=strict):
            return now
        return number if now is None or self._fits(shelf, number, now, strict=strict) else now

    def _fits(self, shelf: Shelf, number: int, now: int, *, strict: bool) -> bool:
        """Whether a version can answer what the one that serves answers."""
        try:
            check_fits(shelf.ready(number).thing, shelf.ready(now).thing)
        except NaviError as error:
            self._refuse(shelf, number, error)
            if strict:
                raise
            return False
        return True

    def _try(self, shelf: Shelf, number: int, *, strict: bool) -> bool:
        """Whether a version is loaded, now or before."""
        standing = shelf.standings().get(number)
        failed = standing is not None and standing.status == "failed"
        try:
            shelf.load(number, again=strict)
        except NaviError as error:
            if isinstance(error, SetupError) and (not failed or strict):
                _LOG.error("model %s %d cannot be loaded: %s", shelf.name, number, error)
                self._observer.swapped(shelf.name, "failed")
            if strict:
                raise
            return False
        return True

    def _refuse(self, shelf: Shelf, number: int, error: NaviError) -> None:
        _LOG.error("model %s %d cannot serve: %s", shelf.name, number, error)
        shelf.fail(number, str(error))
        self._observer.swapped(shelf.name, "failed")

    def _buildable(self, wanted: Mapping[str, int], made: list[Generation], strict: str) -> Mapping[str, int]:
        """The versions that serve: all that are wanted, or those of them from which everything can be built."""
        now = self.serving
        changed = [name for name in wanted if wanted[name] != now.get(name)]
        if len(changed) > 1:
            try:
                self._generation(wanted, made)
            except NaviError as error:
                _LOG.error("models cannot be replaced together: %s", error)
            else:
                return wanted
        accepted = {name: version for name, version in now.items() if name in wanted}
        for name in changed:
            try:
                self._generation({**accepted, name: wanted[name]}, made)
            except NaviError as error:
                self._refuse(self.shelves[name], wanted[name], error)
                if name == strict:
                    raise
            else:
                accepted[name] = wanted[name]
        return accepted

    def _routed(self, serving: Mapping[str, int], desired: Desired, made: list[Generation], strict: str) -> Routes:
        stable = self._generation(serving, made)
        splits = tuple(self._splits(serving, desired, strict))
        combinations = list(product(*(split.versions for split in splits))) if splits else []
        if len(combinations) > _MOST:
            raise InvalidArgument("shares", f"split traffic over {len(combinations)} combinations of versions")
        by_versions: dict[tuple[int, ...], Generation] = {}
        for versions in combinations:
            named = {split.model: version for split, version in zip(splits, versions, strict=True)}
            by_versions[versions] = self._aside({**serving, **named}, made, named, strict) or stable
        return Routes(stable, splits, by_versions, tuple(self._shadows(serving, desired, made, strict)))

    def _splits(self, serving: Mapping[str, int], desired: Desired, strict: str) -> Iterator[Split]:
        for name, shelf in self._followed():
            wish = desired.of(name)
            if name not in serving or not wish.split:
                continue
            parts, end = [], 0.0
            for label, share in sorted(wish.split.items()):
                end += share
                number, now = wish.labels[label], serving[name]
                there = _is_ready(shelf, number) and self._fits(shelf, number, now, strict=name == strict)
                parts.append((end, number if there else now))  # else its keys stay with what serves
            yield Split(name, tuple(parts), serving[name])

    def _shadows(
        self, serving: Mapping[str, int], desired: Desired, made: list[Generation], strict: str
    ) -> Iterator[Shadowing]:
        for name, shelf in self._followed():
            wish = desired.of(name).shadow
            if wish is None or serving.get(name, wish.version) == wish.version or not _is_ready(shelf, wish.version):
                continue
            named = {name: wish.version}
            generation = self._aside({**serving, **named}, made, named, strict)
            if generation is not None:
                yield Shadowing(name, wish.version, wish.share, generation)

    def _aside(
        self, versions: Mapping[str, int], made: list[Generation], named: Mapping[str, int], strict: str
    ) -> Generation | None:
        """A generation beside the stable one; None where it cannot be built."""
        try:
            return self._generation(versions, made)
        except NaviError as error:
            _LOG.error("no traffic goes to %s: %s", dict(named), error)
            if strict in named:
                raise
            for name, version in named.items() if len(named) == 1 else ():
                self._refuse(self.shelves[name], version, error)
            return None

    def _generation(self, versions: Mapping[str, int], made: list[Generation]) -> Generation:
        """The one of these versions that there is, or a new one, which is added to `made`."""
        known = [*self._generations, *made]
        for generation in known:
            if generation.versions == versions and self._is_current(generation):
                return generation
        models = {name: self.shelves[name].ready(number) for name, number in versions.items()}
        generation = build_generation(self._base, models, [each for each in known if self._is_current(each)])
        made.append(generation)
        return generation

    def _is_current(self, generation: Generation) -> bool:
        """Whether nothing of it was let go, or failed, or was loaded anew."""
        return not generation.retired and all(
            _is_ready(self.shelves[name], number) and self.shelves[name].ready(number) is generation.models[name]
            for name, number in generation.versions.items()
        )

    def _swap(self, routes: Routes, made: Sequence[Generation] = ()) -> None:
        before = dict(self._routes.stable.versions) if self._routes else {}
        with self._lock:
            known = [*self._generations, *(each for each in (*made, routes.stable) if each not in self._generations)]
            used = list(routes.generations())
            self._routes = routes
            gone = [each for each in dict.fromkeys(known) if each not in used]
            for each in gone:
                each.retired = True
            self._generations = [each for each in dict.fromkeys(known) if each in used or each.calls]
            idle = [each for each in gone if not each.calls]
        for each in idle:
            self._janitor(each.close)
        for name, version in routes.stable.versions.items():
            if before and before.get(name) != version:
                _LOG.info("model %s: version %d serves in the place of %s", name, version, before.get(name, "none"))
                self._observer.swapped(name, "swapped")

    def _close_unused(self, made: Iterable[Generation], routes: Routes) -> None:
        used = list(routes.generations())
        for each in made:
            if each not in used:
                each.close()

    def _remember(self, serving: Mapping[str, int], desired: Desired) -> None:
        """What served before, for as many versions as are to be kept."""
        for name, _ in self._followed():
            wish, now = desired.of(name), self.serving.get(name)
            last = wish.before if wish.serves is not None else self.before(name)
            if now is not None and serving.get(name) != now:
                last = (now, *last)
            others = tuple(dict.fromkeys(each for each in last if each != serving.get(name)))
            others = () if wish.off else others
            self._before[name] = others[: self._keep - 1]

    def _let_go(self, desired: Desired) -> None:
        for name, shelf in self._followed():
            wanted = () if desired.of(name).off else desired.of(name).versions
            kept = {self.serving.get(name), *self.before(name), *wanted}
            for number, standing in shelf.standings().items():
                if standing.status == "ready" and number not in kept:
                    shelf.drop(number)


def _rest(choices: Iterator[int]) -> Iterator[int]:
    with suppress(BundleError):  # raised where there are no more
        yield from choices


def _ordered(shelf: Shelf, wish: Wish) -> list[int]:
    """Versions that may serve at the start: the one that is wanted, those before it, the newest."""
    wanted = [] if wish.serves is None else [wish.serves, *wish.before]
    if shelf.config.version != "latest":
        return list(dict.fromkeys([*wanted, *([shelf.config.version] if shelf.config.version else [])]))
    return list(dict.fromkeys([*wanted, *shelf.newest()]))


def _is_ready(shelf: Shelf, number: int) -> bool:
    standing = shelf.standings().get(number)
    return standing is not None and standing.status == "ready"
