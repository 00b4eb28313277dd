"""A program and its facts in frames, at the last commit.

Invariant: outside `carry_out` and `answer` the engine holds exactly the last commit. If they fail, it is
restored, and frames that only their work needed are released.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

from tidelog.engine.limits import Limits, memory_errors
from tidelog.engine.local.storage.record import Record
from tidelog.engine.spark.commits import SparkCommits
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints
from tidelog.engine.spark.frames.staging import FrameStaging, expect_one_each
from tidelog.engine.spark.placement import Placement
from tidelog.engine.spark.runtime.cancellation import Stopper
from tidelog.engine.spark.runtime.job_names import step_name
from tidelog.engine.spark.runtime.progress import Ticker
from tidelog.engine.spark.saving.restored import restore
from tidelog.engine.spark.saving.saved import SavedFrames
from tidelog.engine.statistics import Stats
from tidelog.errors import SessionError
from tidelog.maintain.strategy import STRATEGIES, Strategy
from tidelog.plan.cost import SizesOnly
from tidelog.plan.describe import describe_plan
from tidelog.plan.fan_outs import Start, fan_outs
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.plan.join_order import order
from tidelog.program.declared import Relation
from tidelog.program.model import EMPTY, Program
from tidelog.program.query import Query
from tidelog.progress import Line, Progress, Report, end
from tidelog.session.backends.local.state import only_query
from tidelog.session.backends.protocol import Done
from tidelog.session.backends.spark.facts import FrameChanges, FrameFacts, WholeFrame
from tidelog.session.changes import Changes, RelationChanges
from tidelog.session.interrupt import is_interrupted
from tidelog.session.locks import AT_WORK, Locks
from tidelog.session.profiles.observed import Observed, Size
from tidelog.store.states import StateParts, Unusable

__all__ = ["SparkBackend"]


class SparkBackend:
    """`locks.turn` is held while Spark works, `locks.reading` while publishing or making views.

    Views need no lock later, because frames never change.

    Without a `placement`, each stratum has its own; `room` is the most rows that one may have in the driver.
    """

    def __init__(
        self,
        strategy: Strategy,
        limits: Limits,
        report: Report | None = None,
        *,
        spark: Any,
        placement: Placement | None,
        room: int = 0,
        locks: Locks | None = None,
    ) -> None:
        if not strategy.in_frames and placement == "shuffled":
            possible = " or ".join(f"`{name}`" for name, other in STRATEGIES.items() if other.in_frames)
            raise SessionError(
                f"the strategy `{strategy.name}` only runs in the driver or in tasks; with the placement "
                f'"shuffled", use {possible}'
            )
        self.report = report
        self.checkpoints = Checkpoints(spark)
        self.engine = SparkEngine(self.checkpoints, placement, limits, strategy, room)
        self.program: Program = EMPTY
        self.commit = -1
        self.locks = locks or Locks()
        self._is_busy = False
        self.commits = SparkCommits(self.engine, strategy, begun=self._begun)
        self._doing = ""
        self._tell: Report | None = None
        self._told = "", 0
        self._limits = limits
        self._is_adopted = False

    @contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """Exclusive use of Spark; `doing` is the name of its jobs in the Spark UI."""
        with self.locks.turn:
            if self._is_busy:
                raise SessionError(AT_WORK)
            self._is_busy = True
            try:
                with self.checkpoints.working(doing):
                    self._doing = doing
                    yield
            finally:
                self._is_busy = False

    @contextmanager
    def _stepping(self) -> Iterator[None]:
        """Inside this block, steps are reported when they begin, once per round."""
        ticker = Ticker(self.checkpoints.spark, self.report) if isinstance(self.report, Line) else None
        self._tell = self.report if ticker is None else ticker.step
        try:
            with ticker or nullcontext():
                yield
        finally:
            self._tell = None
            end(self.report)

    @contextmanager
    def _stoppable(self, check: Callable[[], None]) -> Iterator[None]:
        """Inside this block, Spark's jobs are cancelled on an interrupt or when the time limit is reached."""
        timeout = self._limits.timeout
        late = math.inf if timeout is None else time.perf_counter() + timeout
        with Stopper(
            self.checkpoints.spark, lambda: is_interrupted() or time.perf_counter() > late
        ) as stopper:
            try:
                yield
            except Exception:
                if stopper.has_stopped:  # Spark did not fail by itself
                    check()
                    self.commits.scheduler.expect_time()
                raise

    def _begun(self, step: Progress) -> None:
        self.checkpoints.jobs.name(step_name(self._doing, step))
        if self._tell is not None and (step.name, step.round) != self._told:
            self._told = step.name, step.round
            self._tell(step)

    def carry_out(
        self,
        program: Program,
        staged: Mapping[str, FrameStaging],
        check: Callable[[], None],
        *,
        keep: bool,
    ) -> Done:
        flat = self.commits.program
        if program is not self.program or self._is_adopted:
            flat = self.engine.flat(program)
        doing = f"Tidelog commit {self.commit + 1}" if keep else "Tidelog preview"
        with self.working(doing), self._stepping():
            self.commits.staged = [c for facts in staged.values() for c in facts.checkpoints()]
            with self.commits.attempt(flat):
                with memory_errors(), self._stoppable(check):
                    stats = self._run(flat, staged, check)
                    changes = self._changes(program, self.commit + 1 if keep else None)
                check()
                if keep:
                    self._publish(program)
        return Done(changes, stats)

    def answer(self, query: Query, check: Callable[[], None]) -> FrameFacts:
        with self.working("Tidelog query"), self._stepping():
            self.commits.staged = self.checkpoints.held()  # an open transaction may have staged something
            with self.commits.attempt(only_query(query, self.program, self.commits.program)):
                with memory_errors(), self._stoppable(check):
                    self.commits.evaluate(self._limits, check, self._tell)
                found = self.engine.work(query.relation.name).now.facts
                return FrameFacts(query.relation, found, self.checkpoints)

    def view(self, relation: Relation) -> WholeFrame:
        with self.locks.reading:
            return WholeFrame(relation, self.engine.states[relation.name], self.checkpoints)

    def placed(self) -> list[tuple[Stratum, str]]:
        with self.locks.turn:
            return [(stratum, self.engine.placed(stratum)) for stratum in self.commits.program.strata]

    def plan(self, found: Mapping[str, tuple[int, float]], only: Collection[str] | None) -> str:
        with self.locks.turn:
            return describe_plan(self.commits.program, SizesOnly(self.engine.size), found, only)

    def observed(self, starts: Sequence[Start]) -> Observed:
        """Sizes, and join orders with their estimates: nothing is measured, since that would take jobs."""
        with self.locks.turn:
            flat, statistics = self.commits.program, SizesOnly(self.engine.size)
            known = [(flat.rules[start[0]], start) for start in starts if start[0] in flat.rules]
            return Observed(
                {name: Size(self.engine.size(name), None) for name in flat.relations},
                {
                    start: fan_outs(flat, r, order(r, start[1], statistics), start[1], statistics)
                    for r, start in known
                },
            )

    def still(self) -> AbstractContextManager[None]:
        return nullcontext()

    def stage(self, relation: Relation) -> FrameStaging:
        working = partial(self.working, f"Tidelog · ingesting {relation.name}")
        with self.locks.turn:
            state = self.engine.states.get(relation.name)
            return FrameStaging(relation, state, self.checkpoints, working)

    def saved(self) -> SavedFrames:
        costs = self.commits.scheduler.costs
        working = partial(self.working, "Tidelog · saving the state")
        return SavedFrames(self.engine, self.commits.program, costs, working)

    def resume(self, program: Program, record: object) -> bool:
        raise Unusable("the saved state is of data in the driver, and the placement is DataFrames")

    def resume_frames(self, program: Program, record: Record, parts: StateParts) -> Mapping[str, str]:
        with self.working("Tidelog · resuming"):
            found = restore(self.engine, program, record.values, parts)
            self.commits.adopt(found.program)
            self.commits.scheduler.costs.update(found.costs)
        with self.locks.reading:
            self.program = program
            self._is_adopted = found.is_other
            self.commit += 1
        return self.engine.whole.lost

    def adopt(
        self,
        program: Program,
        flat: FlatProgram,
        commit: int,
        rows: Callable[[str], tuple[Any, Any]],
    ) -> None:
        """Adopt a commit; `rows` returns the tuples of a relation and the asserted ones, as tables.

        What supports the tuples is unknown, so the next commit recomputes and compares them.
        """
        derived = {rule.head for rule in flat.rules.values()} | set(flat.groupings)
        with self.working("Tidelog · moving data into DataFrames"):
            for name, stored in flat.relations.items():
                facts, given = (self.checkpoints.table(stored.types, table) for table in rows(name))
                self.engine.adopt(name, stored.types, facts, given, is_derived=name in derived)
            self.commits.adopt(flat)
        self.program, self.commit = program, commit
        self._is_adopted = True

    # -- implementation

    def _run(self, flat: FlatProgram, staged: Mapping[str, FrameStaging], check: Callable[[], None]) -> Stats:
        for name, facts in staged.items():
            if name in flat.relations:
                self.commits.stage(name, *facts.net())
        jobs = self.checkpoints.jobs_run
        stats = self.commits.run(self._limits, check, self._tell)
        stats.jobs = self.checkpoints.jobs_run - jobs
        return stats

    def _changes(self, program: Program, commit: int | None) -> Changes:
        """The changes of the current commit so far, including relations that it drops."""
        self.checkpoints.jobs.name(f"{self._doing} · checking keys")
        changed: dict[str, RelationChanges] = {}
        for name, relation in program.relations.items():
            inserted, deleted = self.commits.changes(name)
            expect_one_each(relation, inserted, self.engine.work(name).now)
            if inserted.size or deleted.size:
                changed[name] = self._change(relation, inserted, deleted)
        for name, relation in self.program.relations.items():
            if name not in program.relations and self.engine.size(name):
                deleted = self.engine.states[name].facts
                changed[name] = self._change(relation, self.checkpoints.nothing(relation.types), deleted)
        relations = {**self.program.relations, **program.relations}
        return Changes(commit, changed, relations, self._no_change)

    def _change(self, relation: Relation, inserted: Checkpoint, deleted: Checkpoint) -> FrameChanges:
        facts = (FrameFacts(relation, checkpoint, self.checkpoints) for checkpoint in (inserted, deleted))
        return FrameChanges(relation, *facts)

    def _no_change(self, relation: Relation) -> FrameChanges:
        nothing = self.checkpoints.nothing(relation.types)
        return self._change(relation, nothing, nothing)

    def _publish(self, program: Program) -> None:
        with self.locks.reading:
            self.commits.publish()
            self.program = program
            self._is_adopted = False
            self.commit += 1
        self.commits.release()
