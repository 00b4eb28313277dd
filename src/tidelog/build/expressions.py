"""Expressions, built with Python's operators.

`+ - * / % << >>` and comparisons are those of the language, and a `+` with a string is `++`. As in pandas and
SQLAlchemy, `&`, `|` and `~` connect conditions; for bits there are `x.bit_and(y)`, `x.bit_or(y)`,
`x.bit_xor(y)` and `x.bit_not()`. Any other method calls the function of its name, with the expression as the
first argument.

An expression is immutable. It has no truth value, since Python's `and`, `or`, `not` and chained comparisons
would silently drop a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from tidelog.build.types import type_name
from tidelog.data.values import BadValue
from tidelog.errors import SessionError, shown
from tidelog.syntax import tree
from tidelog.syntax.inline import print_expression
from tidelog.syntax.lexer import KEYWORDS
from tidelog.syntax.literals import literal

__all__ = ["Expr", "Functions", "Group", "fn", "node", "text", "var", "variables", "when"]

_VARIABLE = re.compile(r"[^\W\d]\w*")


class Expr:
    """Part of a rule that has a value: a variable, a constant, or something computed."""

    __slots__ = ("node",)

    def __init__(self, made: tree.Expr) -> None:
        self.node = made

    # -- operators

    def __add__(self, other: object) -> Expr:
        return _binary("++" if _is_text(self, other) else "+", self, other)

    def __radd__(self, other: object) -> Expr:
        return _binary("++" if _is_text(self, other) else "+", other, self)

    def __sub__(self, other: object) -> Expr:
        return _binary("-", self, other)

    def __rsub__(self, other: object) -> Expr:
        return _binary("-", other, self)

    def __mul__(self, other: object) -> Expr:
        return _binary("*", self, other)

    def __rmul__(self, other: object) -> Expr:
        return _binary("*", other, self)

    def __truediv__(self, other: object) -> Expr:
        return _binary("/", self, other)

    def __rtruediv__(self, other: object) -> Expr:
        return _binary("/", other, self)

    def __mod__(self, other: object) -> Expr:
        return _binary("%", self, other)

    def __rmod__(self, other: object) -> Expr:
        return _binary("%", other, self)

    def __lshift__(self, other: object) -> Expr:
        return _binary("<<", self, other)

    def __rshift__(self, other: object) -> Expr:
        return _binary(">>", self, other)

    def __neg__(self) -> Expr:
        return Expr(tree.Unary("-", self.node))

    def bit_and(self, other: object) -> Expr:
        return _binary("&", self, other)

    def bit_or(self, other: object) -> Expr:
        return _binary("|", self, other)

    def bit_xor(self, other: object) -> Expr:
        return _binary("^", self, other)

    def bit_not(self) -> Expr:
        return Expr(tree.Unary("~", self.node))

    # -- comparisons

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return _binary("==", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return _binary("!=", self, other)

    def __lt__(self, other: object) -> Expr:
        return _binary("<", self, other)

    def __le__(self, other: object) -> Expr:
        return _binary("<=", self, other)

    def __gt__(self, other: object) -> Expr:
        return _binary(">", self, other)

    def __ge__(self, other: object) -> Expr:
        return _binary(">=", self, other)

    __hash__ = object.__hash__

    # -- conditions

    def __and__(self, other: object) -> Any:
        return _binary("and", self, other) if _is_value(other) else NotImplemented

    def __or__(self, other: object) -> Any:
        return _binary("or", self, other) if _is_value(other) else NotImplemented

    def __invert__(self) -> Expr:
        return Expr(tree.Unary("not", self.node))

    def __bool__(self) -> NoReturn:
        raise SessionError(
            f"`{self}` has no truth value in Python; write `&`, `|` and `~` for `and`, `or` and `not`, with "
            "comparisons in parentheses"
        )

    # -- other

    def cast(self, type_: object) -> Expr:
        """Convert to a type: `x.cast(float)`, `x.cast("decimal(10, 2)")`."""
        return Expr(tree.Cast(self.node, type_name(type_)))

    def group_by(self, *keys: object) -> Group:
        """Begin an aggregate over all instances with equal keys: `y.group_by(x).count()`."""
        return Group(self, keys)

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: Expr(tree.Call(name, tuple(map(node, (self, *args))), method=True))

    def __str__(self) -> str:
        return print_expression(self.node)

    def __repr__(self) -> str:
        return f"<{self}>"


class Group:
    """A value grouped by keys; its methods are the aggregates of the language."""

    __slots__ = ("_distinct", "_keys", "_value")

    def __init__(self, value: Expr, keys: tuple[object, ...], distinct: bool = False) -> None:
        self._value = value
        self._keys = keys
        self._distinct = distinct

    def distinct(self) -> Group:
        """Let equal values count once."""
        return Group(self._value, self._keys, distinct=True)

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        if name.startswith("_"):
            raise AttributeError(name)
        keys = tuple(map(node, self._keys))
        return lambda *args: Expr(
            tree.Aggregate(self._value.node, keys, name, tuple(map(node, args)), self._distinct)
        )


class Functions:
    """The functions of the language by name: `fn.unwrap_or(x, 0)`."""

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: Expr(tree.Call(name, tuple(map(node, args))))


fn = Functions()


def var(name: str) -> Expr:
    """A variable; `_` matches any value."""
    if not _VARIABLE.fullmatch(str(name)) or name in KEYWORDS or name[0].isupper():
        raise SessionError(
            f"{shown(name)} cannot be the name of a variable: it must begin with a lowercase letter, and it "
            "must not be a keyword"
        )
    return Expr(tree.Wildcard() if name == "_" else tree.Variable(name))


def variables(names: str) -> tuple[Expr, ...]:
    """Several variables: `x, y, z = variables("x y z")`."""
    return tuple(var(name) for name in names.replace(",", " ").split())


def when(condition: object, then: object, otherwise: object) -> Expr:
    """`if (condition) then else otherwise`"""
    return Expr(tree.Conditional(node(condition), node(then), node(otherwise)))


def text(*parts: object) -> Expr:
    """The texts and values, one after the other, as one string."""
    made: list[str | tree.Expr] = []
    for part in parts:
        if isinstance(part, str) and made and isinstance(made[-1], str):
            made[-1] += part
        elif not isinstance(part, str) or part:
            made.append(part if isinstance(part, str) else node(part))
    is_plain = all(isinstance(part, str) for part in made)
    return Expr(tree.StringLiteral("".join(map(str, made))) if is_plain else tree.Interpolation(tuple(made)))


def node(value: object) -> tree.Expr:
    """The tree of an expression or of a Python value."""
    if isinstance(value, Expr):
        return value.node
    try:
        return literal(value)
    except BadValue as bad:
        raise SessionError(f"{shown(value)} cannot be part of a rule: {bad}") from None


def _is_value(other: object) -> bool:
    return isinstance(other, Expr | bool)


def _is_text(left: Expr, right: object) -> bool:
    """Whether a string is known to be among the operands."""
    strings = tree.StringLiteral | tree.Interpolation
    known = isinstance(right, str) or (isinstance(right, Expr) and isinstance(right.node, strings))
    joined = isinstance(left.node, tree.Binary) and left.node.op == "++"
    return known or joined or isinstance(left.node, strings)


def _binary(op: str, left: object, right: object) -> Expr:
    return Expr(tree.Binary(op, node(left), node(right)))
