"""KServe's stream: each message is a call of its own, and answers come in the order of the messages."""

import threading

import grpc
import numpy as np
import pytest
from servables import Shelf, sums

from navi.wire.kserve import inference_pb2 as pb
from navi.wire.kserve_codec import decode_outputs, encode_request

A = np.array([[1, 2]], np.float32)


def message(number, name="sums"):
    return encode_request(name, {"a": A, "b": np.array([number])}, request_id=f"r{number}")


def stream(at, messages, **options):
    call = at.channel.stream_stream(
        "/inference.GRPCInferenceService/ModelStreamInfer",
        request_serializer=pb.ModelInferRequest.SerializeToString,
        response_deserializer=pb.ModelStreamInferResponse.FromString,
    )
    return call(messages, **{"timeout": 20, **options})


def held(go):
    model = sums()
    inner = model.fn
    model.fn = lambda inputs: (go.wait(20), inner(inputs))[1]
    return model


def test_answers_come_in_the_order_of_the_messages(navi):
    model = sums()
    inner = model.fn
    later = threading.Event()

    def fn(inputs):
        if inputs["b"][0] == 0:
            assert later.wait(20)  # the first is done last
        elif inputs["b"][0] == 3:
            later.set()
        return inner(inputs)

    model.fn = fn
    with navi.serve(models=Shelf([model])) as at:
        replies = list(stream(at, iter(message(number) for number in range(4))))
    assert [reply.infer_response.id for reply in replies] == ["r0", "r1", "r2", "r3"]
    assert [decode_outputs(reply.infer_response)["sum"][0] for reply in replies] == [3.0, 4.0, 5.0, 6.0]


def test_more_messages_than_are_worked_on_at_once_are_all_answered(navi):
    with navi.serve(models=Shelf([sums()]), max_in_flight=20) as at:
        replies = list(stream(at, iter(message(number) for number in range(200))))
        assert [reply.infer_response.id for reply in replies] == [f"r{number}" for number in range(200)]
        assert at.value("navi_requests_total", method="ModelStreamInfer", pipeline="sums", outcome="ok") == 200
        navi.eventually(at.idle)


def test_a_message_that_is_refused_is_told_by_its_id_and_the_stream_goes_on(navi):
    messages = [message(1), message(2, name="none"), message(-3), message(4)]
    with navi.serve(models=Shelf([sums()])) as at:
        good, unknown, bad, last = stream(at, iter(messages))
    assert (good.error_message, last.error_message) == ("", "")
    assert (unknown.infer_response.id, unknown.error_message) == ("r2", "NOT_FOUND: model 'none' is not known")
    assert (bad.infer_response.id, bad.error_message) == ("r-3", "INVALID_ARGUMENT: inputs: b is out of its range")
    assert decode_outputs(last.infer_response)["sum"].tolist() == [7.0]


def test_bytes_that_are_no_message_are_refused_in_their_place(navi):
    with navi.serve(models=Shelf([sums()])) as at:
        call = at.channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer")
        replies = list(call(iter([b"\xff\xff", message(1).SerializeToString()]), timeout=20))
    first, second = map(pb.ModelStreamInferResponse.FromString, replies)
    assert first.error_message == "INVALID_ARGUMENT: message: is not a inference.ModelInferRequest"
    assert second.infer_response.id == "r1"


def test_the_last_reply_is_marked_where_that_is_asked_for(navi):
    asked = message(1)
    asked.parameters["triton_enable_empty_final_response"].bool_param = True
    with navi.serve(models=Shelf([sums()])) as at:
        marked, plain = stream(at, iter([asked, message(2)]))
    assert marked.infer_response.parameters["triton_final_response"].bool_param
    assert not plain.infer_response.parameters


def test_each_message_needs_a_permit(navi):
    go = threading.Event()
    with navi.serve(models=Shelf([held(go)]), max_in_flight=2, threads=1) as at:
        call = stream(at, iter(message(number) for number in range(3)))
        navi.eventually(lambda: at.value("navi_requests_total", method="ModelStreamInfer", outcome="shed") == 1)
        go.set()
        replies = list(call)
        navi.eventually(at.idle)
    assert [reply.error_message.partition(":")[0] for reply in replies] == ["", "", "RESOURCE_EXHAUSTED"]
    assert replies[2].infer_response.id == "r2"


def test_a_cancelled_stream_ends_its_messages_and_gives_their_permits_back(navi):
    go = threading.Event()
    model = held(go)
    with navi.serve(models=Shelf([model]), max_in_flight=8) as at:
        call = stream(at, iter(message(number) for number in range(3)))
        navi.eventually(lambda: len(model.calls) == 3)
        call.cancel()
        navi.eventually(lambda: all(deadline.cancelled for deadline, _ in model.calls))
        go.set()
        navi.eventually(at.idle)
        assert len(list(stream(at, iter([message(1)])))) == 1
        assert at.value("navi_requests_total", method="ModelStreamInfer", outcome="cancelled") == 3


def test_a_stopping_server_answers_what_it_has_read_and_ends_its_streams(navi):
    go, answered = threading.Event(), []
    model = held(go)

    def messages():
        yield message(1)
        threading.Event().wait(5)  # the stream stays open

    def read(call):
        with pytest.raises(grpc.RpcError):
            answered.extend(reply.infer_response.id for reply in call)

    with navi.serve(models=Shelf([model]), drain_s=10) as at:
        call = stream(at, messages())
        reader = threading.Thread(target=read, args=(call,))
        reader.start()
        navi.eventually(lambda: len(model.calls) == 1)
        threading.Timer(0.2, go.set).start()
    reader.join(20)
    assert answered == ["r1"]
    assert call.code() is grpc.StatusCode.UNAVAILABLE
