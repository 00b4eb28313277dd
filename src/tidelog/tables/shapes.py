"""The shapes in which users hold facts, split into columns.

Rows (tuples, lists, dicts, dataclasses, named tuples), frames (pandas, Polars, Spark, Arrow, anything that
streams Arrow), NumPy arrays and dicts of columns all become a `Given`: the columns unchanged and not yet
validated, with their names if they have any. This module does not know the relation. It never imports pandas,
Polars or PySpark: their data can only exist if they are already loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.errors import clip, shown

__all__ = ["BadShape", "Given", "take_apart"]


class BadShape(Exception):
    """Data that cannot be split into columns; `row` is the bad row, if a single row is the cause."""

    def __init__(self, problem: str, row: int | None = None, value: object = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.row = row
        self.value = value


@dataclass(frozen=True, slots=True)
class Given:
    """Columns of equal length: Arrow arrays, pandas series, or sequences of Python values.

    `by_place`: columns are matched by position if their names differ from those of the relation.
    `gaps`: an absent column counts as a missing value in every row.
    """

    rows: int
    columns: tuple[Any, ...]
    names: tuple[str, ...] | None = None
    by_place: bool = False
    gaps: bool = False


_SHORT = 60  # letters
_ROWS = "give a list of tuples, dicts or dataclass instances, or a DataFrame"


def take_apart(data: object) -> Given:
    """The columns of the data. Raises BadShape if it has none."""
    for read in (_from_pandas, _from_polars, _from_spark, _from_numpy, _from_arrow):
        given = read(data)
        if given is not None:
            return given
    if isinstance(data, Mapping):
        return _from_columns(data)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise BadShape(f"{_shown(data)} is not a collection of rows; {_ROWS}")
    return _from_rows(list(data))


def _shown(value: object) -> str:
    return f"{clip(shown(value), 80)} ({type(value).__name__})"


# -- frames


def _library(name: str) -> Any:
    """A module of data frames; None if it is not imported, or another thread has only begun to import it."""
    module = sys.modules.get(name)
    return module if hasattr(module, "DataFrame") else None


def _from_pandas(data: Any) -> Given | None:
    pandas = _library("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return None
    columns = tuple(data.iloc[:, i] for i in range(data.shape[1]))
    if isinstance(data.columns, pandas.RangeIndex):  # the columns were never named
        return Given(len(data), columns)
    return Given(len(data), columns, tuple(map(str, data.columns)))


def _from_polars(data: Any) -> Given | None:
    polars = _library("polars")
    if polars is None or not isinstance(data, polars.DataFrame | polars.LazyFrame):
        return None
    frame = data.collect() if isinstance(data, polars.LazyFrame) else data
    # Polars exports these types to Arrow as addresses, or in a form that Arrow cannot read
    listed = (polars.Object, polars.Int128, polars.UInt128)
    columns = tuple(
        series.to_list() if series.dtype in listed else pa.chunked_array(series.to_arrow())
        for series in frame.get_columns()
    )
    return Given(frame.height, columns, tuple(frame.columns))


def _from_spark(data: Any) -> Given | None:
    """A Spark DataFrame, classic or Connect: both have `toArrow`."""
    return _from_arrow(data.toArrow()) if callable(getattr(data, "toArrow", None)) else None


def _from_arrow(data: Any) -> Given | None:
    if isinstance(data, pa.Table):
        table = data
    elif isinstance(data, pa.RecordBatch):
        table = pa.Table.from_batches([data])
    elif isinstance(data, pa.RecordBatchReader):
        table = data.read_all()
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, pa.Array | pa.ChunkedArray):
        try:
            table = pa.RecordBatchReader.from_stream(data).read_all()
        except pa.ArrowInvalid:  # a column, not a table
            return None
    elif hasattr(data, "to_arrow"):
        return _from_arrow(data.to_arrow())
    else:
        return None
    return Given(table.num_rows, tuple(table.columns), tuple(table.column_names))


def _from_numpy(data: Any) -> Given | None:
    if not isinstance(data, np.ndarray):
        return None
    if data.dtype.names is not None and data.ndim == 1:
        return Given(len(data), tuple(_array(data[n]) for n in data.dtype.names), data.dtype.names)
    if data.ndim == 1 and data.dtype == object:
        return _from_rows(data.tolist())
    if data.ndim != 2:
        raise BadShape(f"the array has {data.ndim} dimensions; give one with 2: rows and columns")
    return Given(len(data), tuple(_array(data[:, i]) for i in range(data.shape[1])))


def _array(column: Any) -> Any:
    """A column of an array as Arrow, or as a list if Arrow cannot convert its values."""
    if column.dtype != object:
        try:
            return pa.chunked_array([pa.array(column)])
        except pa.ArrowException:
            pass
    return column.tolist()


def _from_columns(data: Mapping[Any, Any]) -> Given:
    columns = tuple(_column(str(name), column) for name, column in data.items())
    lengths = {str(name): len(column) for name, column in zip(data, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise BadShape(f"the columns have different lengths ({listed})")
    return Given(max(lengths.values(), default=0), columns, tuple(lengths))


def _column(name: str, column: Any) -> Any:
    pandas, polars = _library("pandas"), _library("polars")
    if pandas is not None and isinstance(column, pandas.Series):
        return column
    if polars is not None and isinstance(column, polars.Series):
        given = _from_polars(column.to_frame())
        return given and given.columns[0]
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return _array(column)
    if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
        raise BadShape(
            f"the column {name} is {_shown(column)}; a dict is read as columns: give a list of values"
        )
    return list(column)


# -- rows


def _from_rows(rows: list[Any]) -> Given:
    if not rows:
        return Given(0, ())
    first = rows[0]
    if isinstance(first, Mapping):
        return _from_dicts(rows)
    if is_dataclass(first) and not isinstance(first, type):
        return _from_dataclasses(rows)
    if isinstance(first, tuple | list):
        return _from_tuples(rows)
    cells = ", ".join(map(shown, rows[:_SHORT]))
    one = f"; for one row, write [({cells}{',' * (len(rows) == 1)})]" if len(cells) < _SHORT else ""
    raise BadShape(f"{_shown(first)} is not a row; {_ROWS}{one}", 0, first)


def _expect(rows: list[Any], wanted: Callable[[Any], bool], what: str) -> None:
    for number, row in enumerate(rows):
        if not wanted(row):
            raise BadShape(f"{_shown(row)} is not {what}, but the rows before it are", number, row)


def _from_tuples(rows: list[Any]) -> Given:
    classes = set(map(type, rows))
    if not classes <= {tuple, list}:
        _expect(rows, lambda row: isinstance(row, tuple | list), "a tuple or a list")
    width = len(rows[0])
    if set(map(len, rows)) != {width}:
        number, row = next((i, r) for i, r in enumerate(rows) if len(r) != width)
        raise BadShape(
            f"{_shown(row)} has {len(row)} values, but the rows before it have {width}", number, row
        )
    columns = tuple(list(map(itemgetter(i), rows)) for i in range(width))
    names = _field_names(classes.pop()) if len(classes) == 1 else None
    return Given(len(rows), columns, names, by_place=True)


def _field_names(class_: type) -> tuple[str, ...] | None:
    names = getattr(class_, "_fields", None)
    return names if isinstance(names, tuple) else None


def _from_dicts(rows: list[Any]) -> Given:
    if set(map(type, rows)) != {dict}:
        _expect(rows, lambda row: isinstance(row, Mapping), "a dict")
    names: dict[Any, None] = {}
    for keys in {tuple(row): None for row in rows}:  # most rows share their keys
        names.update(dict.fromkeys(keys))
    columns = tuple([row.get(name) for row in rows] for name in names)
    return Given(len(rows), columns, tuple(map(str, names)), gaps=True)


def _from_dataclasses(rows: list[Any]) -> Given:
    names = _names_of_fields(rows[0])
    same = {type(rows[0])}
    if set(map(type, rows)) != same:
        _expect(
            rows, lambda row: is_dataclass(row) and _names_of_fields(row) == names, "of the same dataclass"
        )
    return Given(len(rows), tuple(list(map(attrgetter(n), rows)) for n in names), names)


def _names_of_fields(row: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(row))
