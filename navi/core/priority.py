"""How much a call matters beside others."""

from enum import IntEnum
from typing import Final

HEAD_START_S: Final = 1.0
"""A class goes before the work of the next one that came up to so many seconds earlier: none waits for ever."""


class Priority(IntEnum):
    """Under load, work of a smaller number goes first; refused first is the largest."""

    ADS = 0
    ORGANIC = 1
    BACKFILL = 2

    def turn(self, arrived: float) -> float:
        """What work is put in order by; arrived: monotonic."""
        return arrived + self * HEAD_START_S
