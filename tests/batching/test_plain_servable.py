"""A model as it came is served to callers who send tensors: inputs are checked, rows shared where that is safe."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from plain_models import FLOAT, classifier, graph, linear, linear_weights, loaded, lookup, node

from navi.batching.batch_policy import BatchPolicy
from navi.batching.plain_servable import PlainServable
from navi.batching.servable import Servable
from navi.core.arrays import Array
from navi.core.deadline import Deadline
from navi.core.errors import BackendError, Cancelled, InvalidArgument, Unavailable
from navi.core.priority import Priority
from navi.models.backend import Backend, Signature

NEVER = Deadline.never()
Serve = Callable[..., PlainServable]


@dataclass
class Gate:
    """A backend whose first run waits for `go`. Remembers the rows of every run."""

    backend: Backend
    go: threading.Event = field(default_factory=threading.Event)
    entered: threading.Event = field(default_factory=threading.Event)
    runs: list[int] = field(default_factory=list)

    @property
    def signature(self) -> Signature:
        return self.backend.signature

    @property
    def provider(self) -> str:
        return self.backend.provider

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        self.runs.append(len(next(iter(inputs.values()))))
        self.entered.set()
        assert self.go.wait(30)
        return self.backend.run(inputs)

    def warm(self, rows: Sequence[int]) -> None:
        self.backend.warm(rows)

    def close(self) -> None:
        self.backend.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serves an ONNX model, and closes it at the end."""
    made: list[PlainServable] = []

    def make(model: onnx.ModelProto, **options: Any) -> PlainServable:
        made.append(PlainServable(loaded(tmp_path, model, **options), BatchPolicy(64)))
        return made[-1]

    yield make
    for servable in made:
        servable.close()


def ask(servable: Servable, deadline: Deadline = NEVER, **inputs: Array) -> dict[str, Array]:
    return servable.run(inputs, deadline, Priority.ORGANIC)


def together(
    plain: PlainServable, calls: Sequence[Mapping[str, Array]]
) -> tuple[list[int], list["Future[dict[str, Array]]"]]:
    """Rows of each run, and each call's end, where all calls but the first wait while the first one runs."""
    gate = Gate(plain.model.backend)
    servable = PlainServable(replace(plain.model, backend=gate), BatchPolicy(64))
    with ThreadPoolExecutor(len(calls)) as pool:
        ends = [pool.submit(ask, servable, **calls[0])]
        assert gate.entered.wait(30)
        for waiting, call in enumerate(calls[1:], start=1):
            ends.append(pool.submit(ask, servable, **call))
            while servable.stats.queued < waiting:
                threading.Event().wait(0.001)
        gate.go.set()
    servable.close()
    return gate.runs, ends


def ones(*shape: int) -> Array:
    return np.ones(shape, dtype=np.float32)


def test_calls_share_a_run_and_each_gets_its_own_rows(serve: Serve) -> None:
    servable = serve(linear())
    assert (servable.name, servable.version, servable.platform) == ("plain", 7, "onnxruntime_onnx")
    assert servable.max_rows == 64
    calls = [{"x": ones(rows, 4) * rows} for rows in (1, 3, 5, 2)]
    runs, ends = together(servable, calls)
    assert runs == [1, 10]
    for call, end in zip(calls, ends, strict=True):
        np.testing.assert_allclose(end.result()["y"], call["x"] @ linear_weights(), rtol=1e-6)


def test_an_id_out_of_range_fails_its_own_call_and_names_the_fault(serve: Serve) -> None:
    runs, ends = together(serve(lookup(5)), [{"ids": np.array(ids)} for ids in ([0], [1, 2], [3, 99], [4])])
    assert runs == [1, 5, 2, 2, 1]  # as one, and then each alone
    assert [end.result()["y"][:, 0].tolist() for end in (ends[0], ends[1], ends[3])] == [[0], [1, 2], [4]]
    with pytest.raises(InvalidArgument, match=r"inputs: the model refuses a value of theirs: .*idx=99") as caught:
        ends[2].result()
    assert caught.value.field == "inputs"


def test_calls_of_different_lengths_are_never_put_together(serve: Serve) -> None:
    nodes = [node("ReduceSum", ["x", "axis"], ["y"], keepdims=0)]
    model = graph(nodes, {"x": (FLOAT, ["n", "t"])}, {"y": (FLOAT, ["n"])}, {"axis": np.array([1])})
    calls = [{"x": ones(1, 2)}, {"x": ones(2, 3)}, {"x": ones(1, 3)}, {"x": ones(4, 5)}, {"x": ones(1, 5)}]
    servable = serve(model)
    runs, ends = together(servable, calls)
    assert runs == [1, 3, 5]
    assert [end.result()["y"].tolist() for end in ends] == [[2], [3, 3], [3], [5] * 4, [5]]


def test_a_model_of_one_row_takes_calls_of_many(serve: Serve) -> None:
    servable = serve(linear(rows=1, out=1))
    assert servable.max_rows == 1
    assert servable.signature.inputs[0].shape == (None, 4)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_allclose(ask(servable, x=x)["y"], x @ linear_weights())


