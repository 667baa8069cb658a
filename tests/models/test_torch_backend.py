"""`.pt2` archives run as ONNX does, and only those that hold nothing but tensors."""

import io
import os
import shutil
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_model import batch, expected, spec_of, write_version
from tiny_torch import TinyModel, save_program
from torch import Tensor, nn

from navi.core.errors import BackendError, ModelError
from navi.models.loader import load_model
from navi.models.manifest import check_manifest, write_manifest
from navi.models.options import ModelOptions
from navi.models.torch_backend import TorchBackend


def trusted(version: Path, **more: object) -> ModelOptions:
    return ModelOptions(format="pt2", trusted=True, digests=(check_manifest(version),), max_rows=64, **more)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_program(TinyModel(), tmp_path_factory.mktemp("torch") / "model.pt2")


@pytest.fixture(scope="module")
def backend(archive: Path) -> TorchBackend:
    return TorchBackend.load(archive, ["logits"])


@pytest.fixture(scope="module")
def version(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One version in both formats."""
    directory = tmp_path_factory.mktemp("version")
    write_version(directory, spec=spec_of(files={"onnx": "model.onnx", "pt2": "model.pt2"}))
    shutil.copy(archive, directory)
    write_manifest(directory)
    return directory


@pytest.mark.parametrize("rows", [1, 2, 33])
def test_outputs_are_the_models(backend: TorchBackend, rows: int) -> None:
    inputs = batch(rows)
    np.testing.assert_allclose(backend.run(inputs)["logits"], expected(inputs), atol=1e-5)


def test_onnx_and_torch_agree(version: Path) -> None:
    models = [load_model(version, options) for options in (ModelOptions(max_rows=64), trusted(version))]
    assert models[0].backend.signature == models[1].backend.signature
    assert models[0].digest == models[1].digest
    assert all(model.row_independent for model in models)
    one, other = (model.backend.run(batch(50))["logits"] for model in models)
    assert np.abs(one - other).max() <= 1e-5


def test_an_archive_is_refused_where_it_is_not_trusted(version: Path) -> None:
    with pytest.raises(ModelError, match="only where the configuration says `trusted = true`"):
        load_model(version, ModelOptions(format="pt2"))


def test_an_archive_is_refused_where_the_operator_has_not_named_its_digest(version: Path) -> None:
    digest = check_manifest(version)
    for digests in ((), ("0" * 64,)):
        with pytest.raises(ModelError, match=f"none of the configuration's `digests`; it is {digest}"):
            load_model(version, ModelOptions(format="pt2", trusted=True, digests=digests))
    with pytest.raises(ModelError, match="none of the configuration's `digests`"):
        load_model(version, ModelOptions(digests=("0" * 64,)))
    assert load_model(version, ModelOptions(digests=(digest,))).digest == digest


def test_many_threads_may_run_one_model_on_read_only_memory(backend: TorchBackend) -> None:
    backend.warm((1, 8))
    batches = [batch(rows, seed=rows) for rows in range(1, 20)]
    for inputs in batches:
        inputs["user"].setflags(write=False)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(backend.run, batches))
    for inputs, outputs in zip(batches, answers, strict=True):
        np.testing.assert_allclose(outputs["logits"], expected(inputs), atol=1e-5)


@pytest.mark.parametrize("change", ["missing", "dtype", "width", "rows", "code"])
def test_a_wrong_batch_is_a_backend_error(backend: TorchBackend, change: str) -> None:
    inputs = batch(4)
    wrong = {
        "missing": {name: inputs[name] for name in ("user", "kind")},
        "dtype": {**inputs, "user": inputs["user"].astype(np.float64)},
        "width": {**inputs, "user": inputs["user"][:, :1]},
        "rows": {**inputs, "user": inputs["user"][:3]},
        "code": {**inputs, "kind": inputs["kind"] + 100},
    }
    with pytest.raises(BackendError):
        backend.run(wrong[change])


def test_a_device_that_is_not_here_is_an_error_unless_allowed(archive: Path, version: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ModelError, match="device 'cuda:1' is not here"):
        TorchBackend.load(archive, device="cuda:1")
    with pytest.raises(ModelError, match="device 'cuda' is not here"):
        load_model(version, trusted(version, provider="cuda"))
    fallen = load_model(version, trusted(version, provider="cuda", allow_fallback=True))
    assert fallen.provider == "cpu (asked for cuda)"


def test_a_model_that_returns_its_input_gives_a_copy_of_its_own(tmp_path: Path) -> None:
    class Same(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x, x + 1

    backend = TorchBackend.load(save_program(Same(), tmp_path / "same.pt2", torch.zeros(3, 2)), ["same", "more"])
    x = np.ones((3, 2), dtype=np.float32)
    outputs = backend.run({"x": x})
    x[:] = 7
    assert outputs["same"].tolist() == [[1, 1]] * 3
    assert outputs["more"].tolist() == [[2, 2]] * 3


class OfDict(nn.Module):
    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        return inputs["x"] + 1


class ToDict(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"y": x + 1}


class ToNumber(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x + 1, 3


@pytest.mark.parametrize(
    ("module", "argument", "message"),
    [
        (OfDict(), {"x": torch.zeros(3, 2)}, "takes nested or keyword arguments"),
        (ToDict(), torch.zeros(3, 2), "returns a dict"),
        (ToNumber(), torch.zeros(3, 2), "output '3' is 3, where a tensor is needed"),
    ],
)
def test_what_is_no_tensor_is_refused_with_the_reason(
    tmp_path: Path, module: nn.Module, argument: Any, message: str
) -> None:
    path = save_program(module, tmp_path / "model.pt2", argument)
    with pytest.raises(ModelError, match=message):
        TorchBackend.load(path)


def test_outputs_are_counted_against_model_toml(archive: Path) -> None:
    with pytest.raises(ModelError, match=r"returns 1 values, where model\.toml has 2: click, buy"):
        TorchBackend.load(archive, ["click", "buy"])


class Exploit:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return pytest.fail, ("the archive ran code",)


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (self.path,)


def pickled(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def changed(archive: Path, path: Path, name: str, content: bytes) -> Path:
    """The archive with one entry added or replaced."""
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.infolist():
            if entry.filename != name:
                target.writestr(entry, source.read(entry))
        target.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model/data/sample_inputs/model.pt", pickled((Exploit(),)), "needs weights_only=False"),
        ("model/data/constants/opaque_obj_0", pickled(Exploit()), "code or a pickled object"),
        ("model/data/constants/CUSTOM_OBJ_0", b"", "code or a pickled object"),
        ("model/data/weights/model.pt", pickled({"w": Exploit()}), "pickled as a whole"),
        ("model/data/aotinductor/model/x.so", b"", "code or a pickled object"),
        (
            "model/data/weights/model_weights_config.json",
            b'{"config": {"w": {"use_pickle": true}}}',
            "names pickled tensors",
        ),
        ("model/data/weights/model_weights_config.json", b"{", "is no archive of torch.export"),
        ("model/Archive_version", b"0", "two entries have one name"),
        ("model/../../outside", b"", "an entry's name leads out of it"),
        ("..\\outside", b"", "an entry's name leads out of it"),
        ("/etc/outside", b"", "an entry's name leads out of it"),
    ],
)
def test_an_archive_that_needs_more_than_tensors_is_refused_before_it_is_run(
    archive: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = changed(archive, tmp_path / "model.pt2", name, content)
    with pytest.raises(ModelError, match=message):
        TorchBackend.load(path)


def test_an_archive_that_would_unpack_to_more_than_it_is_is_refused(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    shutil.copy(archive, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as target:
        target.writestr("model/data/weights/more", bytes(50 << 20))
    assert path.stat().st_size < 10 << 20
    with pytest.raises(ModelError, match=r"entries claim more than the .* bytes that it has"):
        TorchBackend.load(path)


def test_a_payload_of_a_whole_version_does_not_run(archive: Path, version: Path, tmp_path: Path) -> None:
    shutil.copytree(version, tmp_path / "1")
    mark = tmp_path / "ran"
    payload = pickled((Touch(str(mark)),))
    torch.load(io.BytesIO(payload), weights_only=False)
    assert mark.exists()  # this is what it would do
    mark.rmdir()
    changed(archive, tmp_path / "1/model.pt2", "model/data/sample_inputs/model.pt", payload)
    with pytest.raises(ModelError, match=r"model\.pt2 is not what the manifest says"):
        load_model(tmp_path / "1", trusted(version))
    write_manifest(tmp_path / "1")
    for options in (trusted(version), trusted(tmp_path / "1")):  # not the one that was named; named, and hostile
        with pytest.raises(ModelError, match=r"`digests`|needs weights_only=False"):
            load_model(tmp_path / "1", options)
    assert not mark.exists()


def test_an_archive_with_nothing_changed_is_still_loaded(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as source:
        version = source.read("model/archive_version")
    TorchBackend.load(changed(archive, tmp_path / "model.pt2", "model/archive_version", version))


def test_a_damaged_or_old_archive_is_a_model_error(archive: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pt2"
    cut.write_bytes(archive.read_bytes()[:1000])
    old = tmp_path / "old.pt2"
    with zipfile.ZipFile(old, "w") as target:
        target.writestr("version", "8.9")
    for path in (cut, old, tmp_path / "missing.pt2"):
        with pytest.raises(ModelError, match=path.name):
            TorchBackend.load(path)


def test_a_gpu_gives_what_the_cpu_gives(backend: TorchBackend, archive: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("this machine has no GPU that torch can use")
    gpu = TorchBackend.load(archive, ["logits"], device="cuda:0")
    assert gpu.provider == "cuda:0"
    np.testing.assert_allclose(gpu.run(batch(33))["logits"], backend.run(batch(33))["logits"], atol=1e-4)


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_compiled_program_gives_the_same_for_every_number_of_rows(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("torch.compile needs a C++ compiler")
    path = save_program(Doubled(), tmp_path / "model.pt2", torch.zeros(3, 2))
    backend = TorchBackend.load(path, ["y"], compile=True)
    for rows in (4, 1, 33):
        x = np.random.default_rng(rows).standard_normal((rows, 2)).astype(np.float32)
        np.testing.assert_array_equal(backend.run({"x": x})["y"], 2 * x)
