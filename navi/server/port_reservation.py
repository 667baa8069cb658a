"""A port that several processes are going to listen at together, and nobody else."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from navi.core.errors import ConfigError
from navi.server.settings import split_address


@contextmanager
def reserved(address: str) -> Iterator[int]:
    """The port of `host:port` (a free one for port 0), bound but not listened at while the block runs.

    Processes of this user can listen at it with SO_REUSEPORT. ConfigError where another server has it, even one that
    would share it: it would take a part of the calls.
    """
    host, port = split_address(address)
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        _check_free(family, place)
        with _socket(family) as held, socket.socket(socket.AF_UNIX) as mark:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            held.bind(place)
            bound = int(held.getsockname()[1])
            # A name of the kernel's that vanishes with us; it tells of one who reserved but does not listen yet.
            mark.bind(f"\0navi at {host}:{bound}")
            yield bound
    except OSError as error:
        raise ConfigError("address", f"cannot listen on {address}: {error}") from error


def _check_free(family: int, place: tuple[Any, ...]) -> None:
    with _socket(family) as probe:
        probe.bind(place)  # fails where anyone listens, for it does not ask to share


def _socket(family: int) -> socket.socket:
    one = socket.socket(family)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a server that has ended do not count
    return one
