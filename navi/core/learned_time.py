"""How long a piece of work takes, learned from those that came before."""

from typing import Final

_FADE: Final = 0.98
"""What a sample still weighs when the next one comes: some fifty count."""

_RIDGE: Final = 0.01
"""How much sizes must differ, as a share of their squared mean, to tell more than the slope that was known."""

_FORGET: Final = 0.99
_MOST: Final = 4.0


class LearnedTime:
    """seconds = a + b * size, fitted by least squares to the latest samples; a and b are never negative.

    Where sizes hardly differ, the slope stays near what it was and is slowly forgotten, so that it is tried again
    whether more can be done at once. A sample counts as four times what was expected at most: one pause of the machine
    is no news, several are. Not safe by itself: its owner holds a lock.
    """

    __slots__ = ("_base", "_first_share", "_mean", "_mean_size", "_slope", "_spread", "_square", "_together", "_weight")

    def __init__(self, first_share: float = 0.0) -> None:
        """first_share: how much of the first sample's time is taken to grow with the size, in [0, 1]."""
        self._first_share = first_share
        self._weight = self._mean_size = self._mean = self._square = self._together = 0.0
        self._base = self._slope = self._spread = 0.0

    @property
    def known(self) -> bool:
        """Whether there was a sample."""
        return self._weight > 0.0

    @property
    def spread(self) -> float:
        """Mean distance of a sample from what was expected, in seconds."""
        return self._spread

    def at(self, size: float) -> float:
        """Seconds expected for this size; 0 where nothing is known."""
        return self._base + self._slope * size

    def observe(self, size: float, seconds: float) -> None:
        """Learn from one piece of work that is done."""
        if not self.known:
            self._slope = self._first_share * seconds / size if size else 0.0
        else:
            expected = self.at(size)
            seconds = min(seconds, _MOST * expected) if self._weight > 2.0 and expected > 0.0 else seconds
            self._spread += (1.0 - _FADE) * (abs(seconds - expected) - self._spread)
        self._take(size, seconds)
        self._fit()

    def _take(self, size: float, seconds: float) -> None:
        """Weighted means and sums of squares about them (West 1979), the old ones faded."""
        faded = self._weight * _FADE
        self._weight = faded + 1.0
        size_off, off = size - self._mean_size, seconds - self._mean
        self._mean_size += size_off / self._weight
        self._mean += off / self._weight
        share = faded / self._weight
        self._square = self._square * _FADE + share * size_off * size_off
        self._together = self._together * _FADE + share * size_off * off

    def _fit(self) -> None:
        ridge = _RIDGE * self._weight * self._mean_size * self._mean_size
        if ridge + self._square > 0.0:
            self._slope = (self._together + ridge * self._slope * _FORGET) / (ridge + self._square)
        steepest = self._mean / self._mean_size if self._mean_size else 0.0
        self._slope = min(max(self._slope, 0.0), steepest)
        self._base = self._mean - self._slope * self._mean_size
