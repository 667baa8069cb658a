"""What operators ask for: who gets which keys, and what is refused."""

import json
from pathlib import Path

import pytest

from navi.bundle import wishes
from navi.bundle.desired import Desired, DesiredFile, Wish
from navi.bundle.routes import Split, place_of
from navi.core.errors import BundleError, InvalidArgument, NotFound


def test_keys_are_spread_evenly_and_anew_for_each_model() -> None:
    places = [place_of("ranker", str(key)) for key in range(4000)]
    for start in range(10):
        assert 330 < sum(start / 10 <= place < (start + 1) / 10 for place in places) < 470
    others = [place_of("tower", str(key)) for key in range(4000)]
    both = sum(one < 0.5 and other < 0.5 for one, other in zip(places, others, strict=True))
    assert 900 < both < 1100


def test_a_greater_share_keeps_the_keys_of_the_smaller_one() -> None:
    small, great = (Split("ranker", ((share, 2),), 1) for share in (0.1, 0.3))
    keys = [str(key) for key in range(2000)]
    canary = {key for key in keys if small.version(key) == 2}
    assert canary < {key for key in keys if great.version(key) == 2}


def test_what_served_is_remembered_for_rollback() -> None:
    wish = Wish()
    for version in (2, 3, 4):
        wish = wishes.serve(wish, version, version - 1, 3)
    assert (wish.serves, wish.before) == (4, (3, 2))
    wish = wishes.serve(wish, 3, 4, 3)
    assert (wish.serves, wish.before) == (3, (4, 2))
    back = wishes.roll_back(wish, 3, wish.before)
    assert (back.serves, back.before) == (4, (3, 2))


@pytest.mark.parametrize("name", ["stable", "", "Canary", "a b", "x" * 41])
def test_a_label_is_a_short_lower_case_word(name: str) -> None:
    with pytest.raises(InvalidArgument, match="is no label"):
        wishes.label(Wish(), name, 2)


def test_a_version_with_traffic_is_not_let_go() -> None:
    wish = wishes.split(wishes.label(Wish(serves=1), "canary", 2), {"canary": 0.1})
    for version, reason in ((1, "serves"), (2, "has a share of the traffic")):
        with pytest.raises(InvalidArgument, match=reason):
            wishes.release(wish, version, 1)
    with pytest.raises(InvalidArgument, match="has a share of the traffic"):
        wishes.label(wish, "canary", None)
    free = wishes.split(wish, {})
    assert wishes.release(free, 2, 1).labels == {}


@pytest.mark.parametrize("shares", [{"canary": 0.0}, {"canary": 1.5}, {"canary": float("nan")}])
def test_shares_are_of_labels_and_at_most_all(shares: dict[str, float]) -> None:
    wish = wishes.label(wishes.label(Wish(), "canary", 2), "next", 3)
    with pytest.raises(InvalidArgument, match=r"shares\.canary"):
        wishes.split(wish, shares)
    with pytest.raises(InvalidArgument, match="more than 1"):
        wishes.split(wish, {"canary": 0.6, "next": 0.6})
    with pytest.raises(NotFound, match="other"):
        wishes.split(wish, {"other": 0.1})


def test_the_file_is_replaced_whole_and_a_change_is_seen(tmp_path: Path) -> None:
    mine, theirs = DesiredFile(tmp_path), DesiredFile(tmp_path)
    assert mine.read() == Desired()
    assert not mine.changed
    with theirs.locked():
        theirs.write(Desired().with_wish("ranker", Wish(serves=2)))
    assert mine.changed
    assert not theirs.changed
    assert mine.read().of("ranker").serves == 2
    assert not mine.changed
    assert json.loads(mine.path.read_text())["revision"] == 1
    mine.path.write_text("{")
    with pytest.raises(BundleError, match="damaged"):
        mine.read()
