"""How a long run tells the person who waits where it is."""

from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichBars


class Progress(Protocol):
    """Phases, one after the other, each of a known number of steps."""

    def start(self, phase: str, steps: int) -> None:
        """The phase before has ended; this one begins."""
        ...

    def advance(self, steps: int = 1) -> None: ...

    def note(self, message: str) -> None:
        """A line worth keeping: the metrics of an epoch, a file written."""
        ...


class SilentProgress:
    """Says nothing."""

    def start(self, phase: str, steps: int) -> None: ...

    def advance(self, steps: int = 1) -> None: ...

    def note(self, message: str) -> None: ...


class RichProgress:
    """A bar a phase on the terminal; use it as a context manager."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = RichBars(*columns, console=console)
        self._task: TaskID | None = None

    def __enter__(self) -> "RichProgress":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish()
        self._bars.stop()

    def start(self, phase: str, steps: int) -> None:
        self._finish()
        self._task = self._bars.add_task(phase, total=steps)

    def advance(self, steps: int = 1) -> None:
        if self._task is not None:
            self._bars.advance(self._task, steps)

    def note(self, message: str) -> None:
        self._bars.console.print(message, highlight=False)

    def _finish(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=self._bars.tasks[self._task].total)
            self._bars.stop_task(self._task)
