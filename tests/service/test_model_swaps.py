"""Models come and go while a server answers: every call ends on the versions that it began with, and says which."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import live_bundle
import numpy as np
import pytest

from navi.bundle.desired import DesiredFile
from navi.client import Client
from navi.core.errors import BundleError, InvalidArgument, ModelError, NotFound
from navi.core.ranking import Ranking
from navi.server.bundle_server import bundle_server
from navi.server.serve import running_server
from navi.server.server import Server
from navi.server.settings import ServerSettings


@dataclass
class At:
    """A running server in this process."""

    root: Path
    client: Client
    server: Server

    def rank(self, user: int | None = None, **options: object) -> Ranking:
        return self.client.rank(user, k=10, **options)

    def value(self, name: str, **labels: str) -> float:
        families = self.server.registry.collect()
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


@contextmanager
def serving(root: Path, threads: int = 4) -> Iterator[At]:
    settings = ServerSettings(address="127.0.0.1:0", http_address="", threads=threads, max_connection_age_s=0)
    with bundle_server(root, settings) as server, running_server(server, grace_s=10) as ports:
        with Client(f"127.0.0.1:{ports.grpc}", timeout_s=20) as client:
            client.wait_ready(20)
            yield At(root, client, server)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return live_bundle.write_bundle(tmp_path / "bundle")


@pytest.fixture
def at(root: Path) -> Iterator[At]:
    with serving(root) as at:
        yield at


def logits(ranking: Ranking) -> np.ndarray:
    scores = ranking.tasks["click"].astype(np.float64)
    return np.log(scores / (1 - scores))


def added(ranking: Ranking, first: Ranking) -> float:
    """What the version that scored adds to each logit, against what the first one added: its number less one, times
    the step."""
    order = {key: place for place, key in enumerate(ranking.ids.tolist())}
    ours = logits(ranking)[[order[key] for key in first.ids.tolist()]]
    return float(np.median(ours - logits(first)))


def scored_by(ranking: Ranking, first: Ranking) -> int:
    return round(added(ranking, first) / live_bundle.STEP) + 1


@dataclass
class Load:
    """Callers who ask all the time; what they got."""

    at: At
    rankings: list[Ranking] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Load":
        self._threads = [threading.Thread(target=self._ask) for _ in range(3)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        while not self.ended.is_set():
            try:
                self.rankings.append(self.at.rank())
            except Exception as error:
                self.errors.append(error)


def eventually(holds: Callable[[], bool], timeout_s: float = 20.0) -> None:
    until = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.01)


def statuses(at: At, model: str = "ranker") -> dict[int, str]:
    (found,) = at.client.models.list(model)
    return {version.version: version.status for version in found.versions}


def test_swaps_under_load_lose_no_call_and_replies_name_the_version_that_scored_them(at: At) -> None:
    first = at.rank()
    for version in range(2, 12):
        live_bundle.add_ranker(at.root, version)
    with Load(at) as load:
        for swap in range(30):
            at.client.models.load("ranker", 2 + swap % 10)
    assert load.errors == []
    named = [int(ranking.models["ranker"]) for ranking in load.rankings]
    assert named == [scored_by(ranking, first) for ranking in load.rankings]
    assert len(set(named)) == 11
    assert at.value("navi_model_swaps_total", model="ranker", outcome="swapped") == 30


def test_loading_takes_no_thread_from_calls(root: Path) -> None:
    live_bundle.add_ranker(root, 2)
    live_bundle.add_ranker(root, 3)
    with serving(root, threads=1) as at, ThreadPoolExecutor() as pool:
        at.client.models.load("ranker", 2)
        with DesiredFile(root).locked():  # which the change has to wait for
            loading = pool.submit(at.client.models.load, "ranker", 3)
            assert [at.rank().models for _ in range(20)] == [{"ranker": "2"}] * 20
            assert not loading.done()
        assert loading.result().serving == 3


def test_versions_are_numbers(at: At) -> None:
    for version in (9, 10):
        live_bundle.add_ranker(at.root, version)
    assert at.client.models.load("ranker").serving == 10
    assert at.rank().models == {"ranker": "10"}


def test_a_half_copied_version_is_not_loaded_before_it_is_whole(at: At) -> None:
    whole = live_bundle.add_ranker(at.root, 2)
    half = live_bundle.half_copied(whole, at.root / "models/ranker/3")
    with pytest.raises(ModelError, match=r"model.onnx has [\d,]+ of [\d,]+ bytes"):
        at.client.models.load("ranker", 3)
    assert at.client.models.load("ranker").serving == 2
    (half / "model.onnx").unlink()
    half.joinpath("manifest.json").unlink()
    assert statuses(at)[3] == "failed"
    with pytest.raises(ModelError, match=r"no manifest.json yet"):
        at.client.models.load("ranker", 3)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: (path / "model.onnx").write_bytes(b"x" * (path / "model.onnx").stat().st_size), "manifest says"),
        (lambda path: path.joinpath("more.bin").touch(), "more.bin is not in the manifest"),
    ],
)
def test_a_damaged_version_never_takes_the_place_of_what_serves(at: At, damage: Callable, reason: str) -> None:
    damage(live_bundle.add_ranker(at.root, 2))
    with pytest.raises(ModelError, match=reason):
        at.client.models.load("ranker", 2)
    assert at.rank().models == {"ranker": "1"}
    assert statuses(at) == {1: "ready", 2: "failed"}
    assert at.client.models.list("ranker")[0].serving == 1


def test_a_version_that_does_not_give_what_its_maker_expected_is_refused(at: At) -> None:
    live_bundle.add_ranker(at.root, 2, golden=0.01)
    live_bundle.add_ranker(at.root, 3, golden=0.0)
    with pytest.raises(ModelError, match=r"output 'logits' differs from what is expected by 0.0\d+"):
        at.client.models.load("ranker", 2)
    assert at.client.models.load("ranker", 3).serving == 3


def test_a_version_without_a_task_that_is_used_is_refused(at: At) -> None:
    logits = live_bundle.tiny_model.LOGITS.model_copy(update={"tasks": ("tap", "buy")})
    live_bundle.add_ranker(at.root, 2, outputs=(logits,))
    with pytest.raises(ModelError, match="it has no task 'click', which version 1 has"):
        at.client.models.load("ranker", 2)
    assert at.rank().models == {"ranker": "1"}


def test_rollback_brings_back_what_served_before_without_loading_it(at: At) -> None:
    live_bundle.add_ranker(at.root, 2)
    at.client.models.load("ranker")
    assert statuses(at) == {1: "ready", 2: "ready"}
    (at.root / "models/ranker/1/model.onnx").unlink()
    assert at.client.models.roll_back("ranker").serving == 1
    assert at.rank().models == {"ranker": "1"}


def test_a_split_gives_each_label_its_share_and_each_user_one_side(at: At) -> None:
    live_bundle.add_ranker(at.root, 2)
    at.client.models.set_label("ranker", "canary", 2)
    model = at.client.models.set_split("ranker", {"canary": 0.3})
    assert {version.version: round(version.share, 6) for version in model.versions} == {1: 0.7, 2: 0.3}
    sides = {user: at.rank(user).models["ranker"] for user in range(400)}
    assert 80 < sum(side == "2" for side in sides.values()) < 160
    assert all(at.rank(user).models["ranker"] == sides[user] for user in range(0, 400, 7))
    with pytest.raises(InvalidArgument, match="has a share of the traffic"):
        at.client.models.unload("ranker", 2)
    at.client.models.set_split("ranker", {})
    assert {at.rank(user).models["ranker"] for user in range(30)} == {"1"}
    at.client.models.unload("ranker", 2)
    eventually(lambda: statuses(at) == {1: "ready", 2: "unloaded"})


def test_a_shadow_tells_how_its_scores_differ_and_changes_no_answer(at: At) -> None:
    live_bundle.add_ranker(at.root, 2)
    at.client.models.set_shadow("ranker", 2, 1.0)
    rankings = [at.rank(user) for user in range(10)]
    assert {ranking.models["ranker"] for ranking in rankings} == {"1"}
    eventually(lambda: at.client.models.list("ranker")[0].shadow.compared == 10)
    shadow = at.client.models.list("ranker")[0].shadow
    assert (shadow.version, shadow.share, shadow.failed) == (2, 1.0, 0)
    assert 0 < shadow.mean_difference <= shadow.largest_difference < live_bundle.STEP
    assert shadow.rank_correlation == pytest.approx(1.0)
    assert at.value("navi_shadow_requests_total", model="ranker", outcome="compared") == 10


def test_vectors_of_another_version_keep_a_model_from_serving(root: Path) -> None:
    with serving(live_bundle.with_tower(root)) as at:
        live_bundle.add_tower(root, 2, vectors_of="none")
        with pytest.raises(BundleError, match=r"items\.arrow"):
            at.client.models.load("tower", 2)
        live_bundle.add_tower(root, 3, vectors_of="f" * 64)
        with pytest.raises(BundleError, match="another version of model 'tower'"):
            at.client.models.load("tower", 3)
        assert at.rank().models == {"ranker": "1", "tower": "1"}
        live_bundle.add_tower(root, 4)
        at.client.models.load("tower", 4)
        assert at.rank().models == {"ranker": "1", "tower": "4"}


def test_two_models_that_are_replaced_at_once_never_mix(root: Path) -> None:
    live_bundle.with_tower(root)
    for version in (2, 3):
        live_bundle.add_tower(root, version)
        live_bundle.add_ranker(root, version)
    with serving(root) as at:
        at.client.models.load("ranker", 1)
        first = at.rank()

        def swap(model: str, versions: list[int]) -> None:
            for version in versions:
                at.client.models.load(model, version)

        with Load(at) as load:
            swaps = [threading.Thread(target=swap, args=(model, [1, 2, 3] * 3)) for model in ("ranker", "tower")]
            for thread in swaps:
                thread.start()
            for thread in swaps:
                thread.join()
        assert load.errors == []
        for ranking in load.rankings:
            common = np.isin(ranking.ids.tolist(), first.ids.tolist())
            assert common.any() or ranking.models["tower"] != first.models["tower"]
            if common.any():
                mine = dict(zip(ranking.ids.tolist(), logits(ranking), strict=True))
                theirs = dict(zip(first.ids.tolist(), logits(first), strict=True))
                moved = [mine[key] - theirs[key] for key in mine.keys() & theirs.keys()]
                expected = (int(ranking.models["ranker"]) - int(first.models["ranker"])) * live_bundle.STEP
                assert moved == pytest.approx([expected] * len(moved), abs=1e-3)


def test_what_operators_asked_for_survives_a_restart(root: Path) -> None:
    with serving(root) as at:
        live_bundle.add_ranker(root, 2)
        live_bundle.add_ranker(root, 3)
        at.client.models.load("ranker", 2)
        at.client.models.set_label("ranker", "canary", 3)
        at.client.models.set_split("ranker", {"canary": 0.5})
    with serving(root) as at:
        (model,) = at.client.models.list()
        assert (model.serving, model.pinned) == (2, True)
        assert {version.version: version.labels for version in model.versions if version.labels} == {
            2: ("stable",),
            3: ("canary",),
        }
        assert {at.rank(user).models["ranker"] for user in range(40)} == {"2", "3"}
        assert at.client.models.roll_back("ranker").serving == 1


def test_a_server_that_polls_serves_a_new_version_by_itself(tmp_path: Path) -> None:
    root = live_bundle.write_bundle(tmp_path / "bundle", repository={"mode": "poll", "poll_s": 0.05})
    with serving(root) as at:
        live_bundle.add_ranker(root, 2)
        eventually(lambda: at.rank().models == {"ranker": "2"})
        (live_bundle.add_ranker(root, 3, golden=1.0))
        eventually(lambda: statuses(at).get(3) == "failed")
        assert at.rank().models == {"ranker": "2"}
        at.client.models.roll_back("ranker")
        live_bundle.add_ranker(root, 4)
        time.sleep(0.5)
        assert at.rank().models == {"ranker": "1"}  # until the operator says otherwise
        at.client.models.load("ranker")
        assert at.rank().models == {"ranker": "4"}


def test_versions_are_fetched_from_another_file_system(tmp_path: Path) -> None:
    depot = tmp_path / "depot"
    root = live_bundle.write_bundle(
        tmp_path / "bundle", repository={"mode": "poll", "poll_s": 0.05, "source": f"file://{depot}"}
    )
    with serving(root) as at:
        live_bundle.add_ranker(tmp_path / "made", 2).rename(_there(depot / "ranker/2"))
        eventually(lambda: at.rank().models == {"ranker": "2"})
        assert (root / "models/ranker/2/manifest.json").exists()
        live_bundle.half_copied(root / "models/ranker/2", depot / "ranker/3")
        time.sleep(0.5)
        assert not (root / "models/ranker/3").exists()
        assert at.rank().models == {"ranker": "2"}
        assert statuses(at) == {1: "ready", 2: "ready", 3: "failed"}
        assert at.value("navi_model_swaps_total", outcome="failed") == 1


def _there(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    return path


def test_what_is_not_there_and_what_stays_is_told(at: At, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="other"):
        at.client.models.load("other")
    with pytest.raises(NotFound, match="7"):
        at.client.models.load("ranker", 7)
    with pytest.raises(InvalidArgument, match="serves"):
        at.client.models.unload("ranker", 1)
    with pytest.raises(InvalidArgument, match="compared with itself"):
        at.client.models.set_shadow("ranker", 1, 0.5)
    with pytest.raises(InvalidArgument, match="no version that served before"):
        at.client.models.roll_back("ranker")
    with pytest.raises(NotFound, match="canary"):
        at.client.models.set_split("ranker", {"canary": 0.5})


def test_a_pinned_model_stays(tmp_path: Path) -> None:
    pinned = {"models": {"ranker": {"path": "models/ranker/1", "table": "items"}}}
    with serving(live_bundle.write_bundle(tmp_path / "bundle", **pinned)) as at:
        live_bundle.add_ranker(at.root, 2)
        with pytest.raises(InvalidArgument, match="stays as it is"):
            at.client.models.load("ranker", 2)
        assert at.rank().models == {"ranker": "1"}
        assert not (at.root / "state").exists()


def test_the_memory_of_versions_that_served_is_given_back(at: At) -> None:
    for version in range(2, 5):
        live_bundle.add_ranker(at.root, version)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def swap(times: int) -> None:
        for swap in range(times):
            at.client.models.load("ranker", 2 + swap % 3)
            at.rank()

    swap(6)
    after_some = resident()
    swap(50)
    eventually(lambda: list(statuses(at).values()).count("ready") == 2)
    assert resident() <= 1.1 * after_some + (16 << 20)
