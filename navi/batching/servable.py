"""The seam between models and the protocols that serve any of them without a pipeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from navi.batching.batcher_stats import BatcherStats
from navi.core.arrays import Array
from navi.core.deadline import Deadline
from navi.core.priority import Priority
from navi.models.backend import Signature, TensorSpec

VersionStatus: TypeAlias = Literal["loading", "ready", "draining", "failed", "unloaded"]


class Servable(Protocol):
    """One loaded version of a model, as those see it who send tensors. Safe to call from many threads."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def platform(self) -> str:
        """What runs it, as KServe names it: `onnxruntime_onnx`, `pytorch_export`."""
        ...

    @property
    def signature(self) -> Signature:
        """What callers send and get; a free dimension is None, and the batch is dimension 0 where `max_rows` > 0.

        A model whose item inputs are resident also takes an int64 or text `item_id` [rows] in their place: see
        `resident`.
        """
        ...

    @property
    def resident(self) -> frozenset[str]:
        """Names of inputs that an input `item_id` may stand for; empty where the model has no item table."""
        ...

    @property
    def max_rows(self) -> int:
        """Rows up to which calls share a run; a larger call runs alone. 0: calls are run one by one, whole."""
        ...

    def run(self, inputs: Mapping[str, Array], deadline: Deadline, priority: Priority) -> dict[str, Array]:
        """All outputs by name, for exactly the inputs of the signature (or `item_id` for the resident ones).

        Raises InvalidArgument naming the input that is missing, unknown, or of the wrong dtype or shape; NotFound for
        an unknown item; what `Batcher.run` raises.
        """
        ...


@runtime_checkable
class Counted(Protocol):
    """A servable that knows how much it has done."""

    @property
    def stats(self) -> BatcherStats: ...


@runtime_checkable
class ItemKeyed(Protocol):
    """A servable that knows which ids its resident items have."""

    @property
    def item_id(self) -> TensorSpec | None:
        """The input that may stand for the resident ones, [rows] int64 or text (object); None where none may."""
        ...


@dataclass(frozen=True, slots=True)
class VersionState:
    """What is known of one version. reason: why it failed, or is not served."""

    name: str
    version: int
    status: VersionStatus
    labels: tuple[str, ...] = ()
    reason: str = ""


class ModelDirectory(Protocol):
    """Finds models by name. Safe to call from many threads; what it gives stays usable for the call at hand."""

    def find(self, name: str, *, version: int | None = None, label: str | None = None, key: str = "") -> Servable:
        """One version: as named, as labelled, or the one that serves; `key` decides where traffic is split.

        Raises NotFound for an unknown name, version or label; Unavailable for one that is not loaded.
        """
        ...

    def states(self, name: str | None = None) -> Sequence[VersionState]:
        """All versions of a model, or of all models; NotFound for an unknown name."""
        ...
