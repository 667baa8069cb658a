"""The commands beside serving: what they print, what they write, what they refuse."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def test_loaded_features_are_there_and_a_running_server_answers_with_them(
    serve, bundle: Path, tmp_path: Path, navi
) -> None:
    served = serve(bundle)
    rows = tmp_path / "users.parquet"
    pq.write_table(
        pa.table({"who": [7, 8], "price_preference": pa.array([1.5, None], pa.float32()), "seen": [[1, 2], []]}), rows
    )
    done = navi("features", "load", bundle, rows, "--key", "who")
    assert "2 rows written" in done.stdout
    with served.client() as client:
        first, second = client.get([7, 8])
    assert first["price_preference"].tolist() == [1.5]
    assert first["seen"].tolist() == [1, 2]
    assert "price_preference" not in second
    assert "1.5" in navi("features", "get", bundle, 7).stdout
    assert {"7", "8"} < set(navi("features", "keys", bundle).stdout.split())


@pytest.mark.parametrize(
    ("columns", "words", "said"),
    [
        ({"who": [1], "mood": [1.0]}, ("--key", "who"), "mood"),
        ({"who": [1], "seen": [["text"]]}, ("--key", "who"), "seen"),
        ({"who": [1], "seen": [[1]]}, ("--key", "nobody"), "nobody"),
        ({"who": [None, 2], "seen": [[1], [1]]}, ("--key", "who"), "row 0"),
        ({"who": ["text"], "seen": [[1]]}, ("--key", "who"), "key"),
        ({"who": [1], "seen": [[1]]}, ("--key", "who", "--store", "nothing"), "nothing"),
        ({"who": [1], "seen": [[1]]}, ("--key", "who", "--mode", "mix"), "mix"),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_name(
    bundle: Path, tmp_path: Path, navi, columns: dict[str, list[object]], words: tuple[str, ...], said: str
) -> None:
    rows = tmp_path / "users.parquet"
    pq.write_table(pa.table(columns), rows)
    done = navi("features", "load", bundle, rows, *words, check=False)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_every_field_of_the_configuration_is_documented(navi) -> None:
    shown = navi("config").stdout
    for field in ("tables.NAME.path", "max_in_flight", "pipelines.NAME.factory", "sources[].quota", "cache_ttl_s"):
        assert field in shown, field
    assert "[server]" in shown
    assert "ranker.epochs" in navi("train", "options").stdout


def test_training_refuses_what_it_cannot_use(trained: Path, tmp_path: Path, navi) -> None:
    options = tmp_path / "options.toml"
    options.write_text("[ranker]\nepoks = 3\n")
    for words, said in (
        (("generated", trained), "--overwrite"),
        (("generated", tmp_path / "new", "--options", options), "epoks"),
        (("movielens", tmp_path, tmp_path / "new"), "movies.csv"),
        (("completejourney", tmp_path, tmp_path / "new"), "transactions"),
    ):
        done = navi("train", *words, check=False)
        assert done.returncode == 1, words
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_quality_is_compared_with_popularity_and_with_exhaustive_scoring(trained: Path, navi) -> None:
    shown = navi("evaluate", "quality", trained, "--users", 10).stdout
    for word in ("popularity", "coarse only", "funnel", "exhaustive", "recall@100", "of exhaustive", "x popularity"):
        assert word in shown, word


def test_parity_and_independence_stay_within_the_contract(bundle: Path, navi) -> None:
    for command in (("parity", bundle, "--users", 20), ("independence", bundle)):
        shown = navi("evaluate", *command).stdout
        numbers = [float(word) for word in shown.replace("│", " ").split() if "e-" in word or "e+" in word]
        assert numbers
        assert max(numbers) <= 1e-5, shown


def test_cost_says_how_much_is_not_the_models(trained: Path, navi) -> None:
    shown = navi("evaluate", "cost", trained, "--requests", 20).stdout
    assert "not model compute" in shown
    assert "rerank" in shown


def test_a_message_with_brackets_is_printed_whole(server, navi) -> None:
    done = navi("query", "--target", server.address, "-f", "mood[x]=1", check=False)
    assert done.returncode == 1
    assert "mood[x]" in done.stderr
