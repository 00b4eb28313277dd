"""Aggregates over instances, on whole columns: what a nested body means for each row.

The instances of all rows are put beside each other: the items of their sources, with the variables around
them repeated. The literals of a body then keep some of these instances, compute values in them, and repeat
them for the items of collections. An instance that fails is kept: it is an error if its other literals hold.

Rows that agree in all that an expression reads are evaluated once, and in portions, so that the instances of
many rows need not be in memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.codes.pools import lengths_to_starts
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.expressions import folds
from tidelog.engine.local.expressions.aggregates import aggregate
from tidelog.engine.local.expressions.folds import Evaluating, Folds
from tidelog.engine.local.expressions.scopes import Name, Scope, Selection
from tidelog.engine.local.expressions.structures import each_item
from tidelog.engine.local.expressions.vectors import Failures, Mask, Outcome, Vector, distinct, first_failures
from tidelog.program.folds import fold_of
from tidelog.program.library.catalog import NONE_OF
from tidelog.program.traversal import variables
from tidelog.program.typed import Bind, Each, Expr, Over, Source, Test, Var

__all__ = ["Overs"]

_PORTION: Final = 1 << 16  # items that are evaluated together; more do not stay in the caches
_Evaluate: TypeAlias = Callable[[Expr, Scope], Vector]


@dataclass(frozen=True, slots=True)
class _Instances:
    """Instances: the row of each, why it failed (or 0), and the values of the arguments."""

    owners: Codes
    failures: Failures
    args: tuple[Codes, ...]


class Overs:
    """Evaluates aggregates over instances; `evaluate` evaluates an expression in a scope."""

    def __init__(self, evaluator: Evaluating, evaluate: _Evaluate, check: Callable[[], None]) -> None:
        self._codec = evaluator.codec
        self._reasons = evaluator.reasons
        self._folds = Folds(evaluator, check)
        self._evaluate = evaluate
        self._check = check

    def value(self, expr: Over, scope: Scope) -> Vector:
        rows, places = self._different(expr, scope)
        if rows is None:
            return self._in_rows(expr, scope)
        found = self._in_rows(expr, Selection(rows).part(scope))
        return found.take(places) if places is not None else found

    def _different(self, expr: Over, scope: Scope) -> tuple[Codes | None, Codes | None]:
        """One row for each combination of what an expression reads, and for each row its number among them.

        The first is None if these are all rows, the second if there is only one combination.
        """
        read = {v.name: v for v in variables(expr)}
        vectors = [self._evaluate(v, scope) for v in read.values()]
        columns = [v.codes for v in vectors if len(v) > 1]
        columns += [v.failures.astype(np.int64) for v in vectors if len(v) > 1 and v.failures is not None]
        if not columns:
            return np.zeros(1, np.int64), None
        rows, places = distinct(columns)
        return (None, None) if len(rows) == scope.size else (rows, places)

    def _in_rows(self, expr: Over, scope: Scope) -> Vector:
        """The value in each row; one that lacks a parameter has none, or no instance."""
        failed = first_failures([self._evaluate(p, scope) for p in expr.parameters])
        if failed is None or not failed.any():
            return self._sound(expr, scope)
        everywhere = np.array(np.broadcast_to(failed, scope.size))
        rows = np.flatnonzero(everywhere == 0)
        is_none = expr.function == NONE_OF
        outside = Vector(np.full(scope.size, int(is_none)), None if is_none else everywhere)
        if not len(rows):
            return outside
        return outside.put(rows, self._sound(expr, Selection(rows).part(scope)), scope.size)

    def _sound(self, expr: Over, scope: Scope) -> Vector:
        """The value in rows that have all parameters."""
        parts = []
        for rows in self._portions(expr, scope):
            self._check()
            part = scope if len(rows) == scope.size else Selection(rows).part(scope)
            found = _together([self._instances(source, part) for source in expr.sources])
            parts.append(self._aggregated(expr, found, part))
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _portions(self, expr: Over, scope: Scope) -> Iterator[Codes]:
        """Rows whose sources have few items together."""
        ends = np.zeros(scope.size, np.int64)
        for source in expr.sources:
            codes = np.broadcast_to(self._evaluate(source.rows, scope).codes, scope.size)
            ends += self._codec.pool(source.rows.type).lengths(codes)
        ends = np.cumsum(ends)
        start, before = 0, 0
        while start < scope.size:
            end = max(start + 1, int(np.searchsorted(ends, before + _PORTION, "right")))
            yield np.arange(start, end)
            start, before = end, int(ends[end - 1])

    # -- instances

    def _instances(self, source: Source, scope: Scope) -> _Instances:
        codes = np.array(np.broadcast_to(self._evaluate(source.rows, scope).codes, scope.size))
        owners, items = each_item(self._codec, source.rows.type, codes)
        assert isinstance(source.rows.type, types.Vec)
        terms = self._codec.terms(source.rows.type.item)
        inner: Scope = Selection(owners).part(scope)
        for place, column in enumerate(source.columns):
            values = np.ascontiguousarray(terms.field(0, items, place))
            inner = inner.where(column.name, Name(None, None, Vector(values)))
        found = _Body(self, inner, owners)
        for literal in source.body:
            found.take(literal)
        args = [found.value(a) for a in source.args]
        return _Instances(found.owners, found.failures, tuple(args))

    def evaluated(self, expr: Expr, scope: Scope) -> tuple[Codes, Failures]:
        """The values of an expression in all rows, and their failures."""
        found = self._evaluate(expr, scope)
        codes = np.array(np.broadcast_to(found.codes, scope.size))
        if found.failures is None:
            return codes, np.zeros(scope.size, np.int32)
        return codes, np.array(np.broadcast_to(found.failures, scope.size))

    def items(self, type_: Type, codes: Codes) -> tuple[Codes, Codes]:
        return each_item(self._codec, type_, codes)

    # -- values

    def _aggregated(self, expr: Over, found: _Instances, scope: Scope) -> Vector:
        """The aggregate over the instances of each row."""
        size, is_sound = scope.size, found.failures == 0
        failures = np.zeros(size, np.int32)
        wrong = np.flatnonzero(~is_sound)[::-1]
        failures[found.owners[wrong]] = found.failures[wrong]
        holds: Mask = np.zeros(size, np.bool_)
        holds[found.owners[is_sound]] = True
        if expr.function == NONE_OF:
            return _vector((~holds).astype(np.int64), np.where(holds, 0, failures).astype(np.int32))
        chosen = is_sound & (failures[found.owners] == 0)
        rows, groups = np.unique(found.owners[chosen], return_inverse=True)
        outcome = self._results(expr, groups, [a[chosen] for a in found.args], len(rows))
        codes = np.zeros(size, np.int64)
        codes[rows] = outcome.codes
        if outcome.failures is not None:
            failures[rows] = self._numbers(outcome)
        return self._with_nothing(expr, codes, failures, holds, scope)

    def _results(self, expr: Over, groups: Codes, args: Sequence[Codes], count: int) -> Outcome:
        """The aggregate of each group; none is empty."""
        weights = np.ones(len(groups), np.int64)
        if fold_of(expr.function) is not None:
            given = folds.Instances(count, groups, tuple(args), weights)
            return self._folds.states(expr.function, given.once() if expr.distinct else given)
        kinds = [a.type for a in expr.sources[0].args]
        kept = [np.ascontiguousarray(a) for a in args]
        result = expr.type if expr.nothing is not None else _item(expr.type)
        return aggregate(
            expr.function,
            groups,
            kept,
            kinds,
            result,
            weights,
            expr.distinct,
            count,
            self._codec,
            self._reasons,
            self._check,
        )

    def _numbers(self, outcome: Outcome) -> Failures:
        """The failures of an outcome, by the numbers of reasons that are used here."""
        assert outcome.failures is not None
        made = [self._reasons.number(outcome.reason(n)) if n else 0 for n in outcome.failures.tolist()]
        return np.array(made, np.int32)

    def _with_nothing(
        self, expr: Over, codes: Codes, failures: Failures, holds: Mask, scope: Scope
    ) -> Vector:
        """The results, with the value over nothing where there is no instance, or as vecs."""
        empty = ~holds & (failures == 0)
        if expr.nothing is not None:
            rows = np.flatnonzero(empty)
            found = _vector(codes, failures)
            if not len(rows):
                return found
            return found.put(rows, self._evaluate(expr.nothing, Selection(rows).part(scope)), scope.size)
        there = ~empty & (failures == 0)
        lengths = there.astype(np.int64)
        rows_ = Rows(np.ascontiguousarray(codes[there]), lengths_to_starts(lengths))
        return _vector(self._codec.pool(expr.type).from_items(rows_), failures)


class _Body:
    """The instances that satisfy the literals so far, or fail."""

    def __init__(self, overs: Overs, scope: Scope, owners: Codes) -> None:
        self.overs = overs
        self.scope = scope
        self.owners = owners
        self.failures: Failures = np.zeros(len(owners), np.int32)

    def take(self, literal: Test | Bind | Each) -> None:
        match literal:
            case Test(condition):
                codes, failed = self._noted(condition)
                holds = (codes != 0) | (failed != 0)
                if not holds.all():
                    self._keep(np.flatnonzero(holds))
            case Bind(variable, value):
                codes, failed = self._noted(value)
                self._define(variable, codes, failed)
            case Each(variable, collection):
                self._expand(variable, collection)
            case _:
                assert_never(literal)

    def value(self, expr: Expr) -> Codes:
        return self._noted(expr)[0]

    def _noted(self, expr: Expr) -> tuple[Codes, Failures]:
        """The values of an expression; where it fails, so does the instance."""
        codes, failed = self.overs.evaluated(expr, self.scope)
        self.failures = np.where(self.failures == 0, failed, self.failures)
        return codes, failed

    def _keep(self, rows: Codes) -> None:
        self.scope = Selection(rows).part(self.scope)
        self.owners, self.failures = self.owners[rows], self.failures[rows]

    def _define(self, variable: Var, codes: Codes, failed: Failures) -> None:
        self.scope = self.scope.where(variable.name, Name(None, None, _vector(codes, failed)))

    def _expand(self, variable: Var, collection: Expr) -> None:
        """Repeat every instance for each item; one whose collection failed is kept, without an item."""
        codes, failed = self._noted(collection)
        sound = np.flatnonzero(failed == 0)
        owners, items = self.overs.items(collection.type, codes[sound])
        rows = np.concatenate([sound[owners], np.flatnonzero(failed)])
        self._keep(rows)
        values = np.concatenate([items, np.zeros(len(rows) - len(items), np.int64)])
        self._define(variable, values, failed[rows])


def _vector(codes: Codes, failures: Failures) -> Vector:
    return Vector(codes, failures if failures.any() else None)


def _together(parts: Sequence[_Instances]) -> _Instances:
    if len(parts) == 1:
        return parts[0]
    args = zip(*(p.args for p in parts), strict=True)
    return _Instances(
        np.concatenate([p.owners for p in parts]),
        np.concatenate([p.failures for p in parts]),
        tuple(np.concatenate(columns) for columns in args),
    )


def _joined(parts: Sequence[Vector]) -> Vector:
    """The values of several portions of rows, one after the other."""
    codes = np.concatenate([p.codes for p in parts])
    if all(p.failures is None for p in parts):
        return Vector(codes)
    failures = [np.zeros(len(p), np.int32) if p.failures is None else p.failures for p in parts]
    return Vector(codes, np.concatenate(failures))


def _item(type_: Type) -> Type:
    assert isinstance(type_, types.Vec)
    return type_.item
