"""A program and its facts in this process, at the last commit.

Invariant: outside `carry_out` and `answer` the engine holds exactly the last commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from tidelog.data.types import Item
from tidelog.engine.limits import Limits, memory_errors
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.commits import LocalCommits
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.record import Record
from tidelog.engine.local.storage.saved_state import Saved
from tidelog.engine.local.storage.snapshot import Unread
from tidelog.engine.statistics import Stats
from tidelog.maintain.strategy import Strategy
from tidelog.plan.describe import describe_plan
from tidelog.plan.fan_outs import Start
from tidelog.plan.flat import FlatProgram, Stratum
from tidelog.plan.flatten import flatten
from tidelog.program.analysis.strata import reads
from tidelog.program.declared import Relation
from tidelog.program.model import EMPTY, Program
from tidelog.program.query import Query
from tidelog.progress import Report, end
from tidelog.session.backends.local.decoding import Decoder
from tidelog.session.backends.local.facts import CodedFacts, LazyFacts, View
from tidelog.session.backends.local.observing import observed
from tidelog.session.backends.local.readers import Committed, Readers
from tidelog.session.backends.local.staging import Staged, StagedData, expect_keys
from tidelog.session.backends.protocol import Done
from tidelog.session.changes import Changes, RelationChanges
from tidelog.session.facts import Facts
from tidelog.session.interrupt import interrupts_noted
from tidelog.session.locks import Locks
from tidelog.session.profiles.observed import Observed

__all__ = ["LocalBackend", "only_query"]


class LocalBackend:
    """`locks.turn` is held while the engine works, and while new values get codes.

    In a session on Spark, `publish` makes DataFrames of tables, `taking` names Spark's jobs while the data of
    a relation is read, and `place` says why the data is here.
    """

    def __init__(
        self,
        strategy: Strategy,
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
        self.program: Program = EMPTY
        self.commit = -1
        self._limits = limits
        self.report = report
        self._asserted: dict[str, tuple[Codes, Codes]] = {}  # by the current commit, where there are rules
        self._places: tuple[Mapping[str, Relation], dict[str, int]] = {}, {}  # of relations, as declared
        self._work_with(LocalCommits(strategy, placed=self._where))

    def _work_with(self, commits: LocalCommits) -> None:
        self.commits = commits
        self.readers = Readers(commits.engine, self.locks)
        commits.guard = lambda: self.readers.mutex
        self.decoder = Decoder(commits.engine.codec, self._publish_frame)

    def _where(self, stratum: Stratum) -> str:
        return self._place

    @property
    def engine(self) -> LocalEngine:
        return self.commits.engine

    @property
    def flat(self) -> FlatProgram:
        return self.commits.program

    @contextmanager
    def encoding(self) -> Iterator[Codec]:
        """The codec, to encode values that may be new."""
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
        before = self.flat
        flat = before if program is self.program else flatten(program, self.program, before)
        with self.locks.turn, self.readers.working(), self.commits.attempt(flat):
            try:
                with memory_errors():
                    stats = self._run(flat, before, staged, check)
                    changes = self._changes(program, self.commit + 1 if keep else None)
                check()
            finally:
                end(self.report)
            if keep:
                self._publish(program)
        return Done(changes, stats)

    def answer(self, query: Query, check: Callable[[], None]) -> Facts:
        relation = query.relation
        with (
            self.locks.turn,
            self.readers.working(),
            self.commits.attempt(only_query(query, self.program, self.flat)),
        ):
            try:
                with memory_errors():
                    self.commits.evaluate(self._limits, check, self.report)
                    return CodedFacts(relation, self.decoder, self.engine.rows(relation.name))
            finally:
                end(self.report)

    def view(self, relation: Relation) -> View:
        return View(relation, self.decoder, self.readers.source(relation.name))

    def placed(self) -> list[tuple[Stratum, str]]:
        return [(stratum, self._place) for stratum in self.flat.strata]

    def plan(self, found: Mapping[str, tuple[int, float]], only: Collection[str] | None) -> str:
        with self.locks.turn:
            return describe_plan(self.flat, self.engine.statistics, found, only)

    def observed(self, starts: Sequence[Start]) -> Observed:
        with self.locks.turn, self.readers.working(), self.commits.attempt(self.flat):
            return observed(self.engine, self.flat, starts)

    @contextmanager
    def still(self) -> Iterator[None]:
        with self.locks.turn, self.readers.working():
            yield

    def stage(self, relation: Relation) -> StagedData:
        with self.locks.turn:  # a running query may have other tables
            table = self.engine.tables.get(relation.name)
            committed = None if table is None else Committed(self.readers, table)
            return StagedData(Staged(relation, committed, self.engine.codec), self.encoding, self._taking)

    def saved(self) -> Saved:
        return self.commits.save(self._strategy.name)

    def resume(self, program: Program, record: Record) -> bool:
        flat, label = flatten(program), self._strategy.name
        found = LocalCommits.resume(flat, record, self._strategy, label=label, placed=self._where)
        if found is None:
            return False
        with self.locks.turn, self.locks.reading:
            self._work_with(found)
            self.program = program
            self.commit += 1
        return True

    # -- implementation

    def _run(
        self,
        flat: FlatProgram,
        before: FlatProgram,
        staged: Mapping[str, StagedData],
        check: Callable[[], None],
    ) -> Stats:
        self._asserted = {}
        for name, facts in staged.items():
            if name in flat.relations:
                inserted, deleted = facts.staged.net()
                if any(name in p.index.deriving or name in p.groupings for p in (flat, before)):
                    self._asserted[name] = self._unlike(name, inserted, 0), self._unlike(name, deleted, 1)
                self.commits.stage(name, inserted, deleted)
        return self.commits.run(self._limits, check, self.report)

    def _unlike(self, name: str, codes: Codes, asserted: int) -> Codes:
        """Those of some rows that are not asserted (0) or that are (1) so far, whatever rules derive."""
        table = self.engine.tables.get(name)
        if table is None:
            return codes[:0] if asserted else codes
        rows = table.find(codes)
        given = (rows >= 0) & (table.given[np.maximum(rows, 0)] != 0)
        return np.compress(given == bool(asserted), codes, axis=0)

    def _changes(self, program: Program, commit: int | None) -> Changes:
        """The changes of the current commit, including relations that it drops."""
        changed: dict[str, RelationChanges] = {}
        for name in self._as_declared(self.engine.changed_relations(), program.relations):
            relation = program.relations[name]
            inserted, deleted = self.commits.changes(name)
            if relation.key is not None:
                codes = inserted.codes() if isinstance(inserted, Unread) else inserted
                expect_keys(relation, self.engine.tables[name], codes, self.engine.codec)
            if len(inserted) or len(deleted):
                changed[name] = self._change(relation, inserted, deleted)
        before = self.program.relations
        gone = () if before is program.relations else before.keys() - program.relations.keys()
        for name in sorted(gone):
            if self.engine.size(name):
                deleted = self.engine.rows(name)
                changed[name] = self._change(self.program.relations[name], deleted[:0], deleted)
        relations = program.relations if before is program.relations else {**before, **program.relations}
        asserted = {
            name: (self._facts(relations[name], new), self._facts(relations[name], gone))
            for name, (new, gone) in self._asserted.items()
            if name in relations
        }
        return Changes(commit, changed, relations, self._no_change, asserted)

    def _as_declared(self, names: Collection[str], relations: Mapping[str, Relation]) -> Iterable[str]:
        """Names of relations in the order of their declarations, without names of other relations."""
        if 4 * len(names) > len(relations):
            return filter(names.__contains__, relations)
        if self._places[0] is not relations:
            self._places = relations, {name: place for place, name in enumerate(relations)}
        places = self._places[1]
        return sorted((name for name in names if name in places), key=places.__getitem__)

    def _change(
        self, relation: Relation, inserted: Codes | Unread, deleted: Codes | Unread
    ) -> RelationChanges:
        return RelationChanges(relation, self._facts(relation, inserted), self._facts(relation, deleted))

    def _facts(self, relation: Relation, rows: Codes | Unread) -> Facts:
        if isinstance(rows, Unread):
            return LazyFacts(relation, self.decoder, rows)
        return CodedFacts(relation, self.decoder, rows)

    def _no_change(self, relation: Relation) -> RelationChanges:
        nothing = np.empty((0, len(relation.columns)), np.int64)
        return self._change(relation, nothing, nothing)

    def _publish(self, program: Program) -> None:
        with self.readers.publishing(program.relations.__contains__):
            self.commits.publish()
            self.program = program
            self.commit += 1
        used = self.engine.unused_values()
        if used:
            self._forget_values(used)

    def _forget_values(self, used: Mapping[Item, Codes]) -> None:
        """Give rows new codes; readers of earlier commits keep their codes and codec."""
        with self.readers.publishing(lambda _: False):
            self.engine.forget_values(used)
            self.decoder = Decoder(self.engine.codec, self._publish_frame)


def only_query(query: Query, program: Program, known: FlatProgram) -> FlatProgram:
    """Only what a query adds to a program: what it reads is there."""
    mentioned = {name for name, _ in reads(query.rule)}
    relations = {name: program.relations[name] for name in mentioned}
    relations[query.relation.name] = query.relation
    functions = {**program.functions, **query.functions}
    flat = flatten(Program(relations, functions=functions, rules={query.rule.id: query.rule}))
    strata = tuple(s for s in flat.strata if not any(name in known.relations for name in s.relations))
    return FlatProgram(flat.relations, flat.rules, flat.groupings, flat.functions, strata, is_addition=True)
