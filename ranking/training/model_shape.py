"""What the layers of a model are sized by: its declared inputs and vocabularies."""

from collections.abc import Mapping
from dataclasses import dataclass

from navi.features.inputs import InputSpec
from ranking.training.layers import Embeddings, Slot, slots_of, table_sizes
from ranking.training.vocabularies import ITEMS


@dataclass(frozen=True, slots=True)
class ModelShape:
    """inputs: by name. vocabularies: size of each, the unknown value included."""

    inputs: Mapping[str, InputSpec]
    vocabularies: Mapping[str, int]

    def width(self, name: str) -> int:
        """Columns of an input; 0 where the model has none of that name."""
        return self.inputs[name].width if name in self.inputs else 0

    def slots(self, name: str) -> tuple[Slot, ...]:
        return slots_of(self.inputs[name])

    def embeddings(self, *, id_dim: int, category_dim: int) -> Embeddings:
        coded = [spec for spec in self.inputs.values() if spec.dtype == "int64"]
        sizes = table_sizes(coded, self.vocabularies)
        return Embeddings(sizes, {name: id_dim if name == ITEMS else category_dim for name in sizes})
