"""What a server is made of, told once it is ready: for the status page and for those who look after it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One loaded model. load_s: seconds from opening its files to having warmed it."""

    name: str
    version: str
    digest: str
    provider: str
    row_independent: bool
    tasks: tuple[str, ...]
    load_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Everything about a server that does not change while it runs.

    started: seconds since the epoch. tables: rows by name. settings, build: name -> value, as text.
    """

    bundle: str
    digest: str
    started: float
    pipelines: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    tables: Mapping[str, int] = field(default_factory=dict)
    models: tuple[ModelFacts, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    build: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """In JSON's types, as a worker tells its supervisor; `of_dict` reads it back."""
        return asdict(self)

    @classmethod
    def of_dict(cls, raw: dict[str, Any]) -> "ServerFacts":
        models = tuple(ModelFacts(**{**model, "tasks": tuple(model["tasks"])}) for model in raw["models"])
        lists = {name: tuple(raw[name]) for name in ("pipelines", "stores")}
        return cls(**{**raw, **lists, "models": models})
