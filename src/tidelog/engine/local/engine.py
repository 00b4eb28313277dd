"""The local engine: tables, the current commit, and the leaf operators of scripts.

Between commits every table holds one state. A commit works in place: it marks rows and writes their previous
state to an undo log, from which `rollback` restores them. Compiled variants and indexes are reused across
commits, since rules rarely change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Item, Type
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.codes.garbage import Collector
from tidelog.engine.local.dense.claims import DenseForms
from tidelog.engine.local.estimates import Estimates
from tidelog.engine.local.expressions.evaluator import Evaluator, Functions
from tidelog.engine.local.expressions.folds import Folds
from tidelog.engine.local.extrema.operators import LocalExtrema
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import end_round
from tidelog.engine.local.rules.bytecode import MODES
from tidelog.engine.local.rules.cache import Variants
from tidelog.engine.local.rules.compiler import Variant
from tidelog.engine.local.rules.first_rounds import reads_nothing, with_constants
from tidelog.engine.local.rules.fusion import FusedLoops
from tidelog.engine.local.rules.groups import Groups
from tidelog.engine.local.rules.increments import Trials
from tidelog.engine.local.rules.iterations import Iterations
from tidelog.engine.local.rules.rounds import source
from tidelog.engine.local.rules.runner import Runner
from tidelog.engine.local.rules.suspects import worth_filtering
from tidelog.engine.local.storage.pending import Change, Working
from tidelog.engine.local.storage.snapshot import Unread, listed
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.engine.local.totals.operators import LocalTotals
from tidelog.engine.protocol import Check, Tell
from tidelog.errors import EngineError
from tidelog.maintain.script import Assertions, Derive, EndRound, Mode, Regroup, View
from tidelog.plan.flat import FlatProgram, FlatRule, Role, Stratum
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.typed import Absent, Match

__all__ = ["LocalEngine"]

_EMPTY = np.empty(0, np.int64)


class LocalEngine:
    def __init__(self) -> None:
        self.codec = Codec()
        self.tables: dict[str, Table] = {}
        self.statistics = Estimates(self)
        self.variants = Variants(self.statistics)
        self.pending: dict[str, Change] = {}
        self._workings: dict[str, Working] = {}  # those of earlier commits
        self._made: dict[str, None] = {}  # tables that the commit created
        self.types: dict[str, tuple[Type, ...]] = {}
        self._functions: Mapping[str, Function | PythonFunction] = {}
        self._evaluated: tuple[object, object] = None, None  # functions of the old and the new program in use
        self.dense = DenseForms(self)
        self.runner = Runner(self._working, self.tables, self.dense.bits, self.codec)
        self._program: FlatProgram | None = None
        self._program_before: FlatProgram | None = None
        self._holds = FlatProgram()  # the program of the last commit
        self._queried: set[str] = set()  # relations that queries have read since indexes were dropped
        self._collector = Collector(self.tables, self.dense.bits, self.types)
        self.traces = Iterations(self)
        self.extrema = LocalExtrema(self)
        self.totals = LocalTotals(self)
        self.fusion = FusedLoops(self)
        self.folds, self.trials = Folds(Evaluator(self.codec, {})), Trials()

    # -- relations

    def prepare(self, program: FlatProgram) -> None:
        """Begin a commit: create the tables of a program that do not exist."""
        self._program_before = self._program
        if program is not self._program:
            self._make_tables(program)
            self._program = program
            self.fusion.clear()
            self.dense.prepare(program, self._program_before)
        # removed rules may use functions that are removed with them
        if self._evaluated[0] is not self._functions or self._evaluated[1] is not program.functions:
            self._evaluated = self._functions, program.functions
            self._evaluate_with({**self._functions, **program.functions})

    def _evaluate_with(self, functions: Functions) -> None:
        """Use these functions, and the codes of now, in rules and aggregates."""
        self.runner.evaluate_with(functions)
        self.folds = Folds(Evaluator(self.codec, functions, check=self._check), self._check)

    def _check(self) -> None:
        self.runner.check(0)

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

    def forget(self, program: FlatProgram) -> None:
        """Drop the tables and variants that are not in a program."""
        change = program.since(self._holds)
        for name in change.dropped:
            if name in self.tables:
                del self.tables[name], self.types[name]
                self._workings.pop(name, None)
                self.dense.bits.pop(name, None)
        self.variants.forget(change.removed)
        self._functions, self._holds = program.functions, program

    def size(self, relation: str) -> int:
        bits = self.dense.bits.get(relation)
        return self.tables[relation].live if bits is None else bits.size

    def size_now(self, relation: str) -> int:
        """About how many rows a relation has in the current commit."""
        bits, change = self.dense.bits.get(relation), self.pending.get(relation)
        if bits is not None:
            return bits.next_size
        return self.size(relation) if change is None else change.size

    def change(self, relation: str) -> Change:
        """What the current commit has done to a relation so far."""
        change = self.pending.get(relation)
        if change is None:
            table = self.tables[relation]
            table.base = table.rows
            working = self._workings.get(relation)
            if working is None or working.table is not table:
                working = self._workings[relation] = Working(relation, table)
            else:
                working.start_over()
            change = self.pending[relation] = Change(working, table.highest)
        return change

    def _working(self, relation: str) -> Working:
        return self.change(relation).working

    # -- facts

    def assert_rows(self, relation: str, inserted: Codes, deleted: Codes) -> None:
        """Change the asserted facts. Inserting an asserted row or deleting a missing one has no effect."""
        change = self.change(relation)
        new, gone = change.working.table.assert_rows(inserted, deleted)
        change.given_before += [(gone, True), (new, False)]
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

    def copy_asserted(self, relation: str, copy: str) -> None:
        """Assert the asserted facts of a relation in a copy."""
        table = self.tables[relation]
        rows = table.codes(np.flatnonzero(table.given[: table.rows]))
        self.assert_rows(copy, rows, rows[:0])

    def changed_relations(self) -> Collection[str]:
        return self.pending

    def has_changed(self, relation: str) -> bool:
        """Whether the rows or asserted facts of a relation differ from those before the commit."""
        change = self.pending.get(relation)
        return change is not None and (self._moves(relation, change) or change.is_asserted)

    def _moves(self, relation: str, change: Change) -> bool:
        bits = self.dense.bits.get(relation)
        return change.moves if bits is None else len(bits.changed) > 0

    def was_touched(self, relation: str) -> bool:
        """Whether any row of a relation was inserted, deleted or given another count."""
        change = self.pending.get(relation)
        return change is not None and (change.is_touched or self._moves(relation, change))

    def changed_rows(self, relation: str) -> tuple[int, int]:
        """How many rows were inserted and deleted."""
        bits, change = self.dense.bits.get(relation), self.pending.get(relation)
        if bits is not None:
            return bits.changed_sizes()
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
        if (driver is not None and not len(driver)) or reads_nothing(step, self.pending, self.dense.bits):
            return 0
        before = self.runner.instances
        if not self._rediscover(step, driver, rank):
            rows = None if driver is None else len(driver)
            variant = self.variants.first(step.rule, step.driver, rows)
            driver = self._matching(variant, step, driver)
            self.runner.run(variant, step.views, driver, step.mode, rank)
        return self.runner.instances - before

    def _matching(self, variant: Variant, step: Derive, driver: Rows | None) -> Rows | None:
        """The rows of a delta that can match the first atom, as far as that is known."""
        if driver is None or step.driver is None or step.views[step.driver] is not View.DELTA:
            return driver
        first = variant.stages[0].levels[0] if variant.stages[0].levels else None
        if step.mode is not Mode.INSERT or first is None or first.join is None:
            return driver
        if first.join.position != step.driver or first.join.relation in self.dense.bits:
            return driver
        working = self.change(first.join.relation).working
        return with_constants(first, working, self.runner.slots(variant), driver)

    def done_so_far(self, relation: str) -> tuple[int, int]:
        return self.runner.examined, self.change(relation).working.found_since

    def prepared(self) -> int:
        return self.variants.planned

    def expected(self, step: Derive, rows: int | None = None) -> float:
        """How many instances a rule is expected to have, from so many rows of its first literal."""
        if rows is None:
            driver = self.driver(step)
            rows = 1 if driver is None else self._driver_size(step, driver)
        return rows * self.variants.expected(step.rule, step.driver)

    def _driver_size(self, step: Derive, driver: Rows) -> int:
        """How many rows a driver stands for."""
        assert step.driver is not None
        literal = step.rule.body[step.driver]
        assert isinstance(literal, Match | Absent)
        bits = self.dense.bits.get(literal.relation)
        return len(driver) if bits is None else bits.changed_sizes()[source(step) != layout.INSERTED_AT]

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
        """The rows that a step starts from, or, if they are bits, the places whose rows have changed."""
        if step.driver is None:
            return None
        literal = step.rule.body[step.driver]
        assert isinstance(literal, Match | Absent)
        change, bits = self.pending.get(literal.relation), self.dense.bits.get(literal.relation)
        if change is None:
            return _EMPTY
        if bits is not None:
            return bits.changed if bits.changed_sizes()[source(step) != layout.INSERTED_AT] else _EMPTY
        match source(step):
            case layout.INSERTED_AT:
                return change.inserted
            case layout.DELETED_AT:
                return change.deleted
            case layout.SEARCHED_AT:
                return change.suspects if step.rule.role is Role.BY_KEY else change.search()
            case _:
                return change.working.delta

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
        self.list_suspects(step)
        return None if self.dense.wants(step.relations) else total

    def list_suspects(self, step: EndRound) -> None:
        """Record the suspects at the end of a round of deletion."""
        if step.mode is Mode.REMOVE:
            for name in step.relations:
                change = self.change(name)
                change.suspect(change.working.worklist)

    def watch(self, check: Check, tell: Tell) -> None:
        self.runner.check = check

    def found_so_far(self, relations: Iterable[str]) -> int:
        """How many rows were put on the worklist since the last round counted by the scheduler."""
        changes = (self.pending.get(name) for name in relations)
        found = sum(change.working.found_since for change in changes if change is not None)
        return self.fusion.found_so_far() + found

    def delta(self, relations: Iterable[str]) -> int:
        total = 0
        for name in relations:
            total += self.change(name).working.delta_size
        return total

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

    def mean_rank(self, relations: Iterable[str]) -> float:
        """The mean of the mean ranks of samples, weighted by the sizes of the relations in this commit."""
        sizes = {name: max(self.size_now(name), 1) for name in relations if name not in self.dense.bits}
        means = sum(size * self.tables[name].mean_rank() for name, size in sizes.items())
        return means / sum(sizes.values()) if sizes else 0.0

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
        groups = Groups(
            step.grouping, source, change.working.table, self.folds, self.trials, lambda: self.runner.check(0)
        )
        change.replace(*groups.regroup(everything=step.all))

    def examine(self, rule: FlatRule, views: Sequence[View]) -> None:
        """Raise if an instance of a rule fails."""
        self.runner.examine(self.variants.first(rule, None), views)

    def collect(self, rule: FlatRule, driver: int | None, rows: Rows | None, views: Sequence[View]) -> Codes:
        """The heads of all instances that do not fail, a column each."""
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

    def unused_values(self) -> dict[Item, Codes]:
        """The codes in use, for each type most of whose values are unused. Called between commits."""
        return self._collector.unused(self.codec)

    def forget_values(self, used: Mapping[Item, Codes]) -> None:
        """Drop values with unused codes. Called between commits. All existing codes become invalid."""
        self.codec = self.runner.codec = self._collector.renew(self.codec, used)
        self._evaluate_with(self._functions)
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
            self._workings.pop(name, None)
            self.tables.pop(name, None)
            self.types.pop(name, None)
        self._made.clear()

    # -- other forms

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

    def rows_now(self, relation: str) -> Codes:
        """The tuples of a relation in the current commit."""
        bits = self.dense.bits.get(relation)
        return self.rows(relation) if bits is None else bits.rows_now()

    def changes(self, relation: str) -> tuple[Codes | Unread, Codes | Unread]:
        """The tuples that the current commit inserted and deleted; copied later if they are many."""
        if relation in self.dense.bits:
            return self.dense.bits[relation].inserted(), self.dense.bits[relation].deleted()
        table = self.tables[relation]
        change = self.pending.get(relation)
        if change is None:
            return listed(table, _EMPTY), listed(table, _EMPTY)
        return listed(table, change.inserted), listed(table, change.deleted)

    def given_before(self, relation: str, table: Table) -> npt.NDArray[np.uint8]:
        """Which rows of a relation's table were asserted as of the last commit.

        May be called while a commit runs in another thread: it logs each change before making it.
        """
        given = table.given[: table.rows].copy()
        changes = [self.pending.get(relation), *self.dense.before.get(relation, ())[:1]]
        change = next((c for c in changes if c is not None and c.working.table is table), None)
        for rows, before in reversed(list(change.given_before)) if change is not None else ():
            given[rows[rows < len(given)]] = before  # later rows were added since
        return given
