"""An opened bundle: everything that its pipelines are made of, loaded and checked against each other."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from navi.batching.batch_policy import BatchPolicy
from navi.batching.scorer import Scorer
from navi.bundle.config import BundleConfig, ModelConfig, StoreConfig, VectorsConfig, read_config
from navi.bundle.plugins import resolve
from navi.core.clock import Clock, SystemClock
from navi.core.errors import BundleError, ConfigError
from navi.core.pipeline import Pipeline
from navi.features.cache import FeatureCache
from navi.features.item_table import ItemTable
from navi.features.item_vectors import ItemVectors
from navi.features.lmdb_store import LmdbStore
from navi.features.memory_store import MemoryStore
from navi.features.store import FeatureStore
from navi.models.loader import load_model

T = TypeVar("T")


class Bundle:
    """Tables, stores, models, vectors and pipelines of one directory. Close it, or use it as a context manager."""

    def __init__(self, root: Path, config: BundleConfig, clock: Clock) -> None:
        self.root = root
        self.config = config
        self.clock = clock
        self.tables: Mapping[str, ItemTable] = {}
        self.stores: Mapping[str, FeatureStore] = {}
        self.scorers: Mapping[str, Scorer] = {}
        self.item_vectors: Mapping[str, ItemVectors] = {}
        self.pipelines: Mapping[str, Pipeline] = {}
        self._closing = ExitStack()

    @classmethod
    def open(cls, root: Path, *, clock: Clock | None = None, verify: bool = False) -> "Bundle":
        """Load all of it, or raise a SetupError that says what is wrong with which file or entry.

        verify: also read the tables through and compare them with their digests.
        """
        bundle = cls(root, read_config(root), clock or SystemClock())
        try:
            bundle._load(verify=verify)
        except BaseException:
            bundle.close()
            raise
        return bundle

    def _load(self, *, verify: bool) -> None:
        config = self.config
        self.tables = {
            name: ItemTable.open(self.path(table.path), verify=verify) for name, table in config.tables.items()
        }
        self.stores = {name: self._open_store(store) for name, store in config.features.items()}
        self.scorers = {name: self._load_model(name, model) for name, model in config.models.items()}
        self.item_vectors = {name: self._open_vectors(name, entry) for name, entry in config.vectors.items()}
        self.pipelines = {name: self._build(name) for name in config.pipelines}

    def table(self, name: str) -> ItemTable:
        return _known(self.tables, "table", name)

    def store(self, name: str) -> FeatureStore:
        return _known(self.stores, "feature store", name)

    def scorer(self, name: str) -> Scorer:
        return _known(self.scorers, "model", name)

    def vectors(self, name: str) -> ItemVectors:
        return _known(self.item_vectors, "set of vectors", name)

    @property
    def digest(self) -> str:
        """What the answers depend on: the digest of the configuration and of every table, model and set of vectors."""
        parts = [self.config.model_dump_json()]
        parts += [f"table {name} {table.digest}" for name, table in sorted(self.tables.items())]
        parts += [f"model {name} {scorer.digest}" for name, scorer in sorted(self.scorers.items())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def close(self) -> None:
        """Stop the pipelines and give everything back, in the reverse order of loading."""
        self._closing.close()

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def path(self, relative: str) -> Path:
        """Where a file of the bundle is; BundleError for one outside it."""
        path = (self.root / relative).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise BundleError(f"{relative!r} points outside the bundle {self.root}")
        return path

    def _open_store(self, config: StoreConfig) -> FeatureStore:
        schema = config.schema_of_rows()
        store: FeatureStore
        if config.path is None:
            store = MemoryStore(schema, key=config.key)
        else:
            store = LmdbStore.open(self.path(config.path), schema, key=config.key)
        self._closing.callback(store.close)
        if config.cache_bytes == 0:
            return store
        return FeatureCache(store, max_bytes=config.cache_bytes, ttl_s=config.cache_ttl_s, clock=self.clock)

    def _load_model(self, name: str, config: ModelConfig) -> Scorer:
        model = load_model(self.path(config.path), config)
        self._closing.callback(model.backend.close)
        if model.spec.name != name:
            raise ConfigError(f"models.{name}.path", f"holds the model {model.spec.name!r}")
        table = None if config.table is None else self.table(config.table)
        policy = BatchPolicy(max_rows=config.max_rows, linger_s=config.linger_us / 1e6, workers=config.workers)
        scorer = Scorer(model, table, policy)
        self._closing.callback(scorer.close)
        return scorer

    def _open_vectors(self, name: str, config: VectorsConfig) -> ItemVectors:
        vectors = ItemVectors.open(self.path(config.path))
        if vectors.table_digest != self.table(config.table).digest:
            raise BundleError(f"vectors {name!r} were made for another state of table {config.table!r}")
        if vectors.model_digest != self.scorer(config.model).digest:
            raise BundleError(f"vectors {name!r} were made by another version of model {config.model!r}")
        return vectors

    def _build(self, name: str) -> Pipeline:
        config = self.config.pipelines[name]
        factory: Callable[..., Pipeline] = resolve(config.factory, field=f"pipelines.{name}.factory")
        pipeline = factory(self, name, config.options)
        self._closing.callback(pipeline.close)
        return pipeline


def _known(things: Mapping[str, T], kind: str, name: str) -> T:
    if name not in things:
        raise ConfigError(name, f"the bundle has no {kind} of this name; it has: {', '.join(sorted(things)) or 'none'}")
    return things[name]
