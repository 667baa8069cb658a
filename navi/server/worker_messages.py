"""What a supervisor and its workers tell each other, as JSON: the job on the command line, the rest a line each."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from navi.core.errors import BundleError, ConfigError, ModelError, NaviError, SetupError, StoreError
from navi.server.facts import ServerFacts

METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of a worker's environment that tells prometheus_client where the workers' metrics are."""

_KINDS = {kind.__name__: kind for kind in (BundleError, ModelError, StoreError)}


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is to serve. slot: its number, which its successor has, too. settings: of `ServerSettings`."""

    bundle: str
    slot: int
    settings: Mapping[str, Any]

    def line(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_line(cls, line: str) -> "Job":
        return cls(**json.loads(line))

    @property
    def path(self) -> Path:
        return Path(self.bundle)


def ready_line(facts: ServerFacts) -> bytes:
    """A worker takes calls."""
    return json.dumps({"ready": facts.as_dict()}).encode() + b"\n"


def failed_line(error: NaviError) -> bytes:
    """A worker cannot start."""
    told = {"kind": type(error).__name__, "text": str(error)}
    if isinstance(error, ConfigError):
        told |= {"field": error.field, "problem": error.problem}
    return json.dumps({"failed": told}).encode() + b"\n"


def facts_or_error(line: bytes) -> ServerFacts:
    """The facts of a worker that is ready; raises what another could not start for."""
    told = json.loads(line)
    if "ready" in told:
        return ServerFacts.of_dict(told["ready"])
    failed = told["failed"]
    if "field" in failed:
        raise ConfigError(failed["field"], failed["problem"])
    raise _KINDS.get(failed["kind"], SetupError)(failed["text"])
