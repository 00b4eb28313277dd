"""The fallback for running a variant, used when the computation of a value failed.

It joins all atoms first, then evaluates every other literal for all rows and records the failures. A row with
a failure is an error if all its other literals hold; otherwise it is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import numpy as np
import numpy.typing as npt

from tidelog.data.types import BOOL, Option
from tidelog.engine.local.codes.codec import NONE, Codes
from tidelog.engine.local.expressions.structures import each_item
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.rules.compiler import Variant, compile_variant
from tidelog.engine.local.storage.pending import Bindings
from tidelog.engine.local.storage.table import Rows
from tidelog.errors import EngineError, shown
from tidelog.maintain.script import Mode, View
from tidelog.plan.flat import FlatLiteral
from tidelog.plan.join_order import Join, Order, Refute, values_first
from tidelog.program.typed import Absent, Binary, Bind, Each, Expr, Match, Test, Var, Wildcard

if TYPE_CHECKING:
    from tidelog.engine.local.rules.runner import Runner

__all__ = ["carefully"]


def carefully(
    runner: Runner,
    variant: Variant,
    views: Sequence[View],
    driver: Rows | None,
    mode: Mode | None,
    rank: int,
) -> None:
    """Find all instances and apply their heads according to the mode; with no mode, only report errors."""
    rule = variant.rule
    first = next((x.join for x in variant.stages[0].levels), None) if driver is not None else None
    joins = compile_variant(rule, _atoms_only(rule.body, first), computes=False)
    joins.head = None
    bindings = Bindings([], np.array([[-1], [-1]], np.int64))
    if joins.stages[0].levels:
        bytecode = runner.bytecode(joins, 0, views, driver, layout.EMIT)
        bindings = bytecode.run(runner.working(rule.head), rank, driver, bindings, runner.check)
    judged = _Judgement(runner, joins, views, bindings)
    heads = judged.heads()
    judged.raise_if_wrong()
    if mode is None:
        return
    rows = judged.rows[judged.holds]
    kept = Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, rows]))
    runner.instances += kept.size
    runner.apply(runner.working(rule.head), np.ascontiguousarray(heads[:, judged.holds]), kept, mode, rank)


class _Judgement:
    """Which bindings satisfy the literals of a body that did not fail, and where literals failed."""

    def __init__(self, runner: Runner, variant: Variant, views: Sequence[View], bindings: Bindings) -> None:
        self.runner = runner
        self.variant = variant
        self.views = views
        self.size = bindings.size
        self.rows = np.arange(self.size)  # of the bindings; one row for each item of a collection
        self.holds = np.ones(self.size, np.bool_)
        self.failures = np.zeros(self.size, np.int32)
        self.broken: dict[str, npt.NDArray[np.int32]] = {}
        self.columns: dict[str, Codes] = {
            name: bindings.data[bindings.slots.index(slot)]
            for name, slot in variant.slots.items()
            if slot in bindings.slots
        }

    def heads(self) -> Codes:
        """Evaluate every literal; returns the values of the heads."""
        for position, literal in values_first(enumerate(self.variant.rule.body)):
            match literal:
                case Bind(variable, value) if variable.name not in self.columns:
                    codes, failed = self._value(value)
                    self.columns[variable.name], self.broken[variable.name] = codes, failed
                case Bind(variable, value):  # the negated atom that drives the rule has bound it
                    self._test(Binary("==", variable, value, BOOL))
                case Each(variable, collection):
                    self._expand(variable, collection)
                case Test(condition):
                    self._test(condition)
                case Absent(relation, terms):
                    self._refute(Refute(position, relation, terms))
                case Match():
                    pass
                case _ as never:
                    assert_never(never)
        values = [self._value(v)[0] for v in self.variant.rule.values]
        return np.array(values, np.int64).reshape(len(values), self.size)

    def _expand(self, variable: Var, collection: Expr) -> None:
        """Repeat every row for each item; a row whose collection failed is kept, without an item."""
        codes, failed = self._value(collection)
        sound = np.flatnonzero(failed == 0)
        owners, items = each_item(self.runner.codec, collection.type, codes[sound])
        rows = np.concatenate([sound[owners], np.flatnonzero(failed)])
        found = np.concatenate([items, np.zeros(len(rows) - len(items), np.int64)])
        self.rows, self.holds, self.failures = self.rows[rows], self.holds[rows], self.failures[rows]
        self.columns = {name: column[rows] for name, column in self.columns.items()}
        self.broken = {name: marks[rows] for name, marks in self.broken.items()}
        self.size = len(rows)
        if variable.name in self.columns:
            same = self.columns[variable.name] == found
            if isinstance(variable.type, Option):
                same &= found != NONE
            self.holds &= same | (failed[rows] != 0)
        else:
            self.columns[variable.name], self.broken[variable.name] = found, failed[rows]

    def _test(self, condition: Expr) -> None:
        codes, failed = self._value(condition)
        self.holds &= (codes != 0) | (failed != 0)

    def _value(self, expr: Expr) -> tuple[Codes, npt.NDArray[np.int32]]:
        outcome = self.runner.evaluator.evaluate(expr, self.columns, self.size, self.broken)
        failed = np.zeros(self.size, np.int32) if outcome.failures is None else outcome.failures
        self.failures = np.where(self.failures == 0, failed, self.failures)
        return outcome.codes, failed

    def _refute(self, step: Refute) -> None:
        view = self.views[step.position]
        if view in (View.DELETED, View.INSERTED):
            return  # it drives the rule, so the bindings satisfy it
        clear = self.runner.clear_of(step, view, self.columns, self.size)
        for term in step.terms:
            if isinstance(term, Var) and term.name in self.broken:
                clear = clear | (self.broken[term.name] != 0)
        self.holds &= clear

    def raise_if_wrong(self) -> None:
        wrong = np.flatnonzero(self.holds & (self.failures != 0))
        if not len(wrong):
            return
        row = int(wrong[0])
        types = {v.name: v.type for x in self.variant.rule.body for v in _variables_of(x)}
        known = [
            f"{name} = {shown(self.runner.codec.decode(types[name], int(codes[row])))}"
            for name, codes in self.columns.items()
            if name in types and name[0] != "$" and not (name in self.broken and self.broken[name][row])
        ]
        reason = self.runner.evaluator.reason(int(self.failures[row]))
        where = f", where {', '.join(known)}" if known else ""
        raise EngineError(f"{reason}{where}, in the rule `{self.variant.rule.origin}`")


def _variables_of(literal: FlatLiteral) -> list[Var]:
    match literal:
        case Match(terms=terms) | Absent(terms=terms):
            return [t for t in terms if isinstance(t, Var)]
        case Bind(variable=variable) | Each(variable=variable):
            return [variable]
        case Test():
            return []
        case _:
            assert_never(literal)


def _atoms_only(body: Sequence[object], first: Join | None) -> Order:
    steps: list[Join] = []
    bound: set[str] = set()
    positions = [i for i, x in enumerate(body) if isinstance(x, Match)]
    if first is not None:
        positions = [first.position, *(p for p in positions if p != first.position)]
    for position in positions:
        literal = body[position]
        assert isinstance(literal, Match | Absent)
        key = tuple(
            i
            for i, t in enumerate(literal.terms)
            if not isinstance(t, Wildcard) and (not isinstance(t, Var) or t.name in bound)
        )
        bound |= {t.name for t in literal.terms if isinstance(t, Var)}
        steps.append(Join(position, literal.relation, literal.terms, key))
    return tuple(steps)
