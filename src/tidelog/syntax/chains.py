"""Chains of operators: `a + b - c`, `a or b or c`; and rows of `else if` and of `var`.

A chain is a left-leaning tree whose depth is the length of the chain. Functions that walk it iterate along
the chain and recurse into the operands. So a chain may have a thousand operators, and `MAX_DEPTH` limits only
nesting.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from tidelog.syntax import tree

__all__ = ["ASSOCIATIVE", "SHORT", "chain", "conditionals", "depth", "row_depth"]

ASSOCIATIVE = frozenset(["and", "or", "++"])
SHORT = 16  # chains of up to this many operators are kept as they are
_COMPARISONS = frozenset("== != < <= > >= in".split())


def chain(expr: tree.Binary) -> list[tree.Binary]:
    """The operators of the chain that an operator ends, last first.

    A chain consists of one associative operator or of operators on numbers. Comparisons do not form chains.
    """
    found = [expr]
    kind = _kind(expr.op)
    while kind is not None and isinstance(left := found[-1].left, tree.Binary) and _kind(left.op) == kind:
        found.append(left)
    return found


def _kind(op: str) -> str | None:
    if op in _COMPARISONS:
        return None
    return op if op in ASSOCIATIVE else "numbers"


def depth(operators: int, op: str) -> int:
    """The depth of a chain with this many operators after long chains have been rebalanced."""
    if operators <= SHORT or op in _COMPARISONS:
        return operators
    return operators.bit_length() if op in ASSOCIATIVE else 2 * isqrt(operators) + 2


def row_depth(steps: int) -> int:
    """What a row of `else if` or `var` with this many steps counts as: short ones are one level."""
    return 1 if steps <= SHORT else 2 * isqrt(steps)


def conditionals(expr: tree.Conditional) -> Iterator[tree.Conditional]:
    """An `if`, and those that follow each `else`."""
    found: tree.Expr = expr
    while isinstance(found, tree.Conditional):
        yield found
        found = found.otherwise
