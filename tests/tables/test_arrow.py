"""Arrow types of relations, and relations of Arrow schemas."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tables.facts import TYPES, named, relation
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import DataError
from tidelog.program.text import print_relation
from tidelog.tables.arrow import UNIT, arrow_type, relation_from_schema, schema


@pytest.mark.parametrize(
    ("type_", "arrow"),
    [
        (types.BOOL, pa.bool_()),
        (types.INT, pa.int64()),
        (types.BIGINT, pa.string()),
        (types.Bit(1), pa.uint8()),
        (types.Bit(9), pa.uint16()),
        (types.Bit(32), pa.uint32()),
        (types.Bit(64), pa.uint64()),
        (types.Bit(65), pa.string()),
        (types.Signed(8), pa.int8()),
        (types.Signed(9), pa.int16()),
        (types.Signed(64), pa.int64()),
        (types.Signed(65), pa.string()),
        (types.FLOAT, pa.float32()),
        (types.DOUBLE, pa.float64()),
        (types.Decimal(10, 2), pa.decimal128(10, 2)),
        (types.STRING, pa.string()),
        (types.BYTES, pa.binary()),
        (types.DATE, pa.date32()),
        (types.TIMESTAMP, pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
def test_each_type_has_one_arrow_type(type_: Type, arrow: object) -> None:
    assert arrow_type(type_) == arrow


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_only_options_are_nullable(type_: Type) -> None:
    assert schema(relation(type_)).field(0).nullable == isinstance(type_, types.Option)


def test_a_relation_without_columns_has_one_of_units() -> None:
    assert schema(relation()).names == [UNIT]
    assert relation_from_schema("R", schema(relation())).columns == ()


def test_a_schema_declares_a_relation() -> None:
    given = pa.schema(
        [
            ("a", pa.int32()),
            ("b", pa.uint64()),
            ("c", pa.float32()),
            ("d", pa.float64()),
            ("e", pa.dictionary(pa.int32(), pa.large_string())),
            ("f", pa.string_view()),
            ("g", pa.large_binary()),
            ("h", pa.date64()),
            ("i", pa.timestamp("ns")),
            ("j", pa.decimal128(9, 3)),
            ("k", pa.bool_()),
        ]
    )
    text = print_relation(relation_from_schema("R", given, options=["k"]))
    assert " ".join(text.split()) == (
        "input relation R( a: int, b: bit<64>, c: float, d: double, e: string, f: string, g: bytes, h: date, "
        "i: timestamp, j: decimal(9, 3), k: option<bool> )"
    )


def test_a_column_that_may_be_null_is_an_option_unless_told_otherwise() -> None:
    given = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64(), nullable=False)])
    assert relation_from_schema("R", given) == named(a=types.Option(types.INT), b=types.INT)
    assert relation_from_schema("R", given, options=["b"]) == named(a=types.INT, b=types.Option(types.INT))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pa.schema([("", pa.int64())]), "relation R: a column of the data has no name; name it"),
        (
            pa.schema([("a", pa.list_(pa.null()))]),
            "relation R, column a: the Arrow type list<.*> is not supported",
        ),
        (pa.schema([("a", pa.null())]), "the Arrow type null is not supported; convert the column"),
        (pa.schema([("a", pa.decimal256(50, 2))]), "the Arrow type decimal256"),
        (
            pa.schema([(f"c{i}", pa.int64()) for i in range(65)]),
            "the data has 65 columns, which exceeds the limit of 64",
        ),
    ],
    ids=["blank", "list", "null", "digits", "many"],
)
def test_a_schema_that_no_relation_has_is_refused(given: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        relation_from_schema("R", given)


def test_options_that_are_not_there_are_refused() -> None:
    with pytest.raises(DataError, match="unknown columns in `options`: b, c"):
        relation_from_schema("R", pa.schema([("a", pa.int64())]), options=["c", "b"])
