"""What does not fit is refused by an error that names relation, column, row, value and remedy."""

from __future__ import annotations

import decimal
import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tables.facts import named, relation
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import DataError, TidelogError
from tidelog.tables.given import to_table

EDGE = named(src=types.STRING, dst=types.STRING)


@dataclass
class Point:
    x: int


@dataclass
class Pair:
    src: str
    dst: str


def refusal(of: Any, data: object) -> str:
    with pytest.raises(DataError) as caught:
        to_table(of, data)
    return str(caught.value)


def test_the_error_carries_what_it_names() -> None:
    with pytest.raises(TidelogError) as caught:
        to_table(EDGE, [("a", "b"), ("a", 7)])
    error = caught.value
    assert isinstance(error, DataError)
    assert (error.relation, error.column, error.row, error.value) == ("R", "dst", 1, 7)
    assert str(error) == (
        "relation R, column dst, row 1: 7 is not a string; "
        "give a str, or declare the column with the type of the data"
    )


def test_the_error_survives_a_trip_to_another_process() -> None:
    error = DataError("R", "broken", column="c", row=3, value="v").in_file("f.csv", 4)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "f.csv:4: relation R, column c: broken"
    assert (again.row, again.value, again.line) == (3, "v", 4)


@pytest.mark.parametrize(
    ("type_", "value", "message"),
    [
        (types.BOOL, 1, "1 is not of type bool; give True or False"),
        (types.INT, True, "True is not of type int; give an int"),
        (types.INT, 1.0, "1.0 is not of type int; give an int"),
        (types.INT, "1", "'1' is not of type int; give an int"),
        (
            types.INT,
            2**63,
            "does not fit int (-9223372036854775808 to 9223372036854775807); declare the column",
        ),
        (types.INT, float("nan"), "nan is not of type int; give an int, or None in an option column"),
        (types.INT, decimal.Decimal(1), "Decimal('1') is not of type int"),
        (types.Bit(12), 4096, "4096 does not fit bit<12> (0 to 4095); declare the column with a wider type"),
        (types.Bit(12), -1, "-1 does not fit bit<12>"),
        (types.Signed(4), 8, "8 does not fit signed<4> (-8 to 7)"),
        (types.Bit(128), 2**128, "does not fit bit<128>"),
        (types.Bit(128), -1, "-1 does not fit bit<128>"),
        (types.BIGINT, "12", "'12' is not of type bigint; give an int"),
        (types.BIGINT, 1.0, "1.0 is not of type bigint"),
        (
            types.DOUBLE,
            2**53 + 1,
            "9007199254740993 cannot be represented exactly as double; declare the column bigint or decimal",
        ),
        (types.DOUBLE, 10**400, "does not fit double"),
        (types.DOUBLE, "1.5", "'1.5' is not of type double; give a float"),
        (types.DOUBLE, True, "True is not of type double"),
        (types.FLOAT, 2**24 + 1, "16777217 cannot be represented exactly as float"),
        (types.FLOAT, 1e300, "1e+300 does not fit float"),
        (types.Decimal(5, 2), 1.5, "1.5 is not of type decimal(5, 2); give a decimal.Decimal or an int"),
        (
            types.Decimal(5, 2),
            decimal.Decimal("1.234"),
            "1.234 has more than 2 digits after the decimal point; round it",
        ),
        (types.Decimal(5, 2), decimal.Decimal(1000), "1000 does not fit decimal(5, 2); round it"),
        (types.Decimal(5, 2), decimal.Decimal("nan"), "NaN is not of type decimal(5, 2)"),
        (types.Decimal(5, 2), 1000, "1000 does not fit decimal(5, 2)"),
        (types.STRING, b"a", "b'a' is not a string; give a str"),
        (types.STRING, "a\ud800", "is not text: it contains a lone surrogate"),
        (types.STRING, float("nan"), "nan is not a string; give a str, or None in an option column"),
        (types.BYTES, "a", "'a' is not of type bytes; give bytes"),
        (types.DATE, datetime(2020, 1, 1, tzinfo=UTC), "is a timestamp, not a date; give value.date()"),
        (types.DATE, "2020-01-01", "'2020-01-01' is not of type date; give a datetime.date"),
        (types.TIMESTAMP, date(2020, 1, 1), "is not a timestamp; give a datetime.datetime"),
        (types.TIMESTAMP, 0, "0 is not a timestamp"),
        (
            types.TIMESTAMP,
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            "is outside the years 1 to 9999",
        ),
        (types.TIMESTAMP, pd.Timestamp("2020-01-01 00:00:00.000000001"), "is finer than a microsecond"),
        (types.TIMESTAMP, np.datetime64("2020-01-01T00:00:00.000000001"), "is finer than a microsecond"),
        (
            types.STRING,
            None,
            "a missing value is not of type string; declare the column option<string> to allow it",
        ),
        (types.Option(types.INT), "x", "'x' is not of type int"),
        (types.STRING, 10**1000, "a number of 3322 bits is not a string"),
    ],
    ids=lambda v: str(v)[:25],
)
def test_a_value_that_does_not_fit(type_: Type, value: object, message: str) -> None:
    good: dict[type, object] = {types.Option: None, types.Bool: True, types.String: "x", types.Bytes: b"x"}
    good |= {types.Date: date(2020, 1, 1), types.Timestamp: datetime(2020, 1, 1, tzinfo=UTC)}
    first = good.get(type(type_), 1)
    of = relation(type_)
    found = refusal(of, [(first,), (first,), (value,), (object(),)])
    assert found.startswith("relation R, column c0, row 2: ")
    assert message in found


