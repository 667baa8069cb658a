"""Rules of the MovieLens loader, on folders of a few lines and on the real one where it is there."""

from pathlib import Path

import numpy as np
import pytest

from navi.core.errors import ConfigError
from ranking.training.movielens import load

REAL = Path(__file__).parents[3] / "shared" / "data" / "ml-latest-small"

MOVIES = """movieId,title,genres
20,"Heat, The (1995)",Action|Crime
10,Babylon 5,(no genres listed)
30,Solaris (1972),Action|Sci-Fi
40,Alien (1979) ,Action|Sci-Fi
50,Old One (1921),Crime|Action
"""
HEAD = "userId,movieId,rating,timestamp\n"
LINES = """7,20,4.0,300
7,10,3.5,100
5,30,5.0,200
5,20,2.0,400
9,40,4.5,500
"""
RATINGS = HEAD + LINES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "movies.csv").write_text(MOVIES)
    (tmp_path / "ratings.csv").write_text(RATINGS)
    return tmp_path


def test_every_rating_is_an_event_oldest_first(folder: Path) -> None:
    dataset = load(folder)
    ids = dataset.items["id"].to_numpy()
    users = np.array(dataset.user_ids.tolist())
    assert users[dataset.events.user].tolist() == [7, 5, 7, 5, 9]
    assert ids[dataset.events.item].tolist() == [10, 30, 20, 20, 40]
    assert dataset.events.time.tolist() == [100, 200, 300, 400, 500]
    assert dataset.events.labels["watch"].tolist() == [1, 1, 1, 1, 1]
    assert dataset.events.labels["like"].tolist() == [0, 1, 1, 0, 1]


def test_four_fifths_of_the_ratings_are_before_the_split(folder: Path) -> None:
    dataset = load(folder)
    assert dataset.split == 500
    assert (dataset.events.time < dataset.split).sum() == 4


def test_films_are_described_by_the_catalogue(folder: Path) -> None:
    films = {film["id"]: film for film in load(folder).items.to_pylist()}
    assert list(films) == [10, 20, 30, 40, 50]
    assert films[20]["title"] == "Heat, The (1995)"
    assert films[20]["genres"] == ["Action", "Crime"]
    assert films[20]["year"] == 1995
    assert films[20]["created_at"] == 788_918_400
    assert films[40]["year"] == 1979
    assert films[50]["created_at"] < 0
    assert (films[10]["genres"], films[10]["genre"], films[10]["year"], films[10]["created_at"]) == (
        [],
        None,
        None,
        None,
    )


def test_a_films_main_genre_is_its_rarest(folder: Path) -> None:
    assert load(folder).items["genre"].to_pylist() == [None, "Crime", "Sci-Fi", "Sci-Fi", "Crime"]


def test_mean_ratings_are_from_before_the_split_and_missing_without_any(folder: Path) -> None:
    assert load(folder).items["mean_rating"].to_pylist() == [3.5, 3.0, 5.0, None, None]


def test_nothing_after_the_split_changes_what_is_known_of_items_and_users(folder: Path) -> None:
    before = load(folder)
    (folder / "ratings.csv").write_text(RATINGS.replace("9,40,4.5,500", "9,20,0.5,900"))
    after = load(folder)
    assert after.items.equals(before.items)
    assert after.user_ids == before.user_ids
    assert after.users == before.users == {}


def test_the_order_of_lines_does_not_matter(folder: Path) -> None:
    head, *lines = RATINGS.splitlines()
    before = load(folder)
    (folder / "ratings.csv").write_text("\n".join([head, *reversed(lines)]))
    after = load(folder)
    assert after.items.equals(before.items)
    assert np.array_equal(after.events.item, before.events.item)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("ratings.csv", "rating,timestamp", "stars,timestamp", r"ratings\.csv: column 'rating': must stand there once"),
        ("ratings.csv", "7,10,3.5,100", "7,10,good,100", r"ratings\.csv: column 'rating': .*good"),
        ("ratings.csv", "7,10,3.5,100", "7,10,nan,100", r"ratings\.csv: column 'rating': row 2 is not finite"),
        ("ratings.csv", "7,10,3.5,100", "7,10,3.5,", r"ratings\.csv: column 'timestamp': row 2 is empty"),
        ("ratings.csv", "7,10,3.5,100", "7,11,3.5,100", r"ratings\.csv: column 'movieId': row 2 names a film"),
        ("ratings.csv", "7,10,3.5,100", "7,10,3.5,100,1", r"ratings\.csv: cannot be read: .*columns"),
        ("ratings.csv", LINES, "\n", r"ratings\.csv: has no rows"),
        ("ratings.csv", RATINGS, "", r"ratings\.csv: cannot be read"),
        ("ratings.csv", LINES, "7,20,4.0,300\n5,20,4.0,300\n", r"ratings\.csv: has no event before the split"),
        ("movies.csv", "20,", "10,", r"movies\.csv: column 'movieId': 10 stands there twice"),
        ("movies.csv", "20,", "x,", r"movies\.csv: column 'movieId'"),
    ],
)
def test_a_damaged_file_is_refused_by_file_and_column(
    folder: Path, file: str, old: str, new: str, message: str
) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        load(folder)


@pytest.mark.parametrize("file", ["movies.csv", "ratings.csv"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ConfigError, match=f"{file}: is not there"):
        load(folder)


@pytest.mark.skipif(not REAL.exists(), reason=f"{REAL} is not there")
def test_the_real_folder_is_read_whole() -> None:
    dataset = load(REAL)
    assert (dataset.items.num_rows, len(dataset.user_ids), len(dataset.events)) == (9742, 610, 100_836)
    assert (dataset.events.time < dataset.split).mean() == pytest.approx(0.8, abs=0.001)
    assert dataset.events.labels["like"].mean() == pytest.approx(0.4818, abs=0.0001)
    assert dataset.items["year"].null_count == 13
