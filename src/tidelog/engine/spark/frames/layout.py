"""How the rows of a relation lie in DataFrames, and how tasks turn them into codes and back.

Frames hold real values, in columns `c0`, `c1`, … of the types that `ddl` names; codes are private to one call
in one task. A relation without columns has one column, true in every row. What a task finds wrong with its
data is told in a column of its own (`PROBLEM`) rather than raised, so that Spark does not try again what can
only fail again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.arrow import decode_table, encode_table
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.spark.frames.arrow import signed
from tidelog.program.typed import Column, Relation, Role
from tidelog.tables.arrow import UNIT, arrow_type, is_wide, scalar, schema

__all__ = [
    "PROBLEM",
    "arrow_schema",
    "columns",
    "ddl",
    "decode",
    "encode",
    "named",
    "spark_type",
    "stored",
    "whole",
]

PROBLEM: Final = "problem"
_BITS: Final = ((8, "smallint"), (16, "int"), (32, "bigint"), (64, "decimal(20,0)"))
_SIGNED: Final = ((8, "tinyint"), (16, "smallint"), (32, "int"), (64, "bigint"))


def columns(arity: int) -> list[str]:
    """The names of a relation's columns in frames."""
    return [f"c{i}" for i in range(max(arity, 1))]


def stored(types_: Sequence[Type]) -> Relation:
    """A relation as its rows lie in frames, for reading and writing Arrow."""
    of = types_ or (types.BOOL,)
    return Relation("rows", tuple(Column(f"c{i}", t) for i, t in enumerate(of)), Role.INTERNAL)


def ddl(types_: Sequence[Type]) -> str:
    """The schema of a relation's rows, as Spark writes it."""
    return ", ".join(f"c{i} {spark_type(t)}" for i, t in enumerate(types_ or (types.BOOL,)))


def spark_type(type_: Type) -> str:
    """The name of the type that Spark has for a type."""
    if is_wide(type_):
        return "string"
    match item := scalar(type_):
        case types.Bool():
            return "boolean"
        case types.Int():
            return "bigint"
        case types.Bit(width):
            return next(name for most, name in _BITS if width <= most)
        case types.Signed(width):
            return next(name for most, name in _SIGNED if width <= most)
        case types.Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case types.Bytes():
            return "binary"
        case _:
            return str(item)  # float, double, string, date, timestamp


def arrow_schema(types_: Sequence[Type]) -> Any:
    """The schema of a relation's rows, as Spark hands them over."""
    return signed(schema(stored(types_)))


# -- in tasks


def encode(codec: Codec, types_: Sequence[Type], table: Any) -> Codes:
    """The codes of rows that Spark handed over: one row of codes for each column."""
    relation = stored(types_)
    fields = [pa.field(c.name, arrow_type(c.type)) for c in relation.columns]
    codes = encode_table(codec, relation, table.select(columns(len(types_))).cast(pa.schema(fields)))
    return codes if types_ else np.empty((0, table.num_rows), np.int64)


def decode(codec: Codec, types_: Sequence[Type], codes: Codes) -> Any:
    """The rows of these codes, for Spark."""
    if not types_:
        return pa.table({"c0": pa.repeat(True, codes.shape[1])})
    table = decode_table(codec, stored(types_), np.ascontiguousarray(codes))
    return table.cast(arrow_schema(types_))


def whole(batches: Iterable[Any], names: Sequence[str]) -> Any:
    """All rows of a partition as one table; None if there are none."""
    found = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(found).rename_columns(list(names)) if found else None


# -- in the driver


def named(frame: DataFrame, relation: Relation) -> DataFrame:
    """The rows of a relation under the names that users know, without what the engine adds."""
    names = [c.name for c in relation.columns] or [UNIT]
    return frame.selectExpr(*(f"c{i} as `{name}`" for i, name in enumerate(names)))
