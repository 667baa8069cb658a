"""Encoded inputs as tensors, gathered by moment and by item."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from navi.core.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class InputTensors:
    """Inputs of all moments [m, width] and of all items [items, width]; codes are int32 at rest, int64 when taken."""

    request_dense: Tensor
    request_ids: Tensor
    item_ids: Tensor
    item_dense: Tensor | None

    @classmethod
    def of(cls, request: Mapping[str, Array], items: Mapping[str, Array]) -> "InputTensors":
        dense = items.get("item_dense")
        return cls(
            torch.from_numpy(request["request_dense"]),
            torch.from_numpy(request["request_ids"]),
            torch.from_numpy(items["item_ids"]),
            None if dense is None else torch.from_numpy(dense),
        )

    def request(self, moment: Array) -> tuple[Tensor, Tensor]:
        """(numbers, codes) of moments [n]."""
        index = torch.from_numpy(np.asarray(moment))
        return self.request_dense[index], self.request_ids[index].to(torch.int64)

    def item(self, item: Array) -> tuple[Tensor, Tensor | None]:
        """(codes, numbers or None) of items [n]."""
        index = torch.from_numpy(np.asarray(item))
        return self.item_ids[index].to(torch.int64), None if self.item_dense is None else self.item_dense[index]
