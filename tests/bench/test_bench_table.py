"""The performance table: exactly what the files say, and what the README has is what the committed files say."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from loadtest.bench.markdown import block_of, markdown, replace_in
from navi.bench.measurement import Measurement, of_runs, read_measurement
from navi.core.errors import InvalidArgument

ROOT = Path(__file__).resolve().parents[2]


def measurement(name: str = "coarse") -> Measurement:
    return Measurement(
        name=name,
        title=f"The {name} bench",
        command=f"navi bench {name} --runs 3",
        settings={"runs": 3},
        measures=(
            of_runs(("rows", "faster"), "x", [3.0, 1.0, 2.0], aim=">= 3", headline=True),
            of_runs(("rows", "bandwidth"), "share", [0.5, 0.75, 0.7], headline=True),
            of_runs(("rows", "ours"), "us", [1234.5, 0.25, 12.34], headline=True),
            of_runs(("rows", "hidden"), "us", [1.0, 1.0, 1.0]),
        ),
        notes=("server on core 0",),
        environment={"cpu": "A CPU", "cores": "2", "load before": "0.1"},
        started="2026-11-30T14:00:00Z",
        seconds=1.5,
    )


def written(folder: Path, names: Sequence[str] = ("coarse",)) -> list[Path]:
    paths = [folder / f"{name}.json" for name in names]
    for name, path in zip(names, paths, strict=True):
        measurement(name).write(path)
    return paths


def test_the_table_has_medians_and_spreads_of_the_headlines(tmp_path: Path) -> None:
    assert markdown(written(tmp_path)) == (
        "| | median | min .. max | aim |\n"
        "| --- | --- | --- | --- |\n"
        "| **The coarse bench** | | | |\n"
        "| rows: faster | 2 x | 1 .. 3 | >= 3 |\n"
        "| rows: bandwidth | 70.0 % | 50.0 % .. 75.0 % |  |\n"
        "| rows: ours | 12.3 us | 0.250 .. 1,234 |  |\n"
        "\n"
        "- The coarse bench: `navi bench coarse --runs 3`, 2026-11-30, A CPU, 2 cores, 3 runs; server on core 0.\n"
    )


def test_files_follow_each_other_in_the_order_given(tmp_path: Path) -> None:
    text = markdown(written(tmp_path, ("engine", "coarse")))
    assert text.index("The engine bench") < text.index("The coarse bench")


def test_the_block_of_a_readme_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n")
    replace_in(readme, "new\n")
    replace_in(readme, "newer\n")
    assert readme.read_text() == "before\n<!-- bench:begin -->\nnewer\n<!-- bench:end -->\nafter\n"


@pytest.mark.parametrize("text", ["", "<!-- bench:begin -->", "<!-- bench:end --><!-- bench:begin -->"])
def test_a_readme_without_both_marks_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text)
    with pytest.raises(InvalidArgument, match="readme"):
        replace_in(readme, "new\n")
    assert readme.read_text() == text


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    (path,) = written(tmp_path)
    assert read_measurement(path) == measurement()


@pytest.mark.parametrize("text", ["", "[]", '{"format": "navi-bench/0"}', '{"format": "navi-bench/1"}'])
def test_what_is_no_result_of_this_version_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=r"old\.json"):
        read_measurement(path)


def test_the_readmes_table_is_what_the_committed_results_say() -> None:
    paths = sorted((ROOT / "loadtest" / "results").glob("*.json"))
    assert block_of(ROOT / "README.md") == (markdown(paths) if paths else None)
