"""What an ONNX file wants beside itself is known before it is opened, and never lies outside its directory."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from plain_models import FLOAT, graph, linear, linear_weights, loaded, node, write_plain

from navi.core.errors import ModelError
from navi.models.manifest import write_manifest
from navi.models.onnx_file import source_of
from navi.models.options import ModelOptions
from navi.models.plain import load_plain


def outside(tensor: onnx.TensorProto, location: str) -> None:
    """Say that a tensor's values lie in another file."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "32")):
        tensor.external_data.add(key=key, value=value)


def with_weights_in(location: str) -> onnx.ModelProto:
    model = linear()
    outside(model.graph.initializer[0], location)
    return model


def written(directory: Path, model: onnx.ModelProto) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "model.onnx").write_bytes(model.SerializeToString())
    return directory


def test_weights_in_a_file_of_their_own_are_read_and_are_part_of_the_digest(tmp_path: Path) -> None:
    onnx.save(
        linear(), tmp_path / "model.onnx", save_as_external_data=True, location="model.onnx.data", size_threshold=0
    )
    assert (tmp_path / "model.onnx.data").stat().st_size == linear_weights().nbytes
    digest = write_manifest(tmp_path)
    model = load_plain(tmp_path, ModelOptions(), name="plain", version=1)
    x = np.ones((3, 4), dtype=np.float32)
    np.testing.assert_allclose(model.backend.run({"x": x})["y"], x @ linear_weights())
    assert model.digest == digest
    (tmp_path / "model.onnx.data").write_bytes(np.zeros(8, dtype=np.float32).tobytes())
    with pytest.raises(ModelError, match=r"model\.onnx\.data is not what the manifest says"):
        load_plain(tmp_path, ModelOptions(), name="plain", version=1)


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "a/../../secret", "C:\\secret", "..\\secret"])
def test_weights_outside_the_directory_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret").write_bytes(linear_weights().tobytes())
    with pytest.raises(ModelError, match="is not below the model's directory"):
        loaded(written(tmp_path / "version", with_weights_in(location)))


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(linear_weights().tobytes())
    written(tmp_path / "version", with_weights_in("weights"))
    (tmp_path / "version" / "weights").symlink_to(tmp_path / "secret")
    with pytest.raises(ModelError, match="weights is a link that leads out of it"):
        loaded(tmp_path / "version")


def test_weights_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="external data 'weights' is missing"):
        loaded(written(tmp_path, with_weights_in("weights")))


def constant(location: str) -> onnx.NodeProto:
    value = node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(linear_weights(), "c"))
    outside(value.attribute[0].t, location)
    return value


def in_a_node(location: str) -> onnx.ModelProto:
    nodes = [constant(location), node("MatMul", ["x", "c"], ["y"])]
    return graph(nodes, {"x": (FLOAT, ["rows", 4])}, {"y": (FLOAT, ["rows", 2])})


def in_a_branch(location: str) -> onnx.ModelProto:
    model = linear()
    branch = in_a_node(location).graph
    choice = node("If", ["flag"], ["y"], then_branch=branch, else_branch=branch)
    model.graph.node.append(choice)
    return model


def in_a_function(location: str) -> onnx.ModelProto:
    model = linear()
    nodes, opsets = [constant(location)], [onnx.helper.make_opsetid("", 17)]
    model.functions.append(onnx.helper.make_function("local", "F", [], ["c"], nodes, opsets))
    return model


@pytest.mark.parametrize("make", [with_weights_in, in_a_node, in_a_branch, in_a_function])
def test_a_tensor_anywhere_in_the_file_is_looked_at(tmp_path: Path, make: object) -> None:
    assert callable(make)
    (tmp_path / "model.onnx").write_bytes(make("../secret").SerializeToString())
    with pytest.raises(ModelError, match=r"external data '\.\./secret' is not below"):
        source_of(tmp_path / "model.onnx")


def test_a_large_forest_is_passed_over_and_a_file_without_zeros_is_opened_as_it_is(tmp_path: Path) -> None:
    values = [float(value) for value in range(100_000)]
    model = graph([node("Constant", [], ["y"], value_floats=values)], {}, {"y": (FLOAT, [100_000])})
    path = write_plain(tmp_path, model) / "model.onnx"
    assert source_of(path) == path


def test_only_zeros_of_inputs_are_freed(tmp_path: Path) -> None:
    path = write_plain(tmp_path, linear(rows=0, out=0)) / "model.onnx"
    source = source_of(path)
    assert isinstance(source, bytes)
    freed = onnx.load_from_string(source).graph
    assert not freed.input[0].type.tensor_type.shape.dim[0].HasField("dim_value")
    assert freed.input[0].type.tensor_type.shape.dim[1].dim_value == 4
    assert freed.output[0].type.tensor_type.shape.dim[0].dim_value == 0


@settings(deadline=None, max_examples=300)
@given(start=st.integers(0, 400), put=st.binary(max_size=12), cut=st.integers(0, 12))
def test_any_bytes_are_passed_on_or_refused(start: int, put: bytes, cut: int) -> None:
    good = in_a_branch("weights").SerializeToString()
    with TemporaryDirectory() as directory:
        path = Path(directory) / "model.onnx"
        path.write_bytes(good[:start] + put + good[start + cut :])
        with suppress(ModelError):
            source_of(path)


def test_bytes_that_end_early_or_make_no_sense_are_refused(tmp_path: Path) -> None:
    good = linear().SerializeToString()
    path = tmp_path / "model.onnx"
    for damaged in (good[:-1], good + b"\x3a", good + b"\x0b", good + b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"):
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match="is no ONNX file"):
            source_of(path)
