"""The cheap model: a vector for the user, one for the item, and nothing but their dot product between them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ranking.training.layers import Embeddings, Slot, mlp
from ranking.training.model_shape import ModelShape
from ranking.training.options import TowerOptions


class Tower(nn.Module):
    """One side's vector [n, out] from its codes and numbers."""

    def __init__(
        self, embeddings: Embeddings, slots: Sequence[Slot], widths: tuple[int, int], hidden: Sequence[int]
    ) -> None:
        """widths: of the numbers, and of the vector."""
        super().__init__()
        self.embeddings = embeddings
        self.slots = tuple(slots)
        self.network = mlp(widths[0] + embeddings.width(slots), hidden, widths[1])

    def forward(self, codes: Tensor, dense: Tensor | None) -> Tensor:
        parts = self.embeddings(codes, self.slots)
        vector: Tensor = self.network(torch.cat(parts if dense is None else [*parts, dense], dim=1))
        return vector


class UserTower(nn.Module):
    """The side that is served: float32 [m, dim]."""

    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.tower = tower

    def forward(self, request_dense: Tensor, request_ids: Tensor) -> Tensor:
        vector = self.tower(request_ids, request_dense)
        return torch.cat([vector, torch.ones_like(vector[:, :1])], dim=1)


class TwoTower(nn.Module):
    """Vectors [n, dim] of users and items whose dot product is the score.

    The last dimension carries the item's bias: there the user's vector is 1, so that the bias costs the server nothing.
    Both towers share the embeddings: a user's history lies in the space of the items.
    """

    def __init__(self, shape: ModelShape, options: TowerOptions) -> None:
        super().__init__()
        embeddings = shape.embeddings(id_dim=options.id_dim, category_dim=options.category_dim)
        dense, dim, hidden = shape.width("request_dense"), options.dim, options.hidden
        self.user = UserTower(Tower(embeddings, shape.slots("request_ids"), (dense, dim - 1), hidden))
        self.item = Tower(embeddings, shape.slots("item_ids"), (shape.width("item_dense"), dim), hidden)
