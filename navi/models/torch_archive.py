"""What a `.pt2` archive may hold: tensors and a graph, and no pickled objects.

`torch.export.load` (2.13) tries each pickle with `weights_only=True`, and where that fails takes it with
`weights_only=False`, which runs whatever code the archive names; some parts it takes so from the start. What would need
that is refused here, before torch sees it.
"""

import io
import json
import pickle
import zipfile
from pathlib import Path, PurePosixPath

import torch

from navi.core.errors import ModelError

_UNSAFE = ("/data/constants/custom_obj_", "/data/constants/opaque_obj_", "/data/aotinductor/")
_TENSORS = ("/data/weights/", "/data/constants/")


def check_archive(path: Path) -> None:
    """ModelError where the archive is damaged, of an old format, or holds an object that is no tensor."""
    try:
        with zipfile.ZipFile(path) as archive:
            problem = _problem(archive, path.stat().st_size)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ModelError(f"{path} is no archive of torch.export: {error}") from error
    if problem:
        raise ModelError(f"{path}: {problem}; only archives of tensors are loaded")


def _problem(archive: zipfile.ZipFile, size: int) -> str | None:
    if any(_leads_out(entry.filename) for entry in archive.infolist()):
        return "an entry's name leads out of it"
    # Torch stores entries as they are.
    if sum(entry.file_size for entry in archive.infolist()) > size:
        return f"its entries claim more than the {size:,} bytes that it has"
    # Torch finds entries without regard to case.
    names = {entry.filename.lower(): entry for entry in archive.infolist()}
    if len(names) != len(archive.infolist()):
        return "two entries have one name"
    if not any(name.endswith("/archive_version") for name in names):
        return "it has no archive version, as those of old versions of torch"
    unsafe = (_problem_of(archive, name, entry) for name, entry in names.items())
    return next((problem for problem in unsafe if problem), None)


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts


def _problem_of(archive: zipfile.ZipFile, name: str, entry: zipfile.ZipInfo) -> str | None:
    if any(part in name for part in _UNSAFE):
        return f"{name} is code or a pickled object"
    tensors = any(part in name for part in _TENSORS)
    if tensors and name.endswith(".pt"):
        return f"{name} is pickled as a whole, as old versions of torch did"
    if tensors and name.endswith("_config.json") and _pickled(archive.read(entry)):
        return f"{name} names pickled tensors"
    if "/data/sample_inputs/" in name and not _plain(archive.read(entry)):
        return f"{name} needs weights_only=False"
    return None


def _pickled(config: bytes) -> bool:
    return any(entry["use_pickle"] for entry in json.loads(config)["config"].values())


def _plain(data: bytes) -> bool:
    if not data:
        return True
    try:
        torch.load(io.BytesIO(data), weights_only=True)
    except (pickle.UnpicklingError, RuntimeError):
        return False
    return True
