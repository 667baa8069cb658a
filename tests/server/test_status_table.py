"""Every error of the tree has a code, and what it tells travels in bounds."""

import grpc
import pytest
from google.rpc.status_pb2 import Status

from navi.core import errors
from navi.server.status import CODES, code_of, fault, refusal_of


def leaves(kind=errors.NaviError):
    below = kind.__subclasses__()
    return [leaf for child in below if child.__module__ == errors.__name__ for leaf in leaves(child)] or [kind]


def test_the_table_has_every_concrete_error_and_no_other():
    assert set(CODES) == set(leaves())


def test_an_error_of_a_plug_in_has_the_code_of_what_it_is_made_from():
    class Strange(errors.NotFound):
        pass

    class Stranger(errors.NaviError):
        pass

    assert code_of(Strange("model", "m")) is grpc.StatusCode.NOT_FOUND
    assert code_of(Stranger()) is grpc.StatusCode.INTERNAL


@pytest.mark.parametrize("text", ["x" * 1_000_000, "é" * 1_000_000, "\n" * 1_000_000])
@pytest.mark.parametrize(
    "error",
    [
        lambda text: errors.InvalidArgument(text, text),
        lambda text: errors.NotFound("pipeline", text, (text,)),
        lambda text: errors.StageError(text, text),
        lambda text: errors.Overloaded(text, retry_after_s=1.0),
    ],
)
def test_no_error_outgrows_what_metadata_may_hold(error, text):
    refusal = refusal_of(error(text), "r" * 256)
    status = dict(refusal.metadata)["grpc-status-details-bin"]
    percent_encoded = sum(
        1 if " " <= character <= "~" else 3 * len(character.encode()) for character in refusal.message
    )
    assert percent_encoded + len(status) * 4 / 3 < 8000


def test_the_rich_status_agrees_with_the_plain_one():
    refusal = refusal_of(errors.InvalidArgument("k", "is 0"))
    status = Status.FromString(dict(refusal.metadata)["grpc-status-details-bin"])
    assert (status.code, status.message) == (refusal.code.value[0], refusal.message)


def test_an_unforeseen_error_is_told_by_its_number_alone():
    refusal = fault("abc", "r1")
    assert refusal.message == "internal error; the server's log has it as incident abc"
