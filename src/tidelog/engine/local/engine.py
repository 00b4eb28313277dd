"""The local engine: tables, the commit at work, and the leaf operators that scripts are made of.

Between commits every table holds one state. A commit works in place: rows are marked, and what they were is
written down, so that `rollback` can put everything back. Compiled variants and indexes are kept from commit
to commit, since rules rarely change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Scalar, Type
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.codes.garbage import Collector
from tidelog.engine.local.dense import conversion as dense
from tidelog.engine.local.dense.matrix import BitRelation, Difference, Pattern, pattern, pays, sparse
from tidelog.engine.local.extrema.best import Improvement
from tidelog.engine.local.extrema.candidates import Candidates
from tidelog.engine.local.kernels.layout import DELTA, OLD
from tidelog.engine.local.kernels.support import end_round
from tidelog.engine.local.rules.bytecode import MODES, Bytecode, Request
from tidelog.engine.local.rules.cache import Variants
from tidelog.engine.local.rules.groups import regroup
from tidelog.engine.local.rules.rounds import LARGE, Loop
from tidelog.engine.local.rules.runner import Runner
from tidelog.engine.local.rules.suspects import worth_filtering
from tidelog.engine.local.storage.pending import Change, Working
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.engine.protocol import Check, Claimed, Hurried, Tell, TurnDense
from tidelog.errors import EngineError
from tidelog.maintain.script import Assertions, Derive, EndRound, Improve, Mode, Regroup, Repeat, View
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum
from tidelog.program.typed import Absent, Function, Match, PythonFunction

__all__ = ["LocalEngine"]

_EMPTY = np.empty(0, np.int64)


class LocalEngine:
    def __init__(self) -> None:
        self.codec = Codec()
        self.tables: dict[str, Table] = {}
        self._variants = Variants(self._size_now, lambda name, key: self.tables[name].alike(key))
        self._changes: dict[str, Change] = {}
        self._made: list[str] = []
        self.types: dict[str, tuple[Type, ...]] = {}
        self._functions: Mapping[str, Function | PythonFunction] = {}
        self._runner = Runner(self._working, self.tables, self.codec)
        self.bits: dict[str, BitRelation] = {}
        self._patterns: dict[str, Pattern] = {}
        self._program: FlatProgram | None = None
        self._booting: frozenset[str] = frozenset()
        self._domains: dict[str, int] = {}
        self.read: frozenset[str] = frozenset()  # relations whose rows a rule of the old program reads
        self._before: dict[str, tuple[Change, BitRelation | None]] = {}  # as they were, if forms changed
        self._refrains = False
        self._iteration = 0
        self._loop: Loop | None = None  # while it runs
        self._collector = Collector(self.tables, self.bits, self.types)

    # -- relations

    def prepare(self, program: FlatProgram) -> None:
        """Make the tables of a program that are not there."""
        for name, stored in program.relations.items():
            if name not in self.tables:
                self.tables[name] = Table(len(stored.types))
                self.types[name] = stored.types
                self._made.append(name)
            elif self.types[name] != stored.types:
                raise EngineError(
                    f"`{name}` cannot get other columns in one commit; drop it, and declare it in the next"
                )
        if program is not self._program:
            found = (pattern(stratum, program) for stratum in program.strata if not self._refrains)
            self._patterns = {fits.relation: fits for fits in found if fits is not None}
            self._program = program
            for name in [n for n in self.bits if n not in self._patterns and n in program.used()]:
                self._to_rows(name, self.bits[name])
        # rules that go may use functions that go with them
        self._runner.evaluate_with({**self._functions, **program.functions})

    def fitting(self) -> set[str]:
        """The dense relations whose bit rows follow from the rules that the program has for them."""
        return {name for name, bits in self.bits.items() if bits.pattern == self._patterns.get(name)}

    def have_fitting(self, names: Iterable[str]) -> None:
        """Take the bit rows of these relations for those of the program's rules, as `fitting` said."""
        for name in names:
            if name in self.bits:
                self.bits[name].pattern = self._patterns.get(name)

    def forget(self, program: FlatProgram) -> None:
        """Drop the tables and variants that a program does not have."""
        for name in [n for n in self.tables if n not in program.relations]:
            del self.tables[name], self.types[name]
            self.bits.pop(name, None)
        self._variants.forget(program)
        self._functions = program.functions

    def size(self, relation: str) -> int:
        return self.bits[relation].size if relation in self.bits else self.tables[relation].live

    def _size_now(self, relation: str) -> int:
        """About how many rows a relation has in the commit at work."""
        change = self._changes.get(relation)
        return self.size(relation) if change is None else change.size

    def change(self, relation: str) -> Change:
        """What the commit at work has done to a relation so far."""
        change = self._changes.get(relation)
        if change is None:
            table = self.tables[relation]
            table.base = table.rows
            change = self._changes[relation] = Change(Working(relation, table), highest=table.highest)
        return change

    def _working(self, relation: str) -> Working:
        return self.change(relation).working

    # -- facts

    def assert_rows(self, relation: str, inserted: Codes, deleted: Codes) -> None:
        """Take a change of the asserted facts; what is asserted already or is not there changes nothing."""
        change = self.change(relation)
        new, gone = change.working.table.assert_rows(inserted, deleted)
        change.given_before += [(gone, np.ones(len(gone), np.uint8)), (new, np.zeros(len(new), np.uint8))]
        if not len(change.given_inserted) and not len(change.given_deleted):
            change.given_inserted, change.given_deleted = new, gone
            return
        # what an earlier call in this commit did may be undone by this one
        came_before, went_before = change.given_inserted, change.given_deleted
        change.given_inserted = np.union1d(np.setdiff1d(came_before, gone), np.setdiff1d(new, went_before))
        change.given_deleted = np.union1d(np.setdiff1d(went_before, new), np.setdiff1d(gone, came_before))

    def has_changed(self, relation: str) -> bool:
        """Whether anything about a relation, or what is asserted of it, is different in this commit."""
        change = self._changes.get(relation)
        return change is not None and (change.moves or change.is_asserted)

    def was_touched(self, relation: str) -> bool:
        """Whether any row of a relation came, went or changed its count."""
        change = self._changes.get(relation)
        return change is not None and change.is_touched

    def changed_rows(self, relation: str) -> tuple[int, int]:
        """How many rows entered and left a relation."""
        change = self._changes.get(relation)
        return (0, 0) if change is None else (len(change.inserted), len(change.deleted))

    def asserted_changes(self, relation: str) -> tuple[int, int]:
        """How many facts were asserted and retracted."""
        change = self._changes.get(relation)
        return (0, 0) if change is None else (len(change.given_inserted), len(change.given_deleted))

    # -- leaf operators

    def enter(self, stratum: Stratum) -> int:
        """Begin work on a unit; the highest rank in use in it."""
        self._booting, self._iteration = frozenset(), 0
        self._runner.inside, self._runner.passed_over = stratum.relations, False
        return max((self.change(n).highest for n in stratum.relations), default=0)

    def derive(self, step: Derive, rank: int) -> int:
        """Find a rule's instances; how many there were."""
        driver = self.driver(step)
        if driver is not None and not len(driver):
            return 0
        before = self._runner.instances
        if not self._rediscover(step, driver, rank):
            self._runner.run(
                self._variants.first(step.rule, step.driver), step.views, driver, step.mode, rank
            )
        return self._runner.instances - before

    def _rediscover(self, step: Derive, suspects: Rows | None, rank: int) -> bool:
        """Look for suspects by one variable of the head, if binding all of it would repeat much work."""
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
        variant = self._variants.given(rule, name)
        self._runner.rediscover(variant, step.views[1 : 1 + len(rule.body)], {name: values}, rank)
        return True

    def driver(self, step: Derive) -> Rows | None:
        if step.driver is None:
            return None
        literal = step.rule.body[step.driver]
        assert isinstance(literal, Match | Absent)
        change = self._changes.get(literal.relation)
        if change is None:
            return _EMPTY
        view = step.views[step.driver]
        if view is View.DELTA:
            return change.working.delta
        if view is View.SUSPECTS:
            return change.searched
        positive = isinstance(literal, Match)
        return change.inserted if (view is View.INSERTED) == positive else change.deleted

    def assertions(self, step: Assertions, rank: int) -> int:
        """Asserted facts as instances with an empty body."""
        total = 0
        for name in step.relations:
            change = self.change(name)
            rows = change.asserted(step)
            if len(rows):
                self._runner.apply_rows(change.working, rows, step.mode, rank)
                total += len(rows)
        return total

    def end_round(self, step: EndRound) -> int:
        """Make the listed heads the next delta; how many they are."""
        mode = MODES[step.mode]
        total = sum(int(end_round(self.change(name).working.table.at, mode)) for name in step.relations)
        self._end(step)
        return total

    def _end(self, step: EndRound) -> None:
        """A round has ended: suspects are known, and a form may be asked for."""
        for name in step.relations:
            if step.mode is Mode.REMOVE:
                change = self.change(name)
                change.suspects = change.working.listed
            self._ask_form(name)

    def hurry(self, step: Repeat, rank: int, most: int) -> Hurried | None:
        """Run rounds of a repetition in one go, if deltas are small and nothing is computed on columns."""
        *derivations, end = step.steps
        assert isinstance(end, EndRound)
        if self.delta(step.relations) > LARGE:
            return None
        bytecodes: list[Bytecode] = []
        for part in derivations:
            assert isinstance(part, Derive)
            variant = self._variants.first(part.rule, part.driver)
            if len(variant.stages) > 1 or variant.head is None:
                return None
            request = Request(0, part.views, DELTA, MODES[part.mode], self._runner.inside, ())
            bytecodes.append(self._runner.bytecode_for(variant, request))
        targets = [self._working(bytecode.variant.rule.head) for bytecode in bytecodes]
        relations = [self._working(name) for name in step.relations]
        loop = self._loop = Loop(bytecodes, targets, relations, MODES[end.mode], rank)
        try:
            loop.run(most, self._runner.check)
        finally:
            self._loop = None
        self._end(end)
        return Hurried(loop.rounds, loop.found, loop.instances)

    def watch(self, check: Check, tell: Tell) -> None:
        self._runner.check = check

    def listed(self, relations: Iterable[str]) -> int:
        """How many rows were listed since the last round that is known of ended."""
        ended = 0 if self._loop is None else self._loop.found
        changes = (self._changes.get(name) for name in relations)
        return ended + sum(change.working.listed_since for change in changes if change is not None)

    def _ask_form(self, name: str) -> None:
        """Whether a relation that is being bootstrapped should rather be a matrix."""
        asked = name in self._booting and name not in self.read and self._patterns.get(name)
        rows = self.tables[name].rows
        if asked and pays(rows, 0):  # large enough to ask what values there are, once
            if name not in self._domains:
                self._domains[name] = dense.domain_size(asked, self.tables)
            if pays(rows, self._domains[name]):
                raise TurnDense

    def delta(self, relations: Iterable[str]) -> int:
        return sum(self.change(name).working.delta_size for name in relations)

    def pending(self, relations: Iterable[str]) -> int:
        return sum(self.change(name).trace.waiting for name in relations)

    def depart(self, relations: Iterable[str]) -> int:
        """Go to the next iteration at which something changed; how many rows lose their place."""
        names = list(relations)
        self._iteration = min(self.change(name).trace.soonest(self._iteration) for name in names)
        return sum(self.change(name).depart(self._iteration) for name in names)

    def arrive(self, relations: Iterable[str]) -> int:
        """How many rows come at the iteration at work."""
        return sum(self.change(name).arrive(self._iteration) for name in relations)

    def examine(self, rules: Iterable[FlatRule]) -> None:
        """Raise if an instance fails, where one was passed over since the unit was entered."""
        if self._runner.passed_over:
            for rule in rules:
                self._runner.examine(self._variants.first(rule, None), [View.NEW] * len(rule.body))

    def clear(self, relations: Iterable[str], traced: bool) -> None:
        """Empty relations, whatever was done to them in this commit so far."""
        self._booting = frozenset(relations)
        self._domains.clear()
        for name in self._booting:
            self.change(name).empty()
            self.change(name).renew_trace(traced)
            fits = self._patterns.get(name)
            if fits is not None and name not in self.read and dense.is_cyclic(fits, self.tables):
                raise TurnDense

    def highest(self, relations: Iterable[str], rank: int) -> None:
        for name in relations:
            self.change(name).highest = max(self.change(name).highest, rank)

    def finish(self, stratum: Stratum) -> None:
        """The unit has its new state: what entered and left it is known to those above."""
        for name in stratum.relations:
            if name in self._changes:
                self._changes[name].settle()
        self._runner.inside = frozenset()

    def merge(self, parts: Sequence[frozenset[str]]) -> None:
        """Make one unit of several by adding to the ranks of each the highest of those before it."""
        below = 0
        for relations in parts:
            changes = [self.change(name) for name in relations]
            highest = max(change.highest for change in changes)
            for change in changes:
                change.lift(below)
            below += highest

    # -- matrices

    def claim(self, stratum: Stratum, start: bool = False) -> Claimed | None:
        """Run a unit on a bit matrix, if it is kept as one or should be from now on."""
        if len(stratum.relations) != 1:
            return None
        (name,) = stratum.relations
        fits = self._patterns.get(name)
        if start:
            assert fits is not None
            self._to_bits(name, fits)
        kept = self.bits.get(name)
        if kept is None:
            return None
        if fits is None or (not start and sparse(kept.size)):
            self._to_rows(name, kept)
            return None
        below = {other: (table, self._changes.get(other)) for other, table in self.tables.items()}
        rounds = dense.run_whole(kept, fits, self.change(name), below, self._all_heads, self._runner.check)
        return Claimed(rounds, dense.WHY, rows=kept.next_size)

    def refrain(self) -> None:
        self._refrains = True

    def _all_heads(self, rule: FlatRule) -> Codes:
        """What a rule gives over the new state, a row each; an error if it fails."""
        views = [View.NEW] * len(rule.body)
        self._runner.passed_over = False
        heads = self.collect(rule, None, None, views)
        if self._runner.passed_over:
            self._runner.examine(self._variants.first(rule, None), views)
        return heads.T

    def _to_bits(self, name: str, fits: Pattern) -> None:
        """Keep a relation as a matrix from now on; its table holds only what is asserted."""
        table = self.tables[name]
        self._before.setdefault(name, (self.change(name), self.bits.get(name)))
        kept = self.bits[name] = BitRelation()
        kept.load(table.data[: table.rows][(table.tags[: table.rows] & OLD) != 0], fits.turned)
        self.tables[name] = dense.asserted_only(table)
        self._changes[name] = Change(Working(name, self.tables[name]))

    def _to_rows(self, name: str, kept: BitRelation) -> None:
        """Keep a relation as rows again; what supports them is not known, so it has to be bootstrapped."""
        self._before.setdefault(name, (self.change(name), kept))
        self.tables[name] = dense.with_rows(self.tables[name], kept.rows())
        del self.bits[name]
        self._changes[name] = Change(Working(name, self.tables[name]))

    def must_bootstrap(self, stratum: Stratum) -> bool:
        return any(name in self._before for name in stratum.relations)

    # -- groups

    def regroup(self, step: Regroup) -> None:
        """The new results of groups that were touched take the place of their old ones."""
        source, change = self.change(step.grouping.instances), self.change(step.grouping.results)
        touched = None if step.all else source.touched()
        old, new = regroup(
            step.grouping,
            source.working.table,
            touched,
            change.working.table,
            self.codec,
            lambda: self._runner.check(0),
        )
        change.replace(old, new)

    # -- the best value per key

    def doubt(self, relations: Iterable[str]) -> None:
        for name in relations:
            self.change(name).doubt()

    def improve(self, stratum: Stratum, step: Improve, check_round: Callable[[], None]) -> int:
        """Find the best values; the number of candidates seen."""
        tables = {name: self.tables[name] for name in stratum.relations}
        work = Improvement(stratum, tables, self.types, self.codec, self._note)
        candidates = Candidates(self, stratum, work)
        found = candidates.from_nothing() if step.all else candidates.from_changes(step.kept, step.added)
        self._runner.passed_over = False
        work.run(found, self.collect, check_round)
        if self._runner.passed_over:  # what failed on the way may be superseded, or be an error
            for rule in stratum.rules:
                self._runner.examine(self._variants.first(rule, None), work.views(rule, View.NEW))
        for name in stratum.relations:
            change = self.change(name)
            change.aims, superseded = work.put_back(name)
            change.working.list_rows(superseded)
            change.doubted = len(change.working.listed)
        return work.candidates

    def aim(self, relations: Iterable[str]) -> None:
        for name in relations:
            self.change(name).aim()

    def rest(self, relations: Iterable[str]) -> None:
        for name in relations:
            self.change(name).rest()

    def collect(self, rule: FlatRule, driver: int | None, rows: Rows | None, views: Sequence[View]) -> Codes:
        return self._runner.collect(self._variants.first(rule, driver), views, rows)

    def _note(self, relation: str, rows: Rows) -> None:
        self.change(relation).working.log(rows)

    # -- the end

    def commit(self) -> None:
        """The new state becomes the state."""
        for kept in self.bits.values():
            kept.commit()
        self._before.clear()
        self.read = frozenset(self.tables) - frozenset(self._patterns)
        for change in self._changes.values():
            change.publish()
        self._changes.clear()
        self._made.clear()

    def tidy(self) -> None:
        """Drop the indexes that no rule has asked for; between commits."""
        used = self._variants.indexes()
        for table in self.tables.values():
            table.drop_indexes(used)

    def unused_values(self) -> dict[Scalar, Codes]:
        """The codes in use of types most of whose values are not; to be asked between commits."""
        return self._collector.unused(self.codec)

    def forget_values(self, used: Mapping[Scalar, Codes]) -> None:
        """Forget the values whose codes are not in use; between commits. All that was encoded is void."""
        self.codec = self._runner.codec = self._collector.renew(self.codec, used)
        self._runner.evaluate_with(self._functions)
        self._variants.clear()

    def rollback(self) -> None:
        """Everything is again as it was before the commit began."""
        for change in [*self._changes.values(), *(before for before, _ in self._before.values())]:
            change.undo()
        self._changes.clear()
        for kept in self.bits.values():
            kept.rollback()
        self._put_forms_back()
        for name in self._made:
            self.tables.pop(name, None)
            self.types.pop(name, None)
        self._made.clear()

    def _put_forms_back(self) -> None:
        for name, (change, kept) in self._before.items():
            self.tables[name] = change.working.table
            self.bits.pop(name, None)
            if kept is not None:
                self.bits[name] = kept
        self._before.clear()

    # -- reading

    def rows(self, relation: str) -> Codes:
        """The tuples of a relation, a row each."""
        if relation in self.bits:
            return self.bits[relation].rows()
        table = self.tables[relation]
        return table.data[table.alive()]

    def changes(self, relation: str) -> tuple[Codes | Difference, Codes | Difference]:
        """The tuples that entered and left a relation in the commit at work; of dense ones, a promise."""
        if relation in self.bits:
            return self.bits[relation].inserted(), self.bits[relation].deleted()
        table = self.tables[relation]
        change = self._changes.get(relation)
        if change is None:
            nothing = np.empty((0, table.arity), np.int64)
            return nothing, nothing
        if len(change.inserted) == table.rows:  # all of them, in this order; values never change
            return table.data[: table.rows], table.data[:0]
        return table.data[change.inserted], table.data[change.deleted]

    def given_before(self, relation: str, table: Table) -> npt.NDArray[np.uint8]:
        """Which rows of a relation's table, as it was then, were asserted at the last commit.

        Also while a commit is at work, in another thread: it writes down what it is about to change.
        """
        given = table.given[: table.rows].copy()
        changes = [self._changes.get(relation), *self._before.get(relation, ())[:1]]
        change = next((c for c in changes if c is not None and c.working.table is table), None)
        for rows, before in reversed(list(change.given_before)) if change is not None else ():
            known = rows < len(given)  # others came since
            given[rows[known]] = before[known]
        return given
