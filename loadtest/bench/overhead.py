"""What the server costs a call that has nothing to do, against a grpc.aio handler that does nothing."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from loadtest.bench.closed_loop import Asked, Cost, cost, replies
from loadtest.bench.servers import empty_server, navi_server, write_empty_bundle
from navi.bench.measurement import Measure, of_runs
from navi.bench.placement import Placement
from navi.bench.processes import Started, pinned
from navi.client.requests import rank_request

METHOD = "/navi.v1.RankingService/Rank"


def measure(*, runs: int, seconds: float, callers: Sequence[int]) -> tuple[list[Measure], list[str]]:
    """Server CPU a call of both, by callers at a time; the same bytes go to both and come back from both."""
    place = Placement.here()
    request = rank_request(
        1000137, 50, features={"hour": 13, "device": "mobile"}, as_of=1.7e9, seed=7, request_id="bench"
    ).SerializeToString()
    with ExitStack() as closing:
        directory = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="navi-bench-")))
        ours = closing.enter_context(navi_server(write_empty_bundle(directory / "bundle"), place.server))
        closing.enter_context(pinned(place.load))
        (reply,) = replies(Asked(ours, METHOD, [request]))
        (directory / "reply").write_bytes(reply)
        bare = closing.enter_context(empty_server(directory / "reply", place.server))
        found = [measure for at in callers for measure in _paired(ours, bare, request, (at, runs, seconds))]
    return found, [*place.notes, f"Rank of {len(request)} bytes, reply of {len(reply)}; one connection, closed loop"]


def _paired(ours: Started, bare: Started, request: bytes, how: tuple[int, int, float]) -> list[Measure]:
    """how: callers, runs, seconds."""
    callers, runs, seconds = how
    pairs: list[tuple[Cost, Cost]] = []
    for _ in range(runs):
        first = cost(Asked(ours, METHOD, [request], callers), seconds=seconds)
        pairs.append((first, cost(Asked(bare, METHOD, [request], callers), seconds=seconds)))
    at = f"{callers} in flight" if callers > 1 else "one call at a time"
    return [
        of_runs((at, "empty pipeline, server CPU a call"), "us", [a.micros for a, _ in pairs], headline=True),
        of_runs((at, "empty grpc.aio handler, CPU a call"), "us", [b.micros for _, b in pairs], headline=True),
        of_runs((at, "ours / the handler's"), "x", [a.micros / b.micros for a, b in pairs]),
        of_runs((at, "ours, calls a second"), "1/s", [a.calls / a.seconds for a, _ in pairs]),
        of_runs((at, "the handler, calls a second"), "1/s", [b.calls / b.seconds for _, b in pairs]),
    ]
