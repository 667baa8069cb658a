"""A stub server of each tensor protocol, in a process of its own."""

import pytest

from loadtest.stub.running import running_tensors
from loadtest.stub.tensor_model import TensorModel
from navi.wire.tensors import OPEN, TensorSpec

INPUTS = (
    TensorSpec("x", "FP32", (OPEN, 4)),
    TensorSpec("id", "INT64", (OPEN, 1)),
    TensorSpec("tag", "BYTES", (OPEN, 2)),
)
MODEL = TensorModel(name="m", version="7", inputs=INPUTS, delay_s=0.02)


@pytest.fixture(scope="session")
def model():
    return MODEL


@pytest.fixture(scope="session")
def kserve():
    with running_tensors("kserve", MODEL) as address:
        yield address


@pytest.fixture(scope="session")
def tfserving():
    with running_tensors("tfserving", MODEL) as address:
        yield address
