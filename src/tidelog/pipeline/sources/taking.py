"""What taking the changes of any source has in common: checking rows, setting bad ones aside, and the
findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow.compute as pc
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf

from tidelog.engine.spark.runtime.sessions import from_table
from tidelog.errors import PipelineError
from tidelog.formats.assembly import HEADER, OPEN_END
from tidelog.formats.checking import PROBLEM
from tidelog.pipeline.failures import naming
from tidelog.pipeline.report import SHOWN, Count, SourceReport, too_bad
from tidelog.pipeline.sources.ledger import Settling
from tidelog.pipeline.sources.paths import as_pattern
from tidelog.pipeline.sources.reading import (
    BadRow,
    Raw,
    bad_rows,
    checked,
    collected,
    good_rows,
    in_blocks,
    in_whole_files,
    shown_file,
    spark_schema,
)
from tidelog.pipeline.spec import Source
from tidelog.pipeline.stored import segments_frame
from tidelog.program.typed import Relation
from tidelog.store.durable import Store
from tidelog.store.manifest import Batch
from tidelog.store.sidecars import SEQUENCE, SidecarChange
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, difference

__all__ = ["SMALL", "Found", "Taking", "stored_frame", "verified_reader"]

SMALL: Final = 32 << 20  # bytes; up to this size, files are read in one job and compared in this process


@dataclass(slots=True)
class Found:
    """The changes of one commit: the inserted and deleted facts of each source, and its bad rows.

    `sidecars` are the changes of what the store keeps beside the relations, or what yields them once the
    commit's changes are known. A relation with none of them loses what it has.
    """

    inserted: dict[str, Any] = field(default_factory=dict)
    deleted: dict[str, Any] = field(default_factory=dict)
    reports: dict[str, SourceReport] = field(default_factory=dict)
    prints: dict[str, str] = field(default_factory=dict)
    streams: dict[str, Batch] = field(default_factory=dict)
    sidecars: dict[str, Settling | Mapping[str, SidecarChange]] = field(default_factory=dict)
    bad: dict[str, DataFrame] = field(default_factory=dict)
    bad_rows: list[BadRow] = field(default_factory=list)

    def settled(self, changes: Mapping[str, Any]) -> dict[str, Mapping[str, SidecarChange]]:
        """The changes of the sidecars after a commit with these changes."""
        return {
            name: made.settle(changes[name]) if isinstance(made, Settling) else made
            for name, made in self.sidecars.items()
        }


class Taking:
    """Takes changes into `found`."""

    def __init__(self, spark: SparkSession, store: Store, found: Found) -> None:
        self.spark = spark
        self.store = store
        self.found = found

    def before(self, relation: Relation) -> str:
        """The fingerprint of a source at the last commit."""
        return "" if self.store.current is None else self.store.current.sources.get(relation.name, "")

    def unchanged(self, relation: Relation) -> None:
        self.found.reports[relation.name] = SourceReport(is_read=False)

    def report(
        self,
        relation: Relation,
        inserted: Any,
        deleted: Any,
        *,
        files: tuple[int, int] = (0, 0),
        note: str = "",
    ) -> None:
        """Note the changes of a relation; `files` are the numbers of new and of removed files."""
        found, name = self.found, relation.name
        found.inserted[name], found.deleted[name] = inserted, deleted
        count, before = Count(inserted.num_rows, deleted.num_rows), found.reports[name]
        found.reports[name] = SourceReport(True, count, before.bad, *files, note, before.rows)

    @contextmanager
    def attempt(self, relation: Relation) -> Iterator[None]:
        """Forget the bad rows found inside if it fails: all rows will be read."""
        told = list(self.found.bad_rows)
        try:
            yield
        except Exception:
            self.found.bad_rows = told
            self.found.bad.pop(relation.name, None)
            raise

    # -- rows

    def small_rows(self, source: Source, raw: Raw, *, forgives_deletions: bool = False) -> Any:
        """The good rows of a small source, as a table with what the layout adds to the relation's columns."""
        with naming(raw.place):
            good, bad = collected(raw, forgives_deletions=forgives_deletions)
        self.set_aside(source, raw.place, bad, good.num_rows + bad.num_rows)
        return good

    @contextmanager
    def checked(self, source: Source, raw: Raw) -> Iterator[DataFrame]:
        """The good rows of a source; its bad rows are counted in the same pass."""
        with naming(raw.place):
            frame = checked(in_blocks(raw)).persist()
            try:
                rows, is_bad, is_open = _counts(frame)
                if is_open:
                    frame.unpersist()
                    raw = in_whole_files(raw)
                    frame = checked(raw).persist()
                    rows, is_bad, _ = _counts(frame)
                bad = bad_rows(raw, frame).orderBy("file", "row").toArrow() if is_bad else None
                self.set_aside(source, raw.place, bad, rows)
                yield good_rows(frame, raw.layout)
            finally:
                frame.unpersist()

    def set_aside(self, source: Source, place: str, bad: Any, rows: int | None = None) -> None:
        """Count the bad rows among so many, and collect them for the quarantine; raises PipelineError."""
        count = 0 if bad is None else bad.num_rows
        self.found.reports[source.relation] = SourceReport(is_read=True, bad=count, rows=rows)
        if not count:
            return
        for number, field_name in enumerate(source.sequence):
            named = pc.replace_substring(bad["problem"], f"{SEQUENCE}{number}", field_name)
            bad = bad.set_column(bad.schema.get_field_index("problem"), "problem", named)
        headers = bad.filter(pc.starts_with(bad["problem"], HEADER)).to_pylist()
        for row in headers:
            raise PipelineError(f"{place}: {shown_file(row['file'])}: {row['problem'].removeprefix(HEADER)}")
        first = [BadRow(place, **row) for row in bad.slice(0, SHOWN).to_pylist()]
        if source.bad_rows == "fail":
            raise PipelineError(too_bad(place, count, first))
        self.found.bad_rows += first[: SHOWN - len(self.found.bad_rows)]
        self.found.bad[source.relation] = self.spark.createDataFrame(bad)

    # -- against the store

    def difference(self, relation: Relation, new: Any) -> tuple[Any, Any]:
        """The rows of a table to insert, and those to delete, since the last commit."""
        rows = difference(self.store.table(relation), new)
        signs, facts = rows[SIGN].to_numpy(), rows.drop_columns([SIGN])
        return facts.filter(signs > 0), facts.filter(signs < 0)

    def large_difference(self, relation: Relation, new: DataFrame) -> tuple[Any, Any]:
        """The same of a DataFrame, by Spark."""
        if not self.store.segments(relation.name):
            return to_table(relation, new.distinct()), to_table(relation, [])
        old = stored_frame(self.spark, self.store, relation)
        return to_table(relation, new.subtract(old)), to_table(relation, old.subtract(new))


