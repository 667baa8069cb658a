"""A small table and funnels made by hand, from real parts and tiny real fakes."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from funnel_fakes import ITEMS, FunnelMaker

from navi.core.deadline import Deadline
from navi.core.query import Query
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema, Field


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> ItemTable:
    """40 items with ids 100, 110, ...; creators 0..3 in turn (missing for every tenth), names in three groups."""
    path = tmp_path_factory.mktemp("table") / "items.arrow"
    rows = pa.table(
        {
            "id": pa.array([100 + 10 * i for i in range(ITEMS)], pa.int64()),
            "creator": pa.array([None if i % 10 == 9 else i % 4 for i in range(ITEMS)], pa.int64()),
            "group": [f"g{i % 3}" for i in range(ITEMS)],
            "price": pa.array([float(i) for i in range(ITEMS)], pa.float32()),
            "tags": pa.array([[i, i + 1] if i % 2 else [] for i in range(ITEMS)], pa.list_(pa.int64())),
        }
    )
    write_item_table(rows, path, key="id")
    return ItemTable.open(path)


@pytest.fixture
def users() -> MemoryStore:
    store = MemoryStore(FeatureSchema({"age": Field(dtype="float32")}))
    store.put_many([1], [{"age": np.array([30.0], dtype=np.float32)}])
    return store


@pytest.fixture
def make_funnel(table: ItemTable, users: MemoryStore) -> Iterator[FunnelMaker]:
    maker = FunnelMaker(table, users)
    yield maker
    for funnel in maker.made:
        funnel.close()


@pytest.fixture
def make_query() -> Callable[..., Query]:
    def make(**changes: Any) -> Query:
        chosen: dict[str, Any] = {"pipeline": "test", "user": 1, "k": 5, "deadline": Deadline.after(30.0), "as_of": 0.0}
        return Query(**{**chosen, **changes})

    return make
