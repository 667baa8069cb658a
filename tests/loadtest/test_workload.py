"""What is asked: Zipf users, distinct candidates, the public profile, and requests that say all of it."""

import numpy as np
import pytest

from loadtest.client import make_requests
from loadtest.counts import PUBLIC, counts_of
from loadtest.population import Population, population
from loadtest.targets.navi_rank import NaviRank
from loadtest.targets.navi_score import NaviScore
from loadtest.workload import Workload, target_of
from navi.core import Ids
from navi.core.errors import InvalidArgument
from navi.wire.v1 import ranking_pb2


def numbers(data: bytes) -> list[int]:
    return np.frombuffer(data, dtype="<i8").tolist()


def test_keys_come_by_zipfs_law():
    users = Population(Ids(np.arange(1000)), exponent=1.0)
    _, counts = np.unique(users.draw(200_000, np.random.default_rng(0)).values, return_counts=True)
    counts = np.sort(counts)[::-1]
    shares = (1 / np.arange(1, 1001)) / np.sum(1 / np.arange(1, 1001))
    np.testing.assert_allclose(counts[:10] / 200_000, shares[:10], rtol=0.1)


def test_exponent_zero_draws_evenly():
    _, counts = np.unique(
        Population(Ids(np.arange(10))).draw(50_000, np.random.default_rng(0)).values, return_counts=True
    )
    np.testing.assert_allclose(counts, 5000, rtol=0.1)


def test_a_range_holds_both_its_ends():
    assert population("5..7", field="users").keys.tolist() == [5, 6, 7]


@pytest.mark.parametrize(("text", "keys"), [("3\n\n1\n", [3, 1]), ("a\n7\n", ["a", "7"])])
def test_a_file_of_keys_is_integers_where_all_are(tmp_path, text, keys):
    path = tmp_path / "keys.txt"
    path.write_text(text)
    assert population(str(path), field="users").keys.tolist() == keys


@pytest.mark.parametrize("words", ["a..b", "9..1", "no/such/file"])
def test_a_population_that_is_none_is_refused_by_name(words):
    with pytest.raises(InvalidArgument, match="items"):
        population(words, field="items")


def test_the_public_profile_has_its_published_mean():
    assert len(PUBLIC) == 20
    assert np.mean(PUBLIC) == 270
    assert set(counts_of("public").draw(1000, np.random.default_rng(0))) == set(PUBLIC)


def test_a_rank_request_says_what_was_asked():
    target = NaviRank(
        users=population("1..9", field="users"),
        k=7,
        pipeline="home",
        features={"hour": 13, "device": "mobile"},
        items=population("100..200", field="items"),
        counts=counts_of("5"),
    )
    for data in target.requests(20, np.random.default_rng(0)):
        request = ranking_pb2.RankRequest.FromString(data)
        assert 1 <= request.user.number <= 9
        assert (request.k, request.pipeline) == (7, "home")
        assert [column.name for column in request.features] == ["hour", "device"]
        assert len(set(numbers(request.supplied.ids.numbers))) == 5


def test_a_score_request_has_distinct_candidates():
    target = NaviScore(items=population("1..50", field="items"), counts=counts_of("40"))
    for data in target.requests(20, np.random.default_rng(0)):
        request = ranking_pb2.ScoreRequest.FromString(data)
        assert not request.HasField("user")
        assert len(set(numbers(request.candidates.ids.numbers))) == 40


def test_more_candidates_than_items_are_refused_by_name():
    with pytest.raises(InvalidArgument, match="items"):
        NaviScore(items=population("1..5", field="items"), counts=counts_of("6")).requests(1, np.random.default_rng(0))


def test_the_same_seed_makes_the_same_requests():
    target = NaviRank(users=population("1..999", field="users"))
    first, second = (make_requests(target, 100, np.random.SeedSequence(4)) for _ in range(2))
    assert first == second


def test_scores_of_unknown_items_only_are_an_error():
    reply = ranking_pb2.ScoreResponse(scores=bytes(8), status=b"\1\1").SerializeToString()
    with pytest.raises(ValueError, match="none of its 2 candidates"):
        NaviScore(items=population("1..5", field="items")).read(reply)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("protocol", {"protocol": "soap"}),
        ("items", {"protocol": "navi-score"}),
        ("candidates", {"protocol": "navi-rank", "candidates": "10"}),
        ("candidates", {"protocol": "navi-score", "items": "1..9", "candidates": "many"}),
        ("model", {"protocol": "kserve"}),
        ("feature", {"protocol": "navi-rank", "features": ["hour"]}),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused_by_name(field, words):
    with pytest.raises(InvalidArgument) as error:
        target_of(Workload(**words), "127.0.0.1:1")
    assert error.value.field == field
