"""The load test measures a server that no one here wrote, and a client that no one here wrote understands our stub.

Both come from `make foreign`, an environment of its own: KServe's server and Triton's client.
"""

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from loadtest.counts import Counts
from loadtest.run import Plan, run
from loadtest.stub.running import running_tensors
from loadtest.stub.tensor_model import TensorModel
from loadtest.targets.kserve_infer import KServeInfer, discover_kserve
from loadtest.targets.tensor_inputs import TensorInputs, inputs_of
from navi.core.errors import NotFound, Unavailable
from navi.wire.tensors import OPEN, TensorSpec

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".foreign/bin/python"
SCRIPTS = ROOT / "tests/foreign"
STARTING_S = 60.0

# Without variables that would lead the foreign interpreter to this project's packages.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module")
def python():
    if not (ROOT / ".foreign/.installed").exists():
        pytest.skip("no .foreign here: `make foreign` installs someone else's server and client")
    return PYTHON


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.fixture(scope="module")
def kserve(python, tmp_path_factory):
    """The address of KServe's server; it takes no port 0, so that another may be quicker: then it is asked again."""
    log = tmp_path_factory.mktemp("foreign") / "kserve.log"
    for _ in range(3):
        port = free_port()
        command = [python, SCRIPTS / "kserve_model.py", "--grpc_port", str(port), "--http_port", str(free_port())]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=ENVIRONMENT)
        try:
            if answers(process, f"127.0.0.1:{port}"):
                yield f"127.0.0.1:{port}"
                return
        finally:
            process.terminate()
            process.wait(timeout=40)
    pytest.fail(f"the foreign server did not start: {log.read_text()[-2000:]}")


def answers(process, address):
    until = time.monotonic() + STARTING_S
    while time.monotonic() < until and process.poll() is None:
        try:
            return bool(discover_kserve(address, "rowsums"))
        except (NotFound, Unavailable):
            time.sleep(0.2)
    return False


def test_the_load_test_measures_a_server_that_no_one_here_wrote(kserve):
    target = KServeInfer(model="rowsums", inputs=TensorInputs(discover_kserve(kserve, "rowsums"), Counts((1, 20))))
    plan = Plan(address=kserve, due=np.arange(75) / 50, seconds=1.5, connections=2, timeout_s=10, protocol="kserve")
    result = run(plan, target)
    assert result.outcomes == {"ok": 75, "degraded": 0, "shed": 0, "deadline": 0, "error": 0}
    assert (result.complete, result.protocol, result.errors) == (True, "kserve", {})
    assert sum(window.offered for window in result.windows) == 75
    assert 0 < result.latency["p50"] <= result.latency["p99"] < 10


def test_what_that_server_refuses_is_reported_as_errors_in_its_words(kserve):
    target = KServeInfer(model="other", inputs=TensorInputs(inputs_of(["x:FP32:-1,8"]), Counts((1,))))
    result = run(Plan(address=kserve, due=np.arange(10) / 50, seconds=0.2, connections=2, timeout_s=10), target)
    assert result.outcomes["error"] == 10
    assert "Model with name other does not exist" in next(iter(result.errors))


def test_a_client_that_no_one_here_wrote_understands_our_stub(python):
    inputs = (
        TensorSpec("x", "FP32", (OPEN, 4)),
        TensorSpec("id", "INT64", (OPEN, 1)),
        TensorSpec("tag", "BYTES", (OPEN, 2)),
    )
    with running_tensors("kserve", TensorModel(name="m", version="7", inputs=inputs)) as address:
        said = json.loads(foreign(python, "stock_client.py", address))
    assert (said["live"], said["ready"], said["id"]) == (True, True, "r1")
    assert said["scores"] == [16.0, 42.0]
    assert [(one["name"], one["datatype"], one["shape"]) for one in said["metadata"]["inputs"]] == [
        ("x", "FP32", ["-1", "4"]),
        ("id", "INT64", ["-1", "1"]),
        ("tag", "BYTES", ["-1", "2"]),
    ]
    assert [one["data_type"] for one in said["config"]["config"]["input"]] == ["TYPE_FP32", "TYPE_INT64", "TYPE_STRING"]
    assert said["refused"] == "StatusCode.INVALID_ARGUMENT inputs[tag]: is missing"


def test_its_messages_and_ours_live_in_one_process(python):
    foreign(python, "both.py", PYTHONPATH=str(ROOT))


def foreign(python, script, *words, **environment):
    """What a script prints, run by the foreign environment."""
    ended = subprocess.run(
        [python, SCRIPTS / script, *words],
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
