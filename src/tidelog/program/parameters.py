"""Parameters of queries: Python values in place of variables.

A parameter replaces every occurrence of its variable by a literal, in the tree, so a value is never read as
text of the language. A number takes the type that its place expects, as a number that is written there would.
A name that the query itself binds by `var` cannot be a parameter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Set
from decimal import Decimal
from typing import Any, TypeVar

from tidelog.data.structs import Struct
from tidelog.data.values import BadValue
from tidelog.errors import SessionError, Span, shown
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.syntax import tree
from tidelog.syntax.cursor import MAX_DEPTH
from tidelog.syntax.literals import literal
from tidelog.syntax.variables import expression_variables

__all__ = ["with_values"]

T = TypeVar("T")


def with_values(part: T, values: Mapping[str, object]) -> T:
    """A part of a tree with literals in place of some variables. Raises SessionError."""
    used: set[str] = set()
    made: T = _replaced(part, values, used)
    for name in values.keys() - used:
        hint = did_you_mean(name, _names(part)) or "remove it, or use it in the query"
        raise SessionError(f"the query has no variable `{name}`, which is given as a parameter; {hint}")
    return made


def _names(part: Any) -> set[str]:
    """The variables in a part of a tree."""
    used: set[str] = set()
    _replaced(part, {}, used)
    return used


def _replaced(part: Any, values: Mapping[str, object], used: set[str]) -> Any:
    match part:
        case tree.Variable(name):
            used.add(name)
            return _literal(name, values[name], part.span) if name in values else part
        case tuple():
            return tuple(_replaced(item, values, used) for item in part)
        case Span() | str():
            return part
        case _ if dataclasses.is_dataclass(part):
            _expect_unbound(part, values)
            names = [f.name for f in dataclasses.fields(part)]
            inner = {name: _replaced(getattr(part, name), values, used) for name in names}
            return dataclasses.replace(part, **inner)  # type: ignore[type-var]
        case _:
            return part


def _expect_unbound(part: Any, values: Mapping[str, object]) -> None:
    """Raise SessionError if a part of the tree binds a parameter itself."""
    match part:
        case (
            tree.Assignment(name=name) | tree.At(name=name) | tree.Parameter(name=name) | tree.Row(name=name)
        ):
            bound = [name]
        case (
            tree.Destructuring(pattern=pattern) | tree.Generator(pattern=pattern) | tree.Case(pattern=pattern)
        ):
            bound = [variable.name for variable in expression_variables(pattern)]
        case _:
            bound = []
    for name in bound:
        if name in values:
            raise SessionError(f"`{name}` is a parameter, so the query cannot bind it; rename one of the two")


def _literal(name: str, value: object, span: Span) -> tree.Expr:
    _expect_shallow(name, value)
    try:
        made = literal(value, span)
    except BadValue as bad:
        raise SessionError(f"the parameter `{name}` is {shown(value)}, which cannot be used: {bad}") from None
    match made:
        case tree.Cast(tree.StringLiteral(text), tree.TypeName("double")):  # not finite
            return tree.FractionLiteral(Decimal(text), span)
        case _:
            return made


def _expect_shallow(name: str, value: object) -> None:
    """Raise SessionError for a value that is nested more deeply than a text may be."""
    level: dict[int, object] = {id(value): value}
    for _ in range(MAX_DEPTH):
        level = {id(part): part for whole in level.values() for part in _parts(whole)}
        if not level:
            return
    raise SessionError(
        f"the parameter `{name}` is nested more than {MAX_DEPTH} levels deep;"
        " select its rows with `where`, or assert it as a fact that the query reads"
    )


def _parts(value: object) -> Iterable[object]:
    match value:
        case Struct():
            return value._values
        case Mapping():
            return (*value.keys(), *value.values())
        case tuple() | list() | Set():
            return value
        case _:
            return ()
