"""One LMDB environment: transactions from many threads, and a map that grows when it is full.

LMDB maps its file at a fixed size. A transaction that does not fit fails with MapFull, one that meets a file which
another process has grown with MapResized; both are answered by mapping anew, which no transaction of this process may
overlap, and by running the transaction's work again.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, TypeVar

import lmdb
from lmdb.verify import VerifyError, verify

from navi.core.errors import StoreError

Result = TypeVar("Result")
Transaction: TypeAlias = "lmdb.Transaction[bytes]"

_MAX_READERS = 1024


class LmdbEnvironment:
    """An open environment. Its methods are safe to call from many threads; `StoreError` is all that they raise."""

    def __init__(self, path: Path, environment: lmdb.Environment) -> None:
        self.path = path
        self._environment = environment
        self._gate = _Gate()
        self._writing = threading.Lock()

    @classmethod
    def open(cls, path: Path, *, map_size: int, read_only: bool) -> "LmdbEnvironment":
        """Open the environment in the folder `path`, and make it where it is not there and is to be written.

        Raises StoreError where it is missing, damaged, or already open in this process (LMDB forbids a second time:
        share the first).
        """
        try:
            if not read_only:
                path.mkdir(parents=True, exist_ok=True)
            environment = lmdb.open(
                str(path), map_size=map_size, readonly=read_only, create=not read_only, max_readers=_MAX_READERS
            )
        except (lmdb.Error, OSError) as error:
            raise StoreError(f"{path}: cannot be opened: {error}") from error
        try:
            _check_whole(path, environment)
            environment.reader_check()
        except (lmdb.Error, VerifyError, OSError) as error:
            environment.close()
            raise StoreError(f"{path}: {error}") from error
        return cls(path, environment)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """What `work` makes of one snapshot; it may run again, and must not call this object."""
        while True:
            try:
                return self._read(work)
            except lmdb.MapResizedError:
                with self._writing, self._gate.alone():
                    self._remap(0)
            except lmdb.Error as error:
                raise StoreError(f"{self.path}: {error}") from error

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """What `work` returns, once all it wrote is on disk; nothing is written where it raises. It may run again."""
        with self._writing:
            while True:
                try:
                    return self._write(work)
                except lmdb.MapFullError:
                    with self._gate.alone():
                        self._remap(2 * self._environment.info()["map_size"])
                except lmdb.MapResizedError:
                    with self._gate.alone():
                        self._remap(0)
                except lmdb.Error as error:
                    raise StoreError(f"{self.path}: {error}") from error

    def close(self) -> None:
        """Wait for running transactions, and close; later calls of other methods raise StoreError."""
        with self._writing, self._gate.alone():
            self._environment.close()

    def _read(self, work: Callable[[Transaction], Result]) -> Result:
        self._gate.enter()
        try:
            with self._environment.begin() as transaction:
                return work(transaction)
        finally:
            self._gate.leave()

    def _write(self, work: Callable[[Transaction], Result]) -> Result:
        transaction = self._environment.begin(write=True)
        committed = False
        try:
            result = work(transaction)
            transaction.commit()
            committed = True
        finally:
            if not committed:
                # An abort waits for a moment without readers, which under load never comes of itself (py-lmdb 3.0).
                with self._gate.alone():
                    transaction.abort()
        return result

    def _remap(self, size: int) -> None:
        """Map the file anew with `size` bytes, or as many as the file says (0); nobody else may be inside."""
        try:
            self._environment.set_mapsize(size)
        except lmdb.Error as error:
            raise StoreError(f"{self.path}: cannot be mapped anew: {error}") from error


class _Gate:
    """Many readers may be inside together, or one thread alone; who wants to be alone goes before later readers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._inside = 0
        self._shut = False

    def enter(self) -> None:
        with self._lock:
            while self._shut:
                self._changed.wait()
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._shut and not self._inside:
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock:
            while self._shut:
                self._changed.wait()
            self._shut = True
            while self._inside:
                self._changed.wait()
        try:
            yield
        finally:
            with self._lock:
                self._shut = False
                self._changed.notify_all()


def _check_whole(path: Path, environment: lmdb.Environment) -> None:
    """Raise StoreError for a file that was cut off: reading a page past its end would kill the process.

    A file may rightly be shorter than its count of pages, since LMDB does not write pages that one transaction both
    took and freed. Only then its tree is walked, under a transaction that keeps other processes from reusing pages.
    """
    expected = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    if (path / "data.mdb").stat().st_size >= expected:
        return
    with environment.begin():
        missing = [problem for problem in verify(str(path)) if "beyond EOF" in problem]  # type: ignore[no-untyped-call]
    if missing:
        raise StoreError(f"{path}: is damaged: its file was cut off ({missing[0]})")
