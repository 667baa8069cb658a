"""What operators want of a bundle's models, in one small file that every process of a server follows."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from pydantic import Field, ValidationError

from navi.core.errors import BundleError
from navi.core.files import replacing
from navi.features.inputs import Strict

STATE_FILE = "state/models.json"
"""Inside the bundle."""

STABLE = "stable"
"""The label of the version that serves."""


class Shadow(Strict):
    """A version that scores a share of the requests after they were answered."""

    version: int = Field(ge=1)
    share: float = Field(gt=0, le=1)


class Wish(Strict):
    """What is wanted of one model.

    off: nothing of it. serves: the version; None: as `navi.toml` says. before: what served before it, last first.
    loaded: versions to keep loaded besides. labels: label -> version. split: label -> share of the keys. shadow: None
    where there is none.
    """

    off: bool = False
    serves: int | None = Field(default=None, ge=1)
    before: tuple[int, ...] = ()
    loaded: tuple[int, ...] = ()
    labels: Mapping[str, int] = Field(default_factory=dict)
    split: Mapping[str, float] = Field(default_factory=dict)
    shadow: Shadow | None = None

    @property
    def versions(self) -> frozenset[int]:
        """All that have to be loaded for it, beside the one that serves."""
        shadow = () if self.shadow is None else (self.shadow.version,)
        return frozenset((*self.loaded, *self.labels.values(), *shadow))


class Desired(Strict):
    """The whole of the file. revision: rises with every change."""

    revision: int = 0
    models: Mapping[str, Wish] = Field(default_factory=dict)

    def of(self, model: str) -> Wish:
        return self.models.get(model, Wish())

    def with_wish(self, model: str, wish: Wish) -> "Desired":
        """The same but for one model, as the next revision."""
        return Desired(revision=self.revision + 1, models={**self.models, model: wish})


Change: TypeAlias = Callable[[Desired], Desired]


class DesiredFile:
    """The file in a bundle; replaced whole, and changed by one process at a time."""

    def __init__(self, root: Path) -> None:
        self.path = root / STATE_FILE
        self._seen: tuple[int, int, int] | None = None

    def read(self) -> Desired:
        """What it says; nothing where there is none. BundleError for a damaged one."""
        self._seen = self._stamp()
        try:
            return Desired.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return Desired()
        except (OSError, ValidationError) as error:
            raise BundleError(f"{self.path} is damaged: {error}") from error

    @property
    def changed(self) -> bool:
        """Whether it was replaced since this object last read it."""
        return self._stamp() != self._seen

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No other process changes the file during the block. BundleError where the bundle cannot be written to."""
        try:
            self.path.parent.mkdir(exist_ok=True)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise BundleError(f"{self.path.parent} cannot be written to: {error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def write(self, desired: Desired) -> None:
        """Replace it; inside of `locked`. BundleError where that cannot be done."""
        try:
            with replacing(self.path) as temporary:
                temporary.write_text(desired.model_dump_json(indent=1), encoding="utf-8")
        except OSError as error:
            raise BundleError(f"{self.path} cannot be written: {error}") from error
        self._seen = self._stamp()

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns
