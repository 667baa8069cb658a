"""The `navi.toml` of a trained bundle."""

from pathlib import Path
from typing import Any

import tomli_w

from navi.features.schema import FeatureSchema
from ranking.training.dataset import Dataset
from ranking.training.options import FunnelOptions
from ranking.training.popularity import POPULARITY
from ranking.training.snapshots import SEEN, recent_name

PIPELINE = "home"
RANKER, USER_TOWER, ITEMS, USERS = "ranker", "user_tower", "items", "users"
PATHS = {
    ITEMS: "tables/items.arrow",
    USERS: "features/users",
    "vectors": "indexes/items.arrow",
    "index": "indexes/items.ivf",
}


def write_config(directory: Path, dataset: Dataset, users: FeatureSchema, options: FunnelOptions) -> None:
    """Write `navi.toml` into the bundle's directory. users: what their rows hold."""
    vectors = {"model": USER_TOWER, "vectors": ITEMS}
    pipeline: dict[str, Any] = {
        "table": ITEMS,
        "users": USERS,
        "sources": _sources(dataset, options, vectors),
        "blend": {"method": "reciprocal_rank_fusion", "limit": options.retrieve + 4 * options.quota},
        "filters": _filters(dataset),
        "coarse": {"keep": options.keep, "options": vectors},
        "rerank": {"options": {"model": RANKER}},
        "combine": {"use": "ranking.stages.combine:combine", "options": {"weights": dict(dataset.weights)}},
        "policy": _policy(dataset),
    }
    config = {
        "name": dataset.name,
        "tables": {ITEMS: {"path": PATHS[ITEMS]}},
        "features": {USERS: _store(dataset, users)},
        "models": {
            USER_TOWER: {"path": f"models/{USER_TOWER}/1"},
            RANKER: {"path": f"models/{RANKER}/1", "table": ITEMS},
        },
        "vectors": {ITEMS: {"path": PATHS["vectors"], "table": ITEMS, "model": USER_TOWER}},
        "pipelines": {PIPELINE: {"factory": "ranking.funnel:build", "options": pipeline}},
    }
    (directory / "navi.toml").write_text(tomli_w.dumps(config), encoding="utf-8")


def _sources(dataset: Dataset, options: FunnelOptions, vectors: dict[str, str]) -> list[dict[str, Any]]:
    search = {"method": "approximate", "index": PATHS["index"]} if options.approximate else {}
    sources = [
        _source("embedding", options.retrieve, {**vectors, **search}),
        _source("popular", options.quota, {"column": POPULARITY}),
        _source("supplied", options.keep, {}),
    ]
    if dataset.plan.item_created is not None:
        sources.append(_source("recent", options.quota, {"column": dataset.plan.item_created}))
    if dataset.diversity in dataset.plan.affinities:
        # What the user came back to before: by the column that tells authors (or their like) apart.
        how = {"feature": recent_name(dataset.diversity), "column": dataset.diversity}
        order = {"order": POPULARITY, "kind": "number"}
        sources.append(_source("attribute", options.quota, {**how, **order}))
    return sources


def _source(name: str, quota: int, options: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "use": f"candidates.{name}:{name}", "quota": quota, "options": options}


def _filters(dataset: Dataset) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = [
        {"name": name, "use": f"candidates.filters:{name}"} for name in ("excluded", "predicates")
    ]
    if not dataset.repeats:
        filters.append({"name": "seen", "use": "candidates.filters:seen", "options": {"feature": SEEN}})
    if dataset.plan.item_created is not None:
        created = {"column": dataset.plan.item_created}
        filters.append({"name": "age", "use": "candidates.filters:age", "options": created})
    return filters


def _policy(dataset: Dataset) -> list[dict[str, Any]]:
    if dataset.diversity is None:
        return []
    spread = {"column": dataset.diversity, "decay": dataset.diversity_decay, "floor": dataset.diversity_floor}
    return [{"name": "diversity", "use": "ranking.stages.diversity:diversity", "options": spread}]


def _store(dataset: Dataset, users: FeatureSchema) -> dict[str, Any]:
    fields = {}
    for name, field in sorted(users.fields.items()):
        shape = {"width": field.width} if field.max_length is None else {"max_length": field.max_length}
        fields[name] = {"dtype": field.dtype, **shape}
    kind = "string" if dataset.user_ids.is_text else "int64"
    return {"path": PATHS[USERS], "key": kind, "cache_bytes": 64 << 20, "cache_ttl_s": 60.0, "fields": fields}
