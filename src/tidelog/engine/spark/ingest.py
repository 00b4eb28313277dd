"""Converts data from users into frames of a relation: columns in its order, of its types, no row lost.

A DataFrame is evaluated once, in its own session. If its columns have exactly the types of the relation,
Spark only checks for missing values in columns that do not allow them. Otherwise tasks convert it, batch by
batch, with the code that converts local data, so that both report the same errors. Data that is not a
DataFrame is converted in the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.data import types
from tidelog.data.types import Option, Type, present
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints
from tidelog.engine.spark.frames.layout import PROBLEM, arrow_schema, columns, ddl, spark_type
from tidelog.errors import DataError
from tidelog.program.declared import Relation
from tidelog.tables.casting import cast_table
from tidelog.tables.given import to_table

__all__ = ["is_frame", "take_in"]

_COLUMN: Final = "problem_column"
# all values that Spark can hold in these types are canonical
_PLAIN: Final = (types.Bool, types.Int, types.String, types.Bytes, types.Date, types.Timestamp)


def is_frame(data: object) -> bool:
    """Whether data is a Spark DataFrame, classic or Connect."""
    return callable(getattr(data, "toArrow", None)) and hasattr(data, "sparkSession")


def take_in(relation: Relation, data: Any, checkpoints: Checkpoints) -> Checkpoint:
    """The rows of `data`; DataError if they do not match the relation."""
    if not is_frame(data):
        return checkpoints.table(relation.types, to_table(relation, data))
    to_table(relation, data.limit(0).toArrow())  # checks the columns
    kinds = dict(data.dtypes)
    plain = relation.columns and all(_is_plain(kinds.get(c.name), c.type) for c in relation.columns)
    with checkpoints.taken(data.toDF(*(f"q{i}" for i in range(len(kinds))))) as rows:
        return (_plainly if plain else _fitted)(relation, rows, list(kinds), checkpoints)


def _is_plain(kind: str | None, type_: Type) -> bool:
    return isinstance(present(type_), _PLAIN) and kind == spark_type(type_)


def _plainly(
    relation: Relation, data: DataFrame, names: Sequence[str], checkpoints: Checkpoints
) -> Checkpoint:
    places = {name: i for i, name in enumerate(names)}
    rows = data.selectExpr(*(f"q{places[c.name]} as c{i}" for i, c in enumerate(relation.columns)))
    full = {i: c for i, c in enumerate(relation.columns) if not isinstance(c.type, Option)}
    questions = (f"count_if(c{i} is null)" for i in full)
    checkpoint, missing = checkpoints.asked(checkpoints.distinct(rows, relation.types), *questions)
    for column, times in zip(full.values(), missing, strict=True):
        if times:
            problem = (
                f"a missing value is not of type {column.type}; "
                f"declare the column option<{column.type}> to allow it"
            )
            raise DataError(relation.name, problem, column=column.name)
    return checkpoint


def _fitted(
    relation: Relation, data: DataFrame, given: Sequence[str], checkpoints: Checkpoints
) -> Checkpoint:
    schema = f"{ddl(relation.types)}, {PROBLEM} string, {_COLUMN} string"
    questions = (f"first({PROBLEM}, true)", f"first({_COLUMN}, true)")
    fitted = data.mapInArrow(partial(_fit, relation, given), schema)
    names = columns(len(relation.columns))
    once = fitted.repartition(checkpoints.partitions, *names).distinct()
    checkpoint, (problem, column) = checkpoints.asked(once, *questions)
    if problem is not None:
        raise DataError(relation.name, problem, column=column)
    return checkpoint.with_columns(checkpoint.frame.select(*names))


def _fit(relation: Relation, names: Sequence[str], batches: Iterable[Any]) -> Iterator[Any]:
    """In a task: batches of the relation, or a row that reports what does not match it."""
    schema = arrow_schema(relation.types)
    for batch in batches:
        problem = column = None
        try:
            table = to_table(relation, pa.Table.from_batches([batch]).rename_columns(names))
            table = cast_table(table.rename_columns(schema.names), schema)
        except DataError as error:
            problem, column = error.problem, error.column
            table = pa.table({f.name: pa.nulls(1, f.type) for f in schema})
        size = table.num_rows
        table = table.append_column(PROBLEM, pa.array([problem] * size, pa.string()))
        yield from table.append_column(_COLUMN, pa.array([column] * size, pa.string())).to_batches()
