"""Strata whose rules are strict: a better head replaces the tuple of its key, with its rank and count.

Between `begin` and `end`, every relation of the stratum has `BestRows`, by which kernels find the tuple of a
key. A replaced tuple is deleted at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.extrema.waiting import next_delta
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.rules.bytecode import MODES, Bytecode, Request
from tidelog.engine.local.rules.parts import Parts
from tidelog.engine.local.storage.best import BestRows
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.pending import Bindings, Change
from tidelog.engine.protocol import FusedRounds
from tidelog.engine.rounds import Rounds
from tidelog.maintain.script import Assertions, Conclude, Derive, Mode, View
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.typed import Bind, Expr, Match, Var

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["Replacing", "keep_best_rows"]


def keep_best_rows(engine: LocalEngine, stratum: Stratum, *, is_empty: bool) -> None:
    """Give the relations with a best value per key their `BestRows`, or none of them if memory runs out."""
    try:
        for name, of in stratum.best:
            table, type_ = engine.tables[name], engine.types[name][of.column]
            made = BestRows(table, of, type_, engine.codec, is_empty=is_empty)
            engine.change(name).working.keep_best(made)
    except BaseException:
        for name, _ in stratum.best:
            engine.change(name).working.keep_best(None)
        raise


class Replacing:
    """The leaf operators of scripts in the mode REPLACE."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._rounds = 0
        self.at_work: Parts | None = None  # while partitions run

    def begin(self, stratum: Stratum, *, is_empty: bool) -> None:
        keep_best_rows(self._engine, stratum, is_empty=is_empty)
        self._rounds = 0
        for name in stratum.relations:
            change = self._engine.change(name)
            change.working.begin_delta()
            assert change.working.best is not None
            change.working.best.begin_replacing()
            if len(change.suspects):
                change.suspects = np.sort(change.suspects)  # rows of one partition are beside each other
                change.working.best.lose(change.suspects)

    def end(self, step: Conclude) -> None:
        """Forget the best rows, and raise if an instance of the final state fails."""
        engine, own = self._engine, set(step.relations)
        for name in step.relations:
            engine.change(name).working.keep_best(None)
            engine.change(name).unsettled = False
        for rule in step.rules if engine.runner.passed_over else ():
            inner = [isinstance(x, Match) and x.relation in own for x in rule.body]
            engine.examine(rule, [View.FULL if is_inner else View.NEW for is_inner in inner])

    def assertions(self, step: Assertions, rank: int) -> int:
        """Apply asserted facts as instances with an empty body; returns their number."""
        total = 0
        for name in step.relations:
            change = self._engine.change(name)
            facts = (
                _asserted_again(change) if step.again else change.working.table.codes(change.asserted(step))
            )
            nothing = Bindings([], np.full((2, len(facts)), -1, np.int64))
            self._engine.runner.apply(
                change.working, np.ascontiguousarray(facts.T), nothing, Mode.REPLACE, rank
            )
            total += len(facts)
        return total

    def end_round(self, relations: Iterable[str]) -> int:
        """Make the better rows the next delta; returns how many keys had no row before."""
        self._rounds += 1
        for name in relations:
            next_delta(self._engine.change(name).working, self._rounds)
        return self.new_keys(relations)

    def new_keys(self, relations: Iterable[str]) -> int:
        """How many keys that had no row have one since this was last called."""
        best = (self._engine.change(name).working.best for name in relations)
        return sum(rows.take_new_keys() for rows in best if rows is not None)

    def prepare(self, relations: Iterable[str]) -> None:
        """Prepare the best rows of relations, if they have any, for kernels."""
        for name in relations:
            best = self._engine.change(name).working.best
            if best is not None:
                best.prepare()

    def run_rounds(self, rounds: Rounds, rank: int, most: int | None) -> FusedRounds | None:
        """Run all rounds of one relation, one partition after the other.

        Returns None if a rule computes something on columns.
        """
        (relation,), engine = rounds.end.relations, self._engine
        bytecodes = self._fusible(rounds.derivations)
        if bytecodes is None:
            return None
        before = engine.delta(rounds.end.relations)
        self.prepare(rounds.end.relations)
        parts = self.at_work = Parts(bytecodes, engine.change(relation).working, rank)

        def judge(number: int) -> None:
            step = rounds.derivations[number]
            engine.runner.judge(bytecodes[number].variant, step.views, engine.driver(step), step.mode)

        try:
            column = self._sort_delta(relation, rounds.derivations)
            parts.run(column, most, engine.runner.check, judge)
        finally:
            self.at_work = None
        return FusedRounds(parts.rounds, self.new_keys(rounds.end.relations), *parts.done(), before)

    def _fusible(self, steps: Sequence[Derive]) -> list[Bytecode] | None:
        """The bytecodes of steps; None if something is computed on columns."""
        bytecodes: list[Bytecode] = []
        for step in steps:
            variant = self._engine.variants.first(step.rule, step.driver)
            if len(variant.stages) > 1 or variant.head is None:
                return None
            runner = self._engine.runner
            request = Request(0, step.views, layout.DELTA, MODES[step.mode], runner.inside, ())
            bytecodes.append(runner.bytecode_for(variant, request))
        return bytecodes

    def _sort_delta(self, relation: str, steps: Sequence[Derive]) -> int | None:
        """Sort the delta, and rows that wait, by a column that no rule changes; returns it, if there is one.

        Partitions by the value come in the order of the values, the best one first.
        """
        working = self._engine.change(relation).working
        assert working.best is not None
        working.end_waiting()
        column = _partition(relation, steps, working.best.column)
        if column == working.best.column:
            working.sort_delta(working.best.places)
        elif column is not None:
            working.sort_delta(partial(working.table.column, column))
        return column


def _partition(relation: str, steps: Sequence[Derive], value: int) -> int | None:
    """A column that all rules copy from the relation to the head, preferably that of the value."""
    columns = range(len(steps[0].rule.values)) if steps else ()
    return next((c for c in sorted(columns, key=lambda c: c != value) if _is_kept(relation, steps, c)), None)


def _is_kept(relation: str, steps: Sequence[Derive], column: int) -> bool:
    rules = [step.rule for step in steps]
    atoms = ((r, x) for r in rules for x in r.body if isinstance(x, Match) and x.relation == relation)
    return all(isinstance(r.values[column], Var) and x.terms[column] == _source(r, column) for r, x in atoms)


def _source(rule: FlatRule, column: int) -> Expr:
    """What a value of the head was copied from."""
    value = rule.values[column]
    copies = {x.variable: x.value for x in rule.body if isinstance(x, Bind) and isinstance(x.value, Var)}
    while isinstance(value, Var) and value in copies:
        value = copies[value]
    return value


def _asserted_again(change: Change) -> Codes:
    """The facts asserted before this commit that have the keys of suspects."""
    table, best, rows = change.working.table, change.working.best, change.suspects
    assert best is not None
    if not len(rows) or not table.given[: table.rows].any():
        return table.codes(rows[:0])
    rows = lookup(table, best.columns, table.codes(rows)[:, best.columns])[1]
    rows = rows[table.given[rows] == 1]
    return table.codes(rows[~np.isin(rows, change.given_inserted)])
