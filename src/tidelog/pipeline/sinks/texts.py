"""Columns that a format cannot hold as they are, written as text.

Files of text hold no structs and lists, and JSON no bytes: structured values are written there as JSON, and
durations as their texts, both of which sources read back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from tidelog.data.types import Duration, Type, is_recursive, is_structured, present
from tidelog.formats.cells import write_cells
from tidelog.program.declared import Relation
from tidelog.tables.arrow import arrow_type
from tidelog.tables.casting import cast_table

__all__ = ["with_texts"]

_FLAT: Final = ("csv", "tsv", "text", "jdbc")


def with_texts(frame: DataFrame, relation: Relation, form: str) -> DataFrame:
    """The rows as this format can hold them."""
    wanted = {c.name: c.type for c in relation.columns if _is_written_as_text(c.type, form)}
    if not wanted:
        return frame
    fields = [StructField(f.name, StringType()) if f.name in wanted else f for f in frame.schema.fields]
    return frame.mapInArrow(partial(_write, wanted), StructType(fields))


def _is_written_as_text(type_: Type, form: str) -> bool:
    item = present(type_)
    if form in _FLAT:
        return is_structured(item) or isinstance(item, Duration)
    return form == "json" and (isinstance(item, Duration) or is_recursive(item))


def _write(wanted: Mapping[str, Type], batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        table = pa.Table.from_batches([batch])
        for i, name in enumerate(table.column_names):
            if name in wanted:
                exact = cast_table(table.select([i]), pa.schema([pa.field(name, arrow_type(wanted[name]))]))
                table = table.set_column(i, name, write_cells(exact.column(0), wanted[name]))
        yield from table.to_batches()