def test_long_values_are_not_shown_in_full() -> None:
    assert len(refusal(relation(types.INT), [("x" * 10_000,)])) < 500


@pytest.mark.parametrize(
    ("type_", "column", "row", "message"),
    [
        (types.INT, pa.array([1.0, 2.0]), 0, "1.0 is not of type int"),
        (types.INT, pa.array([1, 2**63], pa.uint64()), 1, "9223372036854775808 does not fit int"),
        (types.INT, pa.array([1, None]), 1, "a missing value is not of type int"),
        (types.INT, pa.array([True]), 0, "True is not of type int"),
        (types.INT, pa.array([1, 10**30], pa.decimal128(38, 0)), 1, "does not fit int"),
        (types.Bit(3), pa.chunked_array([[1, 7], [8]]), 2, "8 does not fit bit<3> (0 to 7)"),
        (types.BIGINT, pa.array(["7", "-12", "007"]), 2, "'007' is not of type bigint"),
        (types.BIGINT, pa.array(["7", "-0"]), 1, "'-0' is not of type bigint"),
        (types.Bit(100), pa.array([1, -1]), 1, "-1 does not fit bit<100>"),
        (types.Bit(100), pa.array(["5", str(2**100)]), 1, "does not fit bit<100>"),
        (
            types.DOUBLE,
            pa.array([1, 2**53 + 1]),
            1,
            "9007199254740993 cannot be represented exactly as double",
        ),
        (types.FLOAT, pa.array([1.0, 1e300]), 1, "1e+300 does not fit float"),
        (types.FLOAT, pa.array([1, 2**24 + 1]), 1, "16777217 cannot be represented exactly as float"),
        (
            types.Decimal(5, 2),
            pa.array([decimal.Decimal("1.500"), decimal.Decimal("1.501")]),
            1,
            "1.501 has more than 2",
        ),
        (types.Decimal(5, 2), pa.array([1.5]), 0, "1.5 is not of type decimal(5, 2)"),
        (types.Decimal(5, 2), pa.array([1, 1000]), 1, "1000 does not fit decimal(5, 2)"),
        (types.STRING, pa.array([1]), 0, "1 is not a string"),
        (types.STRING, pa.array([b"a"]), 0, "b'a' is not a string"),
        (types.STRING, pa.array(["a", None]).dictionary_encode(), 1, "a missing value is not of type string"),
        (types.BYTES, pa.array(["a"]), 0, "'a' is not of type bytes"),
        (types.DATE, pa.array([0], pa.timestamp("us")), 0, "is a timestamp, not a date; give value.date()"),
        (
            types.DATE,
            pa.array([0, 2**30], pa.date32()),
            1,
            "1073741824 as date32[day] is outside the years 1 to 9999",
        ),
        (types.TIMESTAMP, pa.array([0], pa.date32()), 0, "is not a timestamp"),
        (types.TIMESTAMP, pa.array([0, 1], pa.timestamp("ns")), 1, "is finer than a microsecond"),
        (types.TIMESTAMP, pa.array([0, 2**62], pa.timestamp("us")), 1, "is outside the years 1 to 9999"),
        (types.TIMESTAMP, pa.array([0, 2**62], pa.timestamp("s")), 1, "is outside the years 1 to 9999"),
        (types.INT, pa.array([[1]]), 0, "[1] is not of type int"),
        (types.INT, pa.nulls(1), 0, "a missing value is not of type int"),
    ],
    ids=str,
)
def test_an_arrow_column_that_does_not_fit(type_: Type, column: Any, row: int, message: str) -> None:
    found = refusal(relation(type_), pa.table({"c0": column}))
    assert found.startswith(f"relation R, column c0, row {row}: ")
    assert message in found


