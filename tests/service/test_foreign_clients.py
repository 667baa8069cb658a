"""Programs that no one here wrote talk to a Navi.

Triton's own client comes from `make foreign`; TensorFlow's own messages and NVIDIA's perf_analyzer from
`make foreign-more`.
"""

import os
import subprocess
from pathlib import Path

import pytest
from model_server import model_server

from navi.server.serve import running_server

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / ".foreign"
SCRIPTS = ROOT / "tests/foreign"

# Without variables that would lead the foreign interpreter to this project's packages.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def needs(path: str, target: str) -> Path:
    if not (FOREIGN / path).exists():
        pytest.skip(f"no .foreign/{path} here: `make {target}` installs it")
    return FOREIGN / path


@pytest.fixture
def triton() -> list[Path]:
    return [needs(".installed", "foreign").with_name("bin") / "python", SCRIPTS / "triton_client.py"]


@pytest.fixture
def tensorflow() -> list[Path]:
    python = needs("tensorflow/.installed", "foreign-more").with_name("bin") / "python"
    return [python, SCRIPTS / "tensorflow_client.py"]


@pytest.fixture
def perf_analyzer() -> Path:
    return needs("perf/perf_analyzer", "foreign-more")


def output(*command: object) -> str:
    words = [str(word) for word in command]
    ended = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def transcript(*command: object) -> list[list[str]]:
    """What a client tells of its calls: method, what was tried, what came of it."""
    return [[part.strip() for part in line.split("|", 2)] for line in output(*command).splitlines()]


def test_tritons_client_calls_every_method_with_every_datatype(triton):
    with running_server(model_server()) as ports:
        told = transcript(*triton, f"127.0.0.1:{ports.grpc}")
    methods = {method for method, _, _ in told}
    assert {
        "is_server_live",
        "get_model_config",
        "infer",
        "async_infer",
        "async_stream_infer",
        "stop_stream",
    } <= methods
    assert {"get_inference_statistics", "get_model_repository_index", "load_model", "unload_model"} <= methods
    assert sum(tried.endswith(", raw") for _, tried, _ in told) == 13


def test_tritons_client_finds_and_asks_the_models_of_a_bundle(triton, server):
    with server.client() as client:
        ids = client.rank(user=1, k=3).ids.tolist()
    told = transcript(*triton, server.address, *ids)
    answered = {tried: came for method, tried, came in told if method == "infer"}
    assert {"ranker v1, zeros", "user_tower v1, zeros"} <= answered.keys()
    assert answered["ranker, by item_id"].endswith("[3, 2]")


def test_tensorflows_own_messages_are_answered_in_both_encodings(tensorflow):
    with running_server(model_server()) as ports:
        told = transcript(*tensorflow, f"127.0.0.1:{ports.grpc}")
    tried = [tried for method, tried, _ in told if method == "Predict"]
    assert sum(each.endswith(", make_tensor_proto") for each in tried) == 13
    assert sum(", one value in " in each for each in tried) == 5


@pytest.mark.parametrize("how", [["-b", "8"], ["--async", "--streaming", "--concurrency-range", "4"]])
def test_perf_analyzer_measures_a_model_of_a_bundle(perf_analyzer, server, how):
    short = ["--measurement-interval", "500", "--stability-percentage", "999", "--max-trials", "3"]
    asked = ["-m", "ranker", "-u", server.address, "-i", "grpc", "--input-data", "zero"]
    told = output(perf_analyzer, *asked, *short, *how)
    assert "Throughput:" in told
    assert "Avg request latency:" in told
