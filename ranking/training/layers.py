"""Building blocks of the models: each treats every row by itself, so that no score depends on its batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from navi.features.inputs import Bucket, Category, History, InputSpec, transform_width


@dataclass(frozen=True, slots=True)
class Slot:
    """Columns of an input of codes that share an embedding table; `pooled` where they are a list."""

    table: str
    start: int
    width: int
    pooled: bool


def slots_of(spec: InputSpec) -> tuple[Slot, ...]:
    """The slots of an int64 input, in order."""
    slots, start = [], 0
    for transform in spec.features:
        width = transform_width(transform)
        if isinstance(transform, Category | History):
            slots.append(Slot(transform.vocabulary, start, width, isinstance(transform, History)))
        elif isinstance(transform, Bucket):
            slots.append(Slot(f"bucket_{spec.name}_{transform.name}", start, width, pooled=False))
        start += width
    return tuple(slots)


def table_sizes(specs: Sequence[InputSpec], vocabularies: Mapping[str, int]) -> dict[str, int]:
    """Rows of each embedding table that the inputs need. vocabularies: size of each, the unknown value included."""
    sizes = {}
    for spec in specs:
        for transform in spec.features:
            if isinstance(transform, Category | History):
                sizes[transform.vocabulary] = vocabularies[transform.vocabulary]
            elif isinstance(transform, Bucket):
                sizes[f"bucket_{spec.name}_{transform.name}"] = len(transform.boundaries) + 2
    return sizes


class Embeddings(nn.Module):
    """Tables of embeddings by vocabulary, shared by all inputs that name it. Code 0 is the unknown value."""

    def __init__(self, sizes: Mapping[str, int], dims: Mapping[str, int]) -> None:
        super().__init__()
        self.dims = dict(dims)
        self.position = {name: position for position, name in enumerate(sizes)}
        self.tables = nn.ModuleList([nn.Embedding(size, dims[name]) for name, size in sizes.items()])
        for name in sizes:
            nn.init.normal_(self.table(name).weight, std=0.05)

    def forward(self, codes: Tensor, slots: Sequence[Slot]) -> list[Tensor]:
        """Embeddings [n, dim] of each slot of `codes` (int64 [n, width]); lists are averaged over what is known."""
        return [self._embed(codes[:, slot.start : slot.start + slot.width], slot) for slot in slots]

    def width(self, slots: Sequence[Slot]) -> int:
        return sum(self.dims[slot.table] for slot in slots)

    def table(self, name: str) -> nn.Embedding:
        found = self.tables[self.position[name]]
        assert isinstance(found, nn.Embedding)
        return found

    def _embed(self, codes: Tensor, slot: Slot) -> Tensor:
        table = self.table(slot.table)
        if not slot.pooled:
            single: Tensor = table(codes[:, 0])
            return single
        if self.training:
            return _bag(codes, table.weight)
        known = (codes != 0).to(torch.float32)
        total: Tensor = (table(codes) * known.unsqueeze(-1)).sum(dim=1)
        return total / known.sum(dim=1, keepdim=True).clamp(min=1.0)


def _bag(codes: Tensor, weight: Tensor) -> Tensor:
    """The same mean, but its cost is that of the known codes and not of the padding; it has no ONNX form."""
    known = codes != 0
    offsets = functional.pad(known.sum(dim=1).cumsum(dim=0), (1, 0))[:-1]
    return functional.embedding_bag(codes[known], weight, offsets, mode="mean")


class CrossLayer(nn.Module):
    """x0 * (W x + b) + x, the cross layer of DCN-v2 (Wang et al. 2021); W = U V of `rank`, or full for 0."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        low = 0 < rank < width
        self.linear: nn.Module = nn.Linear(width, width)
        if low:
            self.linear = nn.Sequential(nn.Linear(width, rank, bias=False), nn.Linear(rank, width))

    def forward(self, x0: Tensor, x: Tensor) -> Tensor:
        crossed: Tensor = x0 * self.linear(x) + x
        return crossed


def mlp(width: int, hidden: Sequence[int], out: int | None = None) -> nn.Sequential:
    """Linear layers with ReLU between them; `out` adds a last linear one."""
    layers: list[nn.Module] = []
    for size in hidden:
        layers += [nn.Linear(width, size), nn.ReLU()]
        width = size
    if out is not None:
        layers.append(nn.Linear(width, out))
    return nn.Sequential(*layers)


def drop_codes(codes: Tensor, column: int, rate: float, generator: torch.Generator) -> Tensor:
    """`codes` [n, width] with a share `rate` of one column's values made unknown (0)."""
    if rate == 0:
        return codes
    dropped = torch.rand(len(codes), generator=generator) < rate
    changed = codes.clone()
    changed[dropped, column] = 0
    return changed
