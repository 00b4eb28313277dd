"""Operators in a row: `a + b - c`, `a or b or c`.

They are trees that lean to the left, as deep as the row is long; whoever walks them goes along the row by a
loop and into its operands by recursion. So people may write rows of a thousand, and `MAX_DEPTH` is for what
is nested.
"""

from __future__ import annotations

from math import isqrt

from tidelog.syntax import tree

__all__ = ["ASSOCIATIVE", "SHORT", "chain", "depth"]

ASSOCIATIVE = frozenset(["and", "or", "++"])
SHORT = 16  # a row of so many operators is not worth a thought
_COMPARISONS = frozenset("== != < <= > >=".split())


def chain(expr: tree.Binary) -> list[tree.Binary]:
    """The operators of the row that an operator ends, the last first.

    A row is of one associative operator, or of operators on numbers; comparisons do not make rows.
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
    """How deep a row of so many operators is, once it is made less deep than it is long."""
    if operators <= SHORT or op in _COMPARISONS:
        return operators
    return operators.bit_length() if op in ASSOCIATIVE else 2 * isqrt(operators) + 2
