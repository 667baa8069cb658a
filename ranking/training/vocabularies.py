"""Which ids and categories the models know by name: those that training has met, so that no embedding stays random."""

from collections.abc import Mapping

import numpy as np

from navi.core.arrays import I64
from navi.core.column import Column
from navi.core.errors import ConfigError
from navi.core.ids import Ids
from navi.features.item_table import ItemTable
from navi.features.vocabulary import Vocabulary
from ranking.training.dataset import FeaturePlan
from ranking.training.moments import Moments

ITEMS = "item_id"
"""The vocabulary of item ids."""


def category_vocabulary(origin: str, column: str) -> str:
    """The name of a category's vocabulary; histories of an item's category share the item's."""
    return f"{origin}_{column}"


def item_vocabularies(plan: FeaturePlan, table: ItemTable, item: I64, *, min_count: int) -> dict[str, Vocabulary]:
    """Ids of items with at least `min_count` training rows, and the values of all items that have any.

    item: int64 [n], the table row of each training row.
    """
    counts = np.bincount(item, minlength=len(table))
    made = {ITEMS: Vocabulary(table.ids.take(np.flatnonzero(counts >= min_count)))}
    met = np.flatnonzero(counts)
    for column in dict.fromkeys((*plan.item_categories, *plan.affinities)):
        made[category_vocabulary("item", column)] = _vocabulary(f"items.{column}", table.column(column).take(met))
    return made


def request_vocabularies(plan: FeaturePlan, users: Mapping[str, Column], moments: Moments) -> dict[str, Vocabulary]:
    """The values that users and contexts had at the moments of training."""
    met = np.unique(moments.user)
    made = {}
    for column in plan.user_categories:
        made[category_vocabulary("user", column)] = _vocabulary(f"users.{column}", users[column].take(met))
    for column in plan.context_categories:
        made[category_vocabulary("request", column)] = _vocabulary(f"context.{column}", moments.context[column])
    return made


def _vocabulary(name: str, column: Column) -> Vocabulary:
    if column.dtype not in ("int64", "string"):
        raise ConfigError(name, f"is {column.dtype}; categories are int64 or string")
    values = column.values
    if column.valid is not None:
        values = column.take(np.flatnonzero(column.valid)).values
    if column.dtype == "int64":
        return Vocabulary(Ids(np.unique(values)))
    return Vocabulary(Ids.of_text(sorted(set(values.ravel().tolist()))))
