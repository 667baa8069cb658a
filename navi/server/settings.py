"""What an operator can set about the server."""

from ipaddress import ip_address
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from navi.features.inputs import Strict

_AGE_SPREAD = 1.1  # gRPC adds up to a tenth to each connection's age, so that they do not all go at once
_GOING_S = 0.5  # from telling a client to leave a connection to its being closed, where no call is left on it
POOL_S = 1.0  # for threads that are still at work on calls that were cancelled


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
    quotas: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="Calls a second that each caller may make, by its name (metadata `navi-caller`, or as it has shown "
        "itself); `*` stands for each that is not named. Further ones are refused. Each of several workers holds its "
        "part: a caller with one connection gets no more than that of the worker that it has reached.",
    )
    default_deadline_s: float = Field(
        default=10.0, gt=0, description="Seconds that a call without a deadline of its own gets."
    )
    retry_after_s: float = Field(
        default=0.1, gt=0, description="Seconds after which a refused caller is told to try again."
    )
    latency_target_ms: float = Field(
        default=0.0,
        ge=0,
        description="Milliseconds from the door to the reply of a Rank call; where answers come later, they are made "
        "with less work, step by step, and say so. Well below the callers' deadlines: half of them, say. 0: never.",
    )
    latency_percentile: float = Field(
        default=95.0, ge=50, lt=100, description="Percentage of the answers that are to meet that target."
    )
    max_message_bytes: int = Field(
        default=64 << 20, ge=1024, lt=1 << 31, description="Size of the largest request and reply."
    )
    max_metadata_bytes: int = Field(
        default=16 << 10, ge=1024, lt=1 << 24, description="Size of the largest metadata (headers) of a call."
    )
    max_callers: int = Field(
        default=50,
        ge=0,
        description="Names of callers (metadata `navi-caller`) that metrics tell apart; further ones are `other`.",
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Form of the log on standard error; `json` is one object a line."
    )
    slow_ms: float = Field(
        default=0.0, ge=0, description="Milliseconds from which a call is slow, and told in the log; 0: none is."
    )
    slow_file: str = Field(
        default="",
        description="File to which calls are written that were slow, missed their deadline, or failed by the server's "
        "fault, in a form that `navi loadtest` can replay; holds the requests as they came. Empty: none.",
    )
    slow_file_bytes: int = Field(
        default=64 << 20, ge=1024, description="Size at which that file becomes `NAME.1`, and a new one is begun."
    )
    slow_per_s: float = Field(
        default=10.0, gt=0, description="Calls a second that are written to that file at most, on average."
    )
    request_log: str = Field(
        default="",
        description="Directory of a log of answers for training, in Parquet: features as served, scores, versions, "
        "propensities. Empty: none.",
    )
    request_log_share: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Share of the requests that are logged, chosen by their id. Logging an answer of 100 items costs "
        "the server 1 to 3 ms of CPU, after the reply.",
    )
    request_log_rows: int = Field(default=50_000, ge=1, description="Answered items in a file of that log, about.")
    request_log_s: float = Field(
        default=60.0, gt=0, description="Seconds after which a file of that log is written even where it is not full."
    )
    tracing: bool = Field(
        default=False,
        description="Whether calls are traced by OpenTelemetry (extra `otel`), as its OTEL_* environment says.",
    )
    tls_certificate: str = Field(
        default="",
        description="PEM file with the certificate of the gRPC port, and those between it and its authority. Empty: "
        "calls travel in the clear. These files are read again when they change.",
    )
    tls_key: str = Field(default="", description="PEM file with the certificate's key, unencrypted.")
    tls_client_ca: str = Field(
        default="",
        description="PEM file with the authorities of clients' certificates; clients without one are then refused. "
        "A certificate allows to call; what needs another role needs `tokens_file`.",
    )
    tokens_file: str = Field(
        default="",
        description="TOML file of callers, with the digests of their tokens and their roles, see `navi token new`; "
        "read again when it changes. Without a token only health is answered then. Empty: anyone may do anything.",
    )
    http_open: bool = Field(
        default=False, description="Whether metrics and the status page ask for no token even where there are tokens."
    )
    reflection: bool = Field(
        default=True,
        description="Whether clients can ask for the services' descriptors; with the role `admin`, where callers have "
        "to show who they are.",
    )
    lame_duck_s: float = Field(
        default=0.0,
        ge=0,
        description="Seconds for which a stopping server, already marked as not ready, still takes new calls, "
        "so that load balancers that poll can notice.",
    )
    max_connection_calls: int = Field(
        default=0,
        ge=0,
        description="Calls at once on one connection; 0: any number. Where a call costs little more than a refusal, "
        "the door cannot keep up with an overload; gRPC's core refuses what is beyond this (UNAVAILABLE), for less.",
    )
    max_connection_age_s: float = Field(
        default=15.0,
        ge=0,
        description="Seconds, give or take a tenth, after which clients are asked to connect anew; this spreads them "
        "over workers, and lets a server stop without losing calls, in that time. 0: never.",
    )
    drain_s: float = Field(
        default=10.0,
        ge=0,
        description="Seconds that calls in flight have to finish when the server stops, once connections are gone or "
        "past their age.",
    )
    workers: int = Field(
        default=1,
        ge=1,
        le=256,
        description="Processes that serve behind the one gRPC port; `max_in_flight` and `threads` hold for each.",
    )

    @property
    def oldest_connection_s(self) -> float:
        """How long a connection can be open before clients know that they have to leave it."""
        return self.max_connection_age_s * _AGE_SPREAD + _GOING_S if self.max_connection_age_s else 0.0

    @property
    def stopping_s(self) -> float:
        """The longest that a server takes to stop."""
        return self.lame_duck_s + self.oldest_connection_s + self.drain_s + POOL_S

    @model_validator(mode="after")
    def _certificate_has_its_key(self) -> "ServerSettings":
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ValueError("tls_certificate and tls_key belong together")
        if self.tls_client_ca and not self.tls_certificate:
            raise ValueError("tls_client_ca is of no use without tls_certificate")
        return self

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


def is_loopback(address: str) -> bool:
    """Whether `host:port` is reached from this machine alone."""
    host, _ = split_address(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
