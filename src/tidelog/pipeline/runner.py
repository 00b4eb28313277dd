"""Runs a pipeline: from the current sources to the next commit and the sinks.

A run has these steps: finish an earlier, interrupted run; read the sources that changed; compute their
difference to the store; evaluate it in a session; write the files of the sinks; commit to the store; show the
files. A run that stops before the commit has no effect. After the commit it always takes effect: the next run
does what is left (see `store.durable` and `sinks`).

The session is opened from the store (`opening`) and reused by the next run. After a failure it is dropped and
opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.filesystem import default_file_system
from tidelog.engine.spark.runtime.job_names import JobNames
from tidelog.engine.spark.runtime.session import local_session
from tidelog.errors import ProgramError, StoreError
from tidelog.pipeline.bulk.rows import Bulk
from tidelog.pipeline.bulk.sessions import changes_of, contents_of, facts_since, given, stored_facts
from tidelog.pipeline.bulk.workers import SparkWorkers
from tidelog.pipeline.expecting import expect_relations
from tidelog.pipeline.lineage.loading import lineage_of
from tidelog.pipeline.metrics import MetricsFile
from tidelog.pipeline.observing import Clock, Observer, observed
from tidelog.pipeline.opening import Opened, Opening
from tidelog.pipeline.programs import functions_of, program_text
from tidelog.pipeline.rebasing import expect_program, rebase
from tidelog.pipeline.report import Count, Outcome, SourceReport, Work
from tidelog.pipeline.sinks.outlets import Outlets
from tidelog.pipeline.sinks.writing import place
from tidelog.pipeline.sources.frames import expect_session, session_of
from tidelog.pipeline.sources.intake import Found, Intake
from tidelog.pipeline.sources.paths import qualified_spec, shown_path
from tidelog.pipeline.sources.reading import Raw
from tidelog.pipeline.spec import Source, Spec
from tidelog.program.declared import Relation, Role
from tidelog.program.draft import load
from tidelog.program.model import Program
from tidelog.session import Changes, Session
from tidelog.store.durable import Store, Update
from tidelog.store.manifest import Batch
from tidelog.store.migration import Breaks
from tidelog.tables.signed import SIGN, difference

__all__ = ["Pipeline"]


class Pipeline:
    """An open pipeline. It locks its store against other writers. Use it in a `with` block.

    Without `spark` it creates a local Spark session. `progress` is called at every step, with a text or with
    the progress of a session.
    """

    def __init__(
        self,
        spec: Spec,
        *,
        spark: SparkSession | None = None,
        progress: Callable[[Any], object] | None = None,
    ) -> None:
        self.spec = spec
        self._report = progress
        self._progress: Callable[[str], object] = progress or (lambda _: None)
        self._functions = functions_of(spec)
        self._text = program_text(spec)
        self.program: Program = load(self._text, str(spec.program), self._functions)
        expect_relations(spec, self.program)
        self.store = Store(spec.store, history=spec.history)
        try:
            self._expect_program()
            self._progress("starting Spark")
            given = spark if spark is not None else session_of(spec)
            self.spark = given if given is not None else local_session("tidelog", conf=spec.spark or None)
            expect_session(spec, self.spark)
            self.spec = spec = qualified_spec(spec, default_file_system(self.spark))
            self._observers = self._make_observers()
        except BaseException:
            self.store.close()
            raise
        self._jobs = JobNames(self.spark)
        self._progress = self._naming(self._progress)
        self.intake = Intake(self.spark, self.store, self._progress)
        self._outlets = Outlets(spec, self.program.relations, self.spark, self.store, self._progress)
        facts = partial(stored_facts, self.spark, self.store, spec.placement)
        since = partial(facts_since, self.spark, self.store)
        self._opening = Opening(
            spec, self._functions, self.spark, self.store, self._report, self._progress, facts, since
        )
        self._clock = Clock()
        self._opened: Opened | None = None
        self._reworked = ""  # why all results are computed again by the next commit
        self.changes: Changes | None = None  # what the last commit of this object changed

    def close(self) -> None:
        self._opened = None
        self.store.close()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _make_observers(self) -> list[Observer]:
        observers: list[Observer] = []
        if self.spec.metrics is not None:
            observers.append(MetricsFile(self.spec.metrics, self.about))
        if self.spec.lineage is not None:
            observers.append(lineage_of(self.spec, self.spec.lineage, self.program, self.spark.version))
        return observers

    @property
    def about(self) -> dict[str, str]:
        """What metrics call this pipeline."""
        return {"pipeline": self.spec.name, "store": str(self.spec.store)}

    # -- a run

    def run(self, *, reread: bool = False) -> Outcome:
        """Bring the results up to date; `reread` reads all sources, even if they look unchanged."""
        return self._observed(partial(self._take_sources, reread=reread))

    def apply(
        self,
        source: Source,
        raw: Raw,
        batch: Batch,
        *,
        position: bytes | None = None,
        with_sources: bool = False,
    ) -> Outcome:
        """Apply a batch of a stream as a commit, even if it changes nothing; perhaps with the sources.

        The store keeps the `position` of the stream after it, if it is given.
        """

        def take(found: Found) -> None:
            if with_sources:
                self._take_sources(found)
            found.streams[source.relation] = batch
            if position is not None:
                found.positions[source.relation] = position
            self.intake.take_batch(found, source, self.program.relations[source.relation], raw)

        return self._observed(take)

    def _take_sources(self, found: Found, *, reread: bool = False) -> None:
        for name, source in self.spec.sources.items():
            self.intake.take(found, source, self.program.relations[name], reread=reread)

    def _observed(self, take: Callable[[Found], None]) -> Outcome:
        """Take changes, and commit them if there are any."""

        def work() -> Outcome:
            self._clock.begin()
            self.finish()
            found = Found()
            try:
                with self._jobs.named("Tidelog pipeline"):
                    with self._clock.phase("migrating"):
                        self._migrate()
                    with self._clock.phase("reading"):
                        take(found)
                made = self._outcome() if self._is_current(found) else self.commit(found)
                return replace(made, work=self._work(made))
            finally:
                found.release()

        return observed(self._observers, work)

    def finish(self) -> None:
        """Finish an earlier run that was interrupted after its commit."""
        if not self.store.is_shown:
            with self._jobs.named("Tidelog pipeline"):
                self._outlets.show()

    def commit(self, found: Found) -> Outcome:
        """Apply the changes, make them durable and show them."""
        with self._jobs.named("Tidelog pipeline"):
            return self._commit(found)

    def _commit(self, found: Found) -> Outcome:
        try:
            with self._clock.phase("evaluating"):
                session, changes = self._apply(found)
            with self._clock.phase("writing"):
                self.store.claim()  # before files of this commit are written anywhere
                sinks = self._outlets.prepare(session, changes)
                self._outlets.quarantine(found.bad)
            current = self.store.current
            streams = {**({} if current is None else current.streams), **found.streams}
            prints = {**({} if current is None else current.sources), **found.prints}
            known = {name: prints[name] for name in prints if name in self.spec.sources}
            state = self._opening.offer(session)
            sidecars = found.settled(changes)
            stored = self._stored()
            is_near = not any(session[name].is_frame for name in stored)
            workers = SparkWorkers(self.spark, self.store, is_near=is_near)
            update = Update(
                self._text,
                stored,
                changes,
                known,
                streams,
                sinks,
                state,
                sidecars,
                workers,
                found.positions,
            )
            with self._clock.phase("storing"):
                self.store.commit(update)
        except BaseException:
            self._opened, self._reworked = None, ""  # it may be ahead of the store
            self.store.restore()
            raise
        self._opening.committed()
        with self._clock.phase("showing"):
            if self.store.is_last():  # otherwise the run that comes after shows it, and perhaps more
                self._outlets.show()
        return self._outcome(found, changes)

    def session(self) -> Session:
        """The session at the last commit, for reading."""
        if self._opened is None:
            self._opened = self._opening.open(self._text)
        return self._opened.session

    def _naming(self, progress: Callable[[str], object]) -> Callable[[str], object]:
        """Progress that the Spark UI shows as well, as names of jobs."""

        def tell(text: str) -> None:
            progress(text)
            self._jobs.name(f"Tidelog pipeline · {text}")

        return tell

    # -- the program

    def _expect_program(self) -> Breaks | None:
        """What takes a migration. Raises StoreError if this program cannot replace the stored one."""
        current = self.store.current
        if current is None or current.program == self._text:
            return None
        try:
            before = load(current.program, "the stored program", self._functions)
        except ProgramError as error:
            raise StoreError(f"the program in the store {self.spec.store} cannot be read:\n{error}") from None
        return expect_program(self.spec, self.store, before, self.program)

    def _migrate(self) -> None:
        """Bring the stored facts into the form of this program; the next commit makes that durable."""
        found = None if self._reworked else self._expect_program()
        if found:
            self._progress("migrating the store")
            rebase(self.spec, self.store, found, self._text)
            self._opened, self._reworked = None, found.reason

    def _stored(self) -> dict[str, Relation]:
        """The relations to store."""
        shown = {sink.relation for sink in self.spec.sinks}
        return {
            name: relation
            for name, relation in self.program.relations.items()
            if relation.role is not Role.INTERNAL or name in shown
        }

    # -- evaluation

    def _is_current(self, found: Found) -> bool:
        """Whether there is nothing to commit: no difference, no new program, no new sinks."""
        current = self.store.current
        return (
            current is not None
            and not self._reworked
            and current.program == self._text
            and not found.streams
            and found.prints == current.sources
            and not any(report.difference or report.bad for report in found.reports.values())
            and all(sink.key in current.sinks for sink in self.spec.sinks)
        )

    def _apply(self, found: Found) -> tuple[Session, Mapping[str, Any]]:
        """Evaluate the changes; return those of the stored relations, as signed rows: tables or `Bulk`."""
        current = self.store.current
        if self._opened is None and current is None:
            self._opened = self._opening.empty()
        session = self.session()
        self._progress("evaluating the changes")
        with session.transaction() as tx:
            if current is None or current.program != self._text:
                tx.replace_program(self._text, str(self.spec.program))
            for name in found.inserted:
                for change, rows in ((tx.delete, found.deleted[name]), (tx.insert, found.inserted[name])):
                    if rows.num_rows:
                        change(name, given(rows))
        self.changes = None if self._reworked else tx.changes
        return session, {name: self._changed(session, tx.changes, r) for name, r in self._stored().items()}

    def _changed(self, session: Session, changes: Changes, relation: Relation) -> Any:
        """The changes of a stored relation, as signed rows: a table or `Bulk`."""
        name, current = relation.name, self.store.current
        if current is None or name not in current.relations:
            return contents_of(session[name])
        if self._reworked and relation.role is not Role.INPUT:
            return difference(self.store.table(relation), session[name].to_arrow())
        return changes_of(changes[name])

    # -- the report

    def _outcome(self, found: Found | None = None, changes: Mapping[str, Any] | None = None) -> Outcome:
        """The report of a run; without arguments, of a run that had nothing to do."""
        current = self.store.current
        assert current is not None, "a commit has been made"
        places = {s.name: place(s, current.sinks[s.key].commit) for s in self.spec.sinks}
        if found is None or changes is None:
            return Outcome(current.commit, is_new=False, places=places)
        outputs = [r.name for r in self._stored().values() if r.role is not Role.INPUT]
        session = self.session()
        opened = self._opened or Opened(session)
        reworked = self._reworked or opened.reworked
        self._opened, self._reworked = Opened(session), ""  # reported only once
        return Outcome(
            current.commit,
            is_new=True,
            sources={n: _reported(report, changes[n]) for n, report in found.reports.items()},
            changes={name: _count(changes[name]) for name in outputs},
            sizes={name: len(session[name]) for name in outputs},
            places=places,
            bad_rows=tuple(found.bad_rows),
            quarantine=self.spec.quarantine and shown_path(self.spec.quarantine),
            reworked=reworked,
            partly=dict(opened.partly),
            batches={name: batch.number for name, batch in found.streams.items()},
        )

    def _work(self, outcome: Outcome) -> Work:
        """What a run that has just ended cost."""
        began, seconds = self._clock.began, self._clock.seconds
        if not outcome.is_new:
            return Work(began, seconds)
        manifest, stats = self.store.current, self.session().stats.to_dict()
        assert manifest is not None, "a commit has been made"
        return Work(began, seconds, manifest.new_bytes, stats["jobs"], tuple(stats["strata"]))


def _count(rows: Any) -> Count:
    inserted = rows.inserted if isinstance(rows, Bulk) else rows.filter(pc.equal(rows[SIGN], 1)).num_rows
    return Count(inserted, rows.num_rows - inserted)


def _reported(report: SourceReport, rows: Any) -> SourceReport:
    """The effective changes of a source: a stream may insert present rows and delete absent ones."""
    return replace(report, difference=_count(rows)) if report.is_read else report
