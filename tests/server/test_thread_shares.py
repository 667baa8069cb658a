"""A slow model does not hold all threads; one that is asked alone, or is quick, may."""

import time
from threading import Event

import grpc
import numpy as np
import pytest
from servables import Shelf, echo

from navi.core.clock import ManualClock
from navi.core.errors import Overloaded
from navi.server.inference.thread_shares import ThreadShares
from navi.wire.kserve import inference_pb2 as pb


def filled(clock, model="slow", threads=4):
    """What the threads but one hold."""
    shares = ThreadShares(threads, clock)
    return shares, [shares.enter(model) for _ in range(threads - 1)]


def ask(shares, model):
    shares.leave(model, shares.enter(model))


def test_a_slow_model_leaves_a_thread_to_the_others():
    clock = ManualClock()
    shares, held = filled(clock)
    ask(shares, "other")
    clock.advance(0.2)
    with pytest.raises(Overloaded, match="'slow' is slow, and holds 3 threads"):
        shares.enter("slow")
    shares.leave("slow", held.pop())
    held.append(shares.enter("slow"))
    with pytest.raises(Overloaded):  # its calls have taken 0.2 s
        shares.enter("slow")


def test_a_model_that_is_asked_alone_may_hold_all_threads():
    clock = ManualClock()
    shares, _ = filled(clock)
    ask(shares, "other")
    clock.advance(2.0)
    shares.enter("slow")


def test_a_quick_model_may_hold_all_threads():
    clock = ManualClock()
    shares, held = filled(clock)
    for _ in range(100):
        ask(shares, "other")
        clock.advance(0.01)
        shares.leave("slow", held.pop(0))
        held.append(shares.enter("slow"))
    shares.enter("slow")


def test_a_quick_model_is_answered_while_a_slow_one_is_stuck(navi):
    stuck, gone_on = echo("slow", np.float32), Event()
    stuck.fn = lambda inputs: (gone_on.wait(20), {"y": inputs["x"]})[1]
    with navi.serve(models=Shelf([stuck, echo("quick", np.float32)]), threads=3) as at:
        infer = at.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        slow = [infer.future(request("slow"), timeout=20) for _ in range(2)]
        navi.eventually(lambda: len(stuck.calls) == 2)
        infer(request("quick"), timeout=20)
        time.sleep(0.15)
        refused = infer.future(request("slow"), timeout=20).exception(timeout=20)
        infer(request("quick"), timeout=20)
        gone_on.set()
        ends = [call.exception(timeout=20) for call in slow]
    assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert ends == [None, None]


def request(model):
    message = pb.ModelInferRequest(model_name=model)
    message.inputs.add(name="x", datatype="FP32", shape=[1, 1])
    message.raw_input_contents.append(np.ones(1, np.float32).tobytes())
    return message.SerializeToString()
