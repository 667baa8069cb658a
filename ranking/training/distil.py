"""Lists of items that the ranker has scored, for the towers to learn its order from."""

from dataclasses import dataclass

import numpy as np
import torch

from navi.core.arrays import F32, F64, I64
from ranking.training.prepared import Prepared
from ranking.training.ranker import Ranker
from ranking.training.ranker_objective import score_rows
from ranking.training.tensors import InputTensors
from ranking.training.trainer import seed_of
from ranking.training.two_tower import TwoTower

_DEPTH = 1_000
"""How many of a moment's best items, by the towers as they are, hard ones are drawn from."""
_CHUNK = 128


@dataclass(frozen=True, slots=True, eq=False)
class TeacherLists:
    """moment: int64 [l]. items: int64 [l, width]. target: float32 [l, width], each item's share of its list's worth."""

    moment: I64
    items: I64
    target: F32

    @classmethod
    def of(cls, moment: I64, items: I64, worth: F64) -> "TeacherLists":
        """From what the ranker thinks each item is worth at its moment, [l * width]."""
        positive = np.maximum(worth, 1e-12).reshape(items.shape)
        return cls(moment, items, (positive / positive.sum(axis=1, keepdims=True)).astype(np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class Teacher:
    """The ranker, asked anew each epoch for what the towers have still to learn."""

    prepared: Prepared
    ranker: Ranker

    def lists(self, epoch: int, towers: TwoTower) -> TeacherLists:
        """Random moments late in training with random items; after the first epoch half of them are what the towers,
        as they are, would bring up for that moment: it is among these that the order has to be right."""
        options, dataset = self.prepared.options, self.prepared.corpus.dataset
        generator = np.random.default_rng(seed_of(options.seed, "lists", epoch))
        cut = self.prepared.cut
        # What is new and what is popular changes: the towers have no clock, so they learn the order of late.
        recent = np.arange(int(cut * (1 - options.tower.distil_recent)), cut)
        moments = np.sort(generator.permutation(recent)[: options.tower.distil_requests])
        width = options.tower.distil_items
        items = self._easy(len(moments) * width, generator).reshape(len(moments), width)
        if epoch > 0:
            hard = width // 2
            places = generator.integers(0, min(_DEPTH, len(self.prepared.corpus.table)), (len(moments), hard))
            items[:, :hard] = items_at(places, towers, self.prepared.inputs, moments)
        rows = self.prepared.unlabelled(np.repeat(moments, width), items.ravel())
        logits = score_rows(self.ranker, self.prepared.inputs, self.prepared.encode(rows))
        weights = np.array([dataset.weights.get(task, 0.0) for task in dataset.tasks])
        return TeacherLists.of(moments, items, self.prepared.probabilities(logits) @ weights)

    def _easy(self, n: int, generator: np.random.Generator) -> I64:
        """Half of them by popularity, half uniformly."""
        items, _ = self.prepared.sampler(popular_share=0.5).draw(n, generator)
        return items


def items_at(places: I64, towers: TwoTower, inputs: InputTensors, moments: I64) -> I64:
    """Items int64 [m, width] at these places [m, width] of the towers' order for each moment [m]; 0 is the best."""
    depth = int(places.max()) + 1
    wanted = torch.from_numpy(places)
    vectors = item_vectors(towers, inputs)
    found = []
    with torch.inference_mode():
        for start in range(0, len(moments), _CHUNK):
            scores = towers.user(*inputs.request(moments[start : start + _CHUNK])) @ vectors.T
            best = scores.topk(depth, dim=1).indices
            found.append(best.gather(1, wanted[start : start + _CHUNK]))
    return torch.cat(found).numpy()


def item_vectors(towers: TwoTower, inputs: InputTensors) -> torch.Tensor:
    """Vectors of all items, float32 [items, dim], in table order."""
    with torch.inference_mode():
        chunks = np.array_split(np.arange(len(inputs.item_ids)), max(len(inputs.item_ids) // 16_384, 1))
        return torch.cat([towers.item(*inputs.item(chunk)) for chunk in chunks])
