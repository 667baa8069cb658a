"""What the two towers learn: to find a moment's positive among all items, in the ranker's order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from navi.core.arrays import F32, I64
from ranking.training.distil import Teacher, TeacherLists, item_vectors
from ranking.training.layers import drop_codes
from ranking.training.metrics import recall_at
from ranking.training.tensors import InputTensors
from ranking.training.two_tower import TwoTower


@dataclass(frozen=True, slots=True, eq=False)
class Positives:
    """moment, item: int64 [p]."""

    moment: I64
    item: I64

    def __len__(self) -> int:
        return len(self.item)

    def take(self, index: I64) -> "Positives":
        return Positives(self.moment[index], self.item[index])


@dataclass(slots=True, eq=False, kw_only=True)
class TowerObjective:
    """Sampled softmax over in-batch and uniform negatives, and the ranker's order over lists that it has scored.

    chance: float64 [items], how often an item is a positive. prior: float32 [items], log of how often it was shown
    (zeros where that is not known): shown often, an item is taken often, and the towers are to know only the rest.
    """

    model: TwoTower
    inputs: InputTensors
    training: Positives
    validation: Positives
    chance: np.ndarray
    prior: F32
    teacher: Teacher | None
    batch: int
    uniform: int
    distil: float
    drop: float
    name: str = "user_tower"
    judge: str | None = None
    _lists: TeacherLists | None = None

    def batches(self, epoch: int, generator: np.random.Generator) -> Sequence[I64]:
        if self.teacher is not None:
            self._lists = self.teacher.lists(epoch, self.model)
        order = generator.permutation(len(self.training))
        return np.array_split(order, max(round(len(order) / self.batch), 1))

    def loss(self, batch: I64, generator: torch.Generator) -> Tensor:
        found = self._softmax(self.training.take(batch), generator)
        if self._lists is None:
            return found
        return found + self.distil * self._distillation(self._lists, len(batch), generator)

    def metrics(self) -> dict[str, float]:
        """Share of validation positives among the 100 best of all items, on at most 1,000 of them."""
        some = self.validation.take(
            np.linspace(0, len(self.validation) - 1, min(len(self.validation), 1000)).astype(int)
        )
        if len(some) == 0:
            return {"recall_100": float("nan")}
        user = self.model.user(*self.inputs.request(some.moment))
        return {"recall_100": recall_at((user @ item_vectors(self.model, self.inputs).T).numpy(), some.item, 100)}

    def _softmax(self, positives: Positives, generator: torch.Generator) -> Tensor:
        """Softmax with the correction for how likely each negative was drawn (Yi et al. 2019), over in-batch and
        uniformly drawn negatives (mixed negative sampling, Yang et al. 2020)."""
        n = len(positives)
        drawn = torch.randint(len(self.prior), (self.uniform,), generator=generator).numpy()
        item = np.concatenate([positives.item, drawn])
        scores = self._users(positives.moment) @ self._items(item, generator).T
        likely = n * self.chance[item] + self.uniform / len(self.prior)
        scores = scores + torch.from_numpy((self.prior[item] - np.log(likely)).astype(np.float32))
        again = torch.from_numpy(item[None, :] == positives.item[:, None])
        again[torch.arange(n), torch.arange(n)] = False
        return functional.cross_entropy(scores.masked_fill(again, -torch.inf), torch.arange(n))

    def _distillation(self, lists: TeacherLists, n: int, generator: torch.Generator) -> Tensor:
        """Cross-entropy between the ranker's and the towers' distribution over each list (ListNet, Cao et al. 2007)."""
        width = lists.items.shape[1]
        chosen = torch.randint(len(lists.items), (max(4 * n // width, 1),), generator=generator).numpy()
        item = self._items(lists.items[chosen].ravel(), generator).view(len(chosen), width, -1)
        scores = torch.einsum("ld,lwd->lw", self._users(lists.moment[chosen]), item)
        return functional.cross_entropy(scores, torch.from_numpy(lists.target[chosen]))

    def _users(self, moment: I64) -> Tensor:
        vector: Tensor = self.model.user(*self.inputs.request(moment))
        return vector

    def _items(self, item: I64, generator: torch.Generator) -> Tensor:
        codes, dense = self.inputs.item(item)
        vector: Tensor = self.model.item(drop_codes(codes, 0, self.drop, generator), dense)
        return vector