def _counts(frame: DataFrame) -> tuple[int, int, int]:
    """The number of checked rows, of those with a problem, and of those whose record has no end."""
    problem = sf.col(f"`{PROBLEM}`")
    counts = [sf.count(sf.lit(1)), sf.count(problem), sf.count(sf.when(problem == OPEN_END, 1))]
    [(rows, bad, unended)] = frame.agg(*(c.alias(f"c{i}") for i, c in enumerate(counts))).collect()
    return rows, bad, unended


def verified_reader(spark: SparkSession) -> DataFrameReader:
    """A reader of the store's segments that verifies the checksum of every page."""
    return spark.read.option("parquet.page.verify-checksum.enabled", "true")


def stored_frame(spark: SparkSession, store: Store, relation: Relation) -> DataFrame:
    """The stored rows of a relation, as a DataFrame."""
    segments = store.segments(relation.name)
    if not segments:
        return from_table(spark, spark_schema(relation).empty_table())
    names = [sf.col(f"`{name}`") for name in spark_schema(relation).names]
    if store.at.folder is None:
        frame = segments_frame(spark, store.at, relation, segments, spark_schema(relation, sign=True))
    else:
        frame = verified_reader(spark).parquet(*map(as_pattern, store.files(relation.name)))
    if len(segments) > 1:
        frame = frame.groupBy(*names).agg(sf.sum(f"`{SIGN}`").alias(SIGN)).where(f"`{SIGN}` > 0")
    return frame.select(*names)
