"""`navi models` drives all processes of a server."""

import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import live_bundle
import pytest

from navi.client import Client


@pytest.fixture
def root(tmp_path: Path) -> Path:
    server = {"max_connection_age_s": 1.0}
    return live_bundle.write_bundle(tmp_path / "bundle", server=server)


def versions(address: str, calls: int) -> set[str]:
    """What answers over connections of their own, which the system spreads over the processes."""
    found = set()
    for _ in range(calls):
        with Client(address, timeout_s=20) as client:
            found.add(client.rank(k=3).models["ranker"])
    return found


def page(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/", timeout=20) as reply:
        return str(reply.read(), "utf-8")


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.05)


def test_what_one_process_is_told_all_do(root: Path, serve, navi) -> None:
    served = serve(root, "--workers", 2)
    live_bundle.add_ranker(root, 2)
    printed = navi("models", "load", "ranker", "--target", served.address).stdout
    assert "stable" in printed
    eventually(lambda: versions(served.address, 12) == {"2"})
    eventually(lambda: ">ranker</th><td>2</td>" in page(served.http_address))
    navi("models", "rollback", "ranker", "--target", served.address)
    eventually(lambda: versions(served.address, 12) == {"1"})
    assert served.stop() == 0


def test_the_command_tells_why_a_version_is_refused(root: Path, serve, navi) -> None:
    served = serve(root)
    live_bundle.add_ranker(root, 2, golden=1.0)
    refused = navi("models", "load", "ranker", "2", "--target", served.address, check=False)
    assert refused.returncode == 1
    assert "ModelError" in refused.stderr
    assert "differs from what is expected" in refused.stderr
    listed = navi("models", "list", "--target", served.address).stdout
    assert "failed" in listed
    navi("models", "label", "ranker", "canary", "1", "--target", served.address)
    navi("models", "split", "ranker", "canary=0.25", "--target", served.address)
    bad = navi("models", "split", "ranker", "canary", "--target", served.address, check=False)
    assert "LABEL=SHARE" in bad.stderr
    assert served.stop() == 0
