"""`navi.toml`: what a bundle consists of."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from navi.core.column import DType
from navi.core.errors import BundleError, ConfigError
from navi.features.inputs import Strict
from navi.features.schema import FeatureSchema
from navi.features.schema import Field as FeatureField
from navi.models.options import ModelOptions

M = TypeVar("M", bound=Strict)


class TableConfig(Strict):
    """An item table."""

    path: str = Field(description="Arrow file written by `navi`, inside the bundle.")


class FieldConfig(Strict):
    """One feature of a store's rows."""

    dtype: DType = Field(description="float32, int64, bool or string.")
    width: int = Field(default=1, ge=1, le=65_536, description="Values a row.")
    max_length: int | None = Field(default=None, ge=1, le=65_536, description="Set: a list of up to this many values.")


class StoreConfig(Strict):
    """A feature store."""

    path: str | None = Field(default=None, description="LMDB directory inside the bundle; absent: kept in memory only.")
    key: Literal["int64", "string"] = Field(description="Kind of the keys.")
    fields: Mapping[str, FieldConfig] = Field(description="The features that a row may have.")
    cache_bytes: int = Field(default=0, ge=0, description="Size of the row cache in front; 0: none.")
    cache_ttl_s: float = Field(default=60.0, gt=0, description="How long a cached row may be answered.")

    def schema_of_rows(self) -> FeatureSchema:
        return FeatureSchema({name: FeatureField(**field.model_dump()) for name, field in self.fields.items()})


class ModelConfig(ModelOptions):
    """A model: where it is, whose rows it scores, and how it is run."""

    path: str = Field(
        description="Directory inside the bundle: of one version, `models/ranker/1`; with `version`, of all of them."
    )
    version: Literal["latest"] | Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="Which of the versions below `path` serves, until `navi models` says otherwise. Absent: `path` is "
        "one version, which stays.",
    )
    table: str | None = Field(default=None, description="The item table that its item-scope inputs come from.")


class VectorsConfig(Strict):
    """Item vectors that a model made."""

    path: str = Field(
        description="Arrow file written by `navi train`, inside the bundle; `{version}` in it is that of the model."
    )
    table: str = Field(description="The table with one row for each vector.")
    model: str = Field(description="The model that made them; its digest must be the one they carry.")


class RepositoryConfig(Strict):
    """How versions of models come and go; for models with a `version`."""

    mode: Literal["explicit", "poll"] = Field(
        default="explicit",
        description="`poll`: the newest whole version serves as soon as it is found; `explicit`: when it is asked for.",
    )
    poll_s: float = Field(default=10.0, gt=0, description="Seconds from one look for new versions to the next.")
    source: str | None = Field(
        default=None,
        description="Where versions are copied from, `<source>/<model>/<version>`: file:///, s3://, gs:// and whatever "
        "else pyarrow opens.",
    )
    keep: int = Field(
        default=2, ge=1, le=16, description="Versions of a model kept loaded that serve, or served last: for rollback."
    )


class PipelineConfig(Strict):
    """A pipeline: who builds it, and what it is told."""

    factory: str = Field(description="`module:function`, called as function(bundle, name, options).")
    options: Mapping[str, Any] = Field(default_factory=dict, description="What the factory checks for itself.")


class BundleConfig(Strict):
    """The whole of a `navi.toml`."""

    name: str = Field(description="What the bundle is called in reports.")
    tables: Mapping[str, TableConfig] = Field(default_factory=dict)
    features: Mapping[str, StoreConfig] = Field(default_factory=dict)
    models: Mapping[str, ModelConfig] = Field(default_factory=dict)
    vectors: Mapping[str, VectorsConfig] = Field(default_factory=dict)
    repository: RepositoryConfig = RepositoryConfig()
    pipelines: Mapping[str, PipelineConfig] = Field(min_length=1)
    server: Mapping[str, Any] = Field(default_factory=dict, description="Settings of `navi serve`.")


def read_config(bundle: Path) -> BundleConfig:
    """The checked `navi.toml` of a bundle directory; BundleError or ConfigError where it is not right."""
    path = bundle / "navi.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BundleError(f"{bundle} is no bundle: it has no navi.toml") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BundleError(f"{path} cannot be read: {error}") from error
    config = validated(BundleConfig, raw, field="")
    _check_references(config)
    return config


def validated(model: type[M], raw: object, *, field: str) -> M:
    """`raw` as `model`; ConfigError with the path of the first wrong entry, below `field`."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise config_error(error, field=field) from error


def config_error(error: ValidationError, *, field: str) -> ConfigError:
    """The first complaint of a pydantic error, with its path below `field`."""
    first = error.errors()[0]
    path = ".".join(part for part in (field, *map(str, first["loc"])) if part)
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return ConfigError(path or "navi.toml", f"{first['msg']}{more}")


def _check_references(config: BundleConfig) -> None:
    for name, model in config.models.items():
        if model.table is not None and model.table not in config.tables:
            raise ConfigError(f"models.{name}.table", f"there is no table {model.table!r}")
    for name, vectors in config.vectors.items():
        if vectors.table not in config.tables:
            raise ConfigError(f"vectors.{name}.table", f"there is no table {vectors.table!r}")
        if vectors.model not in config.models:
            raise ConfigError(f"vectors.{name}.model", f"there is no model {vectors.model!r}")
