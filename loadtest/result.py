"""What a load test found: the one file that reports, comparisons and benchmarks read."""

from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from navi.core.errors import InvalidArgument

FORMAT = "navi-loadtest/1"
"""What `Result.format` says; another version writes another."""

Outcome: TypeAlias = Literal["ok", "degraded", "shed", "deadline", "error"]
OUTCOMES: tuple[Outcome, ...] = ("ok", "degraded", "shed", "deadline", "error")
"""degraded: answered, but not with the full answer. shed: refused with a retry hint, or RESOURCE_EXHAUSTED."""

Percentiles: TypeAlias = dict[str, float]
"""Seconds by name: `p50`, `p90`, `p95`, `p99`, `p99.9`, `max`, `mean`."""


class Part(BaseModel):
    """A part of a result: unknown fields are errors, since a reader would miss what they mean."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")


class Window(Part):
    """A stretch of the schedule: the calls that were due in it, whenever they ended.

    start, seconds: on the schedule's own axis. offered: calls due. latency: of answered calls (ok and degraded), from
    their due time, `histogram` buckets. service: the same from when they were sent.
    """

    start: float
    seconds: float
    offered: int
    outcomes: dict[Outcome, int]
    latency: dict[int, int]
    service: dict[int, int]


class Stage(Part):
    """What the server said of one of its stages: calls that reported it, and seconds."""

    name: str
    calls: int
    mean: float
    p50: float
    p99: float


class Generator(Part):
    """One client process: its CPU, and the wall time of its run. cpu_share: of one core."""

    pid: int
    cpu_seconds: float
    wall_seconds: float
    cpu_share: float
    connections: int
    calls: int


class Result(Part):
    """A whole run.

    plan: what was asked for, as the command line's words. started: ISO 8601. seconds: length of the schedule, or of
    what was run of it. complete: whether the whole schedule was run. offered: calls a second due. served: calls a
    second answered (ok, degraded) before the schedule's end, so that a server which catches up only later shows.
    latency: from due times; service: from when calls were sent; lateness: of sending against the schedule.
    connections: calls by connection ("process/number"). errors: texts of the commonest errors, and how often.
    server_seconds: CPU that the server process used, where its process id was given.
    """

    format: Literal["navi-loadtest/1"] = "navi-loadtest/1"
    target: str
    protocol: str
    plan: dict[str, Any]
    environment: dict[str, str]
    started: str
    seconds: float
    complete: bool
    offered: float
    served: float
    outcomes: dict[Outcome, int]
    latency: Percentiles
    service: Percentiles
    lateness: Percentiles
    windows: list[Window]
    stages: list[Stage]
    connections: dict[str, int]
    generators: list[Generator]
    errors: dict[str, int] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    server_seconds: float | None = None

    @property
    def calls(self) -> int:
        return sum(self.outcomes.values())

    def write(self, path: Path) -> None:
        path.write_text(self.model_dump_json(indent=1), encoding="utf-8")


def read_result(path: Path) -> Result:
    """A result that `write` wrote; InvalidArgument where it is none, or from another version."""
    try:
        return Result.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(str(path), f"cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "file"
        if field == "format":
            raise InvalidArgument(str(path), f"is not of the format {FORMAT}: written by another version") from error
        raise InvalidArgument(f"{path}: {field}", first["msg"]) from error
