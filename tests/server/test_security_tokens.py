"""A server with tokens answers those who have one, and each what its roles allow."""

import base64
import http.client
import logging
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Queue

import grpc
import pytest
import tomli_w
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from servables import Shelf, sums

from navi.client import Client, Credentials
from navi.core import errors
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema, Field
from navi.server.security.callers import digest_of
from navi.server.security.roles import OPEN, ROLES, role_of
from navi.wire.kserve import inference_pb2 as pb
from navi.wire.private_pool import POOL

EVERY = ("call", "features", "admin", "observe")
TOKENS = {"feed": "navi_feed", "root": "navi_root", "old": "navi_old", **{f"no-{role}": f"no_{role}" for role in EVERY}}
SCHEMA = FeatureSchema({"age": Field(dtype="float32")})


def entry(name: str, roles=("call",), **more) -> dict:
    return {"name": name, "roles": list(roles), "token": digest_of(TOKENS[name]), **more}


ENTRIES = [
    entry("feed"),
    entry("root", EVERY),
    entry("old", EVERY, expires=datetime.now(UTC) - timedelta(seconds=1)),
    *(entry(f"no-{role}", [other for other in EVERY if other != role]) for role in EVERY),
]


def write(path: Path, entries: list[dict]) -> None:
    path.write_text(tomli_w.dumps({"caller": entries}))


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.toml"
    write(path, ENTRIES)
    return path


@pytest.fixture
def at(navi, tokens):
    stores = {"users": MemoryStore(SCHEMA)}
    with navi.serve(stores=stores, models=Shelf([sums()]), tokens_file=str(tokens)) as running:
        yield running


def client(at, token: str, **more) -> Client:
    return Client(at.target, timeout_s=20, credentials=Credentials(token=token), **more)


def code_of(at, path: str, metadata=()) -> str:
    """How a call with an empty request ends, be it of one message or of a stream."""
    streams = path.endswith(("ModelStreamInfer", "ServerReflectionInfo"))
    try:
        if streams:
            list(at.channel.stream_stream(path)(iter([b""]), timeout=20, metadata=metadata))
        elif path.endswith("Watch"):
            next(at.channel.unary_stream(path)(b"", timeout=20, metadata=metadata))
        else:
            at.channel.unary_unary(path)(b"", timeout=20, metadata=metadata)
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


def methods(at, *extra: str) -> set[str]:
    """The paths of every method of every service that the server has, as reflection lists them, and of `extra` ones."""
    channel = grpc.intercept_channel(at.channel, _Authorised(TOKENS["root"]))
    found = set()
    for name in (*ProtoReflectionDescriptorDatabase(channel).get_services(), *extra):
        try:
            service = POOL.FindServiceByName(name)
        except KeyError:
            service = descriptor_pool.Default().FindServiceByName(name)
        found |= {f"/{name}/{method.name}" for method in service.methods}
    return found


class _Authorised(grpc.StreamStreamClientInterceptor):
    def __init__(self, token: str) -> None:
        self.metadata = Credentials(token=token).metadata

    def intercept_stream_stream(self, continuation, details, requests):
        return continuation(details._replace(metadata=self.metadata), requests)


def test_every_method_that_is_served_has_its_role_in_the_table(at):
    assert methods(at, "navi.v1.AdminService") == set(ROLES)  # which a server has whose models come and go


def test_nothing_but_health_is_answered_without_a_token(at):
    for path in methods(at):
        assert (code_of(at, path) != "UNAUTHENTICATED") == (ROLES[path] == OPEN), path
    check = at.channel.unary_unary("/grpc.health.v1.Health/Check")
    assert health_pb2.HealthCheckResponse.FromString(check(b"", timeout=20)).status == 1
    assert at.value("navi_requests_total", method="Rank", outcome="invalid", code="UNAUTHENTICATED") == 1


def test_a_method_that_the_table_does_not_know_is_for_admins():
    assert role_of("/navi.v1.AdminService/Explode") == role_of("/new.Service/Method") == "admin"


