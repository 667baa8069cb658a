"""What an operator can set about the server."""

from pydantic import Field, field_validator

from navi.features.inputs import Strict


class ServerSettings(Strict):
    """Where the server listens, and how much it takes on at once."""

    address: str = Field(
        default="127.0.0.1:50051", description="host:port of the gRPC services; port 0 picks a free one."
    )
    http_address: str = Field(
        default="127.0.0.1:8080",
        description="host:port of /metrics, /healthz, /readyz and a status page; port 0 picks a free one, "
        "empty turns it off.",
    )
    max_in_flight: int = Field(
        default=128,
        ge=1,
        description="Calls taken on at once, waiting ones included; further ones are refused at once.",
    )
    threads: int = Field(default=8, ge=1, le=1024, description="Threads that work on calls.")
    default_deadline_s: float = Field(
        default=10.0, gt=0, description="Seconds that a call without a deadline of its own gets."
    )
    retry_after_s: float = Field(
        default=0.1, gt=0, description="Seconds after which a refused caller is told to try again."
    )
    max_message_bytes: int = Field(
        default=64 << 20, ge=1024, lt=1 << 31, description="Size of the largest request and reply."
    )
    reflection: bool = Field(default=True, description="Whether clients can ask for the services' descriptors.")
    lame_duck_s: float = Field(
        default=0.0,
        ge=0,
        description="Seconds for which a stopping server, already marked as not ready, still takes new calls, "
        "so that load balancers that poll can notice.",
    )
    drain_s: float = Field(
        default=10.0, ge=0, description="Seconds that calls in flight have to finish when the server stops."
    )

    @field_validator("address")
    @classmethod
    def _has_port(cls, address: str) -> str:
        split_address(address)
        return address

    @field_validator("http_address")
    @classmethod
    def _has_port_or_is_empty(cls, address: str) -> str:
        if address:
            split_address(address)
        return address


def split_address(address: str) -> tuple[str, int]:
    """(host, port) of "host:port" or "[v6 host]:port"; ValueError for anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is not host:port")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(f"{address!r}: an IPv6 host stands in brackets")
    return host.strip("[]"), int(port)
