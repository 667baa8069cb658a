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

DERIVED = "derived"
"""Folder of a version for what its model made (vectors, indexes): that carries the digest, and so has no part in it."""


class _File(Strict):
    size: int = Field(ge=0)
    sha256: str


class _Manifest(Strict):
    files: Mapping[str, _File]


def write_manifest(directory: Path) -> str:
    """Record every file below `directory` but those in `derived/`, replacing an older manifest; the version's digest.

    Write it last: a file that is added or changed later makes the version unloadable.
    """
    manifest = _recorded_all(directory)
    draft = directory / f"{MANIFEST_FILE}.tmp"
    draft.write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    draft.replace(directory / MANIFEST_FILE)
    return _digest(manifest)


def check_manifest(directory: Path) -> str:
    """The digest (SHA-256, hex) of a version whose files are exactly those of its manifest, byte for byte.

    ModelError naming every file that is missing, changed, or not in the manifest.
    """
    manifest = _read(directory)
    _check_inside(directory)
    found = _files(directory)
    problems = [f"{name} is missing" for name in manifest.files if name not in found]
    problems += [f"{name} is not in the manifest" for name in found if name not in manifest.files]
    problems += [f"{name} is not what the manifest says" for name in manifest.files if _differs(manifest, name, found)]
    if problems:
        raise ModelError(f"{directory}: {'; '.join(sorted(problems))}")
    return _digest(manifest)


def what_is_missing(directory: Path) -> str:
    """Why a version is not there whole, as one that is still being copied; empty where it is, as far as sizes tell."""
    if not (directory / MANIFEST_FILE).exists():
        return f"has no {MANIFEST_FILE} yet"
    try:
        manifest = _read(directory)
    except ModelError as error:
        return str(error)
    found = _files(directory)
    for name, entry in manifest.files.items():
        if name not in found:
            return f"{name} is missing"
        size = found[name].stat().st_size
        if size < entry.size:
            return f"{name} has {size:,} of {entry.size:,} bytes"
    return ""


def checked_digest(directory: Path, *, required: bool) -> str:
    """`check_manifest`, or the digest of the files as they lie there, where no manifest is there nor `required`."""
    if required or (directory / MANIFEST_FILE).exists():
        return check_manifest(directory)
    _check_inside(directory)
    return _digest(_recorded_all(directory))


def stated_sizes(directory: Path) -> Mapping[str, int]:
    """Bytes by file, as the manifest says; ModelError where that cannot be read."""
    return {name: entry.size for name, entry in _read(directory).files.items()}


def stated_digest(directory: Path) -> str:
    """The digest that a version has if its files are those of its manifest; ModelError where that cannot be read."""
    return _digest(_read(directory))


def _check_inside(directory: Path) -> None:
    """ModelError for a link to anything outside: what is there may change, and may be nobody's to tell."""
    root = directory.resolve()
    for path in directory.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise ModelError(f"{directory}: {path.relative_to(directory)} is a link that leads out of it")


def _recorded_all(directory: Path) -> _Manifest:
    return _Manifest(files={name: _recorded(path) for name, path in _files(directory).items()})


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
    own = (name for name in sorted(paths) if not name.startswith(f"{DERIVED}/"))
    return {name: paths[name] for name in own if name not in (MANIFEST_FILE, f"{MANIFEST_FILE}.tmp")}


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
