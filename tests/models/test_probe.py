"""Whether rows depend on each other is found by trying, on inputs that the model must be able to take."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from tiny_model import INPUTS

from navi.core.arrays import Array
from navi.features.inputs import Age, Gap, History, InputSpec, Present
from navi.models.backend import Signature
from navi.models.fake_backend import FakeBackend
from navi.models.probe import TOLERANCE, row_difference
from navi.models.synthetic import synthetic_inputs

Model = Callable[[Array], Array]


def difference(model: Model) -> float:
    def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
        return {"y": model(inputs["x"])}

    x = np.random.default_rng(1).standard_normal((16, 3)).astype(np.float32)
    return row_difference(FakeBackend(Signature((), ()), run), {"x": x}, np.random.default_rng(2))


def softmax(x: Array) -> Array:
    powers = np.exp(x.sum(axis=1))
    return powers / powers.sum()


@pytest.mark.parametrize(
    "model",
    [
        softmax,
        lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1),
        lambda x: np.cumsum(x, axis=0),
        lambda x: x + len(x) * np.float32(0.001),
        lambda x: x * (1 + np.float32(1e-4) * (np.arange(len(x)) % 2)[:, None]),
        lambda x: np.sort(x, axis=0),
        lambda x: np.where(len(x) == 1, np.nan, x),
    ],
    ids=["softmax", "normalised", "running sum", "batch size", "position", "sorted", "nan alone"],
)
def test_a_model_that_sees_other_rows_is_found(model: Model) -> None:
    assert difference(model) > TOLERANCE


@pytest.mark.parametrize("model", [np.tanh, lambda x: x @ np.ones((3, 2), np.float32), lambda x: x[:, 0]])
def test_a_model_of_single_rows_passes(model: Model) -> None:
    assert difference(model) <= TOLERANCE


def test_large_outputs_are_compared_relatively() -> None:
    noise = np.float32(1 + 5e-6)
    assert difference(lambda x: 1e6 * (2 + np.tanh(x)) * (noise if len(x) == 1 else 1)) <= TOLERANCE


def test_synthetic_inputs_are_of_the_declared_shape_and_in_range() -> None:
    history = InputSpec(
        name="seen",
        scope="request",
        dtype="int64",
        features=(History(name="seen", feature="user.seen", vocabulary="kinds", length=5),),
    )
    rest = InputSpec(
        name="rest",
        scope="pair",
        dtype="float32",
        features=(
            Age(name="age", feature="item.created"),
            Gap(name="gap", request="user.age", item="item.age"),
            Present(name="present", feature="pair.bid"),
        ),
    )
    made = synthetic_inputs((*INPUTS, history, rest), {"kinds": 4}, 200, np.random.default_rng(0))
    assert {name: (values.shape, values.dtype.name) for name, values in made.items()} == {
        "user": ((200, 2), "float32"),
        "kind": ((200, 2), "int64"),
        "pair": ((200, 2), "float32"),
        "seen": ((200, 5), "int64"),
        "rest": ((200, 3), "float32"),
    }
    assert set(made["kind"][:, 0]) == set(made["seen"].ravel()) == {0, 1, 2, 3}
    assert set(made["kind"][:, 1]) == {0, 1, 2, 3}
    assert all(np.isfinite(values).all() for values in made.values())
