"""MovieLens: ratings of films (https://grouplens.org/datasets/movielens/; F. M. Harper and J. A. Konstan, 2015)."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from navi.core.arrays import F64, I64
from navi.core.ids import Ids
from ranking.training.csv_files import Kind, keyed, numbers, positions, read_columns, refuse
from ranking.training.dataset import Dataset, Events, FeaturePlan
from ranking.training.time_split import before, split_time

_LIKED = 4.0
_NO_GENRES = "(no genres listed)"
# `mean_rating` is no feature: until the split it counts the very ratings that are learned from.
_PLAN = FeaturePlan(
    item_categories=("genres", "genre"),
    item_numbers=("year",),
    item_created="created_at",
    affinities=("genre",),
)


def load(folder: Path) -> Dataset:
    """From `ratings.csv` and `movies.csv` of an ml-latest folder.

    Every rating is an event; tasks: `watch`, 1 in every event, and `like`, a rating of 4 or more. The split is the
    moment before which 80 % of the ratings lie. All films of the catalogue are items; `genres`, `genre` (the rarest
    of them), `year` and `created_at` (1 January of the year) come from the catalogue, `mean_rating` from ratings
    before the split, null where there is none. Users have no features but their past.
    Raises ConfigError naming file and column.
    """
    movies, films = _movies(folder / "movies.csv")
    events, rating, user_ids = _ratings(folder / "ratings.csv", films)
    split = split_time(events.time, str(folder / "ratings.csv"))
    end = before(events, split)
    return Dataset(
        name="movielens",
        items=_items(movies, _means(events.item[:end], rating[:end], movies.num_rows)),
        user_ids=user_ids,
        users={},
        events=events,
        split=split,
        plan=_PLAN,
        tasks=("watch", "like"),
        positive="watch",
        weights={"watch": 1.0, "like": 1.0},
        complete_impressions=False,
        diversity="genre",
        diversity_decay=0.8,
        diversity_floor=0.6,
    )


def _movies(path: Path) -> tuple[pa.Table, I64]:
    table = read_columns(path, {"movieId": "int64", "title": "string", "genres": "string"})
    return keyed(table, "movieId", path)


def _ratings(path: Path, films: I64) -> tuple[Events, F64, Ids]:
    """Ratings as events, oldest first, with their values float64 [n], and the users whose positions they hold."""
    kinds: dict[str, Kind] = {"userId": "int64", "movieId": "int64", "rating": "float64", "timestamp": "int64"}
    table = read_columns(path, kinds)
    rating = numbers(table, "rating", path)
    item = positions(films, table["movieId"].to_numpy())
    refuse(path, "movieId", item < 0, "names a film that movies.csv does not have")
    users, user = np.unique(table["userId"].to_numpy(), return_inverse=True)
    time = table["timestamp"].to_numpy().astype(np.float64)
    order = np.lexsort((item, user, time))
    labels = {"watch": np.ones(len(item), dtype=np.float32), "like": (rating[order] >= _LIKED).astype(np.float32)}
    events = Events(user=user[order], item=item[order], time=time[order], context={}, labels=labels)
    return events, rating[order], Ids(users)


def _items(movies: pa.Table, mean_rating: F64) -> pa.Table:
    genres = [[] if text == _NO_GENRES else text.split("|") for text in map(str, movies["genres"].to_pylist())]
    years = [_year(str(title)) for title in movies["title"].to_pylist()]
    return pa.table(
        {
            "id": movies["movieId"],
            "title": movies["title"],
            "genres": pa.array(genres, type=pa.list_(pa.string())),
            "genre": pa.array(_rarest(genres), type=pa.string()),
            "year": pa.array(years, type=pa.float32()),
            "created_at": pa.array([None if year is None else _new_year(year) for year in years], type=pa.int64()),
            "mean_rating": pa.array(mean_rating.astype(np.float32), mask=np.isnan(mean_rating)),
        }
    )


def _year(title: str) -> int | None:
    found = re.search(r"\((\d{4})\)\s*$", title)
    return None if found is None else int(found[1])


def _new_year(year: int) -> int:
    """1 January, in seconds since the epoch."""
    return int(np.datetime64(f"{year:04}-01-01", "s").astype(np.int64))


def _rarest(genres: list[list[str]]) -> list[str | None]:
    """The genre of each film that fewest films have: what sets it apart (they are listed by alphabet)."""
    names, counts = np.unique([genre for film in genres for genre in film], return_counts=True)
    films = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return [min(film, key=lambda genre: (films[genre], genre)) if film else None for film in genres]


def _means(item: I64, rating: F64, items: int) -> F64:
    """Mean rating of each item, float64 [items], NaN where it has none."""
    count = np.bincount(item, minlength=items)
    total = np.bincount(item, weights=rating, minlength=items)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
