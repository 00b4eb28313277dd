"""A program and its facts at the last commit, and the one way from there to the next.

Invariant: outside `carry_out` and `answer` the engine holds exactly the last commit. Whatever ends them early
(an error, a limit, an interrupt) leads back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np

from tidelog.data.types import Scalar
from tidelog.engine.limits import Limits, memory_errors
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.dense.matrix import Difference
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.record import Record
from tidelog.engine.local.storage.saved_state import Saved, restored
from tidelog.engine.scheduler import Run, Stats
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.plan.flatten import flatten
from tidelog.program.model import EMPTY, Program
from tidelog.program.query import Query
from tidelog.program.typed import Relation
from tidelog.progress import Report, end
from tidelog.session.backends.protocol import Done
from tidelog.session.backends.staging import Staged, StagedData, expect_keys
from tidelog.session.interrupt import interrupts_noted
from tidelog.session.locks import Locks
from tidelog.session.reading.changes import Changes, RelationChanges
from tidelog.session.reading.decoding import Decoder
from tidelog.session.reading.facts import Facts, LazyFacts, View
from tidelog.session.reading.readers import Committed, Readers

__all__ = ["State", "only_query"]


class State:
    """`locks.turn` is held by whoever works with the engine or gives codes to new values.

    In a session on Spark, `publish` makes DataFrames of tables, `taking` names Spark's jobs while the data of
    a relation is taken in, and `place` says why the data is here.
    """

    def __init__(
        self,
        strategy: str,
        limits: Limits,
        report: Report | None = None,
        publish: Callable[[Any], Any] | None = None,
        place: str = "",
        taking: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext(),
        locks: Locks | None = None,
    ) -> None:
        self.locks = locks or Locks()
        self._publish_frame = publish
        self._taking = taking
        self._strategy = strategy
        self._place = place
        self._work_on(LocalEngine())
        self.program: Program = EMPTY
        self.commit = -1
        self._limits = limits
        self.report = report
        self.flat = FlatProgram()

    def _work_on(self, engine: LocalEngine) -> None:
        self.engine = engine
        self.readers = Readers(engine, self.locks)
        self.decoder = Decoder(engine.codec, self._publish_frame)
        self._run = Run(engine, self._strategy, placed=lambda _: self._place)

    @contextmanager
    def encoding(self) -> Iterator[Codec]:
        """The codec, for whoever gives codes to values that may be new."""
        with self.locks.turn, interrupts_noted(), memory_errors():
            yield self.engine.codec

    def carry_out(
        self,
        program: Program,
        staged: Mapping[str, StagedData],
        check: Callable[[], None],
        *,
        keep: bool,
    ) -> Done:
        flat = self.flat if program is self.program else flatten(program)
        with self.locks.turn, self.readers.working():
            try:
                with memory_errors():
                    stats = self._advance(flat, staged, check)
                    changes = self._changes(program, self.commit + 1 if keep else None)
                check()
            except BaseException:
                self._undo()
                raise
            finally:
                end(self.report)
            if keep:
                self._publish(program, flat)
            else:
                self._undo()
        return Done(changes, stats)

    def answer(self, query: Query, check: Callable[[], None]) -> Facts:
        with self.locks.turn, self.readers.working():
            flat = only_query(query, self.program, self.flat)
            try:
                with memory_errors():
                    self.engine.prepare(flat)
                    self._run.commit(FlatProgram(), flat, self._limits, check, self.report)
                    return Facts(query.relation, self.decoder, self.engine.rows(query.relation.name))
            finally:
                end(self.report)
                self._undo()

    def view(self, relation: Relation) -> View:
        return View(relation, self.decoder, self.readers.source(relation.name))

    def placed(self) -> list[tuple[Stratum, str]]:
        return [(stratum, self._place) for stratum in self.flat.strata]

    @contextmanager
    def still(self) -> Iterator[None]:
        with self.locks.turn, self.readers.working():
            yield

    def stage(self, relation: Relation) -> StagedData:
        with self.locks.turn:  # a query may have other tables meanwhile
            table = self.engine.tables.get(relation.name)
            committed = None if table is None else Committed(self.readers, table)
            return StagedData(Staged(relation, committed, self.engine.codec), self.encoding, self._taking)

    def saved(self) -> Saved:
        return Saved(self.engine, self._run.costs, self._strategy)

    def resume(self, program: Program, record: Record) -> bool:
        flat = flatten(program)
        found = restored(record, flat, self._strategy)
        if found is None:
            return False
        with self.locks.turn:
            self._work_on(found.engine)
            self._run.costs.update(found.costs)
            self.engine.prepare(flat)
            self._publish(program, flat)
        return True

    # -- how

    def _advance(
        self, flat: FlatProgram, staged: Mapping[str, StagedData], check: Callable[[], None]
    ) -> Stats:
        self.engine.prepare(flat)
        for name, facts in staged.items():
            if name in flat.relations:
                net = facts.staged.net()
                with self.readers.mutex:  # what is asserted changes first, and is written down then
                    self.engine.assert_rows(name, *net)
        return self._run.commit(self.flat, flat, self._limits, check, self.report)

    def _changes(self, program: Program, commit: int | None) -> Changes:
        """What the commit at work has done so far, relations that it drops included."""
        changed: dict[str, RelationChanges] = {}
        for name, relation in program.relations.items():
            came, went = self.engine.changes(name)
            if not isinstance(came, Difference):  # a relation with a key is never dense
                expect_keys(relation, self.engine.tables[name], came, self.engine.codec)
            if len(came) or len(went):
                changed[name] = self._change(relation, came, went)
        for name, relation in self.program.relations.items():
            if name not in program.relations and self.engine.size(name):
                went = self.engine.rows(name)
                changed[name] = self._change(relation, went[:0], went)
        relations = {**self.program.relations, **program.relations}
        return Changes(commit, changed, relations, self._no_change)

    def _change(
        self, relation: Relation, came: Codes | Difference, went: Codes | Difference
    ) -> RelationChanges:
        return RelationChanges(relation, self._facts(relation, came), self._facts(relation, went))

    def _facts(self, relation: Relation, rows: Codes | Difference) -> Facts:
        if isinstance(rows, Difference):
            return LazyFacts(relation, self.decoder, rows)
        return Facts(relation, self.decoder, rows)

    def _no_change(self, relation: Relation) -> RelationChanges:
        nothing = np.empty((0, len(relation.columns)), np.int64)
        return self._change(relation, nothing, nothing)

    def _publish(self, program: Program, flat: FlatProgram) -> None:
        with ExitStack() as stack:
            try:
                stack.enter_context(self.readers.publishing(program.relations.__contains__))
            except BaseException:  # there is no memory for what earlier readers hold
                self._undo()
                raise
            self.engine.commit()
            self.engine.forget(flat)
            if flat is not self.flat:
                self.engine.tidy()
            self.program, self.flat = program, flat
            self.commit += 1
        used = self.engine.unused_values()
        if used:
            self._forget_values(used)

    def _forget_values(self, used: Mapping[Scalar, Codes]) -> None:
        """Rows get other codes: whoever reads earlier commits keeps what there was, codec and all."""
        with self.readers.publishing(lambda _: False):
            self.engine.forget_values(used)
            self.decoder = Decoder(self.engine.codec, self._publish_frame)

    def _undo(self) -> None:
        with self.readers.mutex:
            self.engine.rollback()
            self.engine.forget(self.flat)


def only_query(query: Query, program: Program, known: FlatProgram) -> FlatProgram:
    """Only what a query adds to a program: what it reads is there."""
    relations = {**program.relations, query.relation.name: query.relation}
    flat = flatten(Program(relations, functions=program.functions, rules={query.rule.id: query.rule}))
    strata = tuple(u for u in flat.strata if not any(name in known.relations for name in u.relations))
    return FlatProgram(flat.relations, flat.rules, flat.groupings, flat.functions, strata)
