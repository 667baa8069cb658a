"""Rank and Score over a real connection: what is asked reaches the pipeline, what it answers reaches the caller."""

import logging

import grpc
import numpy as np
import pytest
from google.rpc import error_details_pb2 as details
from google.rpc.status_pb2 import Status

from navi.core import errors
from navi.core.ids import Ids
from navi.core.ranking import Ranking


def test_a_query_arrives_as_it_was_asked(navi):
    pipeline = navi.pipeline()
    with navi.serve(pipeline) as at:
        at.client.rank(
            "u1",
            k=5,
            features={"hour": 13, "tags": ["a", "b"], "nothing": None},
            candidates=[7, 8],
            columns={"bid": [0.5, None]},
            exclude=np.array([1, 2]),
            predicates=[("price", "at_most", 9.5), ("kind", "in", ["x", "y"])],
            as_of=1234.5,
            seed=99,
            request_id="r1",
        )
    [query] = pipeline.queries
    assert (query.pipeline, query.user, query.k, query.as_of, query.seed) == ("", "u1", 5, 1234.5, 99)
    assert query.request_id == "r1"
    assert query.exclude == Ids.of([1, 2])
    assert query.features.keys() == {"hour", "tags"}
    assert query.features["hour"].values.tolist() == [13]
    assert query.features["tags"].values.tolist() == [["a", "b"]]
    assert query.supplied.ids == Ids.of([7, 8])
    assert query.supplied.columns["bid"].valid.tolist() == [True, False]
    assert [(p.column, p.operator, p.values.values.tolist()) for p in query.predicates] == [
        ("price", "at_most", [9.5]),
        ("kind", "in", ["x", "y"]),
    ]


def test_an_answer_arrives_as_it_was_given(navi):
    with navi.serve() as at:
        answer = at.client.rank(1, k=2, seed=5, as_of=7.0)
    assert isinstance(answer, Ranking)
    assert answer.ids == Ids.of([100, 101])
    assert answer.scores.tolist() == [1, 0]
    assert answer.tasks["click"].tolist() == [0.5, 0.5]
    assert (answer.source_names, answer.sources.tolist()) == (("popular",), [1, 1])
    assert answer.stages[0].dropped == {"seen": 2}
    assert answer.degradations[0].reason == "late"
    assert (answer.models, answer.shortfall, answer.as_of, answer.seed) == ({"ranker": "1"}, {"seen": 2}, 7.0, 5)


def test_text_ids_arrive_as_text(navi):
    texts = navi.pipeline(lambda query: navi.ranking(query, ids=Ids.of(["ä", "b", "c"])))
    with navi.serve(texts) as at:
        assert at.client.rank().ids.tolist() == ["ä", "b", "c"]


def test_scores_stand_where_their_candidates_stood(navi):
    with navi.serve() as at:
        answer = at.client.score([5, 5, 6], 1, features={"hour": 1})
    assert answer.scores.tolist() == [0, 1, 2]
    assert answer.status.tolist() == [0, 0, 0]


def test_the_server_says_which_time_and_seed_it_chose(navi):
    with navi.serve() as at:
        one, other = at.client.rank(), at.client.rank()
    assert one.seed != other.seed
    assert 1.7e9 < one.as_of <= other.as_of


def test_no_name_means_the_only_pipeline(navi):
    one, other = navi.pipeline(), navi.pipeline()
    with navi.serve({"home": one, "ads": other}) as at:
        at.client.rank(pipeline="ads")
        with pytest.raises(errors.InvalidArgument, match="pipeline: is empty, and there are several: ads, home"):
            at.client.rank()
        with pytest.raises(errors.NotFound, match="pipeline 'feed' is not known; known: ads, home") as error:
            at.client.rank(pipeline="feed")
    assert (error.value.kind, error.value.name) == ("pipeline", "feed")
    assert (len(one.queries), len(other.queries)) == (0, 1)


def test_a_wrong_request_never_reaches_the_pipeline(navi):
    pipeline = navi.pipeline()
    with navi.serve(pipeline) as at:
        with pytest.raises(errors.InvalidArgument) as error:
            at.client.rank(features={"age": float("nan")})
        assert error.value.field == "features[0] (age)"
        assert error.value.problem.startswith("is not finite in row 0")
        with pytest.raises(grpc.RpcError) as raw:
            at.channel.unary_unary("/navi.v1.RankingService/Score")(b"")
    assert raw.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert raw.value.details() == "candidates.ids: is empty"
    assert pipeline.queries == []


