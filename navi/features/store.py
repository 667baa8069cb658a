"""The seam behind which keyed features (of users, and of anything else that is fetched) are kept."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from navi.core.arrays import Array
from navi.core.ids import Key
from navi.features.schema import FeatureSchema

Row: TypeAlias = Mapping[str, Array]
"""One key's features: name -> values [width] (or of any length, for ragged fields); a missing feature is absent."""

WriteMode: TypeAlias = Literal["merge", "replace", "append"]
"""merge: given features replace the old ones; replace: the row becomes what is given; append: ragged values are put
behind the old ones, and the oldest are dropped past the field's `max_length`."""


class FeatureStore(Protocol):
    """Rows by key. Safe to call from many threads. Raises StoreError where the store itself fails."""

    @property
    def schema(self) -> FeatureSchema: ...

    def get_many(self, keys: Sequence[Key]) -> list[Row | None]:
        """The rows of `keys`, position for position; None for a key that is not there. Rows are read-only."""
        ...

    def put_many(self, keys: Sequence[Key], rows: Sequence[Row], mode: WriteMode = "merge") -> None:
        """Write rows, all or none; durable when it returns, where the store is.

        Raises InvalidArgument, naming the feature, where a row does not fit the schema.
        """
        ...

    def delete_many(self, keys: Sequence[Key]) -> int:
        """Forget `keys`; how many there were."""
        ...

    def count(self) -> int: ...

    def close(self) -> None: ...
