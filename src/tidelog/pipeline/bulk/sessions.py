"""What a pipeline gives to its session and takes from it: tables, or many rows as frames.

A session whose data is in the driver gives tables, whatever their size: the rows are there already.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tidelog.pipeline.bulk.rows import Bulk, is_large, quoted, with_sign
from tidelog.pipeline.opening import lost_and_gained
from tidelog.pipeline.sources.reading import spark_schema
from tidelog.pipeline.stored import segments_frame, stored_frame
from tidelog.program.declared import Relation
from tidelog.session.backends.adaptive import BUDGET
from tidelog.session.changes import RelationChanges
from tidelog.session.facts import Facts
from tidelog.store.durable import Store
from tidelog.tables.signed import SIGN, signed, signed_schema

__all__ = ["changes_of", "contents_of", "facts_since", "given", "stored_facts"]


def given(rows: Any) -> Any:
    """Rows of a relation as a session takes them."""
    return rows.frame if isinstance(rows, Bulk) else rows


def stored_facts(spark: SparkSession, store: Store, placement: str | None, relation: Relation) -> Any:
    """The facts of a relation for a session with this placement that is opened at the last commit."""
    current = store.current
    inputs = () if current is None else [r for r in current.relations.values() if r.is_input]
    rows = sum(segment.rows for stored in inputs for segment in stored.segments)
    is_near = placement == "driver" or (placement is None and rows <= BUDGET)
    if is_near or not is_large(sum(segment.rows for segment in store.segments(relation.name))):
        return store.table(relation)
    return stored_frame(spark, store, relation)


def facts_since(spark: SparkSession, store: Store, relation: Relation) -> tuple[Any, Any]:
    """The facts that a relation lost and gained since the saved state, for a session in frames."""
    log = store.log(relation.name)
    if not is_large(sum(segment.rows for segment in log)):
        return lost_and_gained(store.asserted_since(relation))
    names = quoted(spark_schema(relation).names)
    total = sf.sum(sf.col(f"`{SIGN}`")).alias(SIGN)
    rows = segments_frame(spark, store, relation, log).groupBy(*names).agg(total)
    lost, gained = (rows.where(f"`{SIGN}` {sign} 0").select(*names) for sign in "<>")
    return lost, gained


def contents_of(facts: Facts) -> Any:
    """All rows of a relation as inserted ones, signed: a table or `Bulk`."""
    size = len(facts)
    if facts.is_frame and is_large(size):
        return Bulk(with_sign(facts.to_spark(), 1), size, signed_schema(facts.relation), inserted=size)
    return signed(facts.to_arrow(), 1)


def changes_of(changes: RelationChanges) -> Any:
    """The changes of a relation, as signed rows: a table or `Bulk`."""
    if changes.is_frame and is_large(len(changes)):
        frame = changes.to_spark()
        rows = frame.withColumnRenamed(frame.columns[-1], SIGN)
        inserted, _ = changes.parts()
        return Bulk(rows, len(changes), signed_schema(changes.relation), inserted=len(inserted))
    table = changes.to_arrow()
    return table.rename_columns([*table.column_names[:-1], SIGN])
