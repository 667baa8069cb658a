"""A port that workers are to share, and nobody else."""

import socket

import pytest

from navi.core import errors
from navi.server.port_reservation import reserved


def listener(port: int, *, share: bool) -> socket.socket:
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(share))
    one.bind(("127.0.0.1", port))
    one.listen()
    return one


def test_several_can_listen_at_a_reserved_port_and_the_holder_takes_no_connection():
    with reserved("127.0.0.1:0") as port:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
        with listener(port, share=True), listener(port, share=True):
            socket.create_connection(("127.0.0.1", port), timeout=5).close()


@pytest.mark.parametrize("share", [True, False])
def test_a_port_where_another_server_listens_is_refused_even_if_it_would_share(share):
    with listener(0, share=share) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(errors.ConfigError, match=f"^address: cannot listen on {address}"):
            with reserved(address):
                pytest.fail("two servers must not share a port by accident")


def test_a_port_is_reserved_once_and_free_afterwards():
    with reserved("127.0.0.1:0") as port:
        with pytest.raises(errors.ConfigError, match=r"^address"):
            with reserved(f"127.0.0.1:{port}"):
                pytest.fail("the other's workers would listen at it, too")
    with reserved(f"127.0.0.1:{port}") as again:
        assert again == port


def test_an_address_that_is_not_of_this_machine_is_told():
    with pytest.raises(errors.ConfigError, match=r"^address: cannot listen on 192\.0\.2\.1:0"):
        with reserved("192.0.2.1:0"):
            pytest.fail("nobody can listen there")
