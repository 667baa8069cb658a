"""How much work a query may cost now."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["full", "fewer", "coarse", "fallback"]
LEVELS: Final[tuple[Level, ...]] = ("full", "fewer", "coarse", "fallback")
"""The ladder, from the full answer down: fewer candidates re-ranked, the coarse order, cached or popular items."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a pipeline is asked to spend. share: of the candidates that would be re-ranked, in (0, 1]."""

    level: Level = "full"
    share: float = 1.0


FULL: Final = Effort()
