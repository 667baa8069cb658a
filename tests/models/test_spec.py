"""`model.toml`, and what it refuses."""

from pathlib import Path

import pytest
from tiny_model import spec_of

from navi.core.errors import ModelError
from navi.models.spec import dump_spec, load_spec


def test_a_spec_is_read_as_it_was_written(tmp_path: Path) -> None:
    dump_spec(spec_of(), tmp_path)
    assert load_spec(tmp_path) == spec_of()


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("version = 3", "version = 0", "version"),
        ("version = 3", "version = 3\nspeed = 1", "speed"),
        ("std = 10.0", "std = 0.0", "inputs.0.features.0"),
        ('vocabulary = "kinds"', 'vocabulary = "colours"', "colours"),
        ('"model.onnx"', '"../model.onnx"', "files.onnx"),
        ('"kinds.arrow"', '"/etc/passwd"', "vocabularies.kinds"),
        ('kind = "logit"', 'kind = "score"', "sampling"),
        ("buy = 0.25", "buy = 1.5", "sampling"),
        ("buy = 0.25", "sell = 0.25", "sampling"),
        ('"click"', '"buy"', "same task"),
    ],
)
def test_a_wrong_entry_is_named_with_its_file(tmp_path: Path, old: str, new: str, named: str) -> None:
    dump_spec(spec_of(), tmp_path)
    path = tmp_path / "model.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ModelError, match=r"model\.toml") as caught:
        load_spec(tmp_path)
    assert named in str(caught.value)


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe", None])
def test_a_file_that_is_no_toml_is_a_model_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "model.toml").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.toml cannot be read"):
        load_spec(tmp_path)