def test_text_of_arrow_that_is_not_utf8_is_refused() -> None:
    buffers = [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")]
    column = pa.Array.from_buffers(pa.string(), 2, buffers)
    assert "column c0, row 1: b'\\xff' is not valid UTF-8 text" in refusal(
        relation(types.STRING), pa.table({"c0": column})
    )


def test_the_pointers_that_polars_gives_for_objects_are_not_taken_for_bytes() -> None:
    frame = pl.DataFrame({"c0": pl.Series([object()], dtype=pl.Object)})
    assert "is not of type bytes" in refusal(relation(types.BYTES), frame)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            [("a", "b"), ("a",)],
            "relation R, row 1: ('a',) (tuple) has 1 values, but the rows before it have 2",
        ),
        ([("a",)], "relation R, row 0: a row has 1 value; expected 2: src, dst"),
        ([("a", "b", "c")], "a row has 3 values; expected 2: src, dst"),
        (["ab"], "relation R, row 0: 'ab' (str) is not a row; give a list of tuples"),
        (("a", "b"), "'a' (str) is not a row"),
        ("ab", "relation R: 'ab' (str) is not a collection of rows"),
        (7, "7 (int) is not a collection of rows"),
        (None, "None (NoneType) is not a collection of rows"),
        (
            [("a", "b"), {"src": "a"}],
            "row 1: {'src': 'a'} (dict) is not a tuple or a list, but the rows before it are",
        ),
        ([{"src": "a", "dst": "b"}, ("a", "b")], "row 1: ('a', 'b') (tuple) is not a dict"),
        ([Pair("a", "b"), Point(1)], "row 1: Point(x=1) (Point) is not of the same dataclass"),
        ([Point(1)], "missing column src, dst; the data has x; rename or add columns"),
        (
            [{"src": "a", "dst": "b", "x": 1}],
            "the data has extra columns: x; leave them out",
        ),
        ([{"src": "a"}], "missing column dst; the data has src"),
        (
            [{"src": "a", "dst": "b"}, {"src": "a"}],
            "column dst, row 1: a missing value is not of type string",
        ),
        (pd.DataFrame({"src": ["a"], "to": ["b"]}), "missing column dst; the data has src, to; rename"),
        (pd.DataFrame([["a", "b", "c"]], columns=["src", "dst", "dst"]), "duplicate column name dst"),
        (
            pa.table({"src": ["a"], "dst": ["b"], "w": [1], "v": [1]}),
            "the data has extra columns: w, v; leave them out",
        ),
        (np.array([["a"]]), "a row has 1 value; expected 2: src, dst"),
        (np.array(["a", "b"]), "the array has 1 dimensions; give one with 2: rows and columns"),
        ({"src": ["a"], "dst": []}, "the columns have different lengths (src 1, dst 0)"),
        (
            {"src": "a", "dst": "b"},
            "the column src is 'a' (str); a dict is read as columns: give a list of values",
        ),
    ],
    ids=lambda v: str(v)[:40],
)
def test_data_of_the_wrong_shape(data: object, message: str) -> None:
    assert message in refusal(EDGE, data)


def test_rows_with_values_for_a_relation_without_columns() -> None:
    assert "the relation has no columns, but the data has 1 columns; give empty tuples" in refusal(
        relation(), [(1,)]
    )
    assert "the data has x" in refusal(relation(), pa.table({"x": [1]}))


@pytest.mark.parametrize("text", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_a_decimal_that_is_no_number_is_not_to_be_rounded(text: str) -> None:
    found = refusal(named(x=types.Decimal(10, 2)), [(decimal.Decimal(text),)])
    assert found.endswith("; give a number, or None in an option column if it is missing")


def test_a_missing_number_of_pandas_is_blamed_and_not_the_floats_around_it() -> None:
    """pandas makes a column of whole numbers one of floats if one is missing."""
    assert refusal(named(x=types.INT), pd.DataFrame({"x": [1, 2, None, 4, None]})) == (
        "relation R, column x, row 2: a missing value is not of type int; "
        "declare the column option<int> to allow it"
    )
    assert "row 1: 1.5 is not of type int" in refusal(named(x=types.INT), pd.DataFrame({"x": [1, 1.5, None]}))
    assert "row 0: 1.0 is not of type int" in refusal(named(x=types.INT), pd.DataFrame({"x": [1.0, 2.0]}))
