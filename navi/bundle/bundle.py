"""An opened bundle: everything that its pipelines are made of, loaded and checked against each other."""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from navi.batching.observer import BatchObserver
from navi.batching.plain_servable import PlainServable
from navi.batching.scorer import Scorer
from navi.bundle.config import BundleConfig, ModelConfig, StoreConfig, read_config
from navi.bundle.desired import DesiredFile
from navi.bundle.loaded import Loaded, close_version, load_version, number_of
from navi.bundle.plugins import resolve
from navi.bundle.versions import version_directory
from navi.core.clock import Clock, SystemClock
from navi.core.errors import BundleError, ConfigError
from navi.core.pipeline import Pipeline
from navi.features.cache import FeatureCache
from navi.features.item_table import ItemTable
from navi.features.item_vectors import ItemVectors
from navi.features.lmdb_store import LmdbStore
from navi.features.memory_store import MemoryStore
from navi.features.store import FeatureStore

T = TypeVar("T")

_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")


class Bundle:
    """Tables, stores, models, vectors and pipelines of one directory. Close it, or use it as a context manager.

    What is in it stays; how models are replaced under load is told in `live.py`.
    """

    def __init__(self, root: Path, config: BundleConfig, clock: Clock, observer: BatchObserver | None = None) -> None:
        self.root = root
        self.config = config
        self.clock = clock
        self.tables: Mapping[str, ItemTable] = {}
        self.stores: Mapping[str, FeatureStore] = {}
        self.scorers: Mapping[str, Scorer] = {}
        self.plain: Mapping[str, PlainServable] = {}
        self.item_vectors: Mapping[str, ItemVectors] = {}
        self.pipelines: Mapping[str, Pipeline] = {}
        self._observer = observer
        self._versions: Mapping[str, int] = {}
        self._asked: set[str] = set()
        self._closing = ExitStack()

    @classmethod
    def open(
        cls, root: Path, *, clock: Clock | None = None, verify: bool = False, observer: BatchObserver | None = None
    ) -> "Bundle":
        """Load all of it, or raise a SetupError that says what is wrong with which file or entry.

        verify: also read the tables through and compare them with their digests. observer: is told of the models' runs.
        """
        bundle = cls.open_data(root, clock=clock, verify=verify, observer=observer)
        try:
            bundle.load_rest()
        except BaseException:
            bundle.close()
            raise
        return bundle

    @classmethod
    def open_data(
        cls, root: Path, *, clock: Clock | None = None, verify: bool = False, observer: BatchObserver | None = None
    ) -> "Bundle":
        """Open the tables and the stores only: what models are read beside. See `open`."""
        bundle = cls(root, read_config(root), clock or SystemClock(), observer)
        try:
            bundle.tables = {
                name: ItemTable.open(bundle.path(table.path), verify=verify)
                for name, table in bundle.config.tables.items()
            }
            bundle.stores = {name: bundle._open_store(store) for name, store in bundle.config.features.items()}
        except BaseException:
            bundle.close()
            raise
        return bundle

    def with_models(self, models: Mapping[str, Loaded]) -> "Bundle":
        """A bundle of the same tables and stores with these models, which stay the caller's, and nothing else yet."""
        bundle = Bundle(self.root, self.config, self.clock, self._observer)
        bundle.tables, bundle.stores = self.tables, self.stores
        bundle._hold(models)
        return bundle

    def load_model(self, name: str, directory: Path) -> Loaded:
        """The version in this directory, for the caller to close. Raises what `load_version` raises."""
        config = self.config.models[name]
        table = None if config.table is None else self.table(config.table)
        return load_version(name, directory, config, table, self._observer)

    def open_vectors(self, name: str) -> ItemVectors:
        """A set of vectors, checked against its table and against the model that this bundle has."""
        config = self.config.vectors[name]
        vectors = ItemVectors.open(self.path(config.path.replace("{version}", f"{{{config.model}}}")))
        if vectors.table_digest != self.table(config.table).digest:
            raise BundleError(f"vectors {name!r} were made for another state of table {config.table!r}")
        if vectors.model_digest != self.scorer(config.model).digest:
            raise BundleError(f"vectors {name!r} were made by another version of model {config.model!r}")
        return vectors

    def check_derived(self, model: str, version: int, digest: str) -> None:
        """BundleError where vectors of this version of a model, which has this digest, are missing or another's."""
        for name, config in self.config.vectors.items():
            if config.model == model and "{version}" in config.path:
                vectors = ItemVectors.open(self.path(config.path.replace("{version}", str(version))))
                if vectors.model_digest != digest:
                    raise BundleError(f"vectors {name!r} were made by another version of model {model!r}")

    def build(self, name: str) -> tuple[Pipeline, frozenset[str]]:
        """A pipeline, for the caller to close, and the models that its factory asked for, in whatever way."""
        self._asked.clear()
        config = self.config.pipelines[name]
        factory: Callable[..., Pipeline] = resolve(config.factory, field=f"pipelines.{name}.factory")
        return factory(self, name, config.options), frozenset(self._asked)

    def table(self, name: str) -> ItemTable:
        return _known(self.tables, "table", name)

    def store(self, name: str) -> FeatureStore:
        return _known(self.stores, "feature store", name)

    def scorer(self, name: str) -> Scorer:
        """To be asked for while a pipeline is built: it is built anew where another version takes the model's place."""
        self._asked.add(name)
        if name in self.plain:
            raise ConfigError(name, "is a plain model: without transforms, no pipeline can score with it")
        return _known(self.scorers, "model", name)

    def vectors(self, name: str) -> ItemVectors:
        """To be asked for while a pipeline is built, as scorers are."""
        if name in self.config.vectors:
            self._asked.add(self.config.vectors[name].model)
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
        """Where a file of the bundle is; BundleError for one outside it.

        `{NAME}` in it is the version of the bundle's model NAME.
        """
        path = (self.root / _PLACEHOLDER.sub(self._version_of, relative)).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise BundleError(f"{relative!r} points outside the bundle {self.root}")
        return path

    def _version_of(self, placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        if name not in self._versions:
            return placeholder[0]
        self._asked.add(name)
        return str(self._versions[name])

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

    def load_rest(self) -> None:
        """Everything beside tables and stores, each model in the version that is to serve; once."""
        self._hold({name: self._load_model(name, config) for name, config in self.config.models.items()})
        self.item_vectors = {name: self.open_vectors(name) for name in self.config.vectors}
        self.pipelines = {name: self._build(name) for name in self.config.pipelines}

    def _load_model(self, name: str, config: ModelConfig) -> Loaded:
        wish = DesiredFile(self.root).read().of(name)
        directory = version_directory(self.path(config.path), name, config, wish)
        loaded = self.load_model(name, self.path(str(directory.relative_to(self.root.resolve()))))
        self._closing.callback(close_version, loaded)
        return loaded

    def _hold(self, models: Mapping[str, Loaded]) -> None:
        self.scorers = {name: model for name, model in models.items() if isinstance(model, Scorer)}
        self.plain = {name: model for name, model in models.items() if isinstance(model, PlainServable)}
        self._versions = {name: number_of(model) for name, model in models.items()}

    def _build(self, name: str) -> Pipeline:
        pipeline, _ = self.build(name)
        self._closing.callback(pipeline.close)
        return pipeline


def _known(things: Mapping[str, T], kind: str, name: str) -> T:
    if name not in things:
        raise ConfigError(name, f"the bundle has no {kind} of this name; it has: {', '.join(sorted(things)) or 'none'}")
    return things[name]
