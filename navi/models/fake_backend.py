"""A model made of a Python function, for tests and for trying things out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from navi.core.arrays import Array
from navi.models.backend import Signature


@dataclass(frozen=True, slots=True)
class FakeBackend:
    """Answers with `fn(inputs)`."""

    signature: Signature
    fn: Callable[[Mapping[str, Array]], dict[str, Array]]
    provider: str = "fake"

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        return self.fn(inputs)

    def warm(self, rows: Sequence[int]) -> None:
        """There is nothing to warm."""

    def close(self) -> None:
        """There is nothing to give back."""
