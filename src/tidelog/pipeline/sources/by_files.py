"""Takes the changes of a source that consists of files, or of any other source that is read as a whole.

If the files of a source can be read apart, the store knows which rows each file had. Then only files that
were added or replaced are read, and the rows of those removed come from the store (see `ledger`). Otherwise
all rows are read and compared with the store's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tidelog.errors import PipelineError
from tidelog.pipeline.bulk import counting
from tidelog.pipeline.bulk.counting import BulkSettling
from tidelog.pipeline.bulk.rows import Bulk, as_frame, quoted
from tidelog.pipeline.failures import naming
from tidelog.pipeline.sources import taking
from tidelog.pipeline.sources.fingerprints import Changed, File, Listing, Look, look
from tidelog.pipeline.sources.ledger import (
    Inconsistent,
    Settling,
    change_of_files,
    counted,
    once,
    settled_whole,
    settling,
)
from tidelog.pipeline.sources.paths import plain
from tidelog.pipeline.sources.reading import Files, read_raw, spark_schema
from tidelog.pipeline.sources.taking import Taking
from tidelog.pipeline.spec import Source
from tidelog.pipeline.stored import PART, parts_frame
from tidelog.program.declared import Relation
from tidelog.store.sidecars import COUNTS, FILE, FILES, Dead, Kept
from tidelog.tables.arrow import schema
from tidelog.tables.given import to_table

__all__ = ["ByFiles"]

_MIDDLE: Final = 1 << 63  # prints are unsigned, numbers of files are not
_NUMBER: Final = "#number"
_UNKNOWN: Final = "read in full, since the store did not know the files of its rows"
_WRONG: Final = "read in full, since the store had other rows of its files"


class ByFiles:
    def __init__(self, taking: Taking, listing: Listing, progress: Callable[[str], object]) -> None:
        self._taking = taking
        self._listing = listing
        self._progress = progress

    def take(self, source: Source, relation: Relation, *, reread: bool) -> None:
        """Take the changes since the last commit; an unchanged source is not read."""
        now = look(source, relation, self._listing)
        self._taking.found.prints[relation.name] = "" if now is None else now.fingerprint
        before = self._taking.before(relation)
        note = ""
        if now is not None and before and not reread:
            if now.fingerprint == before:
                self._taking.unchanged(relation)
                return
            changed = now.since(before)
            if changed is not None:
                note = self._changed(source, relation, now, changed)
                if not note:
                    return
        self._progress(f"reading {relation.name}")
        self._whole(source, relation, now, note)

    # -- some files

    def _changed(self, source: Source, relation: Relation, now: Look, changed: Changed) -> str:
        """Take the changes of some files; the reason if all have to be read."""
        store = self._taking.store
        rows, surplus = store.sidecar(relation.name, FILES), store.sidecar(relation.name, COUNTS)
        if rows is None or surplus is None or rows.sidecar.described != now.described:
            return _UNKNOWN
        self._progress(f"reading changed files of {relation.name}")
        try:
            with self._taking.attempt(relation):
                added = self._rows(source, relation, now, changed.added)
        except PipelineError:  # reading all files succeeds, or reports the error
            return "read in full, since its new files could not be read alone"
        removed = frozenset(map(_number, changed.removed))
        is_bulk = isinstance(added, Bulk) or rows.size_at_most(removed) > taking.SMALL
        settle = self._settled_in_frames if is_bulk else self._settled
        try:
            with naming(f"sources.{relation.name}"):
                made = settle(relation, now.described, added, removed, (rows, surplus))
        except Inconsistent:
            return _WRONG
        self._taking.found.sidecars[relation.name] = made
        files = (len(changed.added), len(changed.removed))
        self._taking.report(relation, made.inserted, made.deleted, files=files)
        return ""

    def _settled(
        self, _: Relation, described: str, added: Any, removed: frozenset[int], known: tuple[Kept, Kept]
    ) -> Settling | BulkSettling:
        rows, surplus = known
        lost, dead = rows.of_files(removed)
        change, files = change_of_files(added, lost)
        return settling(described, change, surplus, files, dead)

    def _settled_in_frames(
        self,
        relation: Relation,
        described: str,
        added: Any,
        removed: frozenset[int],
        known: tuple[Kept, Kept],
    ) -> Settling | BulkSettling:
        """The same, of many rows."""
        rows, surplus = (kept.sidecar.parts for kept in known)
        spark, frames, at = self._taking.spark, self._taking.frames, self._taking.store.at
        lost = frames.hold(parts_frame(spark, at, rows, counting.files_schema(relation), removed))
        counts = lost.groupBy(f"`{PART}`", f"`{FILE}`").count().collect()
        before = parts_frame(spark, at, surplus, counting.counts_schema(relation))
        added = added if isinstance(added, Bulk) else once(added)
        changed = (as_frame(spark, added), lost, before)
        dead = {
            rows[place].file: Dead(
                tuple(sorted(row[1] for row in counts if row[0] == place)),
                sum(row[2] for row in counts if row[0] == place),
            )
            for place in {row[0] for row in counts}
        }
        return counting.settling(frames, relation, described, changed, added, dead)

    def _rows(self, source: Source, relation: Relation, now: Look, files: Mapping[str, File]) -> Any:
        """The rows of these files with their files: a table, or `Bulk` with each row once."""
        if not files:
            self._taking.set_aside(source, f"sources.{relation.name}", None)
            return _with_files(to_table(relation, []), pa.array([], pa.int64()))
        chosen = Files(tuple(f.path for f in files.values()), False, True, now.folders)
        raw = read_raw(self._taking.spark, source, relation, files=chosen)
        if sum(file.size for file in files.values()) <= taking.SMALL:
            return _numbered(relation, self._taking.small_rows(source, raw), files)
        with self._taking.checked(source, raw) as frame:
            return self._taking.frames.rows(self._large(frame, files), counting.files_schema(relation))

    def _large(self, frame: DataFrame, files: Mapping[str, File]) -> DataFrame:
        """The same, numbered and made distinct by Spark."""
        file = f"`{FILE}`"
        paths = [row[0] for row in frame.select(file).distinct().collect()]
        numbers = _numbers(files)
        pairs = [(path, _found(numbers, path)) for path in paths]
        known = self._taking.spark.createDataFrame(pairs, f"{file} string, `{_NUMBER}` bigint")
        named = frame.join(sf.broadcast(known), FILE).drop(FILE).withColumnRenamed(_NUMBER, FILE)
        return named.distinct()

    # -- all rows

    def _whole(self, source: Source, relation: Relation, now: Look | None, note: str) -> None:
        chosen = None
        if now is not None and (now.is_apart or now.folders):
            paths = tuple(file.path for file in now.files.values())
            chosen = Files(paths, True, now.is_apart, now.folders)
        raw = read_raw(self._taking.spark, source, relation, files=chosen)
        apart = now if now is not None and now.is_apart else None
        self._taking.found.sidecars[relation.name] = {}
        if now is not None and now.size <= taking.SMALL:
            rows = self._taking.small_rows(source, raw)
            names = spark_schema(relation).names
            difference = self._taking.difference(relation, to_table(relation, rows.select(names)))
            if apart is not None:
                self._keep(relation, apart, once(_numbered(relation, rows, apart.files)))
        else:
            with self._taking.checked(source, raw) as frame:
                difference = self._whole_in_frames(relation, frame, apart)
        self._taking.report(relation, *difference, note=note)

    def _whole_in_frames(self, relation: Relation, frame: DataFrame, apart: Look | None) -> tuple[Any, Any]:
        """The difference of many rows; their files are kept, if they are read apart."""
        facts = quoted(spark_schema(relation).names)
        if apart is None:
            return self._taking.large_difference(relation, frame.select(*facts))
        frames = self._taking.frames
        rows = frames.rows(self._large(frame, apart.files), counting.files_schema(relation))
        self._keep(relation, apart, rows)
        if not isinstance(rows, Bulk):
            return self._taking.difference(relation, rows.drop_columns([FILE]))
        if not self._taking.store.segments(relation.name):  # the session drops rows that it has
            return Bulk(rows.frame.select(*facts), rows.num_rows, schema(relation)), to_table(relation, [])
        return self._taking.large_difference(relation, rows.frame.select(*facts))

    def _keep(self, relation: Relation, now: Look, rows: Any) -> None:
        made = (
            counting.settled_whole(self._taking.frames, relation, now.described, rows.frame, rows)
            if isinstance(rows, Bulk)
            else settled_whole(now.described, counted(rows), rows)
        )
        self._taking.found.sidecars[relation.name] = made


def _number(print_: str) -> int:
    """The number by which the store knows a file: that of its print."""
    return int(print_, 16) - _MIDDLE


def _numbered(relation: Relation, rows: Any, files: Mapping[str, File]) -> Any:
    """The rows of files, with the numbers of their files instead of their paths."""
    numbers = _numbers(files)
    paths = rows[FILE].combine_chunks()
    known = pc.unique(paths)
    found = pa.array([_found(numbers, path) for path in known.to_pylist()], pa.int64())
    facts = to_table(relation, rows.select(spark_schema(relation).names))
    return _with_files(facts, found.take(pc.index_in(paths, known)))


def _numbers(files: Mapping[str, File]) -> dict[str, int]:
    """The numbers of files, by their paths."""
    return {plain(file.path): _number(print_) for print_, file in files.items()}


def _found(numbers: Mapping[str, int], path: str) -> int:
    """The number of the file at a path as Spark writes it: quoted like a URL."""
    number = numbers.get(plain(unquote(path)), numbers.get(plain(path)))
    if number is None:
        raise PipelineError(f"{unquote(path)} appeared during the run; run again")
    return number


def _with_files(facts: Any, numbers: Any) -> Any:
    return facts.append_column(pa.field(FILE, pa.int64(), nullable=False), numbers)
