"""Item tables: what is taken, what is refused, and what a reader may rely on."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.core.column import Column
from navi.core.errors import BundleError, InvalidArgument, NotFound
from navi.core.ids import Ids
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table


def made(tmp_path: Path, columns: dict[str, object], *, key: str = "id") -> ItemTable:
    write_item_table(pa.table(columns), tmp_path / "items.arrow", key=key)
    return ItemTable.open(tmp_path / "items.arrow", verify=True)


def rows_of(column: Column) -> list[object]:
    rows = [column.row(position) for position in range(len(column))]
    return [None if row is None else row.tolist() for row in rows]


def test_rows_are_in_order_of_integer_ids_and_columns_follow(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": [30, -1, 7], "price": [3.0, 1.0, 2.0]})
    assert table.ids == Ids.of([-1, 7, 30])
    assert table.column("price").values.tolist() == [1.0, 2.0, 3.0]
    assert table.column("id").values.tolist() == [-1, 7, 30]
    assert table.columns == ("id", "price")
    assert (table.key, len(table)) == ("id", 3)


def test_text_ids_are_in_utf8_byte_order(tmp_path: Path) -> None:
    names = ["é", "z", "a", "\U0001f600", "￿", ""]
    table = made(tmp_path, {"sku": names}, key="sku")
    assert table.ids.tolist() == sorted(names, key=str.encode)
    assert table.column("sku").values.tolist() == table.ids.tolist()


@given(
    ids=st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=20)
    | st.lists(st.text(max_size=4), unique=True, min_size=1, max_size=20),
    asked=st.lists(st.integers(0, 30), max_size=20),
)
@settings(max_examples=40, deadline=None)
def test_lookup_is_a_dict(tmp_path_factory: pytest.TempPathFactory, ids: list, asked: list[int]) -> None:
    path = tmp_path_factory.mktemp("table") / "items.arrow"
    text = bool(ids) and isinstance(ids[0], str)
    write_item_table(pa.table({"id": pa.array(ids, pa.string() if text else pa.int64())}), path, key="id")
    table = ItemTable.open(path)
    unknown = "not there at all" if text else 12345
    keys = [ids[position] if position < len(ids) else unknown for position in asked]
    model = {key: row for row, key in enumerate(sorted(ids, key=str.encode if text else None))}
    found = table.lookup(Ids.of_text(keys) if text else Ids.of(keys))
    assert found.tolist() == [model.get(key, -1) for key in keys]


def test_ids_of_the_other_kind_are_refused_but_no_ids_are_of_any_kind(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": ["a", "b"]})
    with pytest.raises(InvalidArgument, match="ids: are integers, where this table's ids are text"):
        table.lookup(Ids.of([1]))
    assert table.lookup(Ids.empty()).tolist() == []


def test_numbers_lie_in_the_mapped_file(tmp_path: Path) -> None:
    table = made(
        tmp_path,
        {
            "id": [2, 1],
            "price": pa.array([1.5, 2.5], pa.float32()),
            "vector": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "tags": [[1, 2], [3]],
        },
    )
    mapped = mapped_range(tmp_path / "items.arrow")
    tags = table.column("tags")
    assert tags.offsets is not None
    for values in (table.ids.values, table.column("price").values, table.column("vector").values, tags.values):
        assert not values.flags.owndata
        assert not values.flags.writeable
        assert values.ctypes.data in mapped
    assert tags.offsets.ctypes.data in mapped


def mapped_range(path: Path) -> range:
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(path)):
            start, end = line.split()[0].split("-")
            return range(int(start, 16), int(end, 16))
    pytest.fail(f"{path} is not mapped")


def test_every_taken_type_becomes_one_of_the_four_that_features_have(tmp_path: Path) -> None:
    texts = ["x", None, "é"]
    table = made(
        tmp_path,
        {
            "id": pa.array([1, 2, 3], pa.uint8()),
            "small": pa.array([1, None, -3], pa.int8()),
            "unsigned": pa.array([1, 2, None], pa.uint64()),
            "half": pa.array(np.array([0.5, 1.5, 2.5], np.float16)),
            "double": pa.array([0.1, None, 3.0]),
            "flag": [True, None, False],
            "time": pa.array([1500, -1, None], pa.timestamp("ms")),
            "zoned": pa.array([datetime(1970, 1, 2, tzinfo=UTC)] * 3, pa.timestamp("us", tz="Asia/Tokyo")),
            "text": pa.array(texts, pa.string()),
            "large": pa.array(texts, pa.large_string()),
            "view": pa.array(texts, pa.string_view()),
            "coded": pa.array(texts).dictionary_encode(),
        },
    )
    numbers = {"small": [[1], None, [-3]], "unsigned": [[1], [2], None], "time": [[1], [-1], None]}
    for name, expected in {**numbers, "zoned": [[86400]] * 3}.items():
        assert (table.column(name).dtype, rows_of(table.column(name))) == ("int64", expected)
    assert (table.column("half").dtype, rows_of(table.column("half"))) == ("float32", [[0.5], [1.5], [2.5]])
    assert rows_of(table.column("double")) == [[float(np.float32(0.1))], None, [3.0]]
    assert (table.column("flag").dtype, rows_of(table.column("flag"))) == ("bool", [[True], None, [False]])
    for name in ("text", "large", "view", "coded"):
        assert (table.column(name).dtype, rows_of(table.column(name))) == ("string", [["x"], None, ["é"]])


def test_lists_are_ragged_or_of_fixed_width_and_missing_where_an_element_is(tmp_path: Path) -> None:
    table = made(
        tmp_path,
        {
            "id": [4, 3, 2, 1],
            "ragged": [[1, 2], None, [], [None, 5]],
            "flags": [[True], None, [False, True], [None]],
            "words": [["a", "b"], ["a", None], [], ["c"]],
            "fixed": pa.array([[1.0, 2.0], None, [3.0, float("nan")], [5.0, 6.0]], pa.list_(pa.float64(), 2)),
            "pairs": pa.array([["a", "b"], None, ["c", None], ["d", "a"]], pa.list_(pa.string(), 2)),
        },
    )
    assert rows_of(table.column("ragged")) == [None, [], None, [1, 2]]
    assert rows_of(table.column("flags")) == [None, [False, True], None, [True]]
    assert rows_of(table.column("words")) == [["c"], [], None, ["a", "b"]]
    assert rows_of(table.column("fixed")) == [[5.0, 6.0], None, None, [1.0, 2.0]]
    assert rows_of(table.column("pairs")) == [["d", "a"], None, None, ["a", "b"]]
    assert table.column("fixed").values.shape == (4, 2)
    assert table.column("ragged").ragged


def test_a_slice_of_a_table_is_a_table_of_its_own(tmp_path: Path) -> None:
    whole = pa.table({"id": [9, 1, 2, 3], "l": [[9], [1, 1], None, [3, None]], "b": [None, None, True, False]})
    write_item_table(whole.slice(1), tmp_path / "items.arrow", key="id")
    table = ItemTable.open(tmp_path / "items.arrow", verify=True)
    assert rows_of(table.column("l")) == [[1, 1], None, None]
    assert rows_of(table.column("b")) == [None, [True], [False]]


def test_nan_is_a_missing_value(tmp_path: Path) -> None:
    column = made(tmp_path, {"id": [1, 2], "x": [float("nan"), 2.0]}).column("x")
    assert rows_of(column) == [None, [2.0]]
    assert np.isfinite(column.values).all()


def test_text_columns_have_codes_and_distinct_values(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": [1, 2, 3, 4], "c": ["b", None, "a", "b"], "l": [["x"], [], ["y", "x"], None]})
    codes, values = table.codes("c")
    assert codes.dtype == np.int32
    assert (codes.tolist(), values) == ([0, -1, 1, 0], ("b", "a"))
    assert table.codes("l")[0].tolist() == [0, 1, 0]
    assert table.codes("c") is table.codes("c")
    with pytest.raises(InvalidArgument, match="id: is int64, where a text column is expected"):
        table.codes("id")
    with pytest.raises(NotFound, match="'nope'"):
        table.codes("nope")


def test_an_unknown_column_is_not_found_and_the_message_lists_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="item column 'colour' is not known; known: id, x"):
        made(tmp_path, {"id": [1], "x": [1]}).column("colour")


@pytest.mark.parametrize("key", [pa.array([], pa.int64()), pa.array([], pa.string())])
def test_a_table_without_items_is_a_table(tmp_path: Path, key: pa.Array) -> None:
    nothing = {"x": pa.array([], pa.float32()), "t": pa.array([], pa.string()), "l": pa.array([], pa.list_(pa.int64()))}
    fixed = {"f": pa.array([], pa.list_(pa.float32(), 3)), "b": pa.array([], pa.bool_())}
    table = made(tmp_path, {"id": key, **nothing, **fixed})
    assert len(table) == 0
    assert [len(table.column(name)) for name in table.columns] == [0] * 6
    assert table.column("f").values.shape == (0, 3)
    assert table.codes("t")[1] == ()


@pytest.mark.parametrize("compression", ["snappy", "zstd"])
def test_parquet_arrow_and_tables_give_the_same_file(tmp_path: Path, compression: str) -> None:
    source = pa.table({"id": list(range(50, 0, -1)), "name": [f"n{i % 7}" for i in range(50)], "x": [0.5] * 50})
    pq.write_table(source, tmp_path / "a.parquet", compression=compression, row_group_size=8)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(tmp_path / "a.feather"), source.schema, options=options) as writer:
        writer.write_table(source, max_chunksize=7)
    shuffled = source.take(np.random.default_rng(0).permutation(50))
    sources = [tmp_path / "a.parquet", tmp_path / "a.feather", source, shuffled]
    written = []
    for position, given_source in enumerate(sources):
        path = tmp_path / f"{position}.arrow"
        assert write_item_table(given_source, path, key="id").rows == 50
        written.append(path.read_bytes())
    assert len(set(written)) == 1


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    def digest(columns: dict[str, object], key: str = "id") -> str:
        return write_item_table(pa.table(columns), tmp_path / "d.arrow", key=key).digest

    first = digest({"id": [1, 2], "x": [1.0, 2.0]})
    assert first == digest({"id": [2, 1], "x": [2.0, 1.0]})
    assert first == ItemTable.open(tmp_path / "d.arrow").digest
    others = [
        digest({"id": [1, 2], "x": [1.0, 3.0]}),
        digest({"id": [1, 2], "y": [1.0, 2.0]}),
        digest({"id": [1, 2], "x": [1.0, None]}),
        digest({"id": [1, 2], "x": [1, 2]}),
        digest({"id": [1, 2], "x": [1.0, 0.0]}),
        digest({"id": [1, 2], "x": ["ab", "c"]}),
        digest({"id": [1, 2], "x": ["a", "bc"]}),
        digest({"id": [1, 2], "x": [[1], [2, 3]]}),
        digest({"id": [1, 2], "x": [[1, 2], [3]]}),
    ]
    assert len({first, *others}) == len(others) + 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [3, 1, 3]}, "id 3 is there more than once"),
        ({"id": ["a", "b", "a"]}, "id 'a' is there more than once"),
        ({"id": [1, None]}, "the id of row 1 is null"),
        ({"id": [1.0, 2.0]}, "ids are integers or text, not double"),
        ({"id": pa.array([2**64 - 1], pa.uint64())}, "an id does not fit 64 bits"),
        ({"key": [1]}, "key column 'id' is missing; columns: key"),
        ({"id": [1], "when": pa.array([1], pa.time64("us"))}, "column 'when': time64.us. is not taken"),
        ({"id": [1], "deep": [[[1]]]}, "column 'deep': list"),
        ({"id": [1], "raw": [b"\x00"]}, "column 'raw': binary is not taken"),
        ({"id": [1], "none": pa.nulls(1)}, "column 'none': null is not taken"),
        ({"id": [1], "x": [float("inf")]}, "column 'x': inf is infinite"),
        ({"id": [1], "x": [1e39]}, "column 'x': 1e.39 is infinite, or too large for float32"),
        ({"id": [1], "x": pa.array([2**63], pa.uint64())}, "column 'x': a value does not fit int64"),
    ],
)
def test_what_cannot_be_a_table_is_refused_by_name(tmp_path: Path, columns: dict[str, object], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        write_item_table(pa.table(columns), tmp_path / "items.arrow", key="id")
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([1]), pa.array([1])], names=["id", "x", "x"])
    with pytest.raises(BundleError, match="column 'x' is there twice"):
        write_item_table(twice, tmp_path / "items.arrow", key="id")


def test_a_source_that_is_no_table_is_refused(tmp_path: Path) -> None:
    for name, content in (("a.csv", b"id,x\n1,2\n"), ("a.parquet", b"PAR1 but then not"), ("a.arrow", b"ARROW1")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BundleError, match=name):
            write_item_table(tmp_path / name, tmp_path / "items.arrow", key="id")
    with pytest.raises(BundleError, match="absent"):
        write_item_table(tmp_path / "absent.parquet", tmp_path / "items.arrow", key="id")


def test_a_failed_write_leaves_the_old_table(tmp_path: Path) -> None:
    path = tmp_path / "items.arrow"
    write_item_table(pa.table({"id": [1]}), path, key="id")
    with pytest.raises(BundleError):
        write_item_table(pa.table({"id": [1, 1]}), path, key="id")
    assert [entry.name for entry in tmp_path.iterdir()] == ["items.arrow"]
    assert len(ItemTable.open(path)) == 1


def test_an_open_table_keeps_its_content_when_the_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "items.arrow"
    write_item_table(pa.table({"id": [1, 2], "x": [1, 2]}), path, key="id")
    old = ItemTable.open(path)
    write_item_table(pa.table({"id": [5], "x": [5]}), path, key="id")
    assert old.column("x").values.tolist() == [1, 2]
    assert ItemTable.open(path).ids == Ids.of([5])


def test_a_truncated_file_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "items.arrow"
    write_item_table(pa.table({"id": list(range(100)), "t": ["x"] * 100}), path, key="id")
    whole = path.read_bytes()
    for length in (0, 4, 6, 100, len(whole) // 2, len(whole) - 7, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(BundleError, match=r"items\.arrow: cannot be read"):
            ItemTable.open(path)
    with pytest.raises(BundleError, match="missing"):
        ItemTable.open(tmp_path / "absent.arrow")


def test_a_flipped_bit_is_found_by_verifying(tmp_path: Path) -> None:
    path = tmp_path / "items.arrow"
    write_item_table(pa.table({"id": [1, 2], "x": pa.array([1.25, 1.5])}), path, key="id")
    content = bytearray(path.read_bytes())
    position = content.find(np.array([1.25, 1.5], np.float32).tobytes())
    content[position] ^= 1
    path.write_bytes(content)
    assert len(ItemTable.open(path)) == 2
    with pytest.raises(BundleError, match="it is damaged"):
        ItemTable.open(path, verify=True)


def rewrite(path: Path, columns: dict[str, pa.Array], metadata: dict[str, str]) -> None:
    batch = pa.record_batch(columns)
    schema = batch.schema.with_metadata(metadata)
    with pa.ipc.new_file(str(path), schema) as writer:
        writer.write_batch(batch.replace_schema_metadata(schema.metadata))


GOOD = {"navi.format": "item-table/1", "navi.key": "id", "navi.digest": "0"}


@pytest.mark.parametrize(
    ("columns", "metadata", "message"),
    [
        ({"id": pa.array([1])}, {**GOOD, "navi.format": "item-table/2"}, "format version 2; this Navi reads version 1"),
        ({"id": pa.array([1])}, {}, "is no item-table file of Navi"),
        ({"id": pa.array([1])}, {"navi.format": "item-table/1"}, "metadata navi.key, navi.digest is missing"),
        ({"id": pa.array([2, 1])}, GOOD, "id 1 is repeated or out of order"),
        ({"id": pa.array([1, 1])}, GOOD, "id 1 is repeated or out of order"),
        ({"id": pa.array(["a", "a"], pa.large_string())}, GOOD, "id 'a' is repeated or out of order"),
        ({"id": pa.array([1, None])}, GOOD, "without nulls"),
        ({"id": pa.array([1], pa.int32())}, GOOD, "must be int64 or large_string"),
        ({"x": pa.array([1])}, GOOD, "key column 'id' is missing"),
        ({"id": pa.array([1]), "x": pa.array([1.0])}, GOOD, "column 'x' has type double"),
    ],
)
def test_a_file_that_we_did_not_write_is_refused(
    tmp_path: Path, columns: dict[str, pa.Array], metadata: dict[str, str], message: str
) -> None:
    rewrite(tmp_path / "items.arrow", columns, metadata)
    with pytest.raises(BundleError, match=message):
        ItemTable.open(tmp_path / "items.arrow")


def test_a_few_rows_of_a_column_are_those_of_the_whole(tmp_path: Path) -> None:
    n = 9
    columns = {
        "id": [f"i{at}" for at in range(n)],
        "price": pa.array([None if at == 2 else at / 2 for at in range(n)], pa.float32()),
        "fresh": [None if at == 3 else at % 2 == 0 for at in range(n)],
        "title": [None if at == 4 else f"title {at}" for at in range(n)],
        "words": [None if at == 5 else [f"w{at}"] * (at % 3) for at in range(n)],
        "vector": pa.array([None if at == 6 else [at, at + 1.0] for at in range(n)], pa.list_(pa.float32(), 2)),
    }
    asked = np.array([6, 0, 4, 5, 5, 2, 3, 8])
    table, whole = made(tmp_path, columns), made(tmp_path, columns)
    for name in columns:
        expected = rows_of(whole.column(name).take(asked))
        assert rows_of(table.take(name, asked)) == expected
        assert rows_of(whole.take(name, asked)) == expected
        assert rows_of(table.take(name, asked[:0])) == []
    with pytest.raises(NotFound):
        table.take("colour", asked)
