"""Whether a version can take another's place without a call noticing but by its scores."""

from navi.batching.scorer import Scorer
from navi.bundle.loaded import Loaded
from navi.core.errors import ModelError
from navi.models.backend import Signature


def check_fits(new: Loaded, old: Loaded) -> None:
    """ModelError where `new` does not answer all calls that `old` answers.

    That is for a model with transforms: all its tasks and request features; for a plain one: the same signature.
    """
    if isinstance(new, Scorer) and isinstance(old, Scorer):
        _check_has("task", frozenset(new.tasks), frozenset(old.tasks), old.version)
        _check_has("request feature", new.request_features, old.request_features, old.version)
    elif isinstance(new, Scorer) or isinstance(old, Scorer):
        raise ModelError(f"one of versions {new.version} and {old.version} is plain, the other has transforms")
    elif _told(new.signature) != _told(old.signature):
        raise ModelError(f"its inputs or outputs are not those of version {old.version}")


def _check_has(kind: str, new: frozenset[str], old: frozenset[str], version: str) -> None:
    missing = sorted(old - new)
    if missing:
        raise ModelError(f"it has no {kind} {missing[0]!r}, which version {version} has, and callers or pipelines use")


def _told(signature: Signature) -> tuple[set[tuple[str, str, int]], set[tuple[str, str, int]]]:
    """Inputs and outputs by name, dtype and number of dimensions: sizes may be freer, or told better."""
    sides = (signature.inputs, signature.outputs)
    inputs, outputs = ({(spec.name, str(spec.dtype), len(spec.shape)) for spec in specs} for specs in sides)
    return inputs, outputs
