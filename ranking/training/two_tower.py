"""The cheap model: a vector for the user, one for the item, and nothing but their dot product between them."""

import torch
from torch import Tensor, nn

from ranking.training.layers import mlp
from ranking.training.options import TowerOptions
from ranking.training.ranker import ModelShape


class TwoTower(nn.Module):
    """Vectors [n, dim] whose dot product is the score.

    The last dimension carries the item's bias: there the user's vector is 1, so that the bias costs the server nothing.
    Both towers share the embeddings: a user's history lies in the space of the items.
    """

    def __init__(self, shape: ModelShape, options: TowerOptions) -> None:
        super().__init__()
        self.request_slots, self.item_slots = shape.slots("request_ids"), shape.slots("item_ids")
        self.embeddings = shape.embeddings(id_dim=options.id_dim, category_dim=options.category_dim)
        user_width = shape.width("request_dense") + self.embeddings.width(self.request_slots)
        item_width = shape.width("item_dense") + self.embeddings.width(self.item_slots)
        self.user_network = mlp(user_width, options.hidden, options.dim - 1)
        self.item_network = mlp(item_width, options.hidden, options.dim)

    def user(self, request_dense: Tensor, request_ids: Tensor) -> Tensor:
        """[m, dim]"""
        parts = [*self.embeddings(request_ids, self.request_slots), request_dense]
        vector = self.user_network(torch.cat(parts, dim=1))
        return torch.cat([vector, torch.ones_like(vector[:, :1])], dim=1)

    def item(self, item_ids: Tensor, item_dense: Tensor | None = None) -> Tensor:
        """[n, dim]"""
        parts = self.embeddings(item_ids, self.item_slots)
        vector: Tensor = self.item_network(torch.cat(parts if item_dense is None else [*parts, item_dense], dim=1))
        return vector


class UserTower(nn.Module):
    """What of a `TwoTower` is served: the user's vector, float32 [m, dim], as `vector`."""

    def __init__(self, towers: TwoTower) -> None:
        super().__init__()
        self.towers = towers

    def forward(self, request_dense: Tensor, request_ids: Tensor) -> dict[str, Tensor]:
        return {"vector": self.towers.user(request_dense, request_ids)}
