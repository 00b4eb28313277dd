"""Merges changes into a table of a database, by JDBC.

Spark writes the changes to a table of their own beside it, from all executors. Then a few statements of plain
SQL, in one transaction, delete, update and insert rows of the table. They compare rows as a whole, or by
their key, and null equals null. A deleted row may be missing already, and an inserted row may be there, so
merging the changes of a commit twice changes nothing.

Statements are sent through Spark's Java process, so this does not work over Connect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from tidelog.data.types import Option
from tidelog.engine.spark.runtime.failures import SPARK_ERRORS
from tidelog.errors import PipelineError
from tidelog.pipeline.failures import naming
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.sinks.tables import by_key
from tidelog.pipeline.sinks.writing import sign_column, writer
from tidelog.program.declared import Relation

__all__ = ["Names", "merge_database", "staging_name", "statements"]

_STAGED: Final = "_tidelog_changes"
_JDBC: Final = "org.apache.spark.sql.execution.datasources.jdbc"


def merge_database(
    spark: SparkSession, sink: Sink, relation: Relation, rows: DataFrame, *, is_whole: bool
) -> None:
    """Merge signed changes into a table, or with `is_whole` all rows, which then have no sign."""
    if getattr(spark, "_jvm", None) is None:
        raise PipelineError(f"{sink.name}.mode: merging by JDBC does not work over Spark Connect; remove it")
    table, staged = sink.options["dbtable"], staging_name(sink.options["dbtable"])
    sign = sign_column(relation)
    key = list(sink.key_columns) or [c.name for c in relation.columns]
    given = rows if is_whole else by_key(rows, relation, key)
    with naming(sink.name):
        plain = rows.limit(0) if is_whole else rows.limit(0).drop(sign)
        writer(sink, relation, plain).mode("ignore").save()  # creates the table if there is none
        beside = replace(sink, options={**sink.options, "dbtable": staged})
        writer(beside, relation, given).mode("overwrite").save()
        with _connected(spark, sink.options) as connection:
            names = Names(table, staged, _columns(connection, table), _columns(connection, staged))
            for text in statements(names, relation, sink.key_columns, "" if is_whole else sign):
                _execute(connection, text)
            connection.commit()
            with suppress(*SPARK_ERRORS):
                _execute(connection, f"DROP TABLE {staged}")
                connection.commit()


def staging_name(table: str) -> str:
    """The name of the table beside another one, which may be quoted."""
    if table[-1:] in ('"', "`", "]"):
        return f"{table[:-1]}{_STAGED}{table[-1]}"
    return table + _STAGED


# -- SQL


@dataclass(frozen=True, slots=True)
class Names:
    """A table and the changes beside it; `columns` and `given` are their quoted columns, by name."""

    table: str
    staged: str
    columns: Mapping[str, str]
    given: Mapping[str, str]

    def of_table(self, name: str) -> str:
        return f"{self.table}.{self.columns[name.lower()]}"

    def of_changes(self, name: str) -> str:
        return f"changed.{self.given[name.lower()]}"


def statements(names: Names, relation: Relation, key: Sequence[str], sign: str) -> Iterator[str]:
    """The statements that merge changes; without a column for the sign, the changes are all rows."""
    columns = [c.name for c in relation.columns]
    others = [c for c in columns if key and c not in key]
    same = " AND ".join(_same(names, relation, c) for c in key or columns)
    beside, where = f"{names.staged} changed", f"WHERE {same}"
    if sign:
        gone = f"EXISTS (SELECT 1 FROM {beside} {where} AND {names.of_changes(sign)} < 0)"
    else:
        gone = f"NOT EXISTS (SELECT 1 FROM {beside} {where})"
    is_inserted = f" AND {names.of_changes(sign)} > 0" if sign else ""
    yield f"DELETE FROM {names.table} WHERE {gone}"
    if others:
        values = ", ".join(
            f"{names.columns[c.lower()]} = (SELECT {names.of_changes(c)} FROM {beside} {where}{is_inserted})"
            for c in others
        )
        yield f"UPDATE {names.table} SET {values} WHERE EXISTS (SELECT 1 FROM {beside} {where}{is_inserted})"
    into = ", ".join(names.columns[c.lower()] for c in columns)
    shown = ", ".join(map(names.of_changes, columns))
    yield (
        f"INSERT INTO {names.table} ({into}) SELECT {shown} FROM {beside} "
        f"WHERE NOT EXISTS (SELECT 1 FROM {names.table} {where}){is_inserted}"
    )


def _same(names: Names, relation: Relation, column: str) -> str:
    """Whether a column is equal. Plain equality where nothing is null: databases can then use an index."""
    ours, theirs = names.of_table(column), names.of_changes(column)
    if isinstance(next(c.type for c in relation.columns if c.name == column), Option):
        return f"({ours} = {theirs} OR ({ours} IS NULL AND {theirs} IS NULL))"
    return f"{ours} = {theirs}"


# -- connections


@contextmanager
def _connected(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Any]:
    """A connection like those that Spark makes itself, in a transaction that is rolled back on an error."""
    jvm: Any = spark._jvm
    java = jvm.java.util.HashMap()
    for name, value in options.items():
        java.put(name, value)
    known = getattr(jvm, f"{_JDBC}.JDBCOptions")(jvm.PythonUtils.toScalaMap(java))
    dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"])
    connection = dialect.createConnectionFactory(known).apply(-1)
    try:
        connection.setAutoCommit(False)
        yield connection
    except BaseException:
        with suppress(*SPARK_ERRORS):
            connection.rollback()
        raise
    finally:
        connection.close()


def _columns(connection: Any, table: str) -> dict[str, str]:
    """The quoted columns of a table, by their names in lower case."""
    quote = connection.getMetaData().getIdentifierQuoteString().strip()
    statement = connection.createStatement()
    try:
        found = statement.executeQuery(f"SELECT * FROM {table} WHERE 1 = 0").getMetaData()
        names = [found.getColumnName(i + 1) for i in range(found.getColumnCount())]
    finally:
        statement.close()
    return {n.lower(): f"{quote}{n.replace(quote, quote * 2) if quote else n}{quote}" for n in names}


def _execute(connection: Any, text: str) -> None:
    statement = connection.createStatement()
    try:
        statement.executeUpdate(text)
    finally:
        statement.close()
