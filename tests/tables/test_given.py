"""Data of every shape becomes a table of its relation, and nothing is lost or converted on the way."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from tables.facts import contents, named, patiently, relation, texts, typed_rows
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row
from tidelog.errors import DataError
from tidelog.tables.arrow import schema
from tidelog.tables.given import relation_from_data, to_table

EDGE = named(src=types.STRING, n=types.INT)
ROWS = [("a", 1), ("b", 2), ("a", 3)]


@dataclass
class Edge:
    src: str
    n: int


class Reversed(NamedTuple):
    n: int
    src: str


Other = namedtuple("Other", "x y")


class Streams:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(FRAME).__arrow_c_stream__(requested_schema)


class Converts:
    def to_arrow(self) -> Any:
        return pa.table(FRAME)


FRAME = {"n": [1, 2, 3], "src": ["a", "b", "a"]}
STRUCTURED = np.array([(n, s) for s, n in ROWS], [("n", "i4"), ("src", "U5")])

SHAPES: dict[str, Callable[[], object]] = {
    "tuples": lambda: ROWS,
    "lists": lambda: [list(r) for r in ROWS],
    "generator": lambda: (r for r in ROWS),
    "dicts": lambda: [{"n": n, "src": s} for s, n in ROWS],
    "dataclasses": lambda: [Edge(s, n) for s, n in ROWS],
    "namedtuples": lambda: [Reversed(n, s) for s, n in ROWS],
    "namedtuples of other names": lambda: [Other(s, n) for s, n in ROWS],
    "pandas": lambda: pd.DataFrame(FRAME),
    "pandas of objects": lambda: pd.DataFrame(FRAME, dtype=object),
    "pandas of Arrow": lambda: pd.DataFrame(FRAME).convert_dtypes(dtype_backend="pyarrow"),
    "pandas without names": lambda: pd.DataFrame(ROWS),
    "pandas categories": lambda: pd.DataFrame(FRAME).astype({"src": "category"}),
    "pandas with another index": lambda: pd.DataFrame(FRAME, index=[7, 5, 5]),
    "polars": lambda: pl.DataFrame(FRAME),
    "polars lazy": lambda: pl.DataFrame(FRAME).lazy(),
    "polars categories": lambda: pl.DataFrame(FRAME, schema_overrides={"src": pl.Categorical}),
    "polars 128 bits": lambda: pl.DataFrame(FRAME, schema_overrides={"n": pl.Int128}),
    "arrow": lambda: pa.table(FRAME),
    "arrow large": lambda: pa.table(FRAME).cast(pa.schema([("n", pa.int8()), ("src", pa.large_string())])),
    "arrow views": lambda: pa.table(FRAME).cast(pa.schema([("n", pa.uint64()), ("src", pa.string_view())])),
    "arrow decimals": lambda: pa.table(FRAME).cast(
        pa.schema([("n", pa.decimal128(38)), ("src", pa.string())])
    ),
    "arrow batch": lambda: pa.RecordBatch.from_pydict(FRAME),
    "arrow reader": lambda: pa.table(FRAME).to_reader(max_chunksize=1),
    "arrow dictionary": lambda: pa.table(
        {"n": FRAME["n"], "src": pa.array(["a", "b", "a"]).dictionary_encode()}
    ),
    "stream": Streams,
    "to_arrow": Converts,
    "numpy structured": lambda: STRUCTURED,
    "numpy objects": lambda: np.array(ROWS, object),
    "numpy rows": lambda: np.fromiter(ROWS, object),
    "dict of lists": lambda: FRAME,
    "dict of arrays": lambda: {"n": np.array([1, 2, 3]), "src": pd.Series(["a", "b", "a"])},
    "dict of Arrow": lambda: {"n": pa.array([1, 2, 3]), "src": pl.Series(["a", "b", "a"])},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_data_gives_the_same_table(shape: str) -> None:
    table = to_table(EDGE, SHAPES[shape]())
    assert table.schema == schema(EDGE)
    assert [tuple(r.values()) for r in table.to_pylist()] == ROWS


def test_a_relation_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql("select * from (values ('a', 1::hugeint), ('b', 2), ('a', 3)) t(src, n)")
    assert [tuple(r.values()) for r in to_table(EDGE, found).to_pylist()] == ROWS


def test_numbers_in_an_array_of_two_dimensions() -> None:
    of = relation(types.INT, types.INT)
    for order in ("C", "F"):
        array = np.array([[1, 2], [3, 4], [5, 6]], np.int32, order=order)
        assert contents(of, to_table(of, array)) == [("1", "2"), ("3", "4"), ("5", "6")]


@patiently
@given(typed_rows)
def test_tuples_of_every_type_come_through_unchanged(typed: tuple[list[Type], list[Row]]) -> None:
    columns, given_rows = typed
    of = relation(*columns)
    table = to_table(of, given_rows)
    table.validate(full=True)
    assert table.schema == schema(of)
    assert contents(of, table) == texts(columns, given_rows)


@patiently
@given(typed_rows)
def test_a_table_of_the_relation_comes_through_unchanged(typed: tuple[list[Type], list[Row]]) -> None:
    of = relation(*typed[0])
    table = to_table(of, typed[1])
    again = to_table(of, table)
    assert again.schema == schema(of)
    assert contents(of, again) == contents(of, table)


@pytest.mark.parametrize(
    "empty", [[], (), {}, iter(()), pd.DataFrame(FRAME)[:0], pa.table(FRAME)[:0], np.empty((0, 2))]
)
def test_no_data_is_an_empty_table(empty: object) -> None:
    table = to_table(EDGE, empty)
    assert table.schema == schema(EDGE)
    assert table.num_rows == 0


@pytest.mark.parametrize(
    "units", [[(), ()], [{}, {}], [[], []], np.empty((2, 0)), pd.DataFrame(index=[0, 1]), [(), []]]
)
def test_a_relation_without_columns_keeps_the_number_of_rows(units: object) -> None:
    of = relation()
    table = to_table(of, units)
    assert table.num_rows == 2
    assert to_table(of, table).num_rows == 2
    assert to_table(of, []).num_rows == 0


def test_sixty_four_columns() -> None:
    of = relation(*[types.INT] * 64)
    assert contents(of, to_table(of, [tuple(range(64))])) == [tuple(map(str, range(64)))]


def test_missing_keys_of_dicts_are_none_in_options() -> None:
    of = named(a=types.INT, b=types.Option(types.INT), c=types.Option(types.STRING))
    assert to_table(of, [{"a": 1, "b": 2}, {"a": 3}]).to_pylist() == [
        {"a": 1, "b": 2, "c": None},
        {"a": 3, "b": None, "c": None},
    ]


def test_floats_have_one_zero_and_one_nan() -> None:
    odd = np.array([0x7FF8000000000001, -1, -(2**63)], np.int64).view(np.float64)
    for data in ([(x,) for x in odd.tolist()], pa.table({"c0": odd}), odd.reshape(-1, 1)):
        column = to_table(relation(types.DOUBLE), data)["c0"].to_numpy()
        assert column.view(np.int64).tolist() == [0x7FF8000000000000] * 2 + [0]


# -- pandas says NaN for missing


def test_whole_numbers_that_pandas_made_floats_for_missing_ones_are_taken_back() -> None:
    of = named(n=types.Option(types.INT), b=types.Option(types.Bit(8)))
    frame = pd.DataFrame({"n": [1, None, 3], "b": [None, 255, 0]})
    assert str(frame.dtypes["n"]) == "float64"
    assert to_table(of, frame).to_pydict() == {"n": [1, None, 3], "b": [None, 255, 0]}


def test_a_number_that_is_not_whole_is_named_among_those_that_are() -> None:
    of = named(n=types.Option(types.INT))
    with pytest.raises(DataError, match=r"column n, row 2: 1\.5 is not of type int"):
        to_table(of, pd.DataFrame({"n": [1, None, 1.5]}))


@pytest.mark.parametrize("dtype", ["str", "object", "string", "category"])
def test_missing_text_of_pandas_is_none(dtype: str) -> None:
    frame = pd.DataFrame({"s": pd.Series(["a", None, float("nan")], dtype=dtype)})
    assert to_table(named(s=types.Option(types.STRING)), frame).to_pydict() == {"s": ["a", None, None]}
    with pytest.raises(
        DataError, match="column s, row 1: a missing value is not of type string; declare the column"
    ):
        to_table(named(s=types.STRING), frame)


def test_nan_of_pandas_is_none_in_an_option_and_nan_elsewhere() -> None:
    frame = pd.DataFrame({"x": [1.5, float("nan")]})
    assert to_table(named(x=types.Option(types.DOUBLE)), frame).to_pydict() == {"x": [1.5, None]}
    assert str(to_table(named(x=types.DOUBLE), frame)["x"].to_pylist()) == "[1.5, nan]"
    assert str(to_table(named(x=types.DOUBLE), frame.astype(object))["x"].to_pylist()) == "[1.5, nan]"


def test_nan_of_others_is_a_number() -> None:
    for data in ([(float("nan"),)], pl.DataFrame({"c0": [float("nan")]}), np.array([[np.nan]])):
        assert str(to_table(relation(types.Option(types.DOUBLE)), data)["c0"].to_pylist()) == "[nan]"


def test_missing_values_of_pandas_in_rows_are_none() -> None:
    of = relation(types.Option(types.INT), types.Option(types.TIMESTAMP))
    assert contents(of, to_table(of, [(pd.NA, pd.NaT), (np.int8(3), np.datetime64("NaT"))])) == [
        (None, None),
        ("3", None),
    ]


# -- relations declared by data


def test_data_declares_a_relation_whose_options_are_what_is_missing() -> None:
    frame = pd.DataFrame({"a": ["x", None], "b": [1, 2], "c": [0.5, None]})
    wanted = named(a=types.Option(types.STRING), b=types.INT, c=types.Option(types.DOUBLE))
    assert relation_from_data("R", frame) == wanted
    assert relation_from_data("R", pl.DataFrame({"a": ["x", None], "b": [1, 2], "c": [0.5, None]})) == wanted
    assert relation_from_data("R", pl.DataFrame({"b": [1, 2]}), options=["b"]) == named(
        b=types.Option(types.INT)
    )
    assert relation_from_data("R", [{"a": 1}, {"a": 2}]) == named(a=types.INT)


def test_data_without_names_or_without_one_type_declares_nothing() -> None:
    with pytest.raises(DataError, match="the data has no column names"):
        relation_from_data("R", [(1, 2)])
    with pytest.raises(DataError, match="column a: the values have no common type"):
        relation_from_data("R", {"a": [1, "x"]})


def test_data_of_others_needs_neither_pandas_nor_polars() -> None:
    code = """if True:
        import sys
        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name in ("pandas", "polars"):
                    raise ImportError(name)
        sys.meta_path.insert(0, Absent())
        from tidelog.data import types
        from tidelog.program.declared import Column, Relation, Role
        from tidelog.tables.given import to_table
        assert to_table(Relation("R", (Column("a", types.INT),), Role.INPUT), [(1,)]).num_rows == 1
        assert not {"numba", "pyspark"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", code], check=True)
