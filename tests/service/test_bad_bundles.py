"""A bundle that is not right is refused before anything starts, by the name of what is wrong."""

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from navi.features.item_table_writer import write_item_table


def edit(path: Path, pattern: str, replacement: str) -> None:
    text = path.read_text()
    changed = re.sub(pattern, replacement, text, count=1, flags=re.MULTILINE)
    assert changed != text
    path.write_text(changed)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def other_table(bundle: Path) -> None:
    write_item_table(pa.table({"id": [1, 2]}), bundle / "tables" / "items.arrow", key="id")


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


TABLE, RANKER = Path("tables/items.arrow"), Path("models/ranker/1")

BREAKS: list[tuple[str, Callable[[Path], object], str]] = [
    ("no configuration", lambda b: (b / "navi.toml").unlink(), "navi.toml"),
    ("not TOML", lambda b: (b / "navi.toml").write_text("= ="), "navi.toml"),
    ("unknown key", lambda b: edit(b / "navi.toml", r"^name = ", "colour = 1\nname = "), "colour"),
    ("unknown table", lambda b: edit(b / "navi.toml", r'^table = "items"', 'table = "nothing"'), "nothing"),
    ("unknown plug-in", lambda b: edit(b / "navi.toml", r"popular:popular", "popular:nothing"), "nothing"),
    ("unknown option", lambda b: edit(b / "navi.toml", r"^keep = ", "hold = 3\nkeep = "), "hold"),
    ("damaged model", lambda b: flip(b / RANKER / "model.onnx", 1000), "model.onnx"),
    ("changed model.toml", lambda b: edit(b / RANKER / "model.toml", "^version = 1", "version = 2"), "model.toml"),
    ("missing model", lambda b: (b / RANKER / "model.onnx").unlink(), "model.onnx"),
    ("cut table", lambda b: cut(b / TABLE, 500), "items.arrow"),
    ("damaged table", lambda b: flip(b / TABLE, 3000), "items.arrow"),
    ("another table", other_table, "item table"),
    ("file outside", lambda b: edit(b / "navi.toml", r'"tables/items.arrow"', '"../items.arrow"'), "outside"),
]  # fmt: skip


@pytest.mark.parametrize(("break_it", "said"), [pytest.param(act, said, id=name) for name, act, said in BREAKS])
def test_check_names_what_is_wrong(bundle: Path, navi, break_it: Callable[[Path], object], said: str) -> None:
    break_it(bundle)
    done = navi("check", bundle, check=False)
    assert done.returncode == 1, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_check_of_a_sound_bundle_says_so(trained: Path, navi) -> None:
    done = navi("check", trained)
    assert "800 items" in done.stdout
    assert "10 of 10" in done.stdout
