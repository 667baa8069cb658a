"""Debian's chromium without a window, driven through the DevTools protocol over a pipe."""

import base64
import fcntl
import json
import os
import select
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "no chromium here: apt-get install chromium"
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--hide-scrollbars",
    "--disable-background-networking",
)
_TIMEOUT_S = 60.0


class Tab:
    """One tab; remembers what was requested and what was complained about."""

    def __init__(self, inward: int, outward: int) -> None:
        self._inward, self._outward = inward, outward
        self._rest, self._sent, self._session = b"", 0, ""
        self.requested: list[str] = []
        self.complaints: list[str] = []
        self._events: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, url: str, *, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Load, and wait until it has loaded. scheme: what the user prefers, light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._events.clear()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + _TIMEOUT_S
        while "Page.loadEventFired" not in self._events:
            self._handle(self._read(until))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; what it throws fails the test."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, path: Path) -> None:
        """The whole page as a PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._sent += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._sent, "method": method, "params": parameters, **session}
        os.write(self._outward, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + _TIMEOUT_S
        while True:
            reply = self._read(until)
            if reply.get("id") == self._sent:
                assert "error" not in reply, reply["error"]
                return reply["result"]
            self._handle(reply)

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._inward], [], [], max(until - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            more = os.read(self._inward, 1 << 20)
            assert more, "the browser went away"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _handle(self, event: dict[str, Any]) -> None:
        name, told = event.get("method", ""), event.get("params", {})
        self._events.append(name)
        if name == "Network.requestWillBeSent":
            self.requested.append(told["request"]["url"])
        elif name == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif name == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])
        elif name == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """A tab of a browser of its own, which ends with the block. profile: an empty folder."""
    assert PROGRAM is not None, MISSING
    pipes = [_high(end) for end in (*os.pipe(), *os.pipe())]
    theirs_in, ours_out, ours_in, theirs_out = pipes
    pid = os.posix_spawn(
        PROGRAM,
        [PROGRAM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        {**os.environ, "HOME": str(profile)},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, theirs_in, 3),
            (os.POSIX_SPAWN_DUP2, theirs_out, 4),
            *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)),
        ],
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Tab(ours_in, ours_out)
    finally:
        os.close(ours_out)  # which ends the browser
        os.close(ours_in)
        os.waitpid(pid, 0)


def _high(descriptor: int) -> int:
    """The same, clear of the numbers that the browser expects."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