def test_each_method_is_refused_to_who_has_every_role_but_its_own(at):
    for path in methods(at):
        role = ROLES[path]
        if role != OPEN:
            assert code_of(at, path, Credentials(token=f"no_{role}").metadata) == "PERMISSION_DENIED", path
            ends = code_of(at, path, Credentials(token=TOKENS["root"]).metadata)
            assert ends not in ("PERMISSION_DENIED", "UNAUTHENTICATED"), path


def test_a_caller_does_what_its_roles_allow(at):
    with client(at, TOKENS["feed"]) as feed, client(at, TOKENS["root"]) as root:
        assert len(feed.rank(k=2).ids) == 2
        with pytest.raises(errors.PermissionDenied, match="'feed' may not use Upsert: it needs the role 'features'"):
            feed.upsert([1], {"age": [3.0]})
        assert root.upsert([1], {"age": [3.0]}) == 1


@pytest.mark.parametrize(
    ("token", "said"), [("", "no token was given"), ("navi_feedx", "not known"), ("navi_old", "has expired")]
)
def test_why_a_token_does_not_hold_is_told(at, token, said):
    with client(at, token) as stranger, pytest.raises(errors.Unauthenticated, match=said):
        stranger.rank()


@pytest.mark.parametrize("token", ["ключ", "two words", "line\n"])
def test_what_cannot_be_a_token_is_refused_by_the_client_without_telling_it(token):
    with pytest.raises(errors.InvalidArgument, match="token: is not of printable ASCII") as caught:
        Credentials(token=token)
    assert token not in str(caught.value)


@pytest.mark.parametrize("value", ["Basic bmF2aTpuYXZp", "Bearer", "Bearer ", "navi_feed", "bearer  navi_nobody"])
def test_an_authorization_of_another_form_is_refused(at, value):
    assert code_of(at, "/navi.v1.RankingService/Rank", (("authorization", value),)) == "UNAUTHENTICATED"


def test_a_caller_is_who_its_token_says_and_not_who_it_says(at):
    with client(at, TOKENS["feed"], caller="someone-else") as feed:
        feed.rank()
    assert at.value("navi_requests_total", method="Rank", caller="feed") == 1
    assert at.value("navi_requests_total", caller="someone-else") == 0


def test_tokens_come_and_go_without_a_restart(at, navi, tokens):
    with client(at, "navi_new") as new, client(at, TOKENS["feed"]) as feed:
        assert feed.rank()
        write(tokens, [{**entry("feed"), "token": digest_of("navi_new")}])
        navi.eventually(lambda: answers(new))
        with pytest.raises(errors.Unauthenticated):
            feed.rank()
        tokens.write_text("[[caller]]\nname = 'feed'\nroles = ['emperor']\ntoken = 'navi_secret'\n")
        navi.eventually(lambda: answers(new) and at.value("navi_security_reloads_total", outcome="failed") == 1)
        assert new.rank()
        assert at.value("navi_security_reloads_total", kind="tokens", outcome="ok") == 1


def test_an_open_stream_is_asked_again_at_each_message(at, navi, tokens):
    sent: Queue[bytes | None] = Queue()
    call = at.channel.stream_stream(
        "/inference.GRPCInferenceService/ModelStreamInfer", response_deserializer=pb.ModelStreamInferResponse.FromString
    )
    replies = call(iter(sent.get, None), timeout=60, metadata=Credentials(token=TOKENS["feed"]).metadata)
    message = pb.ModelInferRequest(model_name="nowhere").SerializeToString()

    def next_error() -> str:
        sent.put(message)
        time.sleep(0.02)
        return next(replies).error_message

    assert next_error().startswith("NOT_FOUND")
    write(tokens, [entry("root")])
    navi.eventually(lambda: next_error().startswith("UNAUTHENTICATED: authorization: the token is not known"))
    sent.put(None)
    assert list(replies) == []


