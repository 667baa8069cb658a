"""What is too large is refused with the name of the setting; what is not, passes both ways."""

import pytest

from navi.client import Client, Credentials
from navi.core import errors
from navi.core.ids import Ids

LARGE = 20 << 20


def wide(navi, size: int):
    """Answers with about so many bytes beside the ranking."""
    return navi.pipeline(lambda query: navi.ranking(query, models={"ranker": "v" * size}))


def test_twenty_megabytes_pass_both_ways_by_default(navi):
    pipeline = wide(navi, LARGE)
    with navi.serve(pipeline, http_address="") as at:
        found = at.client.rank(exclude=Ids.of(range(LARGE // 8)))
    assert len(found.models["ranker"]) == LARGE
    assert len(pipeline.queries[0].exclude) == LARGE // 8


def test_a_request_or_reply_past_the_servers_limit_names_its_setting(navi):
    with navi.serve(wide(navi, 5000), http_address="", max_message_bytes=4096) as at:
        with pytest.raises(
            errors.InvalidArgument, match=r"message: .*\(.* vs\. 4096\); the server's .*max_message_bytes"
        ):
            at.client.rank(features={"x": "y" * 5000})
        with pytest.raises(
            errors.InvalidArgument, match=r"message: .*Sent.*vs\. 4096\); the server's .*max_message_bytes"
        ):
            at.client.rank()


def test_a_request_or_reply_past_the_clients_limit_names_its_setting(navi):
    with navi.serve(wide(navi, 5000), http_address="") as at:
        with Client(at.target, timeout_s=20, max_message_bytes=4096) as small:
            with pytest.raises(errors.InvalidArgument, match=r"vs\. 4096\).*; this client's .*max_message_bytes"):
                small.rank(features={"x": "y" * 5000})
            with pytest.raises(errors.InvalidArgument, match=r"vs\. 4096\).*; this client's .*max_message_bytes"):
                small.rank()


@pytest.mark.parametrize(("setting", "size"), [({}, 17_000), ({"max_metadata_bytes": 2048}, 2100)])
def test_metadata_past_the_limit_is_refused_and_names_its_setting(navi, setting, size):
    with navi.serve(http_address="", **setting) as at:
        call = at.channel.unary_unary("/navi.v1.RankingService/Rank")
        assert call(b"\x20\x01", timeout=20, metadata=(("x", "y" * (size * 6 // 10)),))
        with Client(at.target, timeout_s=20, credentials=Credentials(token="t" * size)) as client:
            with pytest.raises(errors.InvalidArgument, match=r"metadata: .*; the server's .*max_metadata_bytes"):
                client.rank()
        assert at.client.rank()
