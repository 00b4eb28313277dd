"""User data as a table of a relation: the relation's columns, in order, with their Arrow types.

Invariant: a table that `to_table` returns has exactly the schema of the relation and only values of its
types. No conversion loses information and no column is dropped: an extra column is an error. Columns are
matched by name. They are matched by position if the data has no names, or is named tuples with other names.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from tidelog.data import types
from tidelog.data.structs import Struct
from tidelog.data.types import Named, Type, present
from tidelog.errors import DataError
from tidelog.program.declared import Relation
from tidelog.tables.arrow import UNIT, is_list, relation_from_schema, schema
from tidelog.tables.fitting import Misfit, fit_arrow, fit_values
from tidelog.tables.shapes import BadShape, Given, take_apart

__all__ = ["make_table", "relation_from_data", "to_table", "unit_table"]


def to_table(relation: Relation, data: object) -> Any:
    """The data as an Arrow table of the relation. Raises DataError."""
    try:
        given = take_apart(_from_structs(relation, data))
    except BadShape as bad:
        raise DataError(relation.name, bad.problem, row=bad.row, value=bad.value) from None
    if not relation.columns:
        return _units(relation, given)
    columns = _arrange(relation, given)
    return make_table(relation, [_fit(relation, i, column) for i, column in enumerate(columns)])


def _from_structs(relation: Relation, data: object) -> object:
    """The data, with tuples in place of structs that are whole rows."""
    if not isinstance(data, list | tuple | set | frozenset) or not data:
        return data
    rows = list(data)
    if not all(isinstance(row, Struct) for row in rows):
        return data
    if relation.row is not None and not _is_struct(relation.row):
        return [(row,) for row in rows]
    name = relation.row.name if isinstance(relation.row, Named) else relation.name
    return [row._values for row in rows] if all(row._type == name for row in rows) else data


def _is_struct(type_: Type) -> bool:
    return isinstance(type_, Named) and len(type_.constructors) == 1


def make_table(relation: Relation, columns: list[Any]) -> Any:
    """The table of columns that already have the right types."""
    return pa.Table.from_arrays(columns, schema=schema(relation))


def unit_table(rows: int) -> Any:
    """The table of a relation without columns."""
    return pa.table(
        {UNIT: pa.repeat(True, rows)}, schema=pa.schema([pa.field(UNIT, pa.bool_(), nullable=False)])
    )


def relation_from_data(name: str, data: object, *, options: Collection[str] | None = None) -> Relation:
    """The input relation for data with named columns.

    A column is an option if `options` names it. By default it is one if it has a missing value.
    """
    try:
        given = take_apart(data)
    except BadShape as bad:
        raise DataError(name, bad.problem, row=bad.row, value=bad.value) from None
    if given.names is None:
        raise DataError(name, "the data has no column names; declare the relation, or give a DataFrame")
    columns = [_inferred(name, *c) for c in zip(given.names, given.columns, strict=True)]
    missing = [n for n, column in zip(given.names, columns, strict=True) if column.null_count]
    found = pa.schema([pa.field(n, _observed(c)) for n, c in zip(given.names, columns, strict=True)])
    return relation_from_schema(name, found, options=missing if options is None else options)


def _observed(column: Any) -> Any:
    """The type of a column, in which the items of lists are nullable only if one of them is null."""
    kind = column.type
    if not is_list(kind):
        return kind
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    items = pa.chunked_array([chunk.flatten() for chunk in chunks], kind.value_type)
    return pa.list_(pa.field("item", _observed(items), nullable=bool(items.null_count)))


def _inferred(relation: str, name: str, column: Any) -> Any:
    if isinstance(column, pa.ChunkedArray):
        return column
    try:
        return pa.array(column)
    except pa.ArrowException as error:
        raise DataError(
            relation, f"the values have no common type ({error}); convert them", column=name
        ) from None


# -- which column is which


def _units(relation: Relation, given: Given) -> Any:
    if given.columns and given.names != (UNIT,):
        shown = ", ".join(given.names) if given.names else f"{len(given.columns)} columns"
        raise DataError(
            relation.name, f"the relation has no columns, but the data has {shown}; give empty tuples"
        )
    return unit_table(given.rows)


def _arrange(relation: Relation, given: Given) -> list[Any]:
    """The given columns in the relation's order. A column that the data lacks is None in every row."""
    wanted = [c.name for c in relation.columns]
    if not given.rows and not given.columns:
        return [[] for _ in wanted]
    names = given.names
    if names is None or (given.by_place and not set(wanted) <= set(names)):
        return _by_place(relation, given)
    _expect_names(relation, wanted, names, gaps=given.gaps)
    places = {name: i for i, name in enumerate(names)}
    return [given.columns[places[n]] if n in places else [None] * given.rows for n in wanted]


def _by_place(relation: Relation, given: Given) -> list[Any]:
    if len(given.columns) != len(relation.columns):
        listed = ", ".join(c.name for c in relation.columns)
        problem = f"a row has {_values(len(given.columns))}; expected {len(relation.columns)}: {listed}"
        raise DataError(relation.name, problem, row=0 if given.rows else None)
    return list(given.columns)


def _values(number: int) -> str:
    return f"{number} value{'s' * (number != 1)}"


def _expect_names(relation: Relation, wanted: list[str], names: tuple[str, ...], *, gaps: bool) -> None:
    optional = {c.name for c in relation.columns if gaps and isinstance(c.type, types.Option)}
    missing = [n for n in wanted if n not in names and n not in optional]
    extra = [n for n in dict.fromkeys(names) if n not in wanted]
    twice = sorted({n for n in names if names.count(n) > 1})
    if missing:
        problem = f"missing column {_listed(missing)}; the data has {_listed(names)}; rename or add columns"
    elif extra:
        problem = f"the data has extra columns: {_listed(extra)}; leave them out"
    elif twice:
        problem = f"duplicate column name {_listed(twice)}; rename or drop one"
    else:
        return
    raise DataError(relation.name, problem)


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)


# -- fitting


def _fit(relation: Relation, place: int, column: Any) -> Any:
    name, type_ = relation.columns[place].name, relation.columns[place].type
    try:
        prepared = _from_series(type_, column) if hasattr(column, "iloc") else column
        if isinstance(prepared, pa.ChunkedArray):
            return fit_arrow(type_, prepared)
        return fit_values(type_, prepared)
    except Misfit as bad:
        raise DataError(relation.name, bad.problem, column=name, row=bad.row, value=bad.value) from None


def _from_series(type_: Type, series: Any) -> Any:
    """A pandas column, with its missing values as nulls.

    In object columns and plain float columns pandas writes NaN for a missing value. So NaN means missing,
    unless the relation's column is a floating-point type and not an option. Pandas turns an integer column
    with missing values into floats; such a column becomes integers again.
    """
    item, option = present(type_), isinstance(type_, types.Option)
    if series.dtype == object:
        keep = types.is_float(item) and not option
        return [None if _is_nan(v) and not keep else v for v in series.tolist()]
    plain_floats = getattr(series.dtype, "kind", "") == "f" and not hasattr(series.dtype, "na_value")
    try:
        array = pa.array(series, from_pandas=option or not (plain_floats and types.is_float(item)))
        if plain_floats and types.is_integer(item) and (option or array.null_count):
            return _whole_again(array)
    except pa.ArrowException:
        return series.tolist()
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value


def _whole_again(array: Any) -> Any:
    try:
        return pa.chunked_array([array.cast(pa.int64())])
    except pa.ArrowException:  # so that the error names the number that is not whole, or too large
        return [int(v) if v is not None and v.is_integer() else v for v in array.to_pylist()]
