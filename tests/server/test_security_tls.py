"""The gRPC port with certificates: who is talked to, who talks, and how both change while it serves."""

import socket
import ssl

import grpc
import pytest
import tomli_w
from certificates import Authority

from navi.client import Client, Credentials
from navi.core import errors

LOCAL = "127.0.0.1"


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "ours")


@pytest.fixture
def own(authority):
    return authority.issue(LOCAL)


def settings(files, **more) -> dict:
    return {"tls_certificate": str(files.certificate), "tls_key": str(files.key), "http_address": "", **more}


def trusting(authority, files=None, **more) -> Credentials:
    own = {} if files is None else {"certificate": files.certificate, "key": files.key}
    return Credentials(ca=authority.file, **own, **more)


def serial_of(at, authority) -> bytes:
    """The certificate that a new connection gets."""

    context = ssl.create_default_context(cafile=str(authority.file))
    context.set_alpn_protocols(["h2"])
    host, port = at.target.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        with context.wrap_socket(raw, server_hostname=host) as secure:
            return secure.getpeercert(binary_form=True)


def refused(at, credentials) -> errors.NaviError:
    with Client(at.target, timeout_s=2, credentials=credentials) as client, pytest.raises(errors.NaviError) as caught:
        client.rank()
    return caught.value


def test_calls_are_encrypted_for_who_knows_the_authority_and_not_made_otherwise(navi, authority, own, tmp_path):
    with navi.serve(credentials=trusting(authority), **settings(own)) as at:
        assert len(at.client.rank().ids) == 3
        assert isinstance(refused(at, Credentials()), errors.Unavailable)
        wrong = refused(at, trusting(Authority(tmp_path / "others")))
        assert isinstance(wrong, errors.Unavailable)
        assert "CERTIFICATE_VERIFY_FAILED" in str(wrong)


def test_a_new_certificate_is_for_new_connections_and_old_ones_go_on(navi, authority, own):
    with navi.serve(credentials=trusting(authority), **settings(own)) as at:
        before = serial_of(at, authority)
        assert serial_of(at, authority) == before
        authority.issue(LOCAL, into=own.key.parent)
        navi.eventually(lambda: serial_of(at, authority) != before)
        assert at.client.rank()
        after = serial_of(at, authority)
        own.key.write_text("not a key")
        assert serial_of(at, authority) == after
        own.key.unlink()
        assert serial_of(at, authority) == after
        assert at.value("navi_security_reloads_total", kind="tls", outcome="failed") == 2
        authority.issue(LOCAL, into=own.key.parent)
        assert serial_of(at, authority) != after
        assert at.client.rank()


def test_a_new_authority_of_the_server_is_seen_too(navi, authority, own, tmp_path):
    with navi.serve(credentials=trusting(authority), **settings(own)) as at:
        other = Authority(tmp_path / "others")
        other.issue(LOCAL, into=own.key.parent)
        with Client(at.target, timeout_s=10, credentials=trusting(other)) as client:
            assert client.rank()
        assert at.client.rank()  # over its connection, which is open


def test_clients_without_a_certificate_of_the_right_authority_are_refused(navi, authority, own, tmp_path):
    good, bad = authority.issue("feed.example"), Authority(tmp_path / "others").issue("feed.example")
    asked = settings(own, tls_client_ca=str(authority.file))
    with navi.serve(credentials=trusting(authority, good), **asked) as at:
        assert at.client.rank()
        assert isinstance(refused(at, trusting(authority)), errors.Unavailable)
        assert isinstance(refused(at, trusting(authority, bad)), errors.Unavailable)


def test_a_certificate_alone_allows_to_call_and_no_more(navi, authority, own):
    asked = settings(own, tls_client_ca=str(authority.file))
    with navi.serve(credentials=trusting(authority, authority.issue("feed.example")), **asked) as at:
        assert at.client.rank()
        with pytest.raises(errors.PermissionDenied, match=r"by certificate alone.*'features'"):
            at.client.upsert([1], {})
        call = at.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        with pytest.raises(grpc.RpcError) as caught:
            list(call(iter([b""]), timeout=10))
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


def test_a_certificate_stands_for_the_caller_that_the_file_says(navi, authority, own, tmp_path):
    tokens = tmp_path / "tokens.toml"
    entry = {"name": "feed", "roles": ["call"], "certificate": "feed.example"}
    tokens.write_text(tomli_w.dumps({"caller": [entry]}))
    asked = settings(own, tls_client_ca=str(authority.file), tokens_file=str(tokens))
    with navi.serve(credentials=trusting(authority, authority.issue("feed.example")), **asked) as at:
        assert at.client.rank()
        assert at.value("navi_requests_total", method="Rank", caller="feed") == 1
        unknown = refused(at, trusting(authority, authority.issue("other.example")))
        assert isinstance(unknown, errors.Unauthenticated)
        assert "the certificate is no caller's" in str(unknown)


def test_files_that_are_no_certificate_and_key_are_an_error_at_the_start(navi, authority, own, tmp_path):
    other = authority.issue("other.example")
    mixed = type(own)(own.certificate, other.key)
    for files, said in ((mixed, "and its unencrypted key"), (type(own)(tmp_path / "no", own.key), "cannot be read")):
        with pytest.raises(errors.ConfigError, match=said), navi.serve(**settings(files)):
            pass
    with pytest.raises(ValueError, match="belong together"), navi.serve(tls_certificate=str(own.certificate)):
        pass
    with pytest.raises(errors.InvalidArgument, match=r"ca: .* cannot be read"):
        Client("127.0.0.1:1", credentials=Credentials(ca=tmp_path / "no"))
    with pytest.raises(errors.InvalidArgument, match="belongs together"):
        Client("127.0.0.1:1", credentials=Credentials(key=own.key))
