"""Negatives for data that holds only what people did, not what they were shown."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F32, F64, I64


@dataclass(frozen=True, slots=True, eq=False)
class NegativeSampler:
    """Draws items, some uniformly and some by popularity, with the weights that make them count as uniform ones.

    counts: int64 [items], positives of each item. popular_share: share of draws that follow `counts`.
    """

    counts: I64
    popular_share: float

    @property
    def probabilities(self) -> F64:
        """Chance of each item [items] in one draw."""
        uniform = np.full(len(self.counts), 1.0 / len(self.counts))
        total = self.counts.sum()
        if total == 0:
            return uniform
        mixed: F64 = (1 - self.popular_share) * uniform + self.popular_share * self.counts / total
        return mixed

    def draw(self, n: int, generator: np.random.Generator) -> tuple[I64, F32]:
        """Items [n] and their weights [n].

        Weights are 1 / (items * chance), importance sampling: sums over the draws estimate, without bias, the sums
        over as many uniform draws, with less noise where it matters, on popular items. They are at most
        1 / (1 - popular_share).
        """
        chance = self.probabilities
        cumulative = np.cumsum(chance)
        items = np.searchsorted(cumulative, generator.random(n) * cumulative[-1], side="right")
        items = np.minimum(items, len(chance) - 1).astype(np.int64)
        return items, (1.0 / (len(chance) * chance[items])).astype(np.float32)

    def rate(self, drawn: int) -> float:
        """r: the share of all negatives that `drawn` uniform draws a positive keep, for the sampling correction."""
        return min(drawn / max(len(self.counts) - 1, 1), 1.0)


def corrected(probability: F64, rate: F64) -> F64:
    """p r / (1 - p + r p): what a probability is where all negatives count, learned with a share r of them."""
    return probability * rate / (1.0 - probability + rate * probability)
