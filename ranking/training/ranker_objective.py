"""What the ranker learns: each task's probability for each row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from navi.core.arrays import F32, I64
from navi.core.ragged import take_ragged
from ranking.training.layers import drop_codes
from ranking.training.metrics import auc
from ranking.training.ranker import Ranker
from ranking.training.rows import Rows
from ranking.training.tensors import InputTensors

_CHUNK = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRows:
    """Rows in the order of their moments, and their pair-scope input [n, width]."""

    rows: Rows
    pair: F32


@dataclass(slots=True, eq=False, kw_only=True)
class RankerObjective:
    """Binary cross-entropy of every task, summed. training: the rows of an epoch. drop: share of item ids hidden."""

    model: Ranker
    inputs: InputTensors
    training: Callable[[int], EncodedRows]
    validation: EncodedRows
    tasks: tuple[str, ...]
    batch_rows: int
    drop: float
    name: str = "ranker"
    judge: str | None = "loss"
    _current: EncodedRows | None = None
    _offsets: I64 | None = None

    def batches(self, epoch: int, generator: np.random.Generator) -> Sequence[I64]:
        """Moments in random order, cut where a step's rows are enough; a moment's rows stay together."""
        self._current = self.training(epoch)
        self._offsets = self._current.rows.offsets(len(self.inputs.request_dense))
        lengths = np.diff(self._offsets)
        order = generator.permutation(np.flatnonzero(lengths))
        step = (np.cumsum(lengths[order]) - 1) // self.batch_rows
        return np.split(order, np.flatnonzero(np.diff(step)) + 1)

    def loss(self, batch: I64, generator: torch.Generator) -> Tensor:
        assert self._current is not None
        assert self._offsets is not None
        index, offsets = take_ragged(self._offsets, batch)
        rows = self._current.rows
        codes, dense = self.inputs.item(rows.item[index])
        item = self.model.item_part(drop_codes(codes, 0, self.drop, generator), dense)
        request = self.model.request_part(*self.inputs.request(batch))
        spread = torch.from_numpy(np.repeat(np.arange(len(batch)), np.diff(offsets)))
        logits = self.model.joint(request[spread], item, torch.from_numpy(self._current.pair[index]))
        return cross_entropy(logits, torch.from_numpy(rows.labels[index]), torch.from_numpy(rows.weights[index]))

    def metrics(self) -> dict[str, float]:
        """AUC and loss of each task on the validation rows, weighted as in training."""
        logits = score_rows(self.model, self.inputs, self.validation)
        rows = self.validation.rows
        loss = cross_entropy(torch.from_numpy(logits), torch.from_numpy(rows.labels), torch.from_numpy(rows.weights))
        found = {"loss": float(loss)}
        for task, name in enumerate(self.tasks):
            found[f"auc_{name}"] = auc(rows.labels[:, task], logits[:, task], rows.weights)
        return found


def cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Sum over tasks of the weighted mean binary cross-entropy over rows with a label. logits, labels: [n, tasks]."""
    given = ~torch.isnan(labels)
    known = torch.where(given, labels, 0.0)
    each = functional.binary_cross_entropy_with_logits(logits, known, reduction="none")
    weight = given * weights.unsqueeze(1)
    return ((each * weight).sum(dim=0) / weight.sum(dim=0).clamp(min=1e-6)).sum()


def score_rows(model: Ranker, inputs: InputTensors, encoded: EncodedRows) -> F32:
    """The ranker's logits [n, tasks]; each moment's part is computed once a chunk."""
    chunks = []
    with torch.inference_mode():
        for start in range(0, len(encoded.rows), _CHUNK):
            stop = start + _CHUNK
            moment, spread = np.unique(encoded.rows.moment[start:stop], return_inverse=True)
            request = model.request_part(*inputs.request(moment))[torch.from_numpy(spread)]
            item = model.item_part(*inputs.item(encoded.rows.item[start:stop]))
            chunks.append(model.joint(request, item, torch.from_numpy(encoded.pair[start:stop])).numpy())
    return np.concatenate(chunks) if chunks else np.empty((0, model.heads.out_features), dtype=np.float32)