def test_a_caller_who_left_is_not_served_row_after_row(serve: Serve) -> None:
    plain = serve(linear(rows=1, out=1))
    gate = Gate(plain.model.backend)
    servable = PlainServable(replace(plain.model, backend=gate), BatchPolicy(64))
    deadline = Deadline.never()
    with ThreadPoolExecutor(1) as pool:
        end = pool.submit(ask, servable, deadline, x=ones(5, 4))
        assert gate.entered.wait(30)
        deadline.cancel()
        gate.go.set()
        with pytest.raises(Cancelled):
            end.result()
    assert gate.runs == [1]
    servable.close()


def test_a_batch_on_another_axis_is_run_call_by_call(serve: Serve) -> None:
    weights = {"w": linear_weights().T.copy()}
    model = graph([node("MatMul", ["w", "x"], ["y"])], {"x": (FLOAT, [4, "n"])}, {"y": (FLOAT, [2, "n"])}, weights)
    servable = serve(model)
    assert servable.max_rows == 0
    runs, ends = together(servable, [{"x": ones(4, n)} for n in (1, 7, 2)])
    assert runs == [4, 4, 4]
    assert [end.result()["y"].shape for end in ends] == [(2, 1), (2, 7), (2, 2)]


def test_inputs_and_outputs_without_dimensions_are_served(serve: Serve) -> None:
    model = graph([node("Add", ["a", "b"], ["y"])], {"a": (FLOAT, []), "b": (FLOAT, [])}, {"y": (FLOAT, [])})
    assert ask(serve(model), a=np.array(1, np.float32), b=np.array(2, np.float32))["y"].tolist() == 3


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"inputs\.x: is missing"),
        ({"x": ones(1, 4), "z": ones(1)}, r"inputs\.z: model 'plain' has no such input; known: x"),
        ({"x": np.ones((2, 4))}, r"inputs\.x: is float64 \[2, 4\], where float32 \[any, 4\] is expected"),
        ({"x": ones(2, 5)}, r"inputs\.x: is float32 \[2, 5\], where float32 \[any, 4\] is expected"),
        ({"x": ones(4)}, r"inputs\.x: is float32 \[4\], where float32 \[any, 4\] is expected"),
    ],
)
def test_an_input_that_does_not_fit_is_named(serve: Serve, inputs: dict[str, Array], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ask(serve(linear()), **inputs)


def test_inputs_of_different_numbers_of_rows_are_named(serve: Serve) -> None:
    inputs = {"a": (FLOAT, ["n", 2]), "b": (FLOAT, ["n", 2])}
    servable = serve(graph([node("Add", ["a", "b"], ["y"])], inputs, {"y": (FLOAT, ["n", 2])}))
    with pytest.raises(InvalidArgument, match=r"inputs\.b: has 1 rows, where inputs\.a has 3"):
        ask(servable, a=ones(3, 2), b=ones(1, 2))


def test_a_call_without_rows_gets_none(serve: Serve) -> None:
    assert ask(serve(linear()), x=ones(0, 4))["y"].shape == (0, 2)


def test_text_may_be_bytes_and_comes_out_as_text(serve: Serve) -> None:
    kind = TensorProto.STRING
    servable = serve(graph([node("Identity", ["x"], ["y"])], {"x": (kind, ["n"])}, {"y": (kind, ["n"])}))
    assert ask(servable, x=np.array([b"caf\xc3\xa9", "tea"], dtype=object))["y"].tolist() == ["café", "tea"]
    with pytest.raises(InvalidArgument, match=r"inputs\.x: has a text that is not UTF-8"):
        ask(servable, x=np.array([b"\xff"], dtype=object))
    with pytest.raises(InvalidArgument, match=r"inputs\.x: has a value that is no text"):
        ask(servable, x=np.array([3], dtype=object))
    with pytest.raises(InvalidArgument, match=r"inputs\.x: is int64 \[1\], where text \[any\] is expected"):
        ask(servable, x=np.array([3]))


def test_every_output_of_a_classifier_is_given_by_name(serve: Serve) -> None:
    runs, ends = together(serve(classifier(zipmap=False)), [{"X": ones(rows, 4)} for rows in (1, 2, 3)])
    assert runs == [1, 5]
    assert [{name: len(values) for name, values in end.result().items()} for end in ends] == [
        {"label": rows, "probabilities": rows} for rows in (1, 2, 3)
    ]


def test_a_failure_that_no_value_explains_is_the_models(serve: Serve) -> None:
    one_hot = node("OneHotEncoder", ["x"], ["y"], domain="ai.onnx.ml", cats_strings=["news", "sport"], zeros=0)
    servable = serve(graph([one_hot], {"x": (TensorProto.STRING, [None])}, {"y": (FLOAT, [None, 2])}, opset=9))
    with pytest.raises(BackendError, match="Unknown Category"):
        ask(servable, x=np.array(["music"], dtype=object))
    assert ask(servable, x=np.array(["sport"], dtype=object))["y"].tolist() == [[0, 1]]


def test_nothing_is_taken_after_the_end(serve: Serve) -> None:
    servable = serve(linear())
    servable.close()
    with pytest.raises(Unavailable):
        ask(servable, x=ones(1, 4))
