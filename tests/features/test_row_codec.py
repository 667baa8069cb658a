"""Rows as bytes: nothing is lost, nothing is misread, damage is found."""

import string
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from navi.core.column import DTYPES
from navi.core.errors import InvalidArgument, StoreError
from navi.features.row_codec import RowCodec
from navi.features.schema import FeatureSchema, Field

VALUES = {
    "float32": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
}
NAMES = st.sampled_from(string.ascii_lowercase[:6])
FIELDS = st.builds(
    Field,
    dtype=st.sampled_from(sorted(VALUES)),
    width=st.integers(1, 3),
    max_length=st.none() | st.integers(1, 4),
)
SCHEMAS = st.dictionaries(NAMES, FIELDS).map(FeatureSchema)
USER = FeatureSchema(
    {
        "age": Field(dtype="float32"),
        "taste": Field(dtype="float32", width=2),
        "id": Field(dtype="int64"),
        "paid": Field(dtype="bool"),
        "country": Field(dtype="string"),
        "seen": Field(dtype="int64", max_length=4),
        "tags": Field(dtype="string", max_length=3),
    }
)
ROW = USER.check(
    {"age": 31.5, "taste": [1, 2], "id": -7, "paid": True, "country": "NL", "seen": [5, 6, 7], "tags": ["a", "", "é"]}
)


def row_of(draw, schema):
    row = {}
    for name, field in schema.fields.items():
        if draw(st.booleans()):
            least, most = (0, field.max_length) if field.ragged else (field.width, field.width)
            values = draw(st.lists(VALUES[field.dtype], min_size=least, max_size=most))
            row[name] = np.array(values, dtype=DTYPES[field.dtype])
    return row


@st.composite
def schemas_and_rows(draw):
    schema = draw(SCHEMAS)
    return schema, row_of(draw, schema)


@st.composite
def changed_schemas(draw):
    schema, row = draw(schemas_and_rows())
    newer = dict(draw(st.dictionaries(NAMES, FIELDS, max_size=2)))
    for name, field in schema.fields.items():
        fate = draw(st.sampled_from(["kept", "lost", "other width", "other length", "other"]))
        if fate == "kept":
            newer[name] = field
        elif fate == "other width":
            newer[name] = replace(field, width=draw(st.integers(1, 3)))
        elif fate == "other length":
            newer[name] = replace(field, max_length=draw(st.none() | st.integers(1, 4)))
        elif fate == "other":
            newer[name] = draw(FIELDS)
    return schema, row, FeatureSchema(newer)


def same(found, expected):
    assert set(found) == set(expected)
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        assert found[name].tolist() == values.tolist()


@given(schemas_and_rows())
def test_a_row_comes_back_as_it_was(case):
    schema, row = case
    codec = RowCodec(schema)
    same(codec.unpack(codec.pack(row)), row)


@given(schemas_and_rows())
def test_the_order_of_a_rows_features_does_not_matter(case):
    schema, row = case
    codec = RowCodec(schema)
    assert codec.pack(row) == codec.pack(dict(reversed(row.items())))


@given(changed_schemas())
def test_a_changed_schema_reads_what_it_still_has_and_drops_the_rest(case):
    schema, row, newer = case
    expected = {}
    for name, values in row.items():
        old, new = schema.fields[name], newer.fields.get(name)
        if new is None or (new.dtype, new.ragged) != (old.dtype, old.ragged):
            continue
        if new.ragged:
            expected[name] = values[max(len(values) - new.max_length, 0) :]
        elif new.width == old.width:
            expected[name] = values
    same(RowCodec(newer).unpack(RowCodec(schema).pack(row)), expected)


def test_of_a_list_that_is_longer_than_allowed_now_the_last_values_are_read():
    shorter = {name: replace(USER.fields[name], max_length=2) for name in ("seen", "tags")}
    row = RowCodec(FeatureSchema(shorter)).unpack(RowCodec(USER).pack(ROW))
    assert {name: values.tolist() for name, values in row.items()} == {"seen": [6, 7], "tags": ["", "é"]}


