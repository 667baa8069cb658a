"""A model version serves only when it is what it says, and works."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from pydantic import ValidationError
from tiny_model import INPUTS, LOGITS, batch, expected, onnx_model, spec_of, write_version

from navi.core.errors import ModelError
from navi.features.inputs import InputSpec, Numeric
from navi.models.loader import load_model
from navi.models.manifest import check_manifest, write_manifest
from navi.models.options import ModelOptions
from navi.models.spec import OutputSpec

CPU = ModelOptions(max_rows=64)


def test_a_good_version_is_loaded_whole(tmp_path: Path) -> None:
    model = load_model(write_version(tmp_path), CPU)
    assert model.spec == spec_of()
    assert model.digest == check_manifest(tmp_path)
    assert model.provider == "cpu"
    assert model.row_independent
    assert model.difference <= 1e-5
    inputs = batch(9)
    np.testing.assert_allclose(model.backend.run(inputs)["logits"], expected(inputs), atol=1e-5)


def renamed(index: int, **changes: object) -> tuple[InputSpec, ...]:
    inputs = list(INPUTS)
    inputs[index] = InputSpec.model_validate({**inputs[index].model_dump(), **changes})
    return tuple(inputs)


BID = Numeric(name="bid", feature="pair.bid")


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        (
            {"inputs": renamed(0, name="users")},
            [
                "input 'users' is in model.toml but not in the model",
                "input 'user' is in the model but not in model.toml",
            ],
        ),
        ({"inputs": renamed(2, features=(BID,))}, ["input 'pair' is [*, 2] in the model, but [rows, 1] in model.toml"]),
        (
            {"inputs": renamed(1, dtype="float32", features=(Numeric(name="a", feature="item.a", width=2),))},
            ["input 'kind' is int64 in the model, but float32 in model.toml"],
        ),
        (
            {"outputs": (OutputSpec(name="logits", kind="logit", tasks=("click",)),)},
            ["output 'logits' is [*, 2] in the model, but [rows] or [rows, 1] in model.toml"],
        ),
        (
            {"outputs": (OutputSpec(name="scores", kind="logit", tasks=("click", "buy")),)},
            ["output 'scores' is in model.toml but not in the model"],
        ),
    ],
)
def test_a_model_that_differs_from_model_toml_is_named_with_both_sides(
    tmp_path: Path, changes: dict[str, object], messages: list[str]
) -> None:
    with pytest.raises(ModelError, match="model 'tiny'") as caught:
        load_model(write_version(tmp_path, spec=spec_of(**changes)), CPU)
    for message in messages:
        assert message in str(caught.value)


def test_a_fixed_batch_dimension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="input 'user' has its batch dimension fixed at 8"):
        load_model(write_version(tmp_path, model=onnx_model(batch=8)), CPU)


def with_weight(name: str, values: np.ndarray) -> onnx.ModelProto:
    model = onnx_model()
    for initializer in model.graph.initializer:
        if initializer.name == name:
            initializer.CopyFrom(numpy_helper.from_array(values, name))
    return model


def test_outputs_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    model = with_weight("b2", np.array([0.0, np.nan], dtype=np.float32))
    with pytest.raises(ModelError, match="output 'logits' is not finite"):
        load_model(write_version(tmp_path, model=model), CPU)


def test_a_model_that_cannot_take_every_code_is_refused(tmp_path: Path) -> None:
    """The embedding has fewer rows than the vocabulary has codes."""
    model = with_weight("kinds", np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(ModelError, match="model 'tiny' fails on a synthetic batch: ONNX Runtime"):
        load_model(write_version(tmp_path, model=model), CPU)


def test_a_model_whose_rows_depend_on_each_other_is_found(tmp_path: Path) -> None:
    model = load_model(write_version(tmp_path, model=onnx_model(centred=True)), CPU)
    assert not model.row_independent
    assert model.difference > 0.01


def test_a_file_changed_after_the_manifest_is_refused(tmp_path: Path) -> None:
    write_version(tmp_path)
    (tmp_path / "kinds.arrow").write_bytes(b"other")
    with pytest.raises(ModelError, match=r"kinds\.arrow is not what the manifest says"):
        load_model(tmp_path, CPU)


def test_a_manifest_that_was_edited_changes_the_digest(tmp_path: Path) -> None:
    before = check_manifest(write_version(tmp_path))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["files"]["model.onnx"]["sha256"] = "0" * 64
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"model\.onnx is not what the manifest says"):
        load_model(tmp_path, CPU)
    assert write_manifest(tmp_path) == before


def test_a_format_that_the_model_has_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the model has no pt2 file, only: onnx"):
        load_model(write_version(tmp_path), ModelOptions(format="pt2", trusted=True))


def test_a_fallback_is_reported_with_what_was_asked_for(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has GPU providers")
    write_version(tmp_path)
    with pytest.raises(ModelError, match="provider 'cuda' is not in this ONNX Runtime"):
        load_model(tmp_path, ModelOptions(provider="cuda"))
    assert load_model(tmp_path, ModelOptions(provider="cuda", allow_fallback=True)).provider == "cpu (asked for cuda)"


@pytest.mark.parametrize(
    "options",
    [
        {"compile": True},
        {"format": "pt2", "provider": "tensorrt"},
        {"format": "keras"},
        {"provider": "tpu"},
        {"max_rows": 0},
        {"linger_us": -1},
        {"workers": 0},
        {"turbo": True},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModelOptions.model_validate(options)


def test_a_single_task_may_be_one_column_or_none(tmp_path: Path) -> None:
    model = onnx_model()
    model.graph.node[-1].CopyFrom(onnx.helper.make_node("Gather", ["raw", "zero"], ["logits"], axis=1))
    model.graph.initializer.append(numpy_helper.from_array(np.array(0), "zero"))
    del model.graph.output[0].type.tensor_type.shape.dim[1]
    single = OutputSpec(name="logits", kind="logit", tasks=LOGITS.tasks[:1])
    loaded = load_model(write_version(tmp_path, spec=spec_of(outputs=(single,)), model=model), CPU)
    assert loaded.backend.run(batch(4))["logits"].shape == (4,)
