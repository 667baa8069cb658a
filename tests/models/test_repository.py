"""Versions count when they are there whole; expected outputs are compared before one serves."""

from pathlib import Path

import numpy as np
import pytest
from tiny_model import batch, expected, write_version

from navi.core.errors import ModelError
from navi.models.golden import GOLDEN_FILE, check_golden, write_golden
from navi.models.loader import load_model
from navi.models.manifest import check_manifest, stated_digest, write_manifest
from navi.models.options import ModelOptions
from navi.models.repository import find_version, find_versions, newest_whole
from navi.models.repository_source import RepositorySource


def test_only_positive_numbers_without_leading_zeros_are_versions(tmp_path: Path) -> None:
    for name in ("1", "10", "9", "0", "01", "-3", "latest", ".4.part", "٣"):
        write_version(tmp_path / name)
    (tmp_path / "11").touch()
    found = find_versions(tmp_path)
    assert list(found) == [1, 9, 10]
    assert newest_whole(found) == 10
    assert find_versions(tmp_path / "nowhere") == {}
    assert find_version(tmp_path, 12) is None


def test_a_version_is_whole_once_all_files_have_come_and_the_manifest_says_so(tmp_path: Path) -> None:
    model = write_version(tmp_path / "2") / "model.onnx"
    whole = model.read_bytes()
    marks = [find_version(tmp_path, 2).mark]
    for content, problem in ((whole[:100], "model.onnx has 100 of"), (None, "model.onnx is missing"), (whole, "")):
        model.unlink(missing_ok=True)
        if content is not None:
            model.write_bytes(content)
        found = find_version(tmp_path, 2)
        assert found.problem.startswith(problem)
        assert found.whole == (not problem)
        marks.append(found.mark)
    assert len(set(marks)) == len(marks)
    (tmp_path / "2/manifest.json").write_text("{")
    assert "damaged" in find_version(tmp_path, 2).problem
    (tmp_path / "2/manifest.json").unlink()
    assert find_version(tmp_path, 2).problem == "has no manifest.json yet"


def test_what_a_model_made_is_not_a_part_of_its_digest(tmp_path: Path) -> None:
    digest = check_manifest(write_version(tmp_path))
    (tmp_path / "derived").mkdir()
    (tmp_path / "derived/vectors.arrow").write_bytes(b"made from the model")
    assert check_manifest(tmp_path) == stated_digest(tmp_path) == digest
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").touch()
    with pytest.raises(ModelError, match="other/file is not in the manifest"):
        check_manifest(tmp_path)


@pytest.mark.parametrize(("off", "fits"), [(0.0, True), (1e-5, True), (0.01, False), (np.nan, False)])
def test_outputs_are_compared_within_a_tolerance(tmp_path: Path, off: float, fits: bool) -> None:
    inputs = batch(4)
    write_version(tmp_path)
    write_golden(tmp_path, inputs, {"logits": expected(inputs) + off})
    write_manifest(tmp_path)
    backend = load_model(tmp_path, ModelOptions()).backend
    if fits:
        check_golden(tmp_path, backend)
    else:
        with pytest.raises(ModelError, match="output 'logits' differs"):
            check_golden(tmp_path, backend)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "cannot be compared"),
        ('{"inputs": {"user": [[1, 2]]}, "outputs": {"logits": [[1, 2]]}}', "cannot be compared"),
    ],
)
def test_a_golden_file_that_cannot_be_used_refuses_the_version(tmp_path: Path, content: str, reason: str) -> None:
    backend = load_model(write_version(tmp_path), ModelOptions()).backend
    check_golden(tmp_path, backend)  # none: nothing to compare
    (tmp_path / GOLDEN_FILE).write_text(content)
    with pytest.raises(ModelError, match=reason):
        check_golden(tmp_path, backend)


def test_a_version_is_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    depot, here = tmp_path / "depot", tmp_path / "models"
    for version in (8, 9, 10, 11):
        write_version(depot / "tiny" / str(version))
    model = depot / "tiny/10/model.onnx"
    model.write_bytes(b"damaged" + model.read_bytes()[7:])
    (depot / "tiny/8/model.onnx").write_bytes(b"half of it")
    (depot / "tiny/11/manifest.json").unlink()
    here.mkdir()
    source = RepositorySource.open(f"file://{depot}")
    assert source.versions("tiny") == (8, 9, 10)
    assert source.versions("other") == ()
    for _ in range(2):  # as when two processes fetch it
        source.fetch("tiny", 9, here)
    with pytest.raises(ModelError, match="not what the manifest says"):
        source.fetch("tiny", 10, here)
    with pytest.raises(ModelError, match=r"tiny 8 is not there whole: model\.onnx is not"):
        source.fetch("tiny", 8, here)
    assert [path.name for path in here.iterdir()] == ["9"]
    assert check_manifest(here / "9") == check_manifest(depot / "tiny/9")


def test_a_place_that_is_none_is_refused() -> None:
    with pytest.raises(ModelError, match="no place for models"):
        RepositorySource.open("nowhere://here")
