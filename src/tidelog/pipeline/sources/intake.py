"""Reads the sources: computes their difference to the store, and collects bad rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow.compute as pc
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf

from tidelog.errors import PipelineError
from tidelog.formats.assembly import HEADER, OPEN_END
from tidelog.formats.checking import PROBLEM
from tidelog.pipeline.failures import naming
from tidelog.pipeline.report import SHOWN, Count, SourceReport, too_bad
from tidelog.pipeline.sources.fingerprints import Look, look
from tidelog.pipeline.sources.listing import spark_listing
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
    read_raw,
    shown_file,
    spark_schema,
)
from tidelog.pipeline.spec import Source
from tidelog.pipeline.stored import segments_frame
from tidelog.program.typed import Relation
from tidelog.store.durable import Store
from tidelog.store.manifest import Batch
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, difference, sums

__all__ = ["Found", "Intake", "stored_frame", "verified_reader"]

SMALL: Final = 32 << 20  # bytes; up to this size, files are read in one job and compared in this process


@dataclass(slots=True)
class Found:
    """The changes of one commit: the inserted and deleted facts of each source, and its bad rows."""

    inserted: dict[str, Any] = field(default_factory=dict)
    deleted: dict[str, Any] = field(default_factory=dict)
    reports: dict[str, SourceReport] = field(default_factory=dict)
    prints: dict[str, str] = field(default_factory=dict)
    streams: dict[str, Batch] = field(default_factory=dict)
    bad: dict[str, DataFrame] = field(default_factory=dict)
    bad_rows: list[BadRow] = field(default_factory=list)


class Intake:
    def __init__(self, spark: SparkSession, store: Store, progress: Callable[[str], object]) -> None:
        self._spark = spark
        self._store = store
        self._progress = progress
        self._listing = spark_listing(spark)

    def take(self, found: Found, source: Source, relation: Relation, *, reread: bool) -> None:
        """Take the changes of a source since the last commit; an unchanged source is not read."""
        now = look(source, relation, self._listing)
        found.prints[relation.name] = "" if now is None else now.fingerprint
        before = "" if self._store.current is None else self._store.current.sources.get(relation.name, "")
        if now is not None and before and not reread:
            if now.fingerprint == before:
                found.reports[relation.name] = SourceReport(is_read=False)
                return
            if self._take_added(found, source, relation, now.added(before)):
                return
        self._progress(f"reading {relation.name}")
        self._report(found, relation, *self._read(found, source, relation, now))

    def _take_added(self, found: Found, source: Source, relation: Relation, added: Look | None) -> bool:
        """Take the facts of added files, if reading only these is possible; return whether it was."""
        if added is None:
            return False
        if not added.files:
            found.reports[relation.name] = SourceReport(is_read=False)
            return True
        self._progress(f"reading new files of {relation.name}")
        told = list(found.bad_rows)
        try:
            inserted, _ = self._read(found, source, relation, added, partly=True)
        except PipelineError:  # reading all files succeeds, or reports the error
            found.bad_rows = told
            found.bad.pop(relation.name, None)
            return False
        self._report(found, relation, inserted, to_table(relation, []), new_files=len(added.files))
        return True

    def _read(
        self, found: Found, source: Source, relation: Relation, files: Look | None, *, partly: bool = False
    ) -> tuple[Any, Any]:
        """The rows to insert and those to delete; with `partly`, only of these files."""
        only = sorted(file.path for file in files.files.values()) if files is not None and partly else []
        raw = read_raw(self._spark, source, relation, only=only)
        if files is not None and files.size <= SMALL:
            with naming(raw.place):
                small, bad = collected(raw)
            self._set_aside(found, source, raw.place, bad)
            return self._small_difference(relation, to_table(relation, small))
        with self._checked(found, source, raw) as good:
            return self._difference(relation, good)

    def take_batch(self, found: Found, source: Source, raw: Raw) -> None:
        """Take a batch of a stream: a positive sum of its signs inserts a row, a negative sum deletes it."""
        relation = raw.layout.relation
        with naming(raw.place):
            good, bad = collected(raw)
        self._set_aside(found, source, raw.place, bad)
        if source.sign is None:
            self._report(found, relation, to_table(relation, good), to_table(relation, []))
            return
        rows = sums(good)
        signs, facts = rows[SIGN].to_numpy(), rows.drop_columns([SIGN])
        inserted, deleted = (to_table(relation, facts.filter(kept)) for kept in (signs > 0, signs < 0))
        self._report(found, relation, inserted, deleted)

    @contextmanager
    def _checked(self, found: Found, source: Source, raw: Raw) -> Iterator[DataFrame]:
        """The good rows of a source; its bad rows are counted in the same pass."""
        with naming(raw.place):
            frame = checked(in_blocks(raw)).persist()
            try:
                if not frame.where(sf.col(f"`{PROBLEM}`") == OPEN_END).isEmpty():
                    frame.unpersist()
                    raw = in_whole_files(raw)
                    frame = checked(raw).persist()
                is_bad = not frame.where(f"`{PROBLEM}` is not null").isEmpty()
                bad = bad_rows(raw, frame).orderBy("file", "row").toArrow() if is_bad else None
                self._set_aside(found, source, raw.place, bad)
                yield good_rows(frame, raw.layout.relation)
            finally:
                frame.unpersist()

    def _set_aside(self, found: Found, source: Source, place: str, bad: Any) -> None:
        """Count the bad rows of a source and collect them for the quarantine; raises PipelineError."""
        count = 0 if bad is None else bad.num_rows
        found.reports[source.relation] = SourceReport(is_read=True, bad=count)
        if not count:
            return
        headers = bad.filter(pc.starts_with(bad["problem"], HEADER)).to_pylist()
        for row in headers:
            raise PipelineError(f"{place}: {shown_file(row['file'])}: {row['problem'].removeprefix(HEADER)}")
        first = [BadRow(place, **row) for row in bad.slice(0, SHOWN).to_pylist()]
        if source.bad_rows == "fail":
            raise PipelineError(too_bad(place, count, first))
        found.bad_rows += first[: SHOWN - len(found.bad_rows)]
        found.bad[source.relation] = self._spark.createDataFrame(bad)

    def _report(
        self, found: Found, relation: Relation, inserted: Any, deleted: Any, new_files: int = 0
    ) -> None:
        found.inserted[relation.name], found.deleted[relation.name] = inserted, deleted
        bad = found.reports[relation.name].bad
        found.reports[relation.name] = SourceReport(
            True, Count(inserted.num_rows, deleted.num_rows), bad, new_files
        )

    def _small_difference(self, relation: Relation, new: Any) -> tuple[Any, Any]:
        """Like `_difference`, without Spark."""
        rows = difference(self._store.table(relation), new)
        signs, facts = rows[SIGN].to_numpy(), rows.drop_columns([SIGN])
        return facts.filter(signs > 0), facts.filter(signs < 0)

    def _difference(self, relation: Relation, new: DataFrame) -> tuple[Any, Any]:
        """The rows inserted and those deleted since the last commit."""
        if not self._store.segments(relation.name):
            return to_table(relation, new.distinct()), to_table(relation, [])
        old = stored_frame(self._spark, self._store, relation)
        return to_table(relation, new.subtract(old)), to_table(relation, old.subtract(new))


def verified_reader(spark: SparkSession) -> DataFrameReader:
    """A reader of the store's segments that verifies the checksum of every page."""
    return spark.read.option("parquet.page.verify-checksum.enabled", "true")


def stored_frame(spark: SparkSession, store: Store, relation: Relation) -> DataFrame:
    """The stored rows of a relation, as a DataFrame."""
    segments = store.segments(relation.name)
    if not segments:
        return spark.createDataFrame(spark_schema(relation).empty_table())
    names = [sf.col(f"`{name}`") for name in spark_schema(relation).names]
    if store.at.folder is None:
        frame = segments_frame(spark, store.at, relation, segments, spark_schema(relation, sign=True))
    else:
        frame = verified_reader(spark).parquet(*map(as_pattern, store.files(relation.name)))
    if len(segments) > 1:
        frame = frame.groupBy(*names).agg(sf.sum(f"`{SIGN}`").alias(SIGN)).where(f"`{SIGN}` > 0")
    return frame.select(*names)
