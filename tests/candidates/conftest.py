"""Small real tables, bundles and queries for the candidates' tests."""

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from candidates.context import Context
from candidates.parts import Parts
from navi.bundle.bundle import Bundle
from navi.bundle.config import BundleConfig, PipelineConfig
from navi.core.candidates import Candidates
from navi.core.clock import ManualClock
from navi.core.deadline import Deadline
from navi.core.query import Query
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema, Field

MakeTable = Callable[[Mapping[str, Any]], ItemTable]
NOW = 1_700_000_000.0


@pytest.fixture(scope="session")
def make_table(tmp_path_factory: pytest.TempPathFactory) -> MakeTable:
    """A table from columns of Python or Arrow values, `id` among them."""
    folder, number = tmp_path_factory.mktemp("tables"), count()

    def make(columns: Mapping[str, Any]) -> ItemTable:
        path = folder / f"{next(number)}.arrow"
        write_item_table(pa.table(dict(columns)), path, key="id")
        return ItemTable.open(path)

    return make


@pytest.fixture(scope="session")
def make_parts(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Parts]:
    """Parts over a table, with a store whose users have these fields."""
    root = tmp_path_factory.mktemp("bundle")

    def make(table: ItemTable, users: Mapping[str, Field] | None = None) -> Parts:
        config = BundleConfig(name="tests", pipelines={"home": PipelineConfig(factory="no:factory")})
        bundle = Bundle(Path(root), config, ManualClock())
        return Parts(bundle, table, MemoryStore(FeatureSchema(users or {})))

    return make


@pytest.fixture(scope="session")
def make_context() -> Callable[..., Context]:
    """A context for a query with these entries; `user` is the row of a known user."""

    def make(table: ItemTable, user: Mapping[str, Any] | None = None, **entries: Any) -> Context:
        asked = {"pipeline": "home", "user": None, "k": 10, "deadline": Deadline.never(), "as_of": NOW, **entries}
        row = {name: np.asarray(values) for name, values in (user or {}).items()}
        return Context(Query(**asked), table, row, user is not None)

    return make


@pytest.fixture(scope="session")
def candidates_of() -> Callable[..., Candidates]:
    """Candidates of these rows, brought by source 0."""

    def make(rows: Any) -> Candidates:
        listed = np.asarray(rows, dtype=np.int64)
        return Candidates(listed, np.ones(len(listed), dtype=np.uint32))

    return make
