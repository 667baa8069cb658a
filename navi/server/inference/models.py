"""What the model protocols serve, and who may change it."""

from dataclasses import dataclass
from typing import Protocol

from navi.batching.servable import ModelDirectory


class ModelControl(Protocol):
    """Loads and unloads models while the server runs."""

    def load(self, name: str) -> None:
        """Load the newest version, or load it anew; returns once it serves. NotFound, ModelError, BundleError."""
        ...

    def unload(self, name: str) -> None:
        """Stop serving the model; returns once new calls are refused. NotFound for an unknown name."""
        ...


@dataclass(frozen=True, slots=True)
class Models:
    """control: None where models cannot be loaded and unloaded by callers."""

    directory: ModelDirectory
    control: ModelControl | None = None
