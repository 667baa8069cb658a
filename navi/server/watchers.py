"""Who watches the calls of a server, as its settings say."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from navi.core.clock import Clock
from navi.core.errors import ConfigError
from navi.server.call_log import CallLog
from navi.server.capture import SlowCapture
from navi.server.metrics import Metrics
from navi.server.request_log import RequestLog
from navi.server.settings import ServerSettings
from navi.server.watcher import Watcher


@contextmanager
def watching(settings: ServerSettings, metrics: Metrics, clock: Clock, slot: str = "") -> Iterator[tuple[Watcher, ...]]:
    """The watchers, for as long as the block lasts; they finish what they have when it ends.

    The block holds the server, and is inside that of its bundle: answers are logged from the bundle's tables. slot:
    names the worker among several, whose files must not be one another's. ConfigError where a file cannot be written,
    or a package is missing.
    """
    with ExitStack() as stack:
        watchers: list[Watcher] = []

        def add(watcher: Watcher) -> None:
            stack.callback(watcher.close)
            watchers.append(watcher)

        add(CallLog(settings.slow_ms / 1000))
        if settings.slow_file:
            add(SlowCapture.open(_of_slot(Path(settings.slow_file), slot), settings, metrics))
        if settings.request_log:
            add(RequestLog.open(Path(settings.request_log), settings, metrics, clock, slot))
        if settings.tracing:
            add(_tracing())
        yield tuple(watchers)


def _of_slot(path: Path, slot: str) -> Path:
    """`slow.jsonl` of worker 3: `slow.3.jsonl`."""
    return path.with_name(f"{path.stem}.{slot}{path.suffix}") if slot else path


def _tracing() -> Watcher:
    """Imported here, so that OpenTelemetry is needed only where calls are traced."""
    try:
        from navi.server.tracing import Tracing
    except ModuleNotFoundError as error:
        raise ConfigError("tracing", f"{error}; install navi-ranking[otel]") from error
    return Tracing.open()
