"""The heavy model: many tasks from one DCN-v2 (Wang et al. 2021), cross layers beside a deep network."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ranking.training.layers import CrossLayer, Slot, mlp
from ranking.training.model_shape import ModelShape
from ranking.training.options import RankerOptions


class Ranker(nn.Module):
    """A logit a task, [n, tasks].

    `request_part` and `item_part` depend on one side only, so that training (and later the engine) computes them once
    for all rows that share it; `joint` is the rest.
    """

    def __init__(self, shape: ModelShape, tasks: int, options: RankerOptions) -> None:
        super().__init__()
        self.request_slots, self.item_slots = shape.slots("request_ids"), shape.slots("item_ids")
        self.embeddings = shape.embeddings(id_dim=options.id_dim, category_dim=options.category_dim)
        self.request_width = shape.width("request_dense") + self.embeddings.width(self.request_slots)
        self.item_width = shape.width("item_dense") + self.embeddings.width(self.item_slots)
        self.products = _products(self.request_slots, self.item_slots, self.embeddings.dims)
        width = self.request_width + self.item_width + shape.width("pair_dense")
        width += sum(dim for _, _, dim in self.products)
        self.cross = nn.ModuleList([CrossLayer(width, options.cross_rank) for _ in range(options.cross_layers)])
        self.deep = mlp(width, options.hidden)
        deep_width = options.hidden[-1] if options.hidden else width
        self.heads = nn.Linear(width + deep_width, tasks)

    def forward(
        self,
        request_dense: Tensor,
        request_ids: Tensor,
        item_ids: Tensor,
        pair_dense: Tensor,
        item_dense: Tensor | None = None,
    ) -> Tensor:
        request = self.request_part(request_dense, request_ids)
        return self.joint(request, self.item_part(item_ids, item_dense), pair_dense)

    def request_part(self, request_dense: Tensor, request_ids: Tensor) -> Tensor:
        """[m, request_width]: embeddings first, then numbers."""
        return torch.cat([*self.embeddings(request_ids, self.request_slots), request_dense], dim=1)

    def item_part(self, item_ids: Tensor, item_dense: Tensor | None) -> Tensor:
        """[n, item_width]: embeddings first, then numbers."""
        parts = self.embeddings(item_ids, self.item_slots)
        return torch.cat(parts if item_dense is None else [*parts, item_dense], dim=1)

    def joint(self, request: Tensor, item: Tensor, pair_dense: Tensor) -> Tensor:
        """Logits [n, tasks] from both parts [n, width] and the pair's numbers."""
        products = [request[:, a : a + dim] * item[:, b : b + dim] for a, b, dim in self.products]
        x0 = torch.cat([request, item, pair_dense, *products], dim=1)
        crossed = x0
        for layer in self.cross:
            crossed = layer(x0, crossed)
        logits: Tensor = self.heads(torch.cat([crossed, self.deep(x0)], dim=1))
        return logits


def _products(
    request: tuple[Slot, ...], item: tuple[Slot, ...], dims: Mapping[str, int]
) -> tuple[tuple[int, int, int], ...]:
    """(position in the request's part, in the item's part, width) of embeddings that share a table: their elementwise
    product is handed over ready-made, since it says how much a candidate is like what the user took before."""
    found = []
    a = 0
    for left in request:
        b = 0
        for right in item:
            if left.table == right.table:
                found.append((a, b, dims[left.table]))
            b += dims[right.table]
        a += dims[left.table]
    return tuple(found)
