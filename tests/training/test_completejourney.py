"""Rules of the Complete Journey loader, on folders of a few lines and on the real one where it is there."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from navi.core.errors import ConfigError
from ranking.training.completejourney import load

REAL = Path(__file__).parents[3] / "shared" / "data" / "completejourney"

TRANSACTIONS = """household_id,store_id,basket,product_id,quantity,sales,retail_disc,coupon_disc,transaction_timestamp
3,9,1.0,200,2.0,3.5,0.5,0.0,2017-01-02 00:00:00
1,9,2.0,1e+05,1.0,1.0,0.0,0.0,2017-01-01 00:00:00
1,9,2.0,300,1.0,1.0,0.0,0.25,2017-01-01 00:00:00
3,9,3.0,300,0.0,0.0,0.0,0.0,2017-01-03 00:00:00
3,9,3.0,1e+05,1.0,1.0,0.0,0.0,2017-01-03 00:00:00
1,9,4.0,400,1.0,9.0,0.0,0.0,2017-01-09 00:00:00
"""
PRODUCTS = """product_id,manufacturer_id,department,brand,product_category,product_type,package_size
1e+05,69,GROCERY,Private,EGGS,EGGS - LARGE,1 DZ
200,,GROCERY,National,,,
400,5,PASTRY,National,BREAD,RYE,
999,5,PASTRY,National,BREAD,WHEAT,
"""
HOUSEHOLDS = """household_id,age,income,home_ownership,marital_status,household_size,household_comp,kids_count
3,65+,35-49K,,Married,2,2 Adults No Kids,0
"""
NAMES = {"transactions_sample": TRANSACTIONS, "products": PRODUCTS, "demographics": HOUSEHOLDS}


def _write(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in NAMES.items():
        _write(tmp_path, name, text)
    return tmp_path


def test_every_line_with_a_quantity_is_an_event_oldest_first(folder: Path) -> None:
    dataset = load(folder)
    ids, users = dataset.items["id"].to_numpy(), np.array(dataset.user_ids.tolist())
    assert ids[dataset.events.item].tolist() == [300, 100_000, 200, 100_000, 400]
    assert users[dataset.events.user].tolist() == [1, 1, 3, 3, 1]
    assert dataset.events.time[0] == 1_483_228_800
    assert dataset.events.labels["buy"].tolist() == [1, 1, 1, 1, 1]


def test_a_shop_reduction_or_a_coupon_makes_a_discount(folder: Path) -> None:
    assert load(folder).events.labels["discount"].tolist() == [1, 0, 1, 0, 0]


def test_items_are_the_products_sold_with_what_the_catalogue_says(folder: Path) -> None:
    items = {item["id"]: item for item in load(folder).items.to_pylist()}
    assert list(items) == [200, 300, 400, 100_000]
    assert items[100_000]["product_type"] == "EGGS - LARGE"
    assert (items[200]["brand"], items[200]["manufacturer"], items[200]["product_type"]) == ("National", None, None)
    assert (items[300]["brand"], items[300]["manufacturer"]) == (None, None)


def test_a_product_is_created_by_its_first_sale_before_the_split(folder: Path) -> None:
    dataset = load(folder)
    assert dataset.split == dataset.events.time[4]
    days = [
        None if time is None else (time - 1_483_228_800) / 86_400 for time in dataset.items["created_at"].to_pylist()
    ]
    assert days == [1, 0, None, 0]


def test_households_without_demographics_have_missing_features(folder: Path) -> None:
    users = load(folder).users
    assert users["age"].row(0) is None
    assert users["age"].row(1).tolist() == ["65+"]
    assert users["home_ownership"].row(1) is None
    assert users.keys() == set(load(folder).plan.user_categories)


def test_nothing_after_the_split_changes_what_is_known_of_items_and_users(folder: Path) -> None:
    before = load(folder)
    late = "1,9,4.0,400,1.0,9.0,0.0,0.0,2017-01-09 00:00:00"
    changed = "3,9,4.0,400,7.0,1.0,8.0,0.0,2017-02-09 00:00:00\n1,9,4.0,300,1.0,2.0,0.0,1.0,2017-02-10 00:00:00"
    # Two more early lines keep the split between the same events.
    extra = "1,9,2.0,300,1.0,1.0,0.0,0.0,2017-01-01 00:00:00\n" * 2
    _write(folder, "transactions_sample", TRANSACTIONS.replace(late, changed) + extra)
    after = load(folder)
    assert (after.events.time < after.split).sum() == 6
    assert after.items.equals(before.items)
    assert after.user_ids == before.user_ids
    for name, column in before.users.items():
        assert np.array_equal(column.values, after.users[name].values)
        assert np.array_equal(column.valid, after.users[name].valid)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("transactions_sample", "quantity,sales", "count,sales", r"column 'quantity': must stand there once"),
        ("transactions_sample", ",200,2.0", ",2.5,2.0", r"column 'product_id': row 1 is not a whole number"),
        ("transactions_sample", ",200,2.0", ",200,inf", r"column 'quantity': row 1 is not finite"),
        ("transactions_sample", "3,9,1.0", ",9,1.0", r"column 'household_id': row 1 is empty"),
        ("transactions_sample", "2017-01-02 00", "yesterday 00", r"column 'transaction_timestamp': .*yesterday"),
        ("transactions_sample", "3,9,1.0", "three,9,1.0", r"column 'household_id': .*three"),
        ("products", "200,", "400,", r"column 'product_id': 400 stands there twice"),
        ("products", "69", "sixty-nine", r"column 'manufacturer_id': .*sixty-nine"),
        ("demographics", "age,", "years,", r"column 'age': must stand there once"),
    ],
)
def test_a_damaged_file_is_refused_by_file_and_column(
    folder: Path, name: str, old: str, new: str, message: str
) -> None:
    assert old in NAMES[name]
    _write(folder, name, NAMES[name].replace(old, new, 1))
    with pytest.raises(ConfigError, match=rf"{name}\.csv\.gz: {message}"):
        load(folder)


def test_transactions_without_a_purchase_are_refused(folder: Path) -> None:
    _write(folder, "transactions_sample", "\n".join([*TRANSACTIONS.splitlines()[:1], TRANSACTIONS.splitlines()[4]]))
    with pytest.raises(ConfigError, match="column 'quantity': is positive in no row"):
        load(folder)


@pytest.mark.parametrize("name", list(NAMES))
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / f"{name}.csv.gz").unlink()
    with pytest.raises(ConfigError, match=rf"{name}\.csv\.gz: is not there"):
        load(folder)


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"no gzip at all", lambda data: b""]
)
def test_a_damaged_archive_is_named(folder: Path, damage) -> None:
    path = folder / "products.csv.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ConfigError, match=r"products\.csv\.gz"):
        load(folder)


@pytest.mark.skipif(not REAL.exists(), reason=f"{REAL} is not there")
def test_the_real_folder_is_read_whole() -> None:
    dataset = load(REAL)
    assert (dataset.items.num_rows, len(dataset.user_ids), len(dataset.events)) == (20_833, 2_373, 74_584)
    assert (dataset.events.time < dataset.split).mean() == pytest.approx(0.8, abs=0.001)
    assert dataset.events.labels["discount"].mean() == pytest.approx(0.5089, abs=0.0001)
    assert dataset.users["age"].valid.sum() == 801
