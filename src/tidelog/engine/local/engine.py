"""The local engine: tables, the current commit, and the leaf operators of scripts.

Between commits every table holds one state. A commit works in place: it marks rows and writes their previous
state to an undo log, from which `rollback` restores them. Compiled variants and indexes are reused across
commits, since rules rarely change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Scalar, Type
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.codes.garbage import Collector
from tidelog.engine.local.dense.claims import DenseForms
from tidelog.engine.local.dense.matrix import Difference
from tidelog.engine.local.extrema.operators import LocalExtrema
from tidelog.engine.local.kernels.layout import DELTA
from tidelog.engine.local.native.calls import end_round
from tidelog.engine.local.rules.bytecode import MODES, Bytecode, Request
from tidelog.engine.local.rules.cache import Variants
from tidelog.engine.local.rules.groups import regroup
from tidelog.engine.local.rules.iterations import Iterations
from tidelog.engine.local.rules.rounds import LARGE, Loop
from tidelog.engine.local.rules.runner import Runner
from tidelog.engine.local.rules.suspects import worth_filtering
from tidelog.engine.local.storage.pending import Change, Working
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.engine.protocol import Check, FusedRounds, Tell
from tidelog.errors import EngineError
from tidelog.maintain.script import Assertions, Derive, EndRound, Mode, Regroup, Repeat, View
from tidelog.plan.flat import FlatProgram, FlatRule, Role, Stratum
from tidelog.program.typed import Absent, Function, Match, PythonFunction

__all__ = ["LocalEngine"]

_EMPTY = np.empty(0, np.int64)
_GROWTH: Final = 7  # a loop ends when relations have grown so many times, to plan joins again
_LITTLE: Final = 512  # rows that never end a loop


class _Statistics:
    """What join orders are chosen by."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine

    def size(self, relation: str) -> int:
        return self._engine.size_now(relation)

    def alike(self, relation: str, columns: tuple[int, ...]) -> float | None:
        return self._engine.tables[relation].alike(columns)


