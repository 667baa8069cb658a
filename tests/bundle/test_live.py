"""A call ends on the versions that it began with, and what nobody uses any more is closed."""

import weakref
from collections.abc import Iterator
from pathlib import Path

import live_bundle
import numpy as np
import pytest

from navi.bundle.bundle import Bundle
from navi.bundle.generation import Generation
from navi.bundle.live import Live
from navi.bundle.live_admin import LiveAdmin
from navi.bundle.live_models import LiveModels
from navi.core.deadline import Deadline
from navi.core.errors import BundleError, InvalidArgument, NotFound, Unavailable
from navi.core.priority import Priority
from navi.core.query import Query
from navi.core.ranking import Ranking


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return live_bundle.write_bundle(tmp_path / "bundle")


@pytest.fixture
def live(root: Path) -> Iterator[Live]:
    with Live.open(root) as live:
        yield live


def soon() -> Deadline:
    return Deadline.after(30)


def rank(generation: Generation) -> Ranking:
    query = Query(pipeline="home", user=None, k=5, deadline=soon(), as_of=0.0)
    (answer,) = generation.pipelines["home"].rank_many([query])
    assert isinstance(answer, Ranking), answer
    return answer


def settle(live: Live) -> None:
    """Until the thread that looks after models has done all that it had to do."""
    for _ in range(2):
        live.apply(lambda desired: desired, "ranker", soon())


def test_a_call_in_flight_ends_on_the_version_that_it_began_with(live: Live, root: Path) -> None:
    admin = LiveAdmin(live)
    with live.serving("1") as held:
        for version in (2, 3):
            live_bundle.add_ranker(root, version)
            admin.load("ranker", version, soon())
        settle(live)
        assert rank(held).models == {"ranker": "1"}
        with live.serving("1") as now:
            assert rank(now).models == {"ranker": "3"}
        in_flight = {version.version: version.in_flight for version in admin.models("ranker")[0].versions}
        assert in_flight == {1: 1, 2: 0, 3: 0}
        assert admin.models("ranker")[0].versions[0].status == "draining"
    settle(live)
    assert admin.models("ranker")[0].versions[0].status == "unloaded"


def test_what_only_an_old_version_used_is_freed(live: Live, root: Path) -> None:
    with live.serving("1") as generation:
        used = weakref.ref(generation.bundle.scorers["ranker"].model.backend)
        table = generation.bundle.table("items")
    del generation
    for version in (2, 3):
        live_bundle.add_ranker(root, version)
        LiveAdmin(live).load("ranker", version, soon())
    settle(live)
    assert used() is None
    assert live.bundle.table("items") is table


def test_pipelines_that_do_not_use_a_model_stay_when_it_is_replaced(tmp_path: Path) -> None:
    root = live_bundle.write_bundle(tmp_path / "bundle")
    with (root / "navi.toml").open("a") as config:
        config.write('\n[pipelines.empty]\nfactory = "navi.bench.empty:build"\n')
    with Live.open(root) as live:
        before = dict(live.bundle.pipelines)
        live_bundle.add_ranker(root, 2)
        LiveAdmin(live).load("ranker", None, soon())
        assert live.bundle.pipelines["empty"] is before["empty"]
        assert live.bundle.pipelines["home"] is not before["home"]


def test_a_version_that_breaks_a_pipeline_at_the_start_is_passed_over(root: Path) -> None:
    live_bundle.with_tower(root)
    live_bundle.add_tower(root, 2, vectors_of="none")
    with Live.open(root) as live, live.serving("1") as generation:
        assert rank(generation).models == {"ranker": "1", "tower": "1"}


def test_a_bundle_without_a_whole_version_does_not_open(tmp_path: Path) -> None:
    root = live_bundle.write_bundle(tmp_path / "bundle")
    (root / "models/ranker/1/manifest.json").unlink()
    for opening in (Live.open, Bundle.open):
        with pytest.raises(BundleError, match=r"no (whole version|version that can serve)"):
            opening(root)


def test_the_offline_commands_use_what_serves(root: Path) -> None:
    live_bundle.add_ranker(root, 2)
    with Live.open(root) as live:
        live_bundle.add_ranker(root, 3)
        LiveAdmin(live).load("ranker", 3, soon())
        LiveAdmin(live).roll_back("ranker", soon())
    with Bundle.open(root) as bundle:
        assert bundle.scorer("ranker").version == "2"


def test_models_are_found_by_version_label_and_key(live: Live, root: Path) -> None:
    models, admin = LiveModels(live), LiveAdmin(live)
    live_bundle.add_ranker(root, 2)
    assert models.find("ranker").version == 1
    with pytest.raises(Unavailable, match="not loaded"):
        models.find("ranker", version=2)
    with pytest.raises(NotFound):
        models.find("ranker", version=9)
    with pytest.raises(NotFound, match="stable"):
        models.find("ranker", label="canary")
    admin.set_label("ranker", "canary", 2, soon())
    assert models.find("ranker", label="canary").version == 2
    assert models.find("ranker", label="stable").version == 1
    admin.set_split("ranker", {"canary": 0.5}, soon())
    assert {models.find("ranker", key=str(key)).version for key in range(40)} == {1, 2}
    assert {models.find("ranker", key="7").version for _ in range(9)} in ({1}, {2})
    states = [(state.version, state.status, state.labels) for state in models.states("ranker")]
    assert states == [(1, "ready", ("stable",)), (2, "ready", ("canary",))]


def test_a_servable_that_was_found_can_be_run_whatever_happens_meanwhile(live: Live, root: Path) -> None:
    found = LiveModels(live).find("ranker")
    for version in (2, 3):
        live_bundle.add_ranker(root, version)
        LiveAdmin(live).load("ranker", version, soon())
    settle(live)
    inputs = live_bundle.tiny_model.batch(3)
    outputs = found.run(inputs, soon(), Priority.ORGANIC)
    expected = live_bundle.tiny_model.expected(inputs) + live_bundle.STEP
    np.testing.assert_allclose(outputs["logits"], expected, atol=1e-5)
    del found
    settle(live)
    with pytest.raises(Unavailable):
        LiveModels(live).find("ranker", version=1)


def test_a_plain_model_comes_and_goes_as_a_whole(tmp_path: Path) -> None:
    root = live_bundle.write_bundle(tmp_path / "bundle")
    live_bundle.add_plain(root, 1)
    with (root / "navi.toml").open("a") as config:
        config.write('\n[models.plain]\npath = "models/plain"\nversion = "latest"\n')
    with Live.open(root) as live:
        models, inputs = LiveModels(live), {"x": np.ones((2, 2), dtype=np.float32)}
        assert models.find("plain").run(inputs, soon(), Priority.ORGANIC)["y"].tolist() == [[1.0, 1.0]] * 2
        live_bundle.add_plain(root, 3)
        models.load("plain")
        assert models.find("plain").run(inputs, soon(), Priority.ORGANIC)["y"].tolist() == [[3.0, 3.0]] * 2
        models.unload("plain")
        settle(live)
        with pytest.raises(Unavailable):
            models.find("plain")
        assert {state.status for state in models.states("plain")} == {"unloaded"}
        with pytest.raises(InvalidArgument, match="pipeline 'home' uses 'ranker'"):
            models.unload("ranker")
        with live.serving("1") as generation:
            assert rank(generation).models == {"ranker": "1"}
    with Live.open(root) as live:
        with pytest.raises(Unavailable):
            LiveModels(live).find("plain")
        LiveModels(live).load("plain")
        assert LiveModels(live).find("plain").version == 3
