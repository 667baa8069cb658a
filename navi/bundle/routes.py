"""Which generation a request goes to, by its key: the same key always to the same versions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from navi.bundle.generation import Generation


@dataclass(frozen=True, slots=True)
class Split:
    """Versions of a model, each with the upper end of its part of [0, 1); what is above the last serves as ever."""

    model: str
    parts: tuple[tuple[float, int], ...]
    rest: int

    def version(self, key: str) -> int:
        place = place_of(self.model, key)
        return next((version for end, version in self.parts if place < end), self.rest)

    @property
    def versions(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*(version for _, version in self.parts), self.rest)))


@dataclass(frozen=True, slots=True)
class Shadowing:
    """A generation that answers a share of the requests once more, for comparison only."""

    model: str
    version: int
    share: float
    generation: Generation


@dataclass(frozen=True, slots=True)
class Routes:
    """stable: where traffic goes that no split takes. by_versions: by the versions of the models of `splits`."""

    stable: Generation
    splits: tuple[Split, ...] = ()
    by_versions: Mapping[tuple[int, ...], Generation] | None = None
    shadows: tuple[Shadowing, ...] = ()

    def of(self, key: str) -> Generation:
        if not self.by_versions:
            return self.stable
        return self.by_versions[tuple(split.version(key) for split in self.splits)]

    def generations(self) -> Iterator[Generation]:
        """All that are in use; some may come twice."""
        yield self.stable
        yield from (self.by_versions or {}).values()
        yield from (shadow.generation for shadow in self.shadows)


def place_of(model: str, key: str) -> float:
    """Where in [0, 1) a key stands for a model: evenly spread, and for each model anew."""
    digest = blake2b(f"{model}\0{key}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / (1 << 56)
