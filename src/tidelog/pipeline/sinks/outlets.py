"""From a commit to the sinks: files are written before the commit and shown after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.pipeline.bulk.rows import as_frame, is_large, with_sign
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.sinks.databases import merge_database
from tidelog.pipeline.sinks.keys import expect_key, expect_partitions
from tidelog.pipeline.sinks.merging import Contents, prepare_merged
from tidelog.pipeline.sinks.tables import create_table, exists, merge_table
from tidelog.pipeline.sinks.writing import deliver, discard, prepare, show, sign_column
from tidelog.pipeline.spec import Spec
from tidelog.pipeline.stored import segments_frame, stored_frame
from tidelog.program.declared import Relation, Role
from tidelog.session import Session
from tidelog.store.durable import Store
from tidelog.store.manifest import Written
from tidelog.tables.signed import SIGN, signed

__all__ = ["Outlets"]


class Outlets:
    """Writes the sinks of a pipeline; `relations` are those of the program."""

    def __init__(
        self,
        spec: Spec,
        relations: Mapping[str, Relation],
        spark: SparkSession,
        store: Store,
        progress: Callable[[str], object],
    ) -> None:
        self._spec = spec
        self._relations = relations
        self._spark = spark
        self._store = store
        self._progress = progress

    # -- before the commit

    def prepare(self, session: Session, changes: Mapping[str, Any]) -> dict[str, Written]:
        """Write the files of the sinks with changes; return when each sink was last written.

        A new sink of changes starts with the whole relation.
        """
        number = self._store.next_commit
        before = {} if self._store.current is None else self._store.current.sinks
        sinks: dict[str, Written] = {}
        for sink in self._spec.sinks:
            is_new = sink.key not in before
            if not is_new and not changes[sink.relation].num_rows:
                sinks[sink.key] = before[sink.key]
                continue
            is_whole = is_new or (sink.kind == "outputs" and sink.mode is None)
            for expect in (expect_key, expect_partitions):
                expect(sink, session[sink.relation], changes[sink.relation], is_new=is_new)
            origin = "" if is_new else before[sink.key].origin
            written = sinks[sink.key] = Written(number, is_whole, origin or uuid4().hex)
            if sink.is_folder:
                self._progress(f"writing {sink.name}")
                self._prepare(sink, session, changes[sink.relation], before.get(sink.key), written)
        return sinks

    def _prepare(
        self, sink: Sink, session: Session, changes: Any, before: Written | None, now: Written
    ) -> None:
        """Write the files of a sink that was last written at the commit `before`."""
        relation, number = self._relations[sink.relation], now.commit
        if sink.mode is None:
            is_whole = before is None or sink.kind == "outputs"
            prepare(sink, relation, self._contents(sink, session, None if is_whole else changes), number)
            return
        view = session[sink.relation]
        last = None if before is None else before.commit
        prepare_merged(
            self._spark, sink, relation, Contents(number, now.origin, last, changes, view.to_spark, len(view))
        )

    def _contents(self, sink: Sink, session: Session, changes: Any) -> DataFrame:
        """The rows to write: all of an output; the changes, or all rows if `changes` is None."""
        view = session[sink.relation]
        if sink.kind == "outputs":
            frame: DataFrame = view.to_spark()
            return frame
        if changes is not None:
            made = as_frame(self._spark, changes)
        elif view.is_frame and is_large(len(view)):
            made = with_sign(view.to_spark(), 1)
        else:
            made = as_frame(self._spark, signed(view.to_arrow(), 1))
        return made.withColumnRenamed(SIGN, sign_column(self._relations[sink.relation]))

    def quarantine(self, bad: Mapping[str, DataFrame]) -> None:
        """Write the bad rows of each source."""
        for sink, relation in self._quarantines():
            discard(sink)  # left by an earlier attempt at this commit
            if relation.name in bad:
                prepare(sink, relation, bad[relation.name], self._store.next_commit)

    def _quarantines(self) -> Iterator[tuple[Sink, Relation]]:
        if self._spec.quarantine is None:
            return
        for name in (*self._spec.sources, *self._spec.streams):
            path = f"{self._spec.quarantine}/{name}"
            yield Sink("changes", name, "json", path), Relation(name, (), Role.INPUT)

    # -- after the commit

    def show(self) -> None:
        """Show the files prepared for the last commit, and write the other sinks."""
        current = self._store.current
        assert current is not None, "a commit has been made"
        for sink in self._spec.sinks:
            written = current.sinks.get(sink.key)
            if written is None:  # new in the spec: the next commit writes it
                continue
            relation = self._relations[sink.relation]
            if sink.is_folder:
                show(sink, relation, written.commit)
            elif written.commit == current.commit:
                self._progress(f"writing {sink.name}")
                self._deliver(sink, relation, written)
        for sink, relation in self._quarantines():
            show(sink, relation, current.commit)
        self._store.mark_shown()

    def _deliver(self, sink: Sink, relation: Relation, written: Written) -> None:
        """Write the last commit to a sink that is not a folder of files."""
        if sink.mode != "merge":
            deliver(sink, relation, self._delivered(sink, relation, written), written)
            return
        is_jdbc = sink.table is None and sink.format == "jdbc"
        is_there = is_jdbc or exists(self._spark, sink)
        is_whole = written.is_whole or not is_there
        rows = stored_frame(self._spark, self._store, relation) if is_whole else self._changes(relation)
        if is_jdbc:
            merge_database(self._spark, sink, relation, rows, is_whole=is_whole)
        elif is_there:
            merge_table(sink, relation, rows, is_whole=is_whole)
        else:
            create_table(sink, relation, rows)

    def _delivered(self, sink: Sink, relation: Relation, written: Written) -> DataFrame:
        """The rows of the last commit, from the store: all of an output, or signed changes."""
        frame = stored_frame(self._spark, self._store, relation)
        if sink.kind == "outputs":
            return frame
        if written.is_whole:
            return frame.withColumn(sign_column(relation), sf.lit(1).cast("tinyint"))
        return self._changes(relation)

    def _changes(self, relation: Relation) -> DataFrame:
        """The changes of the last commit, from the store."""
        segments = self._store.changes_segments(relation.name)
        assert segments, "a sink is written only if its relation has changes"
        rows = segments_frame(self._spark, self._store, relation, segments)
        return rows.withColumnRenamed(SIGN, sign_column(relation))
