"""What may fail: expressions that have no value for some of their rows, and variables that depend on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from tidelog.data import types
from tidelog.data.types import BOOL
from tidelog.program import traversal
from tidelog.program.library.catalog import FAILS
from tidelog.program.typed import (
    Binary,
    Bind,
    Block,
    Call,
    Cast,
    Constant,
    Each,
    Expr,
    Get,
    If,
    Is,
    Let,
    Listing,
    Literal,
    Make,
    Nested,
    Over,
    Unary,
    Var,
)

__all__ = ["doubtful", "fails", "may_fail", "often_fails", "succeeds"]

_SAFE: Final = frozenset(["==", "!=", "<", "<=", ">", ">=", "and", "or", "not"])
_OVERFLOWING: Final = frozenset(["+", "-", "*"])
_SAFE_FUNCTIONS: Final = frozenset([FAILS, "is_none", "is_some", "some"])


def may_fail(expr: Expr) -> bool:
    """Whether an expression may have no value; if in doubt, it may."""
    return _fails_itself(expr) or any(map(may_fail, traversal.subexpressions(expr)))


def often_fails(expr: Expr) -> bool:
    """Whether an expression may fail for other reasons than that a number is too large."""
    overflows = isinstance(expr, Unary | Binary) and expr.op in _OVERFLOWING
    return (_fails_itself(expr) and not overflows) or any(map(often_fails, traversal.subexpressions(expr)))


def _fails_itself(expr: Expr) -> bool:
    match expr:
        case Constant() | Var() | If() | Let() | Make() | Is() | Listing() | Block():
            return False
        case Unary(op) | Binary(op):
            return op not in _SAFE
        case Call(function):
            return function not in _SAFE_FUNCTIONS
        case Get(operand):
            return isinstance(operand.type, types.Named) and len(operand.type.constructors) > 1
        case Cast() | Over():
            return True
        case _:
            assert_never(expr)


def fails(expr: Expr) -> Expr:
    """Whether an expression fails, as an expression that does not."""
    return Call(FAILS, (expr,), BOOL)


def succeeds(expr: Expr) -> Expr:
    """Whether an expression has a value."""
    return Unary("not", fails(expr), BOOL)


def doubtful(body: Iterable[Literal]) -> set[str]:
    """The variables that may have no value, since what defines them may fail."""
    found: set[str] = set()
    size = -1
    literals = list(body)
    while size != len(found):
        size = len(found)
        for literal in literals:
            read = {v.name for e in traversal.expressions(literal) for v in traversal.variables(e)}
            match literal:
                case Bind(variable, value) | Each(variable, value) if may_fail(value) or read & found:
                    found.add(variable.name)
                case Nested(result) if read & found:
                    found.add(result.name)
                case _:
                    pass
    return found