class LocalEngine:
    def __init__(self) -> None:
        self.codec = Codec()
        self.tables: dict[str, Table] = {}
        self.variants = Variants(_Statistics(self))
        self.pending: dict[str, Change] = {}
        self._made: dict[str, None] = {}  # tables that the commit created
        self.types: dict[str, tuple[Type, ...]] = {}
        self._functions: Mapping[str, Function | PythonFunction] = {}
        self.runner = Runner(self._working, self.tables, self.codec)
        self._program: FlatProgram | None = None
        self._program_before: FlatProgram | None = None
        self._holds = FlatProgram()  # the program of the last commit
        self._queried: set[str] = set()  # relations that queries have read since indexes were dropped
        self._loop: Loop | None = None  # while it runs
        self.dense = DenseForms(self)
        self._collector = Collector(self.tables, self.dense.bits, self.types)
        self.traces = Iterations(self)
        self.extrema = LocalExtrema(self)

    # -- relations

    def prepare(self, program: FlatProgram) -> None:
        """Begin a commit: create the tables of a program that do not exist."""
        self._program_before = self._program
        if program is not self._program:
            self._make_tables(program)
            self._program = program
            self.dense.prepare(program, self._program_before)
        # removed rules may use functions that are removed with them
        self.runner.evaluate_with({**self._functions, **program.functions})

    def _make_tables(self, program: FlatProgram) -> None:
        for name in program.since(self._program or FlatProgram()).relations:
            stored = program.relations[name]
            if name not in self.tables:
                self.tables[name] = Table(len(stored.types))
                self.types[name] = stored.types
                self._made[name] = None
            elif self.types[name] != stored.types:
                raise EngineError(
                    f"the columns of `{name}` cannot change in one commit; "
                    "drop it and declare it again in the next commit"
                )

    def existed(self, relation: str) -> bool:
        """Whether a relation was there before the commit."""
        return relation in self.tables and relation not in self._made

    def forget(self, program: FlatProgram) -> None:
        """Drop the tables and variants that are not in a program."""
        change = program.since(self._holds)
        for name in change.dropped:
            if name in self.tables:
                del self.tables[name], self.types[name]
                self.dense.bits.pop(name, None)
        self.variants.forget(change.removed)
        self._functions, self._holds = program.functions, program

    def size(self, relation: str) -> int:
        bits = self.dense.bits.get(relation)
        return self.tables[relation].live if bits is None else bits.size

    def size_now(self, relation: str) -> int:
        """About how many rows a relation has in the current commit."""
        change = self.pending.get(relation)
        return self.size(relation) if change is None else change.size

    def change(self, relation: str) -> Change:
        """What the current commit has done to a relation so far."""
        change = self.pending.get(relation)
        if change is None:
            table = self.tables[relation]
            table.base = table.rows
            change = self.pending[relation] = Change(Working(relation, table), highest=table.highest)
        return change

    def _working(self, relation: str) -> Working:
        return self.change(relation).working

    # -- facts

    def assert_rows(self, relation: str, inserted: Codes, deleted: Codes) -> None:
        """Change the asserted facts. Inserting an asserted row or deleting a missing one has no effect."""
        change = self.change(relation)
        new, gone = change.working.table.assert_rows(inserted, deleted)
        change.given_before += [(gone, np.ones(len(gone), np.uint8)), (new, np.zeros(len(new), np.uint8))]
        if not len(change.given_inserted) and not len(change.given_deleted):
            change.given_inserted, change.given_deleted = new, gone
            return
        # this call may undo an earlier one of the same commit
        inserted_before, deleted_before = change.given_inserted, change.given_deleted
        change.given_inserted = np.union1d(
            np.setdiff1d(inserted_before, gone), np.setdiff1d(new, deleted_before)
        )
        change.given_deleted = np.union1d(
            np.setdiff1d(deleted_before, new), np.setdiff1d(gone, inserted_before)
        )

    def changed_relations(self) -> Collection[str]:
        return self.pending

    def has_changed(self, relation: str) -> bool:
        """Whether the rows or asserted facts of a relation differ from those before the commit."""
        change = self.pending.get(relation)
        return change is not None and (change.moves or change.is_asserted)

    def was_touched(self, relation: str) -> bool:
        """Whether any row of a relation was inserted, deleted or given another count."""
        change = self.pending.get(relation)
        return change is not None and change.is_touched

    def changed_rows(self, relation: str) -> tuple[int, int]:
        """How many rows were inserted and deleted."""
        change = self.pending.get(relation)
        return (0, 0) if change is None else (len(change.inserted), len(change.deleted))

    def asserted_changes(self, relation: str) -> tuple[int, int]:
        """How many facts were asserted and retracted."""
        change = self.pending.get(relation)
        return (0, 0) if change is None else (len(change.given_inserted), len(change.given_deleted))

    # -- leaf operators

    def enter(self, stratum: Stratum) -> int:
        """Begin work on a stratum; returns the highest rank in use."""
        self.dense.enter()
        self.traces.enter()
        self.runner.inside, self.runner.passed_over = stratum.relations, False
        return max((self.change(n).highest for n in stratum.relations), default=0)

    def is_idle(self, step: Derive) -> bool:
        """Whether there are no rows to start from."""
        driver = self.driver(step)
        return driver is not None and not len(driver)

    def derive(self, step: Derive, rank: int) -> int:
        """Find a rule's instances and apply them to their heads; returns their number."""
        driver = self.driver(step)
        if driver is not None and not len(driver):
            return 0
        before = self.runner.instances
        if not self._rediscover(step, driver, rank):
            self.runner.run(self.variants.first(step.rule, step.driver), step.views, driver, step.mode, rank)
        return self.runner.instances - before

    def expected(self, step: Derive, rows: int | None = None) -> float:
        """How many instances a rule is expected to have, from so many rows of its first literal."""
        if rows is None:
            driver = self.driver(step)
            rows = 1 if driver is None else len(driver)
        return rows * self.variants.expected(step.rule, step.driver)

    def _rediscover(self, step: Derive, suspects: Rows | None, rank: int) -> bool:
        """Re-derive suspects by one head variable, if binding the whole head would repeat much work."""
        if suspects is None or step.mode is not Mode.REDERIVE or len(self.change(step.rule.head).aims):
            return False
        assert self._program is not None
        rule = self._program.rules[step.rule.id]
        head = step.rule.body[0]
        assert isinstance(head, Match)
        table = self.tables[rule.head]
        chosen = worth_filtering(head, table.data[: table.rows], suspects)
        if chosen is None:
            return False
        name, values = chosen
        variant = self.variants.given(rule, name)
        self.runner.rediscover(variant, step.views[1 : 1 + len(rule.body)], {name: values}, rank)
        return True

    def driver(self, step: Derive) -> Rows | None:
        if step.driver is None:
            return None
        literal = step.rule.body[step.driver]
        assert isinstance(literal, Match | Absent)
        change = self.pending.get(literal.relation)
        if change is None:
            return _EMPTY
        view = step.views[step.driver]
        if view is View.DELTA:
            return change.working.delta
        if view is View.SUSPECTS:
            return change.suspects if step.rule.role is Role.BY_KEY else change.searched
        positive = isinstance(literal, Match)
        return change.inserted if (view is View.INSERTED) == positive else change.deleted

    def assertions(self, step: Assertions, rank: int) -> int:
        """Apply asserted facts as instances with an empty body; returns their number."""
        if step.mode is Mode.REPLACE:
            return self.extrema.replacing.assertions(step, rank)
        total = 0
        for name in step.relations:
            change = self.change(name)
            rows = change.asserted(step)
            if len(rows):
                self.runner.apply_rows(change.working, rows, step.mode, rank)
                total += len(rows)
        return total

    def end_round(self, step: EndRound) -> int | None:
        """Make the worklist the next delta; returns its size, or None to request the dense form."""
        if step.mode is Mode.REPLACE:
            return self.extrema.replacing.end_round(step.relations)
        mode = MODES[step.mode]
        total = sum(end_round(self.change(name).working.table.at, mode) for name in step.relations)
        self._end(step)
        return None if self.dense.wants(step.relations) else total

    def _end(self, step: EndRound) -> None:
        """Record the suspects at the end of a round of deletion."""
        if step.mode is Mode.REMOVE:
            for name in step.relations:
                change = self.change(name)
                change.suspects = change.working.worklist

    def run_rounds(self, step: Repeat, rank: int, most: int | None) -> FusedRounds | None:
        """Run rounds of a repetition in one call, if deltas are small and nothing is computed on columns.

        Deltas may be large if better heads replace others.
        """
        *derivations, end = step.steps
        assert isinstance(end, EndRound)
        in_parts = end.mode is Mode.REPLACE and len(step.relations) == 1
        if self.delta(step.relations) > LARGE and not in_parts:
            return None
        steps = [part for part in derivations if isinstance(part, Derive)]
        bytecodes = self._fusible(steps)
        if bytecodes is None:
            return None

        def judge(number: int) -> None:
            part = steps[number]
            self.runner.judge(bytecodes[number].variant, part.views, self.driver(part), part.mode)

        targets = [self._working(bytecode.variant.rule.head) for bytecode in bytecodes]
        relations = [self._working(name) for name in step.relations]
        for working in relations:
            if working.best is not None:
                working.best.prepare()
        loop = self._loop = Loop(bytecodes, targets, relations, MODES[end.mode], rank)
        try:
            if in_parts:
                column = self.extrema.replacing.sort_delta(step.relations[0], steps)
                loop.run_parts(column, most, self.runner.check, judge)
            else:
                enough = max(_LITTLE, _GROWTH * sum(map(self.size_now, step.relations)))
                loop.run(most, enough, self.runner.check, judge)
        finally:
            self._loop = None
        self._end(end)
        rows = loop.found if end.mode is not Mode.REPLACE else self.extrema.replacing.new_keys(step.relations)
        return FusedRounds(loop.rounds, rows, loop.instances, self.dense.wants(step.relations))

    def _fusible(self, steps: Sequence[Derive]) -> list[Bytecode] | None:
        """The bytecodes of steps; None if something is computed on columns."""
        bytecodes: list[Bytecode] = []
        for part in steps:
            variant = self.variants.first(part.rule, part.driver)
            if len(variant.stages) > 1 or variant.head is None:
                return None
            request = Request(0, part.views, DELTA, MODES[part.mode], self.runner.inside, ())
            bytecodes.append(self.runner.bytecode_for(variant, request))
        return bytecodes

    def running(self) -> tuple[int, int]:
        """The number of the step in the running repetition, and how many of its rounds have ended."""
        return (0, 0) if self._loop is None else (self._loop.position, self._loop.rounds)

    def watch(self, check: Check, tell: Tell) -> None:
        self.runner.check = check

    def found_so_far(self, relations: Iterable[str]) -> int:
        """How many rows were put on the worklist since the last round counted by the scheduler."""
        ended = 0 if self._loop is None or self._loop.replaces else self._loop.found
        changes = (self.pending.get(name) for name in relations)
        return ended + sum(change.working.found_since for change in changes if change is not None)

    def delta(self, relations: Iterable[str]) -> int:
        return sum(self.change(name).working.delta_size for name in relations)

    def clear(self, relations: Iterable[str], traced: bool) -> bool:
        """Empty relations, including anything the commit inserted so far."""
        names = frozenset(relations)
        for name in names:
            self.change(name).empty()
            self.change(name).renew_trace(traced)
        return self.dense.clear(names)

    def raise_highest(self, relations: Iterable[str], rank: int) -> None:
        for name in relations:
            self.change(name).highest = max(self.change(name).highest, rank)

    def finish(self, stratum: Stratum) -> None:
        """End work on a stratum: find the rows inserted and deleted, for the strata above."""
        for name in stratum.relations:
            if name in self.pending:
                self.pending[name].settle()
        self.runner.inside = frozenset()

    def merge(self, parts: Sequence[frozenset[str]]) -> None:
        """Merge strata into one: raise the ranks of each part by the highest ranks of those before it."""
        below = 0
        for relations in parts:
            changes = [self.change(name) for name in relations]
            highest = max(change.highest for change in changes)
            for change in changes:
                change.lift(below)
            below += highest

    # -- groups

    def regroup(self, step: Regroup) -> None:
        """Replace the results of touched groups, or of all groups."""
        source, change = self.change(step.grouping.instances), self.change(step.grouping.results)
        touched = None if step.all else source.touched()
        old, new = regroup(
            step.grouping,
            source.working.table,
            touched,
            change.working.table,
            self.codec,
            lambda: self.runner.check(0),
        )
        change.replace(old, new)

    def examine(self, rule: FlatRule, views: Sequence[View]) -> None:
        """Raise if an instance of a rule fails."""
        self.runner.examine(self.variants.first(rule, None), views)

    def collect(self, rule: FlatRule, driver: int | None, rows: Rows | None, views: Sequence[View]) -> Codes:
        return self.runner.collect(self.variants.first(rule, driver), views, rows)

    # -- the end

    def commit(self) -> None:
        """Make the new state current."""
        self.dense.commit()
        self._program_before = self._program
        for change in self.pending.values():
            change.publish()
        self.pending.clear()
        self._made.clear()

    def tidy(self, before: FlatProgram, program: FlatProgram) -> None:
        """Drop the indexes that only removed rules and queries used. Called between commits."""
        removed = (before.rules[id_] for id_ in program.since(before).removed)
        names = {name for rule in removed for name in (rule.head, *rule.reads)} | self._queried
        self._queried.clear()
        for name in names:
            if name in self.tables:
                heads = (name, *program.index.readers.get(name, ()))
                readers = (id_ for head in heads for id_ in program.index.deriving.get(head, ()))
                self.tables[name].drop_indexes(self.variants.indexes(readers))

    def unused_values(self) -> dict[Scalar, Codes]:
        """The codes in use, for each type most of whose values are unused. Called between commits."""
        return self._collector.unused(self.codec)

    def forget_values(self, used: Mapping[Scalar, Codes]) -> None:
        """Drop values with unused codes. Called between commits. All existing codes become invalid."""
        self.codec = self.runner.codec = self._collector.renew(self.codec, used)
        self.runner.evaluate_with(self._functions)
        self.variants.clear()

    def rollback(self) -> None:
        """Restore the state before the commit."""
        for change in [*self.pending.values(), *self.dense.replaced()]:
            change.undo()
        self.pending.clear()
        self.dense.rollback()
        if self._program is not None and self._program is not self._holds:
            added = self._program.since(self._holds).added
            self.variants.forget(added)
            self._queried.update(name for id_ in added for name in self._program.rules[id_].reads)
        self._program = self._program_before
        for name in self._made:
            self.tables.pop(name, None)
            self.types.pop(name, None)
        self._made.clear()

    # -- other forms

    @property
    def fusion(self) -> LocalEngine:
        return self

    @property
    def claims(self) -> DenseForms | None:
        """Dense relations are evaluated as matrices, unless `follow_scripts` was called."""
        return self.dense if self.dense.is_allowed else None

    def follow_scripts(self) -> None:
        self.dense.forbid()

    def must_bootstrap(self, stratum: Stratum) -> bool:
        return any(name in self.dense.before for name in stratum.relations)

    # -- reading

    def rows(self, relation: str) -> Codes:
        """The tuples of a relation, a row each."""
        if relation in self.dense.bits:
            return self.dense.bits[relation].rows()
        table = self.tables[relation]
        return table.codes(table.alive())

    def changes(self, relation: str) -> tuple[Codes | Difference, Codes | Difference]:
        """The tuples that the current commit inserted and deleted; computed later for dense relations."""
        if relation in self.dense.bits:
            return self.dense.bits[relation].inserted(), self.dense.bits[relation].deleted()
        table = self.tables[relation]
        change = self.pending.get(relation)
        if change is None:
            nothing = np.empty((0, table.arity), np.int64)
            return nothing, nothing
        return table.codes(change.inserted), table.codes(change.deleted)

    def given_before(self, relation: str, table: Table) -> npt.NDArray[np.uint8]:
        """Which rows of a relation's table were asserted as of the last commit.

        May be called while a commit runs in another thread: it logs each change before making it.
        """
        given = table.given[: table.rows].copy()
        changes = [self.pending.get(relation), *self.dense.before.get(relation, ())[:1]]
        change = next((c for c in changes if c is not None and c.working.table is table), None)
        for rows, before in reversed(list(change.given_before)) if change is not None else ():
            known = rows < len(given)  # later rows were added since
            given[rows[known]] = before[known]
        return given
