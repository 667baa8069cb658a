"""One RPC on its way through the server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from navi.core.deadline import Deadline


@dataclass(slots=True)
class Call:
    """What is known of an RPC beside its bytes.

    pipeline: a bounded label for metrics. request_id: the caller's name for the request. A handler sets both as soon as
    it has read them, so that a failure after that can be told by them.
    """

    method: str
    deadline: Deadline
    pipeline: str = ""
    request_id: str = ""


Handler: TypeAlias = Callable[[bytes, Call], bytes]
"""Answers a serialised request with a serialised reply, or raises; runs on a pool thread."""
