"""The client processes of a run: started together, heard until they end, never left behind."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TypeAlias

from loadtest.client import serve_share
from loadtest.messages import Chunk, Done, Failed, Ready, Share

Message: TypeAlias = Chunk | Done | Failed | Ready

STOPPING_S = 5.0
"""How long a process may take to end once its pipe is closed."""


@dataclass(frozen=True, slots=True)
class Member:
    """A process and the pipe to it."""

    number: int
    process: SpawnProcess
    pipe: Connection

    def tell(self, message: object) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it has ended, which its own end of the pipe tells
            self.pipe.send(message)


@contextmanager
def fleet(shares: Sequence[Share]) -> Iterator[list[Member]]:
    """A process for each share. At the end of the block those that still run are ended, each by its own handle."""
    context, members = get_context("spawn"), list[Member]()
    try:
        for share in shares:
            ours, theirs = context.Pipe()
            process = context.Process(target=serve_share, args=(share, theirs), name=f"navi-loadtest-{share.process}")
            process.start()
            theirs.close()
            members.append(Member(share.process, process, ours))
        yield members
    finally:
        for member in members:
            member.pipe.close()
        _end([member.process for member in members])


def messages(members: Sequence[Member], tick_s: float) -> Iterator[tuple[Member, Message] | None]:
    """What the processes say, until all have closed their pipes; None every `tick_s`. Not saying Done is a failure:
    a process that ends without it is told as `Failed`."""
    waiting = {member.pipe: member for member in members}
    done: set[int] = set()
    while waiting:
        for pipe in wait(list(waiting), timeout=tick_s):
            member = waiting[pipe]  # type: ignore[index]
            try:
                message: Message = member.pipe.recv()
            except (EOFError, OSError):  # OSError: it ended in the middle of a message
                del waiting[member.pipe]
                if member.number not in done:
                    yield member, Failed(_how_it_ended(member.process))
                continue
            if isinstance(message, Done | Failed):
                done.add(member.number)
            yield member, message
        yield None


def _how_it_ended(process: SpawnProcess) -> str:
    process.join(STOPPING_S)
    return f"the process (pid {process.pid}) ended with status {process.exitcode} before its calls did"


def _end(processes: Sequence[SpawnProcess]) -> None:
    until = time.monotonic() + STOPPING_S
    for process in processes:
        process.join(max(until - time.monotonic(), 0.0))
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
