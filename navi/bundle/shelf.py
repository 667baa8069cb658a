"""The versions of one model, as far as this process has them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from navi.batching.servable import VersionStatus
from navi.bundle.bundle import Bundle
from navi.bundle.config import ModelConfig
from navi.bundle.loaded import Loaded, close_version, number_of
from navi.bundle.shared import Shared
from navi.bundle.swap_observer import SwapObserver
from navi.core.errors import ModelError, NotFound, SetupError, Unavailable
from navi.models.manifest import stated_digest
from navi.models.repository import FoundVersion, Mark, find_version, find_versions
from navi.models.repository_source import RepositorySource

_LOG = logging.getLogger(__name__)

Janitor = Callable[[Callable[[], None]], None]
"""Has something done by the thread that looks after models."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of a version. reason: why it failed. shared: what is loaded of it. mark: of the files then."""

    status: VersionStatus
    reason: str = ""
    shared: Shared[Loaded] | None = None
    mark: Mark = ()


class Shelf:
    """Changed by the thread that looks after models; `standings` and `lease` are for any."""

    def __init__(
        self, name: str, base: Bundle, source: RepositorySource | None, observer: SwapObserver, janitor: Janitor
    ) -> None:
        self.name = name
        self.config: ModelConfig = base.config.models[name]
        self._base = base
        self._source = source
        self._observer = observer
        self._janitor = janitor
        self._standings: dict[int, Standing] = {}
        self._lock = Lock()

    @property
    def followed(self) -> bool:
        """Whether its versions come and go; otherwise it is the one that `navi.toml` names."""
        return self.config.version is not None

    def found(self) -> Mapping[int, FoundVersion]:
        """The versions on disk; of a model that is not followed none."""
        return find_versions(self._base.path(self.config.path)) if self.followed else {}

    def newest(self) -> Sequence[int]:
        """Versions that are there whole, here or at the source, highest number first."""
        here = {number for number, version in self.found().items() if version.whole}
        return sorted({*here, *self._at_source()}, reverse=True)

    def load_pinned(self) -> int:
        """The one version of a model that is not followed; its number."""
        loaded = self._base.load_model(self.name, self._base.path(self.config.path))
        self._set(number_of(loaded), Standing("ready", shared=Shared(loaded, self._closing)))
        self._observer.loaded(loaded)
        return number_of(loaded)

    def load(self, number: int, *, again: bool = False) -> Shared[Loaded]:
        """A version, loaded where it is not yet; the shelf is its holder.

        again: try even where the same files failed before. Raises SetupError, of which `standings` tells, or NotFound
        for a version that is nowhere.
        """
        standing = self._standings.get(number)
        if standing is not None and standing.shared is not None:
            if standing.status == "ready":
                return standing.shared
            if standing.shared.try_hold():  # it drains, and stays after all
                self._set(number, replace(standing, status="ready"))
                return standing.shared
        found = self._fetched(number)
        if standing is not None and standing.status == "failed" and standing.mark == found.mark and not again:
            raise ModelError(standing.reason)
        self._set(number, Standing("loading", mark=found.mark))
        mark: Mark = ()  # what is not there yet may come without a change of these files
        try:
            if not found.whole:
                raise ModelError(f"model {self.name!r} version {number} is not there whole: {found.problem}")
            self._base.check_derived(self.name, number, stated_digest(found.path))
            mark = found.mark
            loaded = self._base.load_model(self.name, self._base.path(f"{self.config.path}/{number}"))
        except Exception as error:  # whatever a model's files make a library raise, it must not end the thread
            self.fail(number, str(error), mark)
            if isinstance(error, SetupError):
                raise
            raise ModelError(f"model {self.name!r} version {number} cannot be loaded: {error}") from error
        shared = Shared(loaded, self._closing)
        self._set(number, Standing("ready", shared=shared, mark=found.mark))
        self._observer.loaded(loaded)
        return shared

    def fail(self, number: int, reason: str, mark: Mark | None = None) -> None:
        """A version cannot serve: let go of what is loaded of it, and remember why until its files change.

        mark: of the files that are not tried again; those of the version where left out.
        """
        standing = self._standings.get(number)
        kept = standing.mark if standing is not None and mark is None else mark or ()
        self._set(number, Standing("failed", reason, mark=kept))
        if standing is not None and standing.shared is not None and standing.status == "ready":
            standing.shared.let_go()

    def drop(self, number: int) -> None:
        """Let go of a version; it is closed when nothing uses it any more."""
        standing = self._standings[number]
        if standing.shared is not None and standing.status == "ready":
            self._set(number, replace(standing, status="draining"))
            standing.shared.let_go()

    def ready(self, number: int) -> Shared[Loaded]:
        """A loaded version; only by the thread that looks after models."""
        shared = self._standings[number].shared
        assert shared is not None
        return shared

    def standings(self) -> Mapping[int, Standing]:
        with self._lock:
            return dict(self._standings)

    def lease(self, number: int) -> Shared[Loaded]:
        """A loaded version, held for the caller. NotFound for one that there is not, Unavailable for one not loaded."""
        with self._lock:
            standing = self._standings.get(number)
        if standing is not None and standing.shared is not None and standing.shared.try_hold():
            return standing.shared
        if standing is None and number not in self.found():
            raise NotFound(f"version of model {self.name!r}", number, tuple(map(str, self.standings())))
        reason = "" if standing is None or not standing.reason else f": {standing.reason}"
        raise Unavailable(f"version {number} of model {self.name!r} is not loaded{reason}")

    def close(self) -> None:
        for number in list(self._standings):
            self.drop(number)

    def _at_source(self) -> Sequence[int]:
        try:
            return () if self._source is None else self._source.versions(self.name)
        except ModelError as error:  # it may come back; what is here serves
            _LOG.warning("%s", error)
            return ()

    def _fetched(self, number: int) -> FoundVersion:
        """A version on disk, copied there where only the source has it."""
        models = self._base.path(self.config.path)
        found = find_version(models, number)
        if (
            (found is None or not found.whole)
            and self._source is not None
            and number in self._source.versions(self.name)
        ):
            self._fetch(self._source, number, models)
            found = find_version(models, number)
        if found is None:
            raise NotFound(f"version of model {self.name!r}", number, tuple(map(str, self.found())))
        return found

    def _fetch(self, source: RepositorySource, number: int, models: Path) -> None:
        models.mkdir(parents=True, exist_ok=True)
        try:
            source.fetch(self.name, number, models)
        except ModelError as error:
            self.fail(number, str(error), ())
            raise

    def _closing(self, loaded: Loaded) -> None:
        self._janitor(lambda: self._close(loaded))

    def _close(self, loaded: Loaded) -> None:
        close_version(loaded)
        self._observer.unloaded(loaded)
        number = number_of(loaded)
        with self._lock:
            standing = self._standings.get(number)
            if standing is not None and standing.shared is not None and standing.shared.thing is loaded:
                del self._standings[number]

    def _set(self, number: int, standing: Standing) -> None:
        with self._lock:
            self._standings[number] = standing
