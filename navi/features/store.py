"""The seam behind which keyed features (of users, and of anything else that is fetched) are kept."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from navi.core.arrays import Array
from navi.core.ids import Key
from navi.features.change_log import Changes
from navi.features.keys import KeyKind
from navi.features.schema import FeatureSchema

Row: TypeAlias = Mapping[str, Array]
"""One key's features: name -> values [width] (or of any length, for ragged fields); a missing feature is absent."""

WriteMode: TypeAlias = Literal["merge", "replace", "append"]
"""merge: given features replace the old ones; replace: the row becomes what is given; append: ragged values are put
behind the old ones, and the oldest are dropped past the field's `max_length`."""


class FeatureStore(Protocol):
    """Rows by key. Safe to call from many threads. Raises StoreError where the store itself fails.

    Every call that takes keys raises InvalidArgument("key") for one that is not of the store's kind.
    """

    @property
    def schema(self) -> FeatureSchema: ...

    @property
    def key(self) -> KeyKind: ...

    def get_many(self, keys: Sequence[Key]) -> list[Row | None]:
        """The rows of `keys`, position for position; None for a key that is not there. Rows are read-only."""
        ...

    def put_many(self, keys: Sequence[Key], rows: Sequence[Row], mode: WriteMode = "merge") -> None:
        """Write rows, all or none; durable when it returns, where the store is.

        A key given twice is written twice, in order. Raises InvalidArgument, naming the feature, where a row does not
        fit the schema, or where a feature to append to is not ragged.
        """
        ...

    def delete_many(self, keys: Sequence[Key]) -> int:
        """Forget `keys`; how many there were."""
        ...

    def items(self) -> Iterator[tuple[Key, Row]]:
        """Every key and its row, once, in order of keys (int64 order, or UTF-8 byte order).

        Writes meanwhile are allowed: each row is as it was at some moment of the iteration.
        """
        ...

    def count(self) -> int: ...

    def generation(self) -> int:
        """A number that every change of the store raises, in the same transaction; 0 for a store never written."""
        ...

    def changes(self, since: int) -> Changes:
        """Which keys were written or deleted after generation `since`, by whomever; cheap where nothing was."""
        ...

    def close(self) -> None: ...
