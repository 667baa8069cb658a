"""Exported files: the model's own values, for any number of rows, in a directory that serving loads."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from navi.core.arrays import Array
from navi.core.errors import ModelError
from navi.core.ids import Ids
from navi.features.inputs import Category, History, InputSpec, Numeric
from navi.features.vocabulary import Vocabulary
from navi.models.loader import load_model
from navi.models.onnx_backend import OnnxBackend
from navi.models.options import ModelOptions
from navi.models.spec import OutputSpec
from navi.models.torch_backend import TorchBackend
from ranking.training.export import Exported, export_model
from ranking.training.model_shape import ModelShape
from ranking.training.options import RankerOptions
from ranking.training.ranker import Ranker

VOCABULARIES = {"item_id": Vocabulary(Ids.of(list(range(9)))), "unused": Vocabulary(Ids.of(["a"]))}
OUTPUT = OutputSpec(name="logits", kind="logit", tasks=("click", "read"), sampling={"click": 0.1})


def numbers(name: str, scope: str, origin: str) -> InputSpec:
    feature = Numeric(name="x", feature=f"{origin}.x")
    return InputSpec(name=name, scope=scope, dtype="float32", features=(feature,))


INPUTS = (
    numbers("request_dense", "request", "user"),
    InputSpec(
        name="request_ids",
        scope="request",
        dtype="int64",
        features=(History(name="items", feature="user.items", vocabulary="item_id", length=4),),
    ),
    InputSpec(
        name="item_ids",
        scope="item",
        dtype="int64",
        features=(Category(name="id", feature="item.id", vocabulary="item_id"),),
    ),
    numbers("pair_dense", "pair", "item"),
)
WITH_NUMBERS = (*INPUTS, numbers("item_dense", "item", "item"))


def batch(inputs: tuple[InputSpec, ...], n: int) -> dict[str, Array]:
    random = np.random.default_rng(n)
    return {
        spec.name: random.integers(0, 10, (n, spec.width))
        if spec.dtype == "int64"
        else random.standard_normal((n, spec.width)).astype(np.float32)
        for spec in inputs
    }


def ranker(inputs: tuple[InputSpec, ...]) -> Ranker:
    torch.manual_seed(0)
    shape = ModelShape({spec.name: spec for spec in inputs}, {"item_id": 10})
    return Ranker(shape, 2, RankerOptions(id_dim=4, hidden=(8,)))


def exported(inputs: tuple[InputSpec, ...], **changes: object) -> Exported:
    fields = {
        "name": "ranker",
        "model": changes.pop("model", None) or ranker(inputs),
        "inputs": inputs,
        "output": OUTPUT,
        "vocabularies": VOCABULARIES,
        "sample": batch(inputs, 6),
    }
    return Exported(**{**fields, **changes})


@pytest.mark.parametrize("inputs", [INPUTS, WITH_NUMBERS], ids=["without", "with"])
def test_both_files_give_the_models_values_for_any_number_of_rows(
    inputs: tuple[InputSpec, ...], tmp_path: Path
) -> None:
    made = exported(inputs)
    report = export_model(made, tmp_path / "1")
    assert set(report.difference) == {"onnx", "pt2"}
    assert max(report.difference.values()) <= 1e-5
    backends = [OnnxBackend.load(tmp_path / "1/model.onnx"), TorchBackend.load(tmp_path / "1/model.pt2", ["logits"])]
    for n in (1, 2, 3, 300):
        rows = batch(inputs, n)
        expected = made.model(**{name: torch.from_numpy(values) for name, values in rows.items()}).detach().numpy()
        for backend in backends:
            np.testing.assert_allclose(backend.run(rows)["logits"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["onnx", "pt2"])
def test_serving_loads_what_was_exported(kind: str, tmp_path: Path) -> None:
    report = export_model(exported(INPUTS), tmp_path / "1", version=4)
    model = load_model(tmp_path / "1", ModelOptions(format=kind, trusted=True, digests=(report.digest,)))
    assert model.digest == report.digest
    assert model.row_independent
    assert (model.spec.name, model.spec.version, model.spec.tasks) == ("ranker", 4, ("click", "read"))
    assert dict(model.spec.outputs[0].sampling) == {"click": 0.1}
    assert dict(model.spec.vocabularies) == {"item_id": "vocabularies/item_id.arrow"}
    model.backend.close()


def test_one_row_is_enough_of_a_sample(tmp_path: Path) -> None:
    export_model(exported(INPUTS, sample=batch(INPUTS, 1)), tmp_path / "1")
    assert OnnxBackend.load(tmp_path / "1/model.onnx").run(batch(INPUTS, 5))["logits"].shape == (5, 2)


class Double(nn.Module):
    """Not the same once exported."""

    def forward(self, request_dense: Tensor) -> Tensor:
        return request_dense * (2.0 if torch.compiler.is_exporting() else 1.0)


VECTOR = OutputSpec(name="vector", kind="vector")


def small(model: nn.Module) -> Exported:
    return exported(INPUTS[:1], name="small", model=model, output=VECTOR, vocabularies={})


def test_a_file_that_differs_from_its_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'small': its onnx file differs"):
        export_model(small(Double()), tmp_path / "1")
    assert not (tmp_path / "1/manifest.json").exists()


def test_inputs_that_the_model_does_not_take_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="declared otherwise"):
        export_model(small(nn.Linear(1, 1)), tmp_path / "1")
