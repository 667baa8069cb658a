"""Training sees what serving saw: the logged features give the logged scores."""

import tomllib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tomli_w

from navi.batching.task_scores import task_scores
from navi.bundle.config import read_config
from navi.core.errors import BundleError
from navi.models.loader import load_model
from ranking.training.request_log import read_request_log

USERS = 25
K = 12


@pytest.fixture
def logged(bundle: Path, serve, tmp_path: Path):
    """The log of a real server's answers: users known and unknown, and an anonymous one."""
    directory = tmp_path / "log"
    config = tomllib.loads((bundle / "navi.toml").read_text())
    config["server"] = {**config.get("server", {}), "request_log": str(directory), "request_log_rows": 100}
    (bundle / "navi.toml").write_text(tomli_w.dumps(config))
    sample = pq.read_table(bundle / "training_rows.parquet", columns=["user"])
    users = list(dict.fromkeys(sample.column("user").to_pylist()))[:USERS]
    assert len(users) == USERS
    server = serve(bundle)
    with server.client() as client:
        for user in users:
            client.rank(user, k=K, features={"hour": user % 24, "device": "mobile"})
        client.rank(10**9, k=K, request_id="unknown")
        client.rank(k=K, request_id="anonymous")
    assert server.stop() == 0
    return directory


def test_the_bundles_encoder_and_model_make_the_logged_scores_of_the_logged_features(logged: Path, bundle: Path):
    answers = read_request_log(logged, "home")
    assert len(list(logged.rglob("*.parquet"))) > 1
    assert len(answers) == (USERS + 2) * K
    config = read_config(bundle).models["ranker"]
    model = load_model(bundle / config.path, config)
    n, features = len(answers), answers.features(model.encoder)
    inputs = {
        **model.encoder.request(features, n, answers.as_of),
        **model.encoder.items(features, n),
        **model.encoder.pairs(features, n, answers.as_of),
    }
    scores = task_scores(model.spec.outputs, model.backend.run(inputs))
    model.backend.close()
    for task in model.spec.tasks:
        served = answers.table.column(f"task.{task}").to_numpy()
        gap = np.abs(logit(scores[task]) - logit(served)) / np.maximum(1, np.abs(logit(served)))
        assert gap.max() <= 1e-5, task
    assert set(answers.table.column("model.ranker").to_pylist()) == {str(model.spec.version)}
    assert set(answers.table.column("propensity").to_pylist()) == {1.0}
    assert answers.columns["user.recent_items"].ragged
    assert answers.columns["user.recent_items"].valid is not None, "an unknown user has none"
    assert answers.columns["request.hour"].dtype == "int64"


def logit(probabilities: np.ndarray) -> np.ndarray:
    values = probabilities.astype(np.float64)
    return np.log(values / (1 - values))


def test_a_log_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(BundleError, match="no log of pipeline 'home'"):
        read_request_log(tmp_path, "home")
