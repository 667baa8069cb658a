"""The seam through which calls are watched once they have ended."""

from typing import Protocol

from navi.server.call import Call, Ending


class Watcher(Protocol):
    """Told of every call that passed the door, on the event loop: must be quick, must not wait, must not raise."""

    def ended(self, call: Call, ending: Ending) -> None:
        """The call has ended for its caller; where that was early, a thread may still be at work on it."""
        ...

    def close(self) -> None:
        """Finish what was begun; nothing ends any more."""
        ...