@pytest.mark.parametrize("other", ["int64", "float32", "bool", "string"])
def test_a_field_that_changed_its_type_is_dropped_and_not_misread(other):
    codec = RowCodec(USER)
    fields = {**USER.fields, "age": Field(dtype=other)}
    assert ("age" in RowCodec(FeatureSchema(fields)).unpack(codec.pack(ROW))) == (other == "float32")


def test_rows_of_format_1_are_still_read():
    signature = b"i1:id\nf1:age\nf2:taste\nb1:paid\ni*:seen\ns1:country\ns*:tags\n"
    stored = (
        b"\x01\x39\x00\x00" + signature + b"\0\0\0"
        b"\x18\0\0\0"
        b"\x03\0\0\0"
        b"\x06\0\0\0"
        b"\0\0\0\0"
        b"\xf9\xff\xff\xff\xff\xff\xff\xff"
        b"\0\0\xfc\x41"
        b"\0\0\x80\x3f"
        b"\0\0\0\x40"
        b"\x01"
        b"\0\0\0"
        b"\x05\0\0\0\0\0\0\0"
        b"\x06\0\0\0\0\0\0\0"
        b"\x07\0\0\0\0\0\0\0"
        b"NL\xff"
        b"a\xff\xff\xc3\xa9\xff"
    )
    same(RowCodec(USER).unpack(stored), ROW)
    assert RowCodec(USER).pack(ROW) == stored


def test_rows_and_their_arrays_are_read_only():
    row = RowCodec(USER).unpack(RowCodec(USER).pack(ROW))
    for values in row.values():
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[0]
    with pytest.raises(TypeError):
        row["age"] = row["age"]


@given(schemas_and_rows())
def test_every_array_is_aligned(case):
    schema, row = case
    codec = RowCodec(schema)
    assert all(values.flags.aligned for values in codec.unpack(codec.pack(row)).values())


def test_cut_off_bytes_are_found():
    data = RowCodec(USER).pack(ROW)
    for length in range(len(data)):
        with pytest.raises(StoreError, match="cannot be read"):
            RowCodec(USER).unpack(data[:length])


def test_bytes_behind_a_row_are_found():
    with pytest.raises(StoreError, match="cannot be read"):
        RowCodec(USER).unpack(RowCodec(USER).pack(ROW) + b"\0")


def test_another_format_is_refused():
    data = RowCodec(USER).pack(ROW)
    with pytest.raises(StoreError, match="format is 2"):
        RowCodec(USER).unpack(b"\x02" + data[1:])


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
@example(4, b"i" + b"9" * 30 + b":")
def test_damaged_bytes_raise_nothing_but_store_errors(position, patch):
    data = bytearray(RowCodec(USER).pack(ROW))
    position %= len(data)
    data[position : position + len(patch)] = patch
    try:
        row = RowCodec(USER).unpack(bytes(data))
    except StoreError:
        return
    assert set(row) <= set(USER.fields)


@given(st.binary(max_size=64))
def test_bytes_that_are_no_row_raise_nothing_but_store_errors(data):
    try:
        RowCodec(USER).unpack(b"\x01" + data)
    except StoreError:
        return


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("weight", np.zeros(1, np.float32)),
        ("age", np.zeros(1, np.float64)),
        ("taste", np.zeros(3, np.float32)),
    ],
)
def test_a_row_that_the_schema_did_not_check_is_refused(name, values):
    with pytest.raises(InvalidArgument) as refused:
        RowCodec(USER).pack({name: values})
    assert refused.value.field == name


def test_a_schema_of_thousands_of_features_is_packed():
    schema = FeatureSchema({f"feature_{number:05}": Field(dtype="int64") for number in range(5000)})
    row = schema.check({name: number for number, name in enumerate(schema.fields)})
    same(RowCodec(schema).unpack(RowCodec(schema).pack(row)), row)
