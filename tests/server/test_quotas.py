"""Calls a second by caller: a token bucket each."""

import pytest

from navi.core.clock import ManualClock
from navi.server.quotas import EVERYONE, Quotas


def quotas(clock, workers=1, **per_s):
    return Quotas(
        {name.replace("everyone", EVERYONE): rate for name, rate in per_s.items()}, workers=workers, clock=clock
    )


def made(quotas, clock, caller, *, seconds, rate):
    """How many calls pass of those that a caller tries, evenly spaced."""
    passed = 0
    for _ in range(seconds * rate):
        if not quotas.wait_s(caller):
            quotas.spend(caller)
            passed += 1
        clock.advance(1 / rate)
    return passed


def test_a_caller_gets_its_quota_after_a_burst_of_one_second():
    clock = ManualClock()
    assert made(quotas(clock, feed=20), clock, "feed", seconds=10, rate=100) == pytest.approx(20 + 10 * 20, abs=2)


def test_a_caller_within_its_quota_is_never_refused():
    clock = ManualClock()
    assert made(quotas(clock, feed=20), clock, "feed", seconds=10, rate=20) == 200


def test_every_caller_that_is_not_named_has_a_bucket_of_its_own():
    clock = ManualClock()
    one = quotas(clock, feed=100, everyone=1)
    for caller in ("a", "b", ""):
        assert not one.wait_s(caller)
        one.spend(caller)
        assert one.wait_s(caller) == pytest.approx(1.0)
    assert not one.wait_s("feed")


def test_a_caller_without_a_quota_has_no_limit():
    clock = ManualClock()
    assert made(quotas(clock, feed=1), clock, "other", seconds=1, rate=1000) == 1000


def test_the_wait_that_is_told_is_the_one_that_helps():
    clock = ManualClock()
    one = quotas(clock, feed=4)
    for _ in range(4):
        one.spend("feed")
    wait_s = one.wait_s("feed")
    clock.advance(wait_s * 0.9)
    assert one.wait_s("feed")
    clock.advance(wait_s * 0.2)
    assert not one.wait_s("feed")


def test_workers_share_a_quota():
    clock = ManualClock()
    each = [quotas(clock, workers=4, feed=40) for _ in range(4)]
    assert sum(made(one, clock, "feed", seconds=10, rate=100) for one in each) == pytest.approx(4 * (10 + 100), abs=8)
