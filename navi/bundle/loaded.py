"""One version of a model in memory: with transforms, for pipelines, or plain, for those who send tensors."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread, get_native_id
from typing import TypeAlias, TypeVar

from navi.batching.batch_policy import BatchPolicy
from navi.batching.observer import BatchObserver
from navi.batching.plain_servable import PlainServable
from navi.batching.scorer import Scorer
from navi.bundle.config import ModelConfig
from navi.core.errors import ConfigError, ModelError
from navi.features.item_table import ItemTable
from navi.models.golden import check_golden
from navi.models.loader import LoadedModel, load_model
from navi.models.plain import PlainModel, is_plain, load_plain

T = TypeVar("T")

Loaded: TypeAlias = Scorer | PlainServable

_NICE = 10


def load_version(
    name: str,
    directory: Path,
    config: ModelConfig,
    table: ItemTable | None,
    observer: BatchObserver | None = None,
) -> Loaded:
    """Load, warm and try out one version, compare it with its golden file, and start its batcher.

    Raises ModelError where it cannot serve, ConfigError where the directory holds another model. Where `config.version`
    is given, the directory's name is the version's number.
    """
    number = int(directory.name) if directory.name.isascii() and directory.name.isdecimal() else 1
    model = quietly(config, lambda: _load(name, number, directory, config))
    policy = BatchPolicy(max_rows=config.max_rows, linger_s=config.linger_us / 1e6, workers=config.workers)
    try:
        check_golden(directory, model.backend)
        if isinstance(model, PlainModel):
            return PlainServable(model, policy, observer)
        _check_name(name, number, model, config)
        return Scorer(model, table, policy, observer)
    except BaseException:
        model.backend.close()
        raise


def close_version(loaded: Loaded) -> None:
    """Finish the calls that wait, and give the memory back."""
    loaded.close()
    if isinstance(loaded, Scorer):
        loaded.model.backend.close()


def number_of(loaded: Loaded) -> int:
    return loaded.version if isinstance(loaded, PlainServable) else loaded.model.spec.version


def quietly(config: ModelConfig, work: Callable[[], T]) -> T:
    """Do it on a thread that stands back behind those that serve, where the system can do so.

    Threads inherit how far they stand back: a model that makes threads of its own is loaded as it is.
    """
    if sys.platform != "linux" or config.threads > 1 or config.format != "onnx":
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        os.setpriority(os.PRIO_PROCESS, get_native_id(), _NICE)
        try:
            results.append(work())
        except BaseException as error:  # raised again by who waits
            errors.append(error)

    thread = Thread(target=run, name="navi-load")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _load(name: str, number: int, directory: Path, config: ModelConfig) -> LoadedModel | PlainModel:
    if is_plain(directory):
        return load_plain(directory, config, name=name, version=number)
    return load_model(directory, config)


def _check_name(name: str, number: int, model: LoadedModel, config: ModelConfig) -> None:
    if model.spec.name != name:
        raise ConfigError(f"models.{name}.path", f"holds the model {model.spec.name!r}")
    if config.version is not None and model.spec.version != number:
        raise ModelError(f"model.toml of {name} {number} says that it is version {model.spec.version}")
