"""Which options a data set is trained with where nobody says otherwise."""

from collections.abc import Callable

from ranking.training.dataset import Dataset
from ranking.training.options import RankerOptions, TrainOptions
from ranking.training.presets import WITHOUT_IMPRESSIONS, merged, preset


def test_what_is_given_goes_over_what_suits_the_data(tiny: Callable[..., Dataset]) -> None:
    given = {"seed": 3, "ranker": {"epochs": 9}}
    assert preset(tiny(), given) == given
    options = TrainOptions.model_validate(preset(tiny(complete=False), given))
    assert (options.seed, options.ranker.epochs) == (3, 9)
    assert options.id_dropout == WITHOUT_IMPRESSIONS["id_dropout"] != TrainOptions().id_dropout
    assert options.ranker.batch_rows == WITHOUT_IMPRESSIONS["ranker"]["batch_rows"] != RankerOptions().batch_rows


def test_a_value_replaces_a_table_and_a_table_a_value() -> None:
    assert merged({"a": {"b": 1}, "c": 1}, {"a": 2, "c": {"d": 3}}) == {"a": 2, "c": {"d": 3}}


def test_merging_changes_neither() -> None:
    below, above = {"a": {"b": 1}}, {"a": {"c": 2}}
    assert merged(below, above) == {"a": {"b": 1, "c": 2}}
    assert (below, above) == ({"a": {"b": 1}}, {"a": {"c": 2}})