def answers(asked: Client) -> bool:
    time.sleep(0.02)
    try:
        asked.rank()
    except errors.Unauthenticated:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Field required"),
        ("[[caller]]\nname = 'a'\nroles = ['call']\n", "needs `token` or `certificate`"),
        ("[[caller]]\nname = 'a'\nroles = ['call']\ntoken = 'navi_secret'\n", "caller.0.token"),
        ("[[caller]]\nname = 'A b'\nroles = ['call']\ncertificate = 'a'\n", "caller.0.name"),
        ("[[caller]]\nname = 'a'\nroles = []\ncertificate = 'a'\n", "caller.0.roles"),
        ("navi_secret", "is no TOML"),
        (2 * "[[caller]]\nname = 'a'\nroles = ['call']\ncertificate = 'a'\n", "is another caller's"),
    ],
)
def test_a_file_of_callers_that_is_wrong_is_refused_without_telling_what_is_in_it(navi, tmp_path, text, said):
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    with pytest.raises(errors.ConfigError, match=re.escape(said)) as caught, navi.serve(tokens_file=str(path)):
        pass
    assert "navi_secret" not in str(caught.value)


def fetch(at, path: str, authorization: str = ""):
    connection = http.client.HTTPConnection(at.http.removeprefix("http://"), timeout=10)
    connection.request("GET", path, headers={"Authorization": authorization} if authorization else {})
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    return reply, body


def test_the_second_port_asks_observers_for_their_token_and_probes_for_none(at):
    for path in ("/", "/metrics"):
        reply, _ = fetch(at, path)
        assert (reply.status, reply.headers["WWW-Authenticate"][:5]) == (401, "Basic")
        assert fetch(at, path, "Bearer navi_nobody")[0].status == 401
        assert fetch(at, path, f"Bearer {TOKENS['feed']}")[0].status == 403
        assert fetch(at, path, f"Bearer {TOKENS['root']}")[0].status == 200
        as_password = base64.b64encode(f"me:{TOKENS['root']}".encode()).decode()
        assert fetch(at, path, f"Basic {as_password}")[0].status == 200
        assert fetch(at, path, "Basic ###")[0].status == 401
    assert fetch(at, "/healthz")[0].status == fetch(at, "/readyz")[0].status == 200


def test_the_second_port_can_be_open_where_grpc_is_not(navi, tokens):
    with navi.serve(tokens_file=str(tokens), http_open=True) as at:
        assert fetch(at, "/metrics")[0].status == 200
        with pytest.raises(errors.Unauthenticated):
            at.client.rank()


def test_no_token_is_told_by_a_page_a_log_or_a_recorded_call(navi, tokens, tmp_path, caplog):
    recorded = tmp_path / "slow"
    with (
        caplog.at_level(logging.DEBUG),
        navi.serve(
            navi.raising(RuntimeError("no")), tokens_file=str(tokens), slow_ms=0.001, slow_file=str(recorded)
        ) as at,
    ):
        for token in ("navi_feed", "navi_unheard"):
            with client(at, token) as asked, pytest.raises(errors.NaviError) as caught:
                asked.rank()
            assert token not in str(caught.value)
        pages = "".join(fetch(at, path, f"Bearer {TOKENS['root']}")[1] for path in ("/", "/metrics"))
        facts = str(at.server.facts.as_dict())
    assert recorded.stat().st_size
    told = caplog.text + pages + facts + recorded.read_bytes().decode("latin-1")
    assert not re.search("navi_(feed|unheard|root)", told)
    assert digest_of(TOKENS["feed"]) not in told
    assert "navi_feed" not in repr(Credentials(token="navi_feed"))


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_tokens_in_the_clear_are_warned_of_beyond_this_machine(navi, tokens, caplog, host, warns):
    with navi.serve(tokens_file=str(tokens), address=f"{host}:0", http_address=""):
        assert ("tokens travel in the clear" in caplog.text) == warns
