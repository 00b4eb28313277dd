"""Computes expressions and aggregates for single bindings, with the engine's own operations.

Values get codes of a codec of their own, so this neither reads nor changes the session's dictionaries.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from tidelog.data import types
from tidelog.data.order import in_order
from tidelog.data.structs import FrozenMap
from tidelog.data.types import Type
from tidelog.data.values import Row, Value, joins, order_key
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.aggregates import aggregate
from tidelog.engine.local.expressions.evaluator import Evaluator, Functions
from tidelog.engine.local.expressions.folds import Folds, Instances
from tidelog.engine.local.expressions.vectors import Outcome
from tidelog.program.folds import fold_of
from tidelog.program.library.nothing import over_nothing
from tidelog.program.traversal import variables
from tidelog.program.typed import Aggregate, Binary, Constant, Expr, Nested, Var
from tidelog.proofs.model import FAILED, Computed, Failed

__all__ = ["Calculator"]


_ORDERINGS: Final[Mapping[str, Callable[..., bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_MOST: Final = 2**62  # copies; with more, an aggregate that counts them has failed


class Calculator:
    def __init__(self, functions: Functions) -> None:
        self._codec = Codec()
        self._evaluator = Evaluator(self._codec, functions)
        self._folds = Folds(Evaluator(self._codec, functions))

    def value(self, expr: Expr, known: Mapping[str, Value]) -> Computed:
        """The value of an expression for these values of its variables."""
        match expr:
            case Var(name):
                return known[name]
            case Constant(value):
                return value
            case Binary(op, Var() | Constant(), Var() | Constant()) if op in ("==", "!=") or op in _ORDERINGS:
                return self._compared(expr, known)
            case _:
                return self._evaluated(expr, known)

    def _compared(self, expr: Binary, known: Mapping[str, Value]) -> Computed:
        left, right = self.value(expr.left, known), self.value(expr.right, known)
        if isinstance(left, Failed) or isinstance(right, Failed):
            return FAILED
        if expr.op in _ORDERINGS:
            keys = order_key(expr.left.type, left), order_key(expr.right.type, right)
            return bool(_ORDERINGS[expr.op](*keys))
        return joins(left, right) == (expr.op == "==")

    def _evaluated(self, expr: Expr, known: Mapping[str, Value]) -> Computed:
        used = {v.name: v.type for v in variables(expr)}
        columns = {
            name: np.array([self._codec.encode(type_, known[name])], np.int64) for name, type_ in used.items()
        }
        return self._decoded(self._evaluator.evaluate(expr, columns, 1), expr.type)

    def _decoded(self, outcome: Outcome, type_: Type) -> Computed:
        if outcome.failures is not None and outcome.failures[0]:
            return FAILED
        return self._codec.decode(type_, int(outcome.codes[0]))

    def aggregated(self, what: Aggregate | Nested, rows: Sequence[Row], weights: Sequence[int]) -> Computed:
        """An aggregate over the values of its arguments in some instances, which count so often."""
        if not rows:
            empty = over_nothing(what.function, what.result.type)
            return FAILED if empty is None else self.value(empty, {})
        argument_types = [a.type for a in what.args]
        types_, distinct = (argument_types, what.result.type), what.distinct
        return self._over(what.function, rows, weights, *types_, distinct=distinct)

    def total(self, type_: Type, values: Sequence[Value], weights: Sequence[int]) -> Computed:
        """The sum of the contributions to a recursive total."""
        return self._over("sum", [(v,) for v in values], weights, [type_], type_, distinct=False)

    def _over(
        self,
        function: str,
        rows: Sequence[Row],
        copies: Sequence[int],
        argument_types: list[Type],
        result: Type,
        *,
        distinct: bool,
    ) -> Computed:
        columns = [
            self._codec.encode_column(type_, [row[i] for row in rows])
            for i, type_ in enumerate(argument_types)
        ]
        groups, weights = np.zeros(len(rows), np.int64), np.array([min(n, _MOST) for n in copies], np.int64)
        if fold_of(function) is not None:
            given = Instances(1, groups, tuple(columns), weights)
            return self._decoded(self._folds.states(function, given.once() if distinct else given), result)
        outcome = aggregate(
            function, groups, columns, argument_types, result, weights, distinct, 1, self._codec
        )
        return self._decoded(outcome, result)

    @staticmethod
    def items(type_: Type, collection: Value) -> Sequence[Value]:
        """The items of a vec, the elements of a set, or the entries of a map as tuples."""
        item = types.present(type_)
        if isinstance(collection, FrozenMap):
            return tuple(collection.items())
        if isinstance(collection, frozenset):
            assert isinstance(item, types.Set)
            return in_order(item.item, collection)
        assert isinstance(collection, tuple)
        return collection
