"""A call on its way through a batcher."""

import threading
from typing import TypeAlias

from navi.batching.score_call import ScoreCall
from navi.core.arrays import Array
from navi.core.deadline import Deadline
from navi.core.errors import DeadlineExceeded, NaviError
from navi.core.priority import Priority

Outputs: TypeAlias = dict[str, Array]


class Pending:
    """What `Batcher.submit` gives: the place where the caller waits for its outputs.

    A bare lock, released once, is the gate: a handover by it takes 17 us, where a `Future` takes 40 us.
    """

    __slots__ = ("_answer", "_gate", "arrived", "call", "deadline", "priority")

    def __init__(self, call: ScoreCall, deadline: Deadline, arrived: float, priority: Priority) -> None:
        self.call = call
        self.deadline = deadline
        self.arrived = arrived
        self.priority = priority
        self._answer: Outputs | NaviError | None = None
        self._gate = threading.Lock()
        self._gate.acquire()

    def finish(self, answer: Outputs | NaviError) -> None:
        """Let the caller go on; called exactly once."""
        self._answer = answer
        self._gate.release()

    def result(self) -> Outputs:
        """The call's outputs, [n, ...] each, once it was run; to be called once.

        Raises DeadlineExceeded as soon as the deadline passes, even while the model runs; Cancelled where the caller
        was gone before its turn came; BackendError where the model failed on this call.
        """
        timeout = self.deadline.timeout()
        if not self._gate.acquire(timeout=-1 if timeout is None else min(timeout, threading.TIMEOUT_MAX)):
            raise DeadlineExceeded("the deadline passed before the model had run")
        if isinstance(self._answer, NaviError):
            raise self._answer
        assert self._answer is not None
        return self._answer
