"""What a user's features may know at a moment: all that came strictly before, and nothing else."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.core.column import Column
from navi.core.errors import ConfigError
from ranking.training.corpus import Corpus, before_split, items_with_popularity
from ranking.training.dataset import Dataset, Events
from ranking.training.moments import Moments, moments_of
from ranking.training.popularity import Popularity
from ranking.training.snapshots import Snapshots, seen_items
from ranking.training.timeline import Timeline

CorpusOf = Callable[[Dataset], Corpus]
LENGTH = 5


def snapshots_of(corpus: Corpus) -> Snapshots:
    return Snapshots.of(corpus.dataset, corpus.table, history=LENGTH)


def rows_of(columns: dict[str, Column]) -> list[dict[str, object]]:
    """Plain values a row; None where one is missing."""
    n = len(next(iter(columns.values())))
    found = [{name: column.row(at) for name, column in columns.items()} for at in range(n)]
    return [{name: None if row is None else row.tolist() for name, row in each.items()} for each in found]


def test_a_list_holds_the_last_positives_of_before_oldest_first(tiny, corpus_of: CorpusOf) -> None:
    corpus = corpus_of(tiny())
    events, ids = corpus.dataset.events, corpus.table.ids.tolist()
    makers = corpus.table.column("maker")
    rows = rows_of(snapshots_of(corpus).at(events.user, events.time))
    for at in range(0, len(events), 7):
        mine = (events.user == events.user[at]) & (events.time < events.time[at])
        shown, taken = np.flatnonzero(mine), np.flatnonzero(mine & corpus.positive)
        assert rows[at]["recent_items"] == [ids[events.item[one]] for one in taken][-LENGTH:]
        known = [makers.values[row] for row in events.item[taken] if makers.valid[row]]
        assert rows[at]["recent_maker"] == known[-LENGTH:]
        known = [makers.values[row] for row in events.item[shown] if makers.valid[row]]
        assert rows[at]["shown_maker"] == known[-2 * LENGTH :]
        assert (rows[at]["positives"], rows[at]["shown"]) == ([len(taken)], [len(shown)])
        assert rows[at]["last_positive"] == ([int(events.time[taken[-1]])] if len(taken) else None)


@settings(max_examples=15, deadline=None)
@given(at=st.integers(0, 800), item=st.integers(0, 39))
def test_what_happens_at_a_time_changes_no_snapshot_up_to_that_time(tiny_corpus: Corpus, at: int, item: int) -> None:
    events = tiny_corpus.dataset.events
    at = min(at, len(events) - 1)
    changed = replace(tiny_corpus, dataset=replace(tiny_corpus.dataset, events=with_another_event(events, at, item)))
    before = np.flatnonzero(events.time <= events.time[at])
    user, time = events.user[before], events.time[before]
    assert rows_of(snapshots_of(tiny_corpus).at(user, time)) == rows_of(snapshots_of(changed).at(user, time))
    items = np.repeat(np.arange(40), 3)
    when = np.full(len(items), events.time[at])
    was, now = (Popularity.of(each.dataset.events, each.positive) for each in (tiny_corpus, changed))
    np.testing.assert_array_equal(was.at(items, when), now.at(items, when))


def with_another_event(events: Events, at: int, item: int) -> Events:
    """Another item, and the other outcome, at position `at`."""
    items, labels = events.item.copy(), {task: values.copy() for task, values in events.labels.items()}
    items[at] = item
    for values in labels.values():
        values[at] = 1 - values[at]
    return replace(events, item=items, labels=labels)


def test_a_later_event_does_change_later_snapshots(tiny_corpus: Corpus) -> None:
    events = tiny_corpus.dataset.events
    at = int(np.flatnonzero(tiny_corpus.positive)[0])
    changed = replace(tiny_corpus, dataset=replace(tiny_corpus.dataset, events=with_another_event(events, at, 0)))
    user, later = events.user[at : at + 1], events.time[at : at + 1] + 1
    assert rows_of(snapshots_of(tiny_corpus).at(user, later)) != rows_of(snapshots_of(changed).at(user, later))


def test_nothing_after_the_split_is_kept(tiny) -> None:
    dataset = tiny()
    past = before_split(dataset)
    assert past.events.time.max() < dataset.split <= dataset.events.time.max()
    later = int(np.searchsorted(dataset.events.time, dataset.split))
    moved = replace(dataset, events=with_another_event(dataset.events, later, 3))
    assert items_with_popularity(before_split(moved)).equals(items_with_popularity(past))


def test_an_item_seen_twice_is_listed_once_at_its_last_time() -> None:
    time = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    item = np.array([3, 1, 3, 2, 9])
    events = Events(user=np.zeros(5, np.int64), item=item, time=time, context={}, labels={})
    interacted = np.array([True, True, True, True, False])
    ids = np.arange(10) * 10
    user, now = np.zeros(1, np.int64), np.array([10.0])
    assert seen_items(events, interacted, ids, limit=5).at(user, now).values.tolist() == [10, 30, 20]
    assert seen_items(events, interacted, ids, limit=2).at(user, now).values.tolist() == [30, 20]


def test_where_impressions_are_known_only_the_users_own_doing_counts_as_seen(tiny, corpus_of: CorpusOf) -> None:
    corpus = corpus_of(tiny())
    labels = corpus.dataset.events.labels
    np.testing.assert_array_equal(corpus.interacted, (labels["click"] > 0) | (labels["read"] > 0))
    assert corpus_of(tiny(complete=False)).interacted.all()


def test_events_share_a_moment_where_user_time_and_context_agree(tiny) -> None:
    events = before_split(tiny()).events
    moments, moment = moments_of(events)
    keys, known = keys_of(events), keys_of(moments)
    assert len(moments) == len(set(keys)) < len(events)
    assert [known[at] for at in moment] == keys
    assert (np.diff(moments.time) >= 0).all()


def keys_of(rows: Events | Moments) -> list[tuple[object, ...]]:
    return list(zip(rows.user, rows.time, rows.context["device"].values, strict=True))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=30),
    st.integers(0, 3),
    st.integers(-1, 7),
    st.integers(1, 4),
)
def test_the_last_of_a_timeline_are_those_strictly_before(
    happened: list[tuple[int, int]], group: int, time: int, limit: int
) -> None:
    groups = np.array([one for one, _ in happened], dtype=np.int64)
    times = np.array([when for _, when in happened], dtype=np.float64)
    order = np.argsort(times, kind="stable")
    groups, times = groups[order], times[order]
    timeline = Timeline.of(groups, times)
    expected = [at for at in range(len(groups)) if groups[at] == group and times[at] < time]
    asked = np.array([group]), np.array([float(time)])
    events, offsets = timeline.last(*asked, limit=limit)
    assert events.tolist() == expected[-limit:]
    assert offsets.tolist() == [0, len(expected[-limit:])]
    assert timeline.count(*asked).tolist() == [len(expected)]


def test_popularity_is_the_share_of_earlier_positives() -> None:
    events = Events(
        user=np.zeros(4, np.int64),
        item=np.array([0, 1, 0, 2]),
        time=np.array([1.0, 2.0, 3.0, 3.0]),
        context={},
        labels={},
    )
    popularity = Popularity.of(events, np.array([True, True, True, False]))
    items, times = np.array([0, 0, 0, 1, 2]), np.array([1.0, 2.0, 4.0, 4.0, 4.0])
    expected = np.array([0, 1e6, 2e6 / 3, 1e6 / 3, 0], dtype=np.float32)
    np.testing.assert_array_equal(popularity.at(items, times), expected)


def test_events_out_of_order_are_refused(tiny) -> None:
    dataset = tiny()
    backwards = replace(dataset.events, time=dataset.events.time[::-1])
    with pytest.raises(ConfigError, match=r"dataset\.events"):
        before_split(replace(dataset, events=backwards))


def test_a_split_before_the_first_positive_is_refused(tiny) -> None:
    with pytest.raises(ConfigError, match=r"dataset\.split"):
        before_split(replace(tiny(), split=0.0))


def test_a_column_with_the_name_of_the_trainers_own_is_refused(tiny) -> None:
    dataset = before_split(tiny())
    items = dataset.items.append_column("popularity", dataset.items["price"])
    with pytest.raises(ConfigError, match="popularity"):
        items_with_popularity(replace(dataset, items=items))


def test_an_affinity_with_several_values_an_item_is_refused(tiny, corpus_of: CorpusOf) -> None:
    dataset = tiny()
    corpus = corpus_of(replace(dataset, plan=replace(dataset.plan, affinities=("tags",))))
    with pytest.raises(ConfigError, match=r"plan\.affinities\.tags"):
        snapshots_of(corpus)
