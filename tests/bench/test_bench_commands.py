"""Every command of `navi bench`, end to end with tiny sizes: what it prints, and the file that it writes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from loadtest.commands.bench import engine, overhead, overload
from navi.bench.commands import coarse
from navi.bench.measurement import Measure, Measurement, read_measurement
from navi.core.errors import FaultError, InvalidArgument
from ranking.commands.bench import funnel


def checked(out: Path, name: str, runs: int) -> dict[tuple[str, str], Measure]:
    """The measures of a file that a command has written, by group and name."""
    found: Measurement = read_measurement(out)
    assert found.name == name
    assert found.command.startswith(f"navi bench {name} --")
    assert f"--runs {runs}" in found.command
    assert {"cpu", "cores", "numpy", "navi-ranking", "load before"} <= found.environment.keys()
    assert found.started
    assert {len(one.values) for one in found.measures} == {runs}
    assert any(one.headline for one in found.measures)
    return {(one.group, one.name): one for one in found.measures}


def test_overhead_prints_a_table_and_writes_both_sides(tmp_path: Path, capsys) -> None:
    out = tmp_path / "deep" / "overhead.json"
    overhead(runs=2, seconds=0.1, concurrency=2, out=out)
    found = checked(out, "overhead", 2)
    assert all(value > 0 for one in found.values() for value in one.values)
    assert {group for group, _ in found} == {"one call at a time", "2 in flight"}
    assert "grpc.aio" in capsys.readouterr().out


def test_engine_measures_each_way_of_asking_against_the_bare_runtime(
    bundles: Path, funnel_bundle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "engine.json"
    engine(runs=1, seconds=0.1, concurrency=2, rows=[1, 20], ranker_rows=500, bundles=bundles, out=out)
    found = checked(out, "engine", 1)
    for what in ("64-256-128-1, N = 1", "64-256-128-1, N = 20", "multi-task ranker, N = 500"):
        assert found[(what, "bare runtime")].median > 0
        assert found[(f"{what}, feature columns", "efficiency")].median > 0
        assert found[(f"{what}, ids only", "efficiency")].median > 0


def test_engine_measures_nothing_where_scores_are_not_those_of_the_bare_runtime(bundles: Path, tmp_path: Path) -> None:
    shutil.copytree(bundles / "mlp-1-20", tmp_path / "mlp-20")
    inputs = tmp_path / "mlp-20" / "bench" / "mlp-20.inputs.npz"
    with np.load(inputs) as file:
        changed = file["x"].copy()
    changed[-1, 3, 50] += 0.01
    np.savez(inputs, x=changed)
    out = tmp_path / "engine.json"
    with pytest.raises(FaultError, match="differs from the bare runtime"):
        engine(runs=1, seconds=0.1, concurrency=1, rows=[20], ranker_rows=0, bundles=tmp_path, out=out)
    assert not out.exists()


def test_engine_names_a_protocol_that_it_does_not_know(bundles: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="protocol"):
        engine(protocol=["morse"], bundles=bundles, out=tmp_path / "engine.json")


def test_coarse_measures_ours_and_numpys(tmp_path: Path) -> None:
    out = tmp_path / "coarse.json"
    coarse(runs=2, turns=2, items=3_000, candidates=500, dims=16, k=20, out=out)
    found = checked(out, "coarse", 2)
    assert {group for group, _ in found} == {"random rows", "all rows", "memory bandwidth"}
    assert all(value > 0 for one in found.values() for value in one.values)


def test_funnel_measures_stages_recall_and_latency(funnel_bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "funnel.json"
    funnel(bundle=funnel_bundle, runs=2, requests=3, k=20, seconds=0.05, out=out)
    found = checked(out, "funnel", 2)
    assert 0 < found[("answers", "recall of the exhaustive re-rank")].median <= 1
    assert {"blend", "coarse", "rerank", "select"} <= {name for group, name in found if group == "stages"}
    assert found[("bare runtime on 500 rows", "p99")].median > 0
    assert found[("Rank over gRPC, one caller", "p99")].median > 0


def test_overload_loses_no_call_and_tells_what_a_refusal_costs(
    bundles: Path, funnel_bundle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "overload.json"
    overload(runs=1, seconds=0.5, deadline_ms=5_000.0, callers=2, rows=500, bundles=bundles, out=out)
    found = checked(out, "overload", 1)
    for factor in (1, 2, 4):
        assert found[(f"{factor}x the peak", "calls without any outcome")].median == 0
        assert found[(f"{factor}x the peak", "errors")].median == 0
    assert found[("one refusal", "server CPU")].median >= 0
