"""What happened in the last minute, out of snapshots taken while the server runs."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

from prometheus_client import Metric

from navi.core.clock import Clock
from navi.server.page.samples import Samples, growth

EVERY_S = 10.0
WINDOW_S = 60.0


@dataclass(frozen=True, slots=True)
class Window:
    """What was counted in the last `seconds`."""

    seconds: float
    samples: Samples


class Recent:
    """Keeps as many snapshots as the window needs. Made when the server starts: until then nothing was counted.

    `tick` may be called as often as one likes, from one thread, `window` from any. The window is as long as the
    snapshots allow: shorter after the start, longer where no tick came in time; it says how long.
    """

    def __init__(self, read: Callable[[], Iterable[Metric]], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._lock = Lock()
        self._snapshots = deque([(clock.monotonic(), Samples({}))])

    def tick(self) -> None:
        """Take a snapshot if the last one is old enough, and forget those that no window needs any more."""
        now = self._clock.monotonic()
        if now - self._snapshots[-1][0] < EVERY_S:
            return
        samples = Samples.of(self._read())
        with self._lock:
            self._snapshots.append((now, samples))
            while len(self._snapshots) > 1 and now - self._snapshots[1][0] >= WINDOW_S:
                self._snapshots.popleft()

    def window(self, samples: Samples) -> Window:
        """From the youngest snapshot that is a minute old, or else the oldest there is, to `samples`, read just now."""
        now = self._clock.monotonic()
        with self._lock:
            kept = list(self._snapshots)
        start = max((at for at, (taken, _) in enumerate(kept) if now - taken >= WINDOW_S), default=0)
        return Window(now - kept[start][0], growth([*(found for _, found in kept[start:]), samples]))
