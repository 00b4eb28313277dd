"""What taking the changes of any source has in common: checking rows, setting bad ones aside, and the
findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.errors import PipelineError
from tidelog.formats.assembly import HEADER, OPEN_END
from tidelog.formats.checking import PROBLEM
from tidelog.pipeline.bulk import counting
from tidelog.pipeline.bulk.counting import BulkSettling
from tidelog.pipeline.bulk.rows import Frames, as_frame, as_table, is_large
from tidelog.pipeline.failures import naming
from tidelog.pipeline.report import SHOWN, Count, SourceReport, too_bad
from tidelog.pipeline.sources.ledger import Settling
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
)
from tidelog.pipeline.spec import Source
from tidelog.pipeline.stored import stored_frame
from tidelog.program.declared import Relation
from tidelog.store.durable import Store
from tidelog.store.manifest import Batch
from tidelog.store.sidecars import SEQUENCE, SidecarChange
from tidelog.tables.arrow import schema
from tidelog.tables.signed import SIGN, difference

__all__ = ["SMALL", "Found", "Taking"]

SMALL: Final = 32 << 20  # bytes; up to this size, files are read in one job and compared in this process


@dataclass(slots=True)
class Found:
    """The changes of one commit: the inserted and deleted facts of each source, and its bad rows.

    Facts are tables, or `Bulk` if they are many; `frames` holds what these need until `release`. `sidecars`
    are the changes of what the store keeps beside the relations, or what yields them once those of the commit
    are known. A relation with none of them loses what it has.
    """

    inserted: dict[str, Any] = field(default_factory=dict)
    deleted: dict[str, Any] = field(default_factory=dict)
    reports: dict[str, SourceReport] = field(default_factory=dict)
    prints: dict[str, str] = field(default_factory=dict)
    streams: dict[str, Batch] = field(default_factory=dict)
    sidecars: dict[str, Settling | BulkSettling | Mapping[str, SidecarChange]] = field(default_factory=dict)
    positions: dict[str, bytes] = field(default_factory=dict)  # of streams, if the store keeps them
    bad: dict[str, DataFrame] = field(default_factory=dict)
    bad_rows: list[BadRow] = field(default_factory=list)
    frames: Frames | None = None

    def settled(self, changes: Mapping[str, Any]) -> dict[str, Mapping[str, SidecarChange]]:
        """The changes of the sidecars after a commit with these changes."""
        return {name: _settled(name, made, changes[name]) for name, made in self.sidecars.items()}

    def release(self) -> None:
        """Release the frames that are not needed once the changes are committed, or given up."""
        if self.frames is not None:
            self.frames.release()


def _settled(
    name: str, made: Settling | BulkSettling | Mapping[str, SidecarChange], changes: Any
) -> Mapping[str, SidecarChange]:
    match made:
        case BulkSettling():
            with naming(f"sources.{name}"):
                return made.settle(changes)
        case Settling():
            return made.settle(as_table(changes))
        case Mapping():
            return made
        case _:
            assert_never(made)


class Taking:
    """Takes changes into `found`."""

    def __init__(self, spark: SparkSession, store: Store, found: Found) -> None:
        self.spark = spark
        self.store = store
        self.found = found
        if found.frames is None:
            found.frames = Frames(spark)
        self.frames = found.frames

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
            frame = self.frames.hold(checked(in_blocks(raw)))
            try:
                rows, is_bad, is_open = _counts(frame)
                if is_open:
                    self.frames.release(frame)
                    raw = in_whole_files(raw)
                    frame = self.frames.hold(checked(raw))
                    rows, is_bad, _ = _counts(frame)
                self._set_aside_all(source, raw, frame, rows, is_bad)
                yield good_rows(frame, raw.layout)
            finally:
                self.frames.release(frame)

    def _set_aside_all(self, source: Source, raw: Raw, frame: DataFrame, rows: int, is_bad: int) -> None:
        """Count the bad rows of a checked source, which may be many, among so many rows."""
        if not is_bad:
            self.set_aside(source, raw.place, None, rows)
            return
        bad = self.frames.hold(bad_rows(raw, frame))
        count = bad.count()
        first = bad.orderBy("file", "row")
        if not is_large(count):
            self.set_aside(source, raw.place, first.toArrow(), rows)
            self.frames.release(bad)
            return
        header = first.where(sf.col("problem").startswith(HEADER)).limit(1).toArrow()
        shown = header if header.num_rows else first.limit(SHOWN).toArrow()
        self.set_aside(source, raw.place, shown, rows, count)
        self.found.bad[source.relation] = _with_names(source, bad)

    def set_aside(
        self, source: Source, place: str, bad: Any, rows: int | None = None, count: int | None = None
    ) -> None:
        """Count the bad rows among so many, and collect them for the quarantine; raises PipelineError.

        If there are more of them than `bad` has, `count` is their number.
        """
        count = count or (0 if bad is None else bad.num_rows)
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
        """The rows of a table to insert, and those to delete, since the last commit; tables or `Bulk`."""
        if sum(segment.size for segment in self.store.segments(relation.name)) > SMALL:
            return self.large_difference(relation, as_frame(self.spark, new))
        rows = difference(self.store.table(relation), new)
        signs, facts = rows[SIGN].to_numpy(), rows.drop_columns([SIGN])
        return facts.filter(signs > 0), facts.filter(signs < 0)

    def large_difference(self, relation: Relation, new: DataFrame) -> tuple[Any, Any]:
        """The same of a DataFrame, by Spark; tables or `Bulk`."""
        nothing = schema(relation).empty_table()
        if not self.store.segments(relation.name):
            return self.frames.rows(new.distinct(), schema(relation)), nothing
        return counting.difference(self.frames, relation, stored_frame(self.spark, self.store, relation), new)


def _counts(frame: DataFrame) -> tuple[int, int, int]:
    """The number of checked rows, of those with a problem, and of those whose record has no end."""
    problem = sf.col(f"`{PROBLEM}`")
    counts = [sf.count(sf.lit(1)), sf.count(problem), sf.count(sf.when(problem == OPEN_END, 1))]
    [(rows, bad, unended)] = frame.agg(*(c.alias(f"c{i}") for i, c in enumerate(counts))).collect()
    return rows, bad, unended


def _with_names(source: Source, bad: DataFrame) -> DataFrame:
    """Bad rows whose problems name the fields of the source's sequence."""
    for number, name in enumerate(source.sequence):
        replaced = sf.replace("problem", sf.lit(f"{SEQUENCE}{number}"), sf.lit(name))
        bad = bad.withColumn("problem", replaced)
    return bad
