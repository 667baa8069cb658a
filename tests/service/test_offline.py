"""`navi rank`: the same answers as the server, and a run that is killed goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

AS_OF = 1_700_000_000.0


@pytest.fixture(scope="session")
def requests(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 requests: known users, unknown ones, one anonymous, one with a bad k."""
    sample = pq.read_table(trained / "training_rows.parquet", columns=["user"])
    known = list(dict.fromkeys(sample.column("user").to_pylist()))
    users = [known[i % len(known)] if i % 10 else -i - 1 for i in range(600)]
    k = [20] * 600
    users[5], k[7] = None, 0
    path = tmp_path_factory.mktemp("requests") / "requests.parquet"
    hours = [i % 24 for i in range(600)]
    pq.write_table(pa.table({"user": users, "k": k, "hour": hours, "device": ["mobile"] * 600}), path)
    return path


def test_offline_answers_are_those_of_the_server(server, trained: Path, requests: Path, tmp_path: Path, navi) -> None:
    out = tmp_path / "out.parquet"
    navi("rank", trained, "--requests", requests, "--out", out, "--as-of", AS_OF)
    answers = pq.read_table(out).to_pylist()
    asked = pq.read_table(requests).to_pylist()
    assert len(answers) == len(asked)
    with server.client() as client:
        for row, answer in list(zip(asked, answers, strict=True))[:100]:
            if row["k"] == 0:
                assert answer["error"].startswith("InvalidArgument: k")
                continue
            features = {"hour": row["hour"], "device": row["device"]}
            ranking = client.rank(user=row["user"], k=20, features=features, as_of=AS_OF)
            assert answer["ids"] == ranking.ids.tolist()
            np.testing.assert_array_equal(np.float32(answer["scores"]), ranking.scores)


def test_a_killed_run_goes_on_where_it_was(trained: Path, requests: Path, tmp_path: Path, navi) -> None:
    whole, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    navi("rank", trained, "--requests", requests, "--out", whole, "--as-of", AS_OF)
    words = ["rank", trained, "--requests", requests, "--out", out, "--as-of", AS_OF]
    process = subprocess.Popen([sys.executable, "-m", "navi.cli", *map(str, words)], stderr=subprocess.DEVNULL)
    first = out.with_name("out.parquet.parts") / "00000000.parquet"
    deadline = time.monotonic() + 60
    while not first.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    if out.exists():
        pytest.skip("the run was done before it could be killed")
    done = navi(*words)
    assert "600 requests" in done.stderr
    assert not first.exists()  # joined
    assert pq.read_table(out).equals(pq.read_table(whole))


def test_parts_of_another_run_are_not_mixed_in(trained: Path, requests: Path, tmp_path: Path, navi) -> None:
    out = tmp_path / "out.parquet"
    parts = out.with_name("out.parquet.parts")
    parts.mkdir()
    (parts / "state.json").write_text(
        '{"requests": "x", "bundle": "y", "defaults": {"pipeline": "home", "k": 3, "as_of": 1.0}}'
    )
    done = navi("rank", trained, "--requests", requests, "--out", out, check=False)
    assert done.returncode == 1
    assert "--restart" in done.stderr
    navi("rank", trained, "--requests", requests, "--out", out, "--restart")
    assert out.exists()
    assert not parts.exists()
