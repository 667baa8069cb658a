"""What a store remembers of its latest writes."""

from hypothesis import given
from hypothesis import strategies as st

from navi.features.change_log import MAX_BYTES, Changes, changes_in, logged
from navi.features.keys import pack_key

KEYS = st.lists(st.one_of(st.integers(-(1 << 63), (1 << 63) - 1)), max_size=5)


def log_of(writes):
    log = b""
    for generation, keys in enumerate(writes, start=1):
        log = logged(log, generation, [pack_key("int64", key) for key in keys])
    return log


@given(st.lists(KEYS, min_size=1, max_size=8), st.integers(0, 8))
def test_the_keys_of_all_later_writes_are_told_once(writes, since):
    since = min(since, len(writes))
    later = dict.fromkeys(key for keys in writes[since:] for key in keys)
    assert changes_in(log_of(writes), len(writes), since) == Changes(len(writes), tuple(later))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60))
def test_what_was_forgotten_for_want_of_room_may_be_any_key(sizes):
    writes = [range(size) for size in sizes]
    log, now = log_of(writes), len(writes)
    assert len(log) <= MAX_BYTES + 16
    for since in range(now + 1):
        keys = changes_in(log, now, since).keys
        assert keys is None or set(keys) == {key for written in writes[since:] for key in written}


def test_a_write_by_one_who_keeps_no_log_makes_all_before_it_unknown():
    log = log_of([[1], [2]])
    assert changes_in(log, 3, 2) == Changes(3, None)
    log = logged(log, 4, [pack_key("int64", 4)])
    assert changes_in(log, 4, 2) == Changes(4, None)
    assert changes_in(log, 4, 3) == Changes(4, (4,))


def test_a_store_that_was_replaced_by_an_older_one_is_all_unknown():
    assert changes_in(log_of([[1]]), 1, 7) == Changes(1, None)
    assert changes_in(b"", 0, 7) == Changes(0, None)
