"""A bundle is data of its own directory: no code in it is run, and nothing outside it is opened."""

import sys
from pathlib import Path

import pytest
import tomli_w
from tiny_model import write_version

from navi.bundle.bundle import Bundle
from navi.core.errors import BundleError, ConfigError, ModelError


def bundle(directory: Path, *, factory: str = "no_such_module:build", **more) -> Path:
    directory.mkdir(exist_ok=True)
    config = {"name": "tests", "pipelines": {"home": {"factory": factory}}, **more}
    (directory / "navi.toml").write_text(tomli_w.dumps(config))
    return directory


def test_a_module_that_lies_in_a_bundle_is_not_found_there(tmp_path):
    root, mark = bundle(tmp_path / "bundle", factory="evil_module:build"), tmp_path / "ran"
    (root / "evil_module.py").write_text(f"open({str(mark)!r}, 'w').close()\ndef build(*_): ...\n")
    before = list(sys.path)
    with pytest.raises(ConfigError, match=r"pipelines\.home\.factory: module 'evil_module' cannot be imported"):
        Bundle.open(root)
    assert sys.path == before
    assert not mark.exists()
    assert "evil_module" not in sys.modules


@pytest.mark.parametrize("path", ["linked/1", "../outside/1"])
def test_a_model_outside_the_bundle_is_refused(tmp_path, path):
    (tmp_path / "outside/1").mkdir(parents=True)
    write_version(tmp_path / "outside/1")
    root = bundle(tmp_path / "bundle", models={"tiny": {"path": path}})
    (root / "linked").symlink_to(tmp_path / "outside")
    with pytest.raises(BundleError, match="points outside the bundle"):
        Bundle.open(root)


def test_a_version_whose_files_are_links_to_others_outside_is_refused(tmp_path):
    version = tmp_path / "bundle/models/tiny/1"
    version.mkdir(parents=True)
    write_version(version)
    model = version / "model.onnx"
    model.rename(tmp_path / "elsewhere.onnx")
    model.symlink_to(tmp_path / "elsewhere.onnx")  # of the same bytes: the manifest holds
    root = bundle(tmp_path / "bundle", models={"tiny": {"path": "models/tiny/1"}})
    with pytest.raises(ModelError, match=r"model\.onnx is a link that leads out of it"):
        Bundle.open(root)
    model.unlink()
    (version / "other").symlink_to(tmp_path)
    with pytest.raises(ModelError, match="other is a link that leads out of it"):
        Bundle.open(root)


@pytest.mark.parametrize("store", ["table", "features"])
def test_tables_and_stores_outside_the_bundle_are_refused(tmp_path, store):
    fields = {"age": {"dtype": "float32"}}
    more = {
        "table": {"tables": {"items": {"path": "linked/items.arrow"}}},
        "features": {"features": {"users": {"path": "linked/users", "key": "int64", "fields": fields}}},
    }[store]
    root = bundle(tmp_path / "bundle", **more)
    (tmp_path / "outside").mkdir()
    (root / "linked").symlink_to(tmp_path / "outside")
    with pytest.raises(BundleError, match="points outside the bundle"):
        Bundle.open(root)
    assert not list((tmp_path / "outside").iterdir())
