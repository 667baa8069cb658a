"""From a feature plan to the inputs of the models: what is declared in `model.toml` and run by the encoder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from navi.core.arrays import Array
from navi.core.column import Column
from navi.features.inputs import (
    Age,
    Category,
    Gap,
    History,
    InputSpec,
    Match,
    Numeric,
    Present,
    Scope,
    Transform,
)
from navi.features.vocabulary import Vocabulary
from ranking.training.dataset import FeaturePlan
from ranking.training.popularity import POPULARITY
from ranking.training.snapshots import LAST_POSITIVE, POSITIVES, RECENT_ITEMS, SHOWN, recent_name, shown_name
from ranking.training.vocabularies import ITEMS, category_vocabulary

Observed = Mapping[str, Column]
"""Values of features (`user.x`, `request.x`, `item.x`) as training rows have them, for means and deviations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """Inputs by scope, and the vocabularies that they name."""

    request: tuple[InputSpec, ...]
    item: tuple[InputSpec, ...]
    pair: tuple[InputSpec, ...]
    vocabularies: Mapping[str, Vocabulary]

    @property
    def all(self) -> tuple[InputSpec, ...]:
        return (*self.request, *self.item, *self.pair)


def declare(
    plan: FeaturePlan, observed: Observed, vocabularies: Mapping[str, Vocabulary], *, history: int
) -> Declarations:
    """The inputs `request_dense`, `request_ids`, `item_dense` (where items have numbers), `item_ids`, `pair_dense`."""
    numbers = partial(_numbers, observed)
    request_dense = [*_user_numbers(plan, numbers), *numbers("request", plan.context_numbers)]
    request_ids = [*_histories(plan, history), *_categories(plan)]
    item_dense = [*numbers("item", plan.item_numbers), *numbers("item", plan.item_log_numbers, log1p=True)]
    item_ids = [Category(name="id", feature="item.id", vocabulary=ITEMS), *_item_codes(plan, observed)]
    pair_dense = [*numbers("item", (POPULARITY,), log1p=True), *_pairs(plan, observed)]
    return Declarations(
        request=_inputs("request", request_dense, request_ids),
        item=_inputs("item", item_dense, item_ids),
        pair=_inputs("pair", pair_dense, []),
        vocabularies=vocabularies,
    )


def _inputs(scope: Scope, dense: list[Transform], ids: list[Transform]) -> tuple[InputSpec, ...]:
    made = []
    if dense:
        made.append(InputSpec(name=f"{scope}_dense", scope=scope, dtype="float32", features=tuple(dense)))
    if ids:
        made.append(InputSpec(name=f"{scope}_ids", scope=scope, dtype="int64", features=tuple(ids)))
    return tuple(made)


def _user_numbers(plan: FeaturePlan, numbers: Callable[..., list[Transform]]) -> list[Transform]:
    return [
        # A user of whom nothing is stored has done nothing: that is what training rows say of a first visit.
        *numbers("user", (POSITIVES, SHOWN), log1p=True, fill=0.0),
        Present(name="has_positive", feature=f"user.{LAST_POSITIVE}"),
        Age(name="since_positive", feature=f"user.{LAST_POSITIVE}"),
        *numbers("user", plan.user_numbers),
    ]


def _histories(plan: FeaturePlan, length: int) -> list[Transform]:
    named = {RECENT_ITEMS: ITEMS}
    named |= {recent_name(column): category_vocabulary("item", column) for column in plan.affinities}
    return [
        History(name=name, feature=f"user.{name}", vocabulary=vocabulary, length=length)
        for name, vocabulary in named.items()
    ]


def _categories(plan: FeaturePlan) -> list[Transform]:
    named = [("user", column) for column in plan.user_categories]
    named += [("request", column) for column in plan.context_categories]
    return [
        Category(
            name=f"{origin}_{column}", feature=f"{origin}.{column}", vocabulary=category_vocabulary(origin, column)
        )
        for origin, column in named
    ]


_MOST_VALUES = 8
"""Values of a list-valued item column (genres, tags) that a model sees, at most."""


def _item_codes(plan: FeaturePlan, observed: Observed) -> list[Transform]:
    made: list[Transform] = []
    for column in plan.item_categories:
        feature, vocabulary = f"item.{column}", category_vocabulary("item", column)
        if observed[feature].ragged:
            made.append(History(name=column, feature=feature, vocabulary=vocabulary, length=_MOST_VALUES))
        else:
            made.append(Category(name=column, feature=feature, vocabulary=vocabulary))
    return made


def _pairs(plan: FeaturePlan, observed: Observed) -> list[Transform]:
    made: list[Transform] = [Match(name="again", values=f"user.{RECENT_ITEMS}", equals="item.id")]
    for column in plan.affinities:
        names = [name for name in (recent_name(column), shown_name(column)) if f"user.{name}" in observed]
        made += [Match(name=name, values=f"user.{name}", equals=f"item.{column}") for name in names]
    if plan.item_created is not None:
        made.append(Age(name="age", feature=f"item.{plan.item_created}"))
    for user, item in plan.gaps:
        scale = _moments(observed[f"item.{item}"], log1p=False)[1]
        made.append(Gap(name=f"{user}_{item}", request=f"user.{user}", item=f"item.{item}", scale=scale, fill=1.0))
    return made


def _numbers(
    observed: Observed, origin: str, columns: tuple[str, ...], *, log1p: bool = False, fill: float | None = None
) -> list[Transform]:
    """`Numeric` for each column that is there, and `Present` beside those with gaps. fill: the mean where left out."""
    made: list[Transform] = []
    for column in columns:
        feature = f"{origin}.{column}"
        if feature not in observed:
            continue
        values = observed[feature]
        mean, std = _moments(values, log1p=log1p)
        usual = float(np.expm1(mean)) if log1p else mean
        filled = usual if fill is None else fill
        made.append(
            Numeric(name=column, feature=feature, width=values.width, log1p=log1p, mean=mean, std=std, fill=filled)
        )
        if values.valid is not None and not values.valid.all():
            made.append(Present(name=f"{column}_known", feature=feature))
    return made


def _moments(column: Column, *, log1p: bool) -> tuple[float, float]:
    """Mean and standard deviation of what is there; 0 and 1 where that says nothing."""
    there: Array = column.values if column.valid is None else column.values[column.valid]
    numbers = there.astype(np.float64)
    if log1p:
        numbers = np.log1p(numbers)
    if numbers.size == 0:
        return 0.0, 1.0
    std = float(numbers.std())
    return float(numbers.mean()), std if std > 1e-6 else 1.0
