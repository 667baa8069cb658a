"""From a trained model to the directory that serving loads: ONNX, `.pt2`, `model.toml`, vocabularies, manifest."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from navi.core.arrays import F32, Array
from navi.core.errors import ModelError
from navi.features.inputs import InputSpec
from navi.features.vocabulary import Vocabulary
from navi.models.backend import Backend
from navi.models.manifest import write_manifest
from navi.models.onnx_backend import OnnxBackend
from navi.models.spec import ModelSpec, OutputSpec, dump_spec
from navi.models.torch_backend import TorchBackend

OPSET = 20
TOLERANCE = 1e-5
FILES = {"onnx": "model.onnx", "pt2": "model.pt2"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exported:
    """What is exported. inputs: as the model's `forward` names them. sample: values for each input, [rows, width]."""

    name: str
    model: nn.Module
    inputs: tuple[InputSpec, ...]
    output: OutputSpec
    vocabularies: Mapping[str, Vocabulary]
    sample: Mapping[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """digest: of the version. difference: by format, the largest from the trained model's value v, over max(1, |v|)."""

    digest: str
    difference: Mapping[str, float]


def export_model(exported: Exported, directory: Path, *, version: int = 1) -> ExportReport:
    """Write all of a model version into `directory`, which must not hold one yet.

    Raises ModelError where a written file does not give the trained model's values within TOLERANCE, or does not take
    any number of rows.
    """
    directory.mkdir(parents=True)
    order = _argument_order(exported)
    with _quiet():
        program = _traced(exported.model, [exported.sample[name] for name in order], order)
        torch.export.save(program, directory / FILES["pt2"])
        _write_onnx(program, order, exported.output.name, directory / FILES["onnx"])
    _check_one_batch_dimension(directory / FILES["onnx"])
    difference = _check_parity(exported, directory)
    _write_spec(exported, directory, version)
    return ExportReport(digest=write_manifest(directory), difference=difference)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch says of its own code: calls that it has to change, operators of packages that are not here."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logger.setLevel(level)


def _argument_order(exported: Exported) -> list[str]:
    """The inputs in the order in which `forward` takes them."""
    names = [name for name in exported.model.forward.__annotations__ if name in exported.sample]
    if set(names) != {spec.name for spec in exported.inputs}:
        raise ModelError(f"model {exported.name!r} takes {names}, but its inputs are declared otherwise")
    return names


def _traced(model: nn.Module, arrays: list[Array], names: list[str]) -> torch.export.ExportedProgram:
    """The program for any number of rows, the same for all inputs."""
    rows = torch.export.Dim("rows", min=1)
    # Twice, because one row would be taken for a constant.
    arguments = tuple(torch.from_numpy(np.concatenate([array, array])) for array in arrays)
    return torch.export.export(model.eval(), arguments, dynamic_shapes={name: {0: rows} for name in names})


def _write_onnx(program: torch.export.ExportedProgram, names: list[str], output: str, path: Path) -> None:
    made = torch.onnx.export(
        program, dynamo=True, opset_version=OPSET, input_names=names, output_names=[output], verbose=False
    )
    assert made is not None
    made.save(path, external_data=False)


def _check_one_batch_dimension(path: Path) -> None:
    graph = onnx.load(path, load_external_data=False).graph
    symbols = {value.type.tensor_type.shape.dim[0].dim_param for value in (*graph.input, *graph.output)}
    if len(symbols) != 1 or "" in symbols:
        raise ModelError(f"{path}: inputs and outputs do not share one free batch dimension: {sorted(symbols)}")


def _check_parity(exported: Exported, directory: Path) -> dict[str, float]:
    """Run both files on the sample and on its first row alone."""
    output = exported.output.name
    backends: dict[str, Backend] = {
        "onnx": OnnxBackend.load(directory / FILES["onnx"]),
        "pt2": TorchBackend.load(directory / FILES["pt2"], [output], threads=torch.get_num_threads()),
    }
    difference = {}
    for kind, backend in backends.items():
        worst = 0.0
        for rows in (len(next(iter(exported.sample.values()))), 1):
            some = {name: values[:rows] for name, values in exported.sample.items()}
            worst = max(worst, _difference(_expected(exported, some), backend.run(some)[output]))
        backend.close()
        if worst > TOLERANCE:
            raise ModelError(f"model {exported.name!r}: its {kind} file differs from it by {worst:.1e} (relative)")
        difference[kind] = worst
    return difference


def _expected(exported: Exported, inputs: Mapping[str, Array]) -> F32:
    with torch.inference_mode():
        value: Tensor = exported.model(**{name: torch.from_numpy(values) for name, values in inputs.items()})
    return value.numpy()


def _difference(expected: F32, given: Array) -> float:
    return float(np.max(np.abs(given - expected) / np.maximum(1.0, np.abs(expected)), initial=0.0))


def _write_spec(exported: Exported, directory: Path, version: int) -> None:
    used = {getattr(transform, "vocabulary", None) for spec in exported.inputs for transform in spec.features}
    files = {name: f"vocabularies/{name}.arrow" for name in exported.vocabularies if name in used}
    (directory / "vocabularies").mkdir()
    for name, file in files.items():
        exported.vocabularies[name].save(directory / file)
    spec = ModelSpec(
        name=exported.name,
        version=version,
        files=FILES,
        inputs=exported.inputs,
        outputs=(exported.output,),
        vocabularies=files,
    )
    dump_spec(spec, directory)
