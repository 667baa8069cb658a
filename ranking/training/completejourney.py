"""The Complete Journey: grocery purchases by households (84.51; CSV of github.com/bradleyboehmke/completejourney)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from navi.core.arrays import I64
from navi.core.column import Column
from navi.core.errors import ConfigError
from navi.core.ids import Ids
from ranking.training.csv_files import Kind, keyed, numbers, positions, read_columns, take_or_null, whole
from ranking.training.dataset import Dataset, Events, FeaturePlan
from ranking.training.time_split import first_seen, split_time

_TRANSACTIONS = "transactions_sample.csv.gz"
_PRODUCTS = "products.csv.gz"
_DEMOGRAPHICS = "demographics.csv.gz"
_DESCRIBED = ("department", "brand", "product_category", "product_type", "package_size")
_HOUSEHOLD = (
    "age",
    "income",
    "home_ownership",
    "marital_status",
    "household_size",
    "household_comp",
    "kids_count",
)
_TEXT: Kind = "string"
# `created_at` is no feature: that a first purchase is still to come says that this is not one.
_PLAN = FeaturePlan(
    item_categories=("department", "brand", "product_category", "product_type", "manufacturer"),
    user_categories=_HOUSEHOLD,
    affinities=("product_type", "product_category", "manufacturer"),
)


def load(folder: Path) -> Dataset:
    """From `transactions_sample.csv.gz`, `products.csv.gz` and `demographics.csv.gz`.

    Every line of a receipt with a positive quantity is an event; tasks: `buy`, 1 in every event, and `discount`,
    bought below the shelf price (the shop's own reduction or a coupon). The split is the moment before which 80 % of
    the lines lie. Items are the products of any line, before or after the split, as the shop knows what it sells; their
    columns come from the catalogue, but for `created_at`: the first sale before the split, null where there is none.
    Users are the households of any line; most have no demographics. Products are bought again and again.
    Raises ConfigError naming file and column.
    """
    events, item_ids, user_ids = _transactions(folder / _TRANSACTIONS)
    split = split_time(events.time, str(folder / _TRANSACTIONS))
    return Dataset(
        name="completejourney",
        items=_items(folder / _PRODUCTS, item_ids, first_seen(events, split, len(item_ids))),
        user_ids=Ids(user_ids),
        users=_households(folder / _DEMOGRAPHICS, user_ids),
        events=events,
        split=split,
        plan=_PLAN,
        tasks=("buy", "discount"),
        positive="buy",
        weights={"buy": 1.0, "discount": 0.25},
        complete_impressions=False,
        diversity="product_category",
        diversity_decay=0.9,
        diversity_floor=0.8,
        repeats=True,
    )


def _transactions(path: Path) -> tuple[Events, I64, I64]:
    """Lines as events, oldest first, with the ids of items and users whose positions they hold."""
    floats = ("product_id", "quantity", "retail_disc", "coupon_disc")
    kinds: dict[str, Kind] = {"household_id": "int64", "transaction_timestamp": "seconds"}
    table = read_columns(path, kinds | dict.fromkeys(floats, "float64"))
    household, product = table["household_id"].to_numpy(), whole(table, "product_id", path)
    time = table["transaction_timestamp"].cast(pa.int64()).to_numpy().astype(np.float64)
    saved = numbers(table, "retail_disc", path) + numbers(table, "coupon_disc", path)
    order = np.lexsort((product, household, time))
    order = order[numbers(table, "quantity", path)[order] > 0]
    if len(order) == 0:
        raise ConfigError(f"{path}: column 'quantity'", "is positive in no row")
    item_ids, item = np.unique(product[order], return_inverse=True)
    user_ids, user = np.unique(household[order], return_inverse=True)
    labels = {"buy": np.ones(len(order), dtype=np.float32), "discount": (saved[order] > 0).astype(np.float32)}
    return Events(user=user, item=item, time=time[order], context={}, labels=labels), item_ids, user_ids


def _items(path: Path, ids: I64, first_sale: I64) -> pa.Table:
    kinds: dict[str, Kind] = {"product_id": "float64", "manufacturer_id": "int64", **dict.fromkeys(_DESCRIBED, _TEXT)}
    optional = (*_DESCRIBED, "manufacturer_id")
    products, keys = keyed(read_columns(path, kinds, optional=optional), "product_id", path)
    known = take_or_null(products, positions(keys, ids))
    return pa.table(
        {
            "id": ids,
            "manufacturer": known["manufacturer_id"],
            **{name: known[name] for name in _DESCRIBED},
            "created_at": pa.array(first_sale, mask=first_sale < 0),
        }
    )


def _households(path: Path, ids: I64) -> Mapping[str, Column]:
    kinds: dict[str, Kind] = {"household_id": "int64", **dict.fromkeys(_HOUSEHOLD, _TEXT)}
    table, keys = keyed(read_columns(path, kinds, optional=_HOUSEHOLD), "household_id", path)
    known = take_or_null(table, positions(keys, ids))
    return {name: _strings(known[name].to_pylist()) for name in _HOUSEHOLD}


def _strings(values: list[str | None]) -> Column:
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    return Column(np.array([value or "" for value in values], dtype=object), valid=valid)
