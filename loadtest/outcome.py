"""What became of a call that was not answered: shed, late, or wrong."""

import grpc

from loadtest.result import Outcome

MAX_TEXT = 200
"""Characters of an error's text that are kept."""


def outcome_of(error: grpc.aio.AioRpcError) -> Outcome:
    """shed: refused for want of room, or with a hint when to come back. deadline: the call's own deadline passed.

    gRPC's core answers a message that is too large with the code of a shed call; its text tells the two apart.
    """
    code = error.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return "deadline"
    hinted = any(key == "grpc-retry-pushback-ms" for key, _ in error.trailing_metadata() or ())
    too_large = "larger than max" in (error.details() or "")
    if hinted or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and not too_large):
        return "shed"
    return "error"


def text_of(error: grpc.aio.AioRpcError) -> str:
    return f"{error.code().name}: {error.details() or 'no message'}"[:MAX_TEXT]
