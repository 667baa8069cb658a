"""What PyTorch's exporters write is served as it is: the current one, the one before it, and archives."""

import logging
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from plain_models import loaded
from tiny_torch import save_program
from torch import Tensor, nn

from navi.core.errors import BackendError
from navi.models.manifest import write_manifest
from navi.models.options import ModelOptions
from navi.models.plain import PlainModel, load_plain

Export = Callable[[nn.Module, tuple[Tensor, ...], Path], PlainModel]


class Ranker(nn.Module):
    """Two outputs of numbers and of int32 ids."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.items = nn.Embedding(50, 4)
        self.deep = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, user: Tensor, item: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.deep(torch.cat([user, self.items(item)], 1))
        return logits, torch.sigmoid(logits[:, 0])


class Bag(nn.Module):
    """A bag of ids a row, the ids of all rows in one list."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(50, 4, mode="sum")

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        return self.bag(ids, offsets)


class Normed(nn.Module):
    """Takes statistics of its batch, as a model does that was exported in training mode."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(0)) / (x.std(0) + 1)


ARGUMENTS = (torch.rand(3, 6), torch.arange(3, dtype=torch.int32))


def current(module: nn.Module, arguments: tuple[Tensor, ...], directory: Path, **options: Any) -> PlainModel:
    shapes = options.pop("dynamic_shapes", tuple({0: "rows"} for _ in arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own
        torch.onnx.export(
            module, arguments, directory / "model.onnx", dynamo=True, dynamic_shapes=shapes, verbose=False, **options
        )
    return loaded(directory)


def legacy(module: nn.Module, arguments: tuple[Tensor, ...], directory: Path, **options: Any) -> PlainModel:
    names = [f"in{index}" for index in range(len(arguments))]
    chosen = {"dynamic_axes": {name: [0] for name in names}, "opset_version": 13, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own
        torch.onnx.export(module, arguments, directory / "model.onnx", dynamo=False, input_names=names, **chosen)
    return loaded(directory)


def archive(module: nn.Module, arguments: tuple[Tensor, ...], directory: Path) -> PlainModel:
    save_program(module, directory / "model.pt2", *arguments)
    options = ModelOptions(format="pt2", trusted=True, digests=(write_manifest(directory),))
    return load_plain(directory, options, name="plain", version=7)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("onnxscript").setLevel(logging.ERROR)


def answers(model: PlainModel, arguments: tuple[Tensor, ...]) -> list[np.ndarray]:
    names = [spec.name for spec in model.signature.inputs]
    return list(model.backend.run({n: a.numpy() for n, a in zip(names, arguments, strict=True)}).values())


@pytest.mark.parametrize("export", [current, legacy, archive])
def test_a_model_of_two_outputs_and_int32_ids_shares_runs(tmp_path: Path, export: Export) -> None:
    module = Ranker().eval()
    model = export(module, ARGUMENTS, tmp_path)
    assert model.layout.calls == "shared", model.layout.reason
    assert [spec.dtype.name for spec in model.signature.inputs] == ["float32", "int32"]
    assert [spec.shape for spec in model.signature.outputs] == [(None, 2), (None,)]
    given = (torch.rand(7, 6), torch.arange(7, dtype=torch.int32))
    with torch.inference_mode():
        for found, expected in zip(answers(model, given), module(*given), strict=True):
            np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("export", [current, legacy])
def test_a_model_exported_without_dynamic_shapes_runs_row_by_row(tmp_path: Path, export: Callable[..., Any]) -> None:
    fixed: Mapping[str, Any] = {"dynamic_shapes": None} if export is current else {"dynamic_axes": None}
    model = export(Ranker().eval(), tuple(argument[:1] for argument in ARGUMENTS), tmp_path, **fixed)
    assert model.layout.calls == "rows", model.layout.reason


@pytest.mark.parametrize("export", [current, legacy])
def test_bags_of_ids_with_offsets_are_never_shared(tmp_path: Path, export: Callable[..., Any]) -> None:
    module = Bag().eval()
    named = {"dynamic_shapes": ({0: "ids"}, {0: "bags"})} if export is current else {}
    arguments = (torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 2, 4]))
    model = export(module, arguments, tmp_path, **named)
    assert model.layout.calls == "whole", model.layout.reason
    with torch.inference_mode():
        np.testing.assert_allclose(answers(model, arguments)[0], module(*arguments).numpy(), atol=1e-6)


@pytest.mark.parametrize("export", [current, legacy, archive])
def test_a_model_that_takes_statistics_of_its_batch_is_never_shared(tmp_path: Path, export: Export) -> None:
    model = export(Normed(), (torch.rand(3, 4),), tmp_path)
    assert model.layout.reason.startswith(("rows depend on each other", "it fails for other numbers of rows"))


@pytest.mark.parametrize("export", [current, legacy, archive])
def test_an_id_out_of_range_is_the_callers_fault(tmp_path: Path, export: Export) -> None:
    model = export(Ranker().eval(), ARGUMENTS, tmp_path)
    with pytest.raises(BackendError) as caught:
        answers(model, (torch.rand(2, 6), torch.tensor([1, 50], dtype=torch.int32)))
    assert caught.value.by_values


def test_weights_beside_the_model_are_part_of_its_digest(tmp_path: Path) -> None:
    """The current exporter writes weights to a file of their own."""
    model = current(Ranker().eval(), ARGUMENTS, tmp_path, external_data=True)
    before = model.digest
    (data,) = tmp_path.glob("*.data")
    data.write_bytes(bytes(data.stat().st_size))
    assert loaded(tmp_path).digest != before
