"""`manifest.json`: what a model version's directory holds, so that what is loaded is what was made."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from navi.core.errors import ModelError
from navi.core.files import sha256_of
from navi.features.inputs import Strict

MANIFEST_FILE = "manifest.json"


class _File(Strict):
    size: int = Field(ge=0)
    sha256: str


class _Manifest(Strict):
    files: Mapping[str, _File]


def write_manifest(directory: Path) -> str:
    """Record every file below `directory`, replacing an older manifest; the version's digest.

    Write it last: a file that is added or changed later makes the version unloadable.
    """
    manifest = _Manifest(files={name: _recorded(path) for name, path in _files(directory).items()})
    draft = directory / f"{MANIFEST_FILE}.tmp"
    draft.write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    draft.replace(directory / MANIFEST_FILE)
    return _digest(manifest)


def check_manifest(directory: Path) -> str:
    """The digest (SHA-256, hex) of a version whose files are exactly those of its manifest, byte for byte.

    ModelError naming every file that is missing, changed, or not in the manifest.
    """
    manifest = _read(directory)
    found = _files(directory)
    problems = [f"{name} is missing" for name in manifest.files if name not in found]
    problems += [f"{name} is not in the manifest" for name in found if name not in manifest.files]
    problems += [f"{name} is not what the manifest says" for name in manifest.files if _differs(manifest, name, found)]
    if problems:
        raise ModelError(f"{directory}: {'; '.join(sorted(problems))}")
    return _digest(manifest)


def _read(directory: Path) -> _Manifest:
    path = directory / MANIFEST_FILE
    try:
        return _Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        raise ModelError(f"{path} is damaged: {error.errors()[0]['msg']}") from error


def _files(directory: Path) -> dict[str, Path]:
    paths = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    return {name: paths[name] for name in sorted(paths) if name not in (MANIFEST_FILE, f"{MANIFEST_FILE}.tmp")}


def _recorded(path: Path) -> _File:
    return _File(size=path.stat().st_size, sha256=sha256_of(path))


def _differs(manifest: _Manifest, name: str, found: Mapping[str, Path]) -> bool:
    if name not in found:
        return False
    expected = manifest.files[name]
    return found[name].stat().st_size != expected.size or _recorded(found[name]) != expected


def _digest(manifest: _Manifest) -> str:
    canonical = json.dumps(manifest.model_dump(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
