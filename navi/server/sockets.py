"""The sockets of this process at one port: gRPC's core owns them and tells nobody of them, but the kernel does."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from stat import S_ISSOCK

_INTERNET = (socket.AF_INET, socket.AF_INET6)


def stop_listening(port: int) -> None:
    """Let no new connection in at `port`: it is refused, or goes to another process. Open ones stay.

    Connections that the kernel has taken but the process has not accepted yet are reset. gRPC's core can only be told
    to stop listening together with ending every call that it is about to receive, so the socket goes without its doing:
    an idle one takes its number.
    """
    listening = [number for number, one in _sockets(port) if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)]
    with socket.socket() as idle:
        for number in listening:
            os.dup2(idle.fileno(), number, inheritable=False)


def connections(port: int) -> int:
    """How many connections to `port` are open in this process."""
    return sum(_has_peer(one) for _, one in _sockets(port))


def _sockets(port: int) -> Iterator[tuple[int, socket.socket]]:
    """(number, second handle) of each; the handle is closed when the next one is asked for."""
    for number in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):  # it was closed since
            if S_ISSOCK(os.fstat(number).st_mode):
                with socket.socket(fileno=os.dup(number)) as one:
                    if one.family in _INTERNET and one.getsockname()[1] == port:
                        yield number, one


def _has_peer(one: socket.socket) -> bool:
    try:
        one.getpeername()
    except OSError:
        return False
    return True
