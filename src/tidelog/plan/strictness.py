"""Whether a better value always leads to a strictly better one.

A rule of a recursion that keeps the best value per key is *strict* if its head has such a value, and every
better value of an atom of the recursion makes that of the head strictly better. Sums and differences of exact
numbers are strict, also with 0, and so is a value that is only copied. `min(a, w)` is not, and neither is the
sum of floating-point numbers, since it is rounded.

That a better value is never worse for the head, and falsifies no condition, was checked before (see
`program.analysis.monotonicity`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import assert_never

from tidelog.data.types import BigInt, Decimal, Int, Option, Signed, Type
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.traversal import variables
from tidelog.program.typed import (
    Best,
    Binary,
    Bind,
    Block,
    Call,
    Cast,
    Constant,
    Expr,
    Get,
    If,
    Is,
    Let,
    Listing,
    Make,
    Match,
    Over,
    Unary,
    Var,
)

__all__ = ["is_strict"]


def is_strict(stratum: Stratum) -> bool:
    """Whether all rules of a stratum are strict."""
    best = dict(stratum.best)
    return stratum.relations == best.keys() and all(_is_strict(rule, best) for rule in stratum.rules)


def _is_strict(rule: FlatRule, best: Mapping[str, Best]) -> bool:
    values: set[str] = set()
    for literal in rule.body:
        if isinstance(literal, Match) and literal.relation in best:
            term = literal.terms[best[literal.relation].column]
            if not isinstance(term, Var):
                return False
            values.add(term.name)
    computed = {x.variable.name: x.value for x in rule.body if isinstance(x, Bind)}
    head = _Followed(values, computed).strict_in(rule.values[best[rule.head].column])
    return not values or (head is not None and values <= head)


@dataclass(frozen=True, slots=True)
class _Followed:
    """The variables that hold values of the recursion, and those that are computed."""

    values: Collection[str]
    computed: Mapping[str, Expr]

    def strict_in(self, expr: Expr) -> frozenset[str] | None:
        """The values that an expression depends on; None unless it is strictly monotone in each of them."""
        match expr:
            case Var(name) if name in self.values:
                return frozenset([name])
            case Var(name) if name in self.computed:
                return self.strict_in(self.computed[name])
            case Binary("+" | "-", left, right, type_) if (
                _is_exact(type_) and left.type == right.type == type_
            ):
                x, y = self.strict_in(left), self.strict_in(right)
                return None if x is None or y is None else x | y
            case Cast(operand, Option(item)) if operand.type == item:
                return self.strict_in(operand)
            case Constant() | Var():
                return frozenset()
            case (
                Unary()
                | Binary()
                | If()
                | Let()
                | Call()
                | Cast()
                | Make()
                | Get()
                | Is()
                | Listing()
                | Block()
                | Over()
            ):
                parts = map(self.strict_in, variables(expr))
                return frozenset() if all(part == frozenset() for part in parts) else None
            case _:
                assert_never(expr)


def _is_exact(type_: Type) -> bool:
    """Whether sums of a type are exact, or fail."""
    return isinstance(type_, Int | BigInt | Signed | Decimal)
