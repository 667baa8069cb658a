"""Small bundles of each kind, made once, where the commands look for them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadtest.bench.bundles import bundle_of
from ranking.training.bench_bundle import Sizes, write_funnel
from ranking.training.options import TowerOptions
from ranking.training.progress import SilentProgress

SHORT = TowerOptions(epochs=1, dim=16, distil_requests=50)


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plain network for requests of 1 and 20 rows, made by the command itself; read-only."""
    directory = tmp_path_factory.mktemp("bundles")
    bundle_of(directory, "mlp", [1, 20])
    return directory


@pytest.fixture(scope="session")
def funnel_bundle(bundles: Path) -> Path:
    """A small trained funnel, under the name of the ranker's bundle: it holds the same requests."""
    path = bundles / "ranker-500"
    write_funnel(path, Sizes(items=600, users=60, events=4_000), seed=7, report=SilentProgress(), tower=SHORT)
    return path


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before, "a process is left running"


def children() -> set[int]:
    """Process ids whose parent is this process, those of multiprocessing's own helpers apart."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            words = (path.parent / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if int(parent) == os.getpid() and b"resource_tracker" not in words:
            found.add(int(path.parent.name))
    return found