ERRORS = [
    errors.InvalidArgument("features[0] (age)", "is odd"),
    errors.NotFound("item column", "colour", ("price",)),
    errors.Overloaded("the model's queue is full", retry_after_s=0.25),
    errors.Unavailable("model 'ranker' is loading"),
    errors.DeadlineExceeded("the deadline passed before scoring"),
    errors.Cancelled("the caller went away before scoring"),
    errors.BundleError("items.arrow is damaged"),
    errors.ModelError("model.toml lies"),
    errors.BackendError("the model failed"),
    errors.StageError("rerank", "returned 3 rows for 4"),
    errors.StoreError("cannot read"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("method", ["rank", "score"])
def test_a_pipelines_error_reaches_the_caller_as_the_same_error(navi, method, error):
    answering = navi.pipeline(lambda query: error, lambda query: error)
    for pipeline in (answering, navi.raising(error)):
        with navi.serve(pipeline, http_address="") as at, pytest.raises(type(error)) as caught:
            at.client.rank() if method == "rank" else at.client.score([1])
        assert type(caught.value) is type(error)
        assert str(caught.value) == str(error)
        public = {name: value for name, value in vars(error).items() if not name.startswith("_")}
        assert {name: getattr(caught.value, name) for name in public} == public


def test_an_operators_error_is_a_setup_error_for_the_caller(navi):
    with navi.serve(navi.raising(errors.ConfigError("pipelines.home", "is odd"))) as at:
        with pytest.raises(errors.SetupError, match=r"pipelines\.home: is odd"):
            at.client.rank()


def rich(error: grpc.RpcError, kind):
    status = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    for detail in status.details:
        found = kind()
        if detail.Unpack(found):
            return found
    return None


def test_any_client_can_read_what_was_wrong_from_the_details(navi):
    seen = {}
    for error in ERRORS[:3]:
        with navi.serve(navi.raising(error)) as at, pytest.raises(grpc.RpcError) as raw:
            at.channel.unary_unary("/navi.v1.RankingService/Rank")(b"\x20\x01\x52\x02r1")
        seen[type(error)] = raw.value
        assert rich(raw.value, details.RequestInfo).request_id == "r1"
        assert rich(raw.value, details.ErrorInfo).reason == type(error).__name__
    [violation] = rich(seen[errors.InvalidArgument], details.BadRequest).field_violations
    assert (violation.field, violation.description) == ("features[0] (age)", "is odd")
    resource = rich(seen[errors.NotFound], details.ResourceInfo)
    assert (resource.resource_type, resource.resource_name) == ("item column", "colour")
    overloaded = seen[errors.Overloaded]
    assert rich(overloaded, details.RetryInfo).retry_delay.ToMilliseconds() == 250
    assert dict(overloaded.trailing_metadata())["grpc-retry-pushback-ms"] == "250"


@pytest.mark.parametrize("error", [RuntimeError("secret"), SystemExit("secret"), KeyError("secret"), MemoryError()])
def test_an_unforeseen_error_tells_the_caller_nothing_and_the_operator_everything(navi, caplog, error):
    with navi.serve(navi.raising(error)) as at, caplog.at_level(logging.CRITICAL):
        with pytest.raises(errors.FaultError) as caught:
            at.client.rank(request_id="r7")
        incident = str(caught.value).rpartition(" ")[2]
        assert "secret" not in str(caught.value)
        [record] = [record for record in caplog.records if incident in record.getMessage()]
        assert "r7" in record.getMessage()
        assert record.exc_info[1] is error
        assert at.value("navi_unexpected_errors_total", method="Rank") == 1
        assert at.value("navi_requests_total", method="Rank", pipeline="home", code="INTERNAL") == 1
        assert at.value("navi_in_flight") == 0


def test_a_pipeline_that_loses_an_answer_is_an_unforeseen_error(navi):
    class Forgetful(navi.pipeline):
        def rank_many(self, queries):
            return []

    with navi.serve(Forgetful()) as at, pytest.raises(errors.FaultError, match="incident"):
        at.client.rank()


def test_one_pipelines_error_is_not_the_next_callers(navi):
    def moody(query):
        return errors.BackendError("no") if query.user == 13 else navi.ranking(query)

    with navi.serve(navi.pipeline(moody), threads=1) as at:
        for _ in range(3):
            with pytest.raises(errors.BackendError):
                at.client.rank(13)
            assert len(at.client.rank(1).ids) == 3


def test_an_unknown_method_is_unimplemented(navi):
    with navi.serve() as at, pytest.raises(grpc.RpcError) as raw:
        at.channel.unary_unary("/navi.v1.RankingService/Guess")(b"")
    assert raw.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_gzip_is_accepted(navi):
    with navi.serve() as at:
        call = at.channel.unary_unary("/navi.v1.RankingService/Rank")
        assert call(b"\x20\x01" + b"\x52\x20" + b"r" * 32, compression=grpc.Compression.Gzip)
