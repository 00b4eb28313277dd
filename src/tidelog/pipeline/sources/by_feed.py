"""Takes the changes of a table that has versions and a change feed, such as one of Delta.

The last version that was read is in the manifest. The next run reads the changes since, and adds them up: a
table may have rows that the relation doesn't distinguish, so the store keeps how often it has each (see
`ledger`). If the feed cannot be read (it is off, its files were vacuumed, its columns were changed, the table
was created again), all rows of the version are read and compared, and the report says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidelog.errors import PipelineError
from tidelog.pipeline.bulk import counting
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources import taking
from tidelog.pipeline.sources.delta import State, Tables
from tidelog.pipeline.sources.fingerprints import digest
from tidelog.pipeline.sources.ledger import Inconsistent, counted, settled_whole, settling
from tidelog.pipeline.sources.prints import read_print, to_text
from tidelog.pipeline.sources.reading import spark_schema
from tidelog.pipeline.sources.taking import Taking
from tidelog.program.declared import Relation
from tidelog.store.sidecars import COUNT, COUNTS, added_up
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN

__all__ = ["ByFeed"]


@dataclass(frozen=True, slots=True)
class _Print:
    """What the manifest keeps of a table: `described` is a digest of its spec, `log` is of `Tables.log`."""

    described: str
    identity: str
    version: int
    log: str


class ByFeed:
    def __init__(self, taking: Taking, tables: Tables, progress: Callable[[str], object]) -> None:
        self._taking = taking
        self._tables = tables
        self._progress = progress

    def take(self, source: Source, relation: Relation, *, reread: bool) -> None:
        """Take the changes since the last commit; an unchanged version is not read."""
        found = self._taking.found
        described = digest(source, relation)
        text = self._taking.before(relation)
        before = None if reread else read_print(_Print, text, described)
        log = self._tables.log(source)  # before the version: the log may grow in between
        if before is not None and log and before.log == log:
            found.prints[relation.name] = text
            self._taking.unchanged(relation)
            return
        self._progress(f"looking at {relation.name}")
        now = self._tables.state(source)
        if before is not None and (before.identity, before.version) == (now.identity, now.version):
            found.prints[relation.name] = text
            self._taking.unchanged(relation)
            return
        found.prints[relation.name] = to_text(_Print(described, now.identity, now.version, log))
        self._progress(f"reading {relation.name}")
        note = "" if before is None else self._changed(source, relation, before, now)
        if before is None or note:
            self._whole(source, relation, described, now, note)

    def _changed(self, source: Source, relation: Relation, before: _Print, now: State) -> str:
        """Take the changes from the feed; the reason if all rows have to be read."""
        if before.identity != now.identity:
            return "read in full, since it is another table than before"
        if now.version < before.version:
            return f"read in full, since version {before.version} is no longer there"
        surplus = self._taking.store.sidecar(relation.name, COUNTS)
        if surplus is None or surplus.sidecar.described != before.described:
            return "read in full, since the store did not know how often it has its rows"
        try:
            with self._taking.attempt(relation):
                change = self._feed(source, relation, before.version + 1, now.version)
                made = settling(before.described, added_up(change), surplus)
        except PipelineError as error:
            reason = str(error).splitlines()[0].removeprefix(f"sources.{relation.name}: ")
            what = f"its change feed could not be read from version {before.version + 1} on"
            return f"read in full, since {what}: {reason}"
        except Inconsistent:
            return "read in full, since its change feed removes rows that it did not have"
        self._taking.found.sidecars[relation.name] = made
        self._taking.report(relation, made.inserted, made.deleted)
        return ""

    def _feed(self, source: Source, relation: Relation, first: int, last: int) -> Any:
        """How often the table gained or lost each row in these versions."""
        raw = self._tables.feed(source, relation, first, last)
        good = self._taking.small_rows(source, raw, forgives_deletions=True)
        facts = to_table(relation, good.select(spark_schema(relation).names))
        signs = good[SIGN].cast(pa.int64())
        return facts.append_column(pa.field(COUNT, pa.int64(), nullable=False), signs)

    def _whole(self, source: Source, relation: Relation, described: str, now: State, note: str) -> None:
        raw = self._tables.rows(source, relation, now.version)
        if now.size <= taking.SMALL:
            rows = to_table(relation, self._taking.small_rows(source, raw))
            difference = self._taking.difference(relation, rows)
            made = settled_whole(described, counted(rows))
        else:
            with self._taking.checked(source, raw) as frame:
                difference = self._taking.large_difference(relation, frame)
                made = counting.settled_whole(self._taking.frames, relation, described, frame)
        self._taking.found.sidecars[relation.name] = made
        self._taking.report(relation, *difference, note=note)
