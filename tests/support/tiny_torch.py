"""The tiny model as a PyTorch module and as a `.pt2` archive."""

import warnings
from pathlib import Path

import torch
from tiny_model import batch, weights
from torch import Tensor, nn


class TinyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name, values in weights().items():
            self.register_buffer(name, torch.from_numpy(values))

    def forward(self, user: Tensor, kind: Tensor, pair: Tensor) -> Tensor:
        wide = torch.cat([user, self.kinds[kind[:, 0]], self.prices[kind[:, 1]], pair], 1)
        return torch.relu(wide @ self.w1 + self.b1) @ self.w2 + self.b2


def save_program(module: nn.Module, path: Path, *arguments: object) -> Path:
    """`module`, traced on `arguments` (the tiny model's batch by default) for any number of rows."""
    given = arguments or tuple(torch.from_numpy(values) for values in batch(4).values())
    rows = torch.export.Dim("rows", min=1)
    shapes = tuple({name: {0: rows} for name in each} if isinstance(each, dict) else {0: rows} for each in given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's own, about its own pytrees
        program = torch.export.export(module, given, dynamic_shapes=shapes)
        torch.export.save(program, path)
    return path
