"""How the rows of a relation are stored in frames, and how tasks encode and decode them.

Frames hold plain values, in columns `c0`, `c1`, … of the types that `ddl` names; codes are private to one
call in one task. A relation without columns has one column, which is true in every row. A task reports
problems with its data in a separate column (`PROBLEM`) instead of raising them, so that Spark does not retry
what can only fail again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.data import types
from tidelog.data.traits import traits
from tidelog.data.types import Type
from tidelog.engine.local.codes.arrow import decode_table, encode_table
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.spark.frames.arrow import signed
from tidelog.program.declared import Column, Relation, Role
from tidelog.tables.arrow import UNIT, arrow_type, schema
from tidelog.tables.casting import cast_table

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


def columns(arity: int) -> list[str]:
    """The names of a relation's columns in frames."""
    return [f"c{i}" for i in range(max(arity, 1))]


def stored(types_: Sequence[Type]) -> Relation:
    """A relation with the columns of its frames, for reading and writing Arrow."""
    of = types_ or (types.BOOL,)
    return Relation("rows", tuple(Column(f"c{i}", t) for i, t in enumerate(of)), Role.INTERNAL)


def ddl(types_: Sequence[Type]) -> str:
    """The schema of a relation's rows, as Spark's DDL."""
    return ", ".join(f"c{i} {spark_type(t)}" for i, t in enumerate(types_ or (types.BOOL,)))


def spark_type(type_: Type) -> str:
    """The name of Spark's type for a type."""
    return traits(type_).spark


def arrow_schema(types_: Sequence[Type]) -> Any:
    """The Arrow schema of a relation's rows, as Spark passes them."""
    return signed(schema(stored(types_)))


# -- in tasks


def encode(codec: Codec, types_: Sequence[Type], table: Any) -> Codes:
    """The codes of rows from Spark: one row of codes for each column."""
    relation = stored(types_)
    fields = [pa.field(c.name, arrow_type(c.type)) for c in relation.columns]
    rows = cast_table(table.select(columns(len(types_))), pa.schema(fields))
    codes = encode_table(codec, relation, rows)
    return codes if types_ else np.empty((0, table.num_rows), np.int64)


def decode(codec: Codec, types_: Sequence[Type], codes: Codes) -> Any:
    """The rows of these codes, for Spark."""
    if not types_:
        return pa.table({"c0": pa.repeat(True, codes.shape[1])})
    table = decode_table(codec, stored(types_), np.ascontiguousarray(codes))
    return cast_table(table, arrow_schema(types_))


def whole(batches: Iterable[Any], names: Sequence[str]) -> Any:
    """All rows of a partition as one table; None if there are none."""
    found = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(found).rename_columns(list(names)) if found else None


# -- in the driver


def named(frame: DataFrame, relation: Relation) -> DataFrame:
    """The rows of a relation with its own column names, without the columns that the engine adds."""
    names = [c.name for c in relation.columns] or [UNIT]
    return frame.selectExpr(*(f"c{i} as `{name}`" for i, name in enumerate(names)))
