"""Whatever bytes a caller sends to the model protocols, they are answered or refused, and nothing is allocated for what
they only claim. `python tests/support/inference_fuzz.py` tries more of the same."""

import random
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inference_fuzz import damaged, kserve_request, message, predict_request, target

METHODS = {"kserve": ("ModelInfer", kserve_request), "tfserving": ("Predict", predict_request)}
FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def at():
    with target() as started:
        yield started


@FEW
@given(data=st.binary(max_size=300), method=st.sampled_from(["ModelInfer", "ModelStreamInfer", "Predict"]))
def test_random_bytes_are_refused(at, data, method):
    assert at.send(method, data) != "CRASH"


@pytest.mark.parametrize("protocol", METHODS)
@FEW
@given(chance=st.randoms())
def test_wrong_values_in_a_whole_message_are_refused(at, protocol, chance):
    method, made = METHODS[protocol]
    assert at.send(method, made(chance).SerializeToString()) != "CRASH"


@pytest.mark.parametrize("protocol", METHODS)
@FEW
@given(chance=st.randoms())
def test_damaged_messages_are_refused(at, protocol, chance):
    method, made = METHODS[protocol]
    assert at.send(method, damaged(chance, made(chance).SerializeToString())) != "CRASH"


def test_nothing_is_allocated_for_what_is_only_claimed(at):
    chance, methods = random.Random(7), list(at.methods)
    tracemalloc.start()
    try:
        for _ in range(1500):
            method, data = message(chance, methods)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            at.send(method, data)
            assert tracemalloc.get_traced_memory()[1] - before < 8 << 20, data.hex()
    finally:
        tracemalloc.stop()
