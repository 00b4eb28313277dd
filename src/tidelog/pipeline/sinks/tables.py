"""Merges changes into a table with row-level operations, such as one of Delta or Iceberg.

A merge compares rows as a whole, or by their key, and null equals null. It deletes deleted rows that are
there and inserts inserted rows that are not, so merging the changes of a commit twice changes nothing. A new
sink is merged as a whole into a table that exists: its properties, comments and partitions stay.
"""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.pipeline.failures import naming
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.sinks.writing import sign_column, writer
from tidelog.pipeline.sources.paths import local
from tidelog.program.declared import Relation

__all__ = ["by_key", "create_table", "exists", "merge_table"]

_SOURCE = "changes"


def exists(spark: SparkSession, sink: Sink) -> bool:
    """Whether the table of a sink exists."""
    if sink.table is not None:
        return bool(spark.catalog.tableExists(sink.table))
    try:
        _ = spark.read.format(sink.format).load(sink.path).schema
    except PySparkException:  # if it is something else, creating the table fails
        return False
    return True


def create_table(sink: Sink, relation: Relation, rows: DataFrame) -> None:
    with naming(sink.name):
        made = writer(sink, relation, rows).mode("errorifexists")
        if sink.table is not None:
            made.saveAsTable(sink.table)
        else:
            made.save(sink.path)


def merge_table(sink: Sink, relation: Relation, rows: DataFrame, *, is_whole: bool) -> None:
    """Merge signed changes into a table, or with `is_whole` all rows, which then have no sign."""
    table = sink.table or f"{sink.format}.`{_path(sink)}`"
    names = [c for c in rows.columns if is_whole or c != sign_column(relation)]
    key = list(sink.key_columns) or names
    others = [c for c in names if c not in key]
    given = rows if is_whole else by_key(rows, relation, key)
    sign = sf.lit(1) if is_whole else _of(_SOURCE, sign_column(relation))
    with naming(sink.name):
        on = " and ".join(f"{_SOURCE}.{_quoted(c)} <=> {table}.{_quoted(c)}" for c in key)
        merge = given.alias(_SOURCE).mergeInto(table, sf.expr(on))
        if not is_whole:
            merge = merge.whenMatched(sign < 0).delete()
        if others:
            merge = merge.whenMatched(sign > 0).update({_quoted(c): _of(_SOURCE, c) for c in others})
        merge = merge.whenNotMatched(sign > 0).insert({_quoted(c): _of(_SOURCE, c) for c in names})
        if is_whole:
            merge = merge.whenNotMatchedBySource().delete()
        merge.merge()


def by_key(changes: DataFrame, relation: Relation, key: list[str]) -> DataFrame:
    """One change for each key: the inserted row if there is one, otherwise the deleted row."""
    if len(key) == len(relation.columns):
        return changes
    last = sf.max_by(sf.struct("*"), sf.col(_quoted(sign_column(relation)))).alias("#row")
    return changes.groupBy(*map(_quoted, key)).agg(last).select("`#row`.*")


def _path(sink: Sink) -> str:
    """The path of a table, as a name in SQL."""
    assert sink.path is not None
    file = local(sink.path)
    return (sink.path if file is None else str(file)).replace("`", "``")


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _of(table: str, column: str) -> Any:
    return sf.col(f"{table}.{_quoted(column)}")
