"""A version is loaded only as it was made."""

from pathlib import Path

import pytest

from navi.core.errors import ModelError
from navi.models.manifest import check_manifest, write_manifest


@pytest.fixture
def version(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / "vocabularies").mkdir()
    (tmp_path / "vocabularies" / "kinds.arrow").write_bytes(b"kinds")
    write_manifest(tmp_path)
    return tmp_path


def test_what_was_written_passes_with_the_same_digest(version: Path) -> None:
    assert check_manifest(version) == write_manifest(version) == check_manifest(version)


def test_the_digest_tells_contents_and_names_apart(version: Path) -> None:
    before = check_manifest(version)
    (version / "model.onnx").write_bytes(b"Weights")
    changed = write_manifest(version)
    (version / "model.onnx").rename(version / "other.onnx")
    assert len({before, changed, write_manifest(version)}) == 3


@pytest.mark.parametrize("content", [b"Weights", b"weights and more", b""])
def test_a_changed_file_is_named(version: Path, content: bytes) -> None:
    (version / "model.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.onnx is not what the manifest says"):
        check_manifest(version)


def test_missing_and_extra_files_are_all_named(version: Path) -> None:
    (version / "vocabularies" / "kinds.arrow").unlink()
    (version / "vocabularies" / "more.arrow").write_bytes(b"")
    with pytest.raises(ModelError) as caught:
        check_manifest(version)
    assert "vocabularies/kinds.arrow is missing" in str(caught.value)
    assert "vocabularies/more.arrow is not in the manifest" in str(caught.value)


@pytest.mark.parametrize("content", [b"{", b'{"files": 3}', b'{"files": {"a": {"size": -1, "sha256": ""}}}', None])
def test_a_damaged_or_missing_manifest_is_a_model_error(version: Path, content: bytes | None) -> None:
    (version / "manifest.json").unlink()
    if content is not None:
        (version / "manifest.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"manifest\.json"):
        check_manifest(version)
