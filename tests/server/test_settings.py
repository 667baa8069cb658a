"""Settings are checked before anything listens."""

import pytest
from pydantic import ValidationError

from navi.server.settings import ServerSettings, split_address


@pytest.mark.parametrize(
    ("address", "parts"),
    [("127.0.0.1:0", ("127.0.0.1", 0)), ("[::]:50051", ("::", 50051)), ("host.example:65535", ("host.example", 65535))],
)
def test_an_address_is_a_host_and_a_port(address, parts):
    assert split_address(address) == parts


@pytest.mark.parametrize(
    "address", ["", "50051", ":50051", "host", "host:", "host:x", "host:65536", "host:-1", "::1:5"]
)
def test_anything_else_is_refused(address):
    with pytest.raises(ValidationError, match="address"):
        ServerSettings(address=address)


def test_the_second_port_can_be_turned_off_and_the_first_cannot():
    assert ServerSettings(http_address="").http_address == ""
    with pytest.raises(ValidationError):
        ServerSettings(http_address="nowhere")


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"max_in_flight": 0}, {"default_deadline_s": 0}, {"prot": 1}])
def test_senseless_and_unknown_settings_are_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        ServerSettings(**wrong)


def test_every_setting_is_explained():
    assert all(field.description for field in ServerSettings.model_fields.values())
