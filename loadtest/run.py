"""Runs a plan against a target: the one entry point for commands and benchmarks."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from loadtest.fleet import Member, fleet, messages
from loadtest.messages import INTERRUPTED, Chunk, Done, Failed, Ready, Share
from loadtest.plan import Plan
from loadtest.progress import Watch, progress_of
from loadtest.records import Records
from loadtest.result import Result
from loadtest.server_cpu import server_cpu
from loadtest.summary import summary
from loadtest.target import Target
from loadtest.targets.recorded import Recorded
from navi.core.errors import InvalidArgument

__all__ = ["Plan", "run"]

TICK_S = 0.25
LEAD_S = 0.2
"""From the last process being ready to the start of the schedule."""


def run(plan: Plan, target: Target, *, watch: Watch | None = None) -> Result:
    """Send the plan's calls to the target and tell what became of them.

    Whatever goes wrong after the processes were started (nothing answers at the address, a process dies, Ctrl-C) ends
    the run early: the result then holds what was found till then, with `complete` false and the reason among its
    warnings. Raises InvalidArgument where the plan makes no sense.

    All times are of the monotonic clock, which on Linux all processes share: a wall clock that jumps changes nothing
    but `started`.
    """
    plan.check()
    if plan.server_pid is not None:
        server_cpu(plan.server_pid)
    started, records = datetime.now(UTC).isoformat(timespec="seconds"), Records()
    with fleet(shares_of(plan, target)) as members:
        run_of = _Run(plan, records, members, watch)
        try:
            run_of.listen()
        except KeyboardInterrupt:
            records.problems.append(INTERRUPTED)
            run_of.stop_and_listen()
    return summary(plan, target, records, started=started, elapsed=run_of.elapsed())


def shares_of(plan: Plan, target: Target) -> list[Share]:
    """The plan dealt out: call i belongs to process i modulo their number, and so do recorded requests."""
    count = plan.processes
    seeds = np.random.SeedSequence(plan.seed).spawn(count)
    return [
        Share(
            process=number,
            address=plan.address,
            due=plan.due[number::count],
            seconds=plan.seconds,
            target=target.part(number, count) if isinstance(target, Recorded) else target,
            timeout_s=plan.timeout_s,
            connections=plan.connections,
            callers=len(range(number, plan.closed, count)),
            connect_s=plan.connect_s,
            seed=seeds[number],
        )
        for number in range(count)
        if plan.closed or len(plan.due) > number
    ]


class _Run:
    """Listens to the processes and starts them together when all are ready."""

    def __init__(self, plan: Plan, records: Records, members: Sequence[Member], watch: Watch | None) -> None:
        self._plan = plan
        self._records = records
        self._members = members
        self._watch = watch
        self._ready = 0
        self._start: float | None = None
        self._ended: float | None = None
        self._server_before = 0.0

    def elapsed(self) -> float:
        """Seconds of the schedule that were run; 0 where it never began."""
        if self._start is None:
            return 0.0
        now = time.monotonic() if self._ended is None else self._ended
        return min(max(now - self._start, 0.0), self._plan.seconds)

    def listen(self) -> None:
        for said in messages(self._members, TICK_S):
            if said is not None:
                self._hear(*said)
            elif self._watch is not None and self._start is not None:
                self._watch(progress_of(self._records, self._plan, self.elapsed()))
        self._end()

    def stop_and_listen(self) -> None:
        """Have the processes report what they have, and end."""
        self._stop()
        self.listen()

    def _hear(self, member: Member, message: Chunk | Done | Failed | Ready) -> None:
        if isinstance(message, Chunk):
            self._records.add(member.number, message)
        elif isinstance(message, Done):
            if message.generator is not None:
                self._records.generators.append(message.generator)
        elif isinstance(message, Failed):
            self._records.problems.append(f"client process {member.number}: {message.problem}")
            self._stop()
        else:
            self._records.distinct += message.distinct
            self._ready += 1
            if self._ready == len(self._members) and self._ended is None:
                self._begin()

    def _begin(self) -> None:
        if self._plan.server_pid is not None:
            self._server_before = server_cpu(self._plan.server_pid)
        self._start = time.monotonic() + LEAD_S
        for member in self._members:
            member.tell(self._start)

    def _stop(self) -> None:
        """None means stop, or not to begin at all."""
        if self._ended is None:
            self._ended = time.monotonic()
        for member in self._members:
            member.tell(None)

    def _end(self) -> None:
        if self._plan.server_pid is None or self._start is None:
            return
        try:
            self._records.server_seconds = server_cpu(self._plan.server_pid) - self._server_before
        except InvalidArgument as gone:
            self._records.problems.append(str(gone))
