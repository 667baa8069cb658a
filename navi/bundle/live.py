"""A bundle that serves while its models come and go: every call ends on the versions that it began with."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType

from navi.batching.observer import BatchObserver
from navi.bundle.bundle import Bundle
from navi.bundle.desired import Change, Desired, DesiredFile
from navi.bundle.generation import Generation
from navi.bundle.keeper import Keeper
from navi.bundle.memory import give_back
from navi.bundle.shelf import Shelf
from navi.bundle.swap_observer import SwapObserver, Unwatched
from navi.core.clock import Clock
from navi.core.deadline import Deadline
from navi.core.errors import BundleError, DeadlineExceeded, NaviError
from navi.models.repository_source import RepositorySource

_LOG = logging.getLogger(__name__)

_LOOK_S = 0.2
"""Seconds from one look at what operators want to the next."""


@dataclass(frozen=True, slots=True)
class Observers:
    """Who watches the models' runs, and their comings and goings."""

    runs: BatchObserver | None = None
    swaps: SwapObserver = field(default_factory=Unwatched)


class Live:
    """An opened bundle whose models are looked after by a thread of its own. Close it, or use it as a context manager.

    Calls take the generation of their key by `serving`; it is one immutable snapshot of everything that they use.
    """

    def __init__(self, base: Bundle, observers: Observers) -> None:
        self.base = base
        repository = base.config.repository
        source = None if repository.source is None else RepositorySource.open(repository.source)
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        shelves = {name: Shelf(name, base, source, observers.swaps, self._tasks.put) for name in base.config.models}
        self.keeper = Keeper(base, shelves, observers.swaps, self._tasks.put)
        self._file = DesiredFile(base.root)
        self._desired = Desired()
        self._looked = base.clock.monotonic()
        self._thread = Thread(target=self._run, name="navi-models", daemon=True)

    @classmethod
    def open(cls, root: Path, *, clock: Clock | None = None, observers: Observers | None = None) -> "Live":
        """Load all of it, or raise a SetupError that says what is wrong with which file or entry."""
        observers = observers or Observers()
        base = Bundle.open_data(root, clock=clock, observer=observers.runs)
        with ExitStack() as opened:
            opened.callback(base.close)
            live = cls(base, observers)
            live._desired = live._file.read()
            opened.callback(live._end)
            live.keeper.start(live._desired)
            live._pin()
            live._thread.start()
            opened.pop_all()
        return live

    @property
    def bundle(self) -> Bundle:
        """What serves keys that no split takes, at this moment; for looking at, not for calls."""
        return self.keeper.routes.stable.bundle

    @property
    def desired(self) -> Desired:
        return self._desired

    def serving(self, key: str) -> "Serving":
        """Hold a key's generation for the block of one call."""
        return Serving(self.keeper, key)

    def apply(self, change: Change, model: str, deadline: Deadline) -> None:
        """Change what is desired of a model, here and in all processes of this bundle; returns once it is so here.

        Raises NaviError where it cannot be done, and nothing changes then; DeadlineExceeded where it takes longer: it
        is gone on with.
        """
        done: Future[None] = Future()
        self._tasks.put(lambda: _settle(done, lambda: self._change(change, model)))
        try:
            done.result(deadline.timeout())
        except TimeoutError:
            raise DeadlineExceeded(f"model {model!r} takes longer; what was asked for is being done") from None

    def close(self) -> None:
        """Close everything; the calls have ended."""
        self._tasks.put(None)
        self._thread.join()
        self._end()
        self.base.close()

    def __enter__(self) -> "Live":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        going_on = True
        while going_on:
            try:
                task = self._tasks.get(timeout=_LOOK_S)
            except Empty:
                self._do(self._look)
                continue
            going_on = task is not None
            if task is not None:
                self._do(task)
                del task
                if self._tasks.empty():  # something may have been closed
                    give_back()

    def _do(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception:  # nobody else would look after the models
            _LOG.exception("the keeper of the models failed")

    def _look(self) -> None:
        """Follow what other processes changed, and look for new versions when it is time."""
        try:
            if self._file.changed:
                self._desired = self._file.read()
                self.keeper.realise(self._desired)
            repository, now = self.base.config.repository, self.base.clock.monotonic()
            if repository.mode == "poll" and now - self._looked >= repository.poll_s:
                self._looked = now
                self.keeper.realise(self._desired)
        except NaviError as error:
            _LOG.error("models stay as they are: %s", error)

    def _change(self, change: Change, model: str) -> None:
        with self._file.locked():
            desired = change(self._file.read())
            try:
                self.keeper.realise(desired, strict=model)
                self._file.write(desired)
            except NaviError:
                self.keeper.realise(self._desired)
                raise
            self._desired = desired

    def _pin(self) -> None:
        """In explicit mode: let all processes, also those that start later, serve what serves now."""
        if self.base.config.repository.mode == "poll":
            return
        models = self.base.config.models
        latest = [name for name in self.keeper.serving if models[name].version == "latest"]
        missing = [name for name in latest if self._desired.of(name).serves is None]
        if not missing:
            return
        try:
            with self._file.locked():
                desired = self._file.read()
                for name in missing:
                    wish = desired.of(name)
                    if wish.serves is None:
                        pinned = wish.model_copy(update={"serves": self.keeper.serving[name]})
                        desired = desired.with_wish(name, pinned)
                self._file.write(desired)
        except BundleError as error:
            _LOG.warning("the versions that serve are not kept for the next start: %s", error)
            return
        self._desired = desired
        self.keeper.realise(desired)

    def _end(self) -> None:
        """Close what the keeper still has, on this thread."""
        self.keeper.close()
        while not self._tasks.empty():
            task = self._tasks.get()
            if task is not None:
                self._do(task)


class Serving:
    """A generation, for the block of one call."""

    __slots__ = ("_generation", "_keeper", "_key")

    def __init__(self, keeper: Keeper, key: str) -> None:
        self._keeper = keeper
        self._key = key
        self._generation: Generation | None = None

    def __enter__(self) -> Generation:
        self._generation = self._keeper.acquire(self._key)
        return self._generation

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._generation is not None
        self._keeper.release(self._generation)


def _settle(done: "Future[None]", work: Callable[[], None]) -> None:
    try:
        work()
    except BaseException as error:  # raised again by who waits
        done.set_exception(error)
    else:
        done.set_result(None)
