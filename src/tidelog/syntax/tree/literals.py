"""The literals of a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.errors import Span
from tidelog.syntax.tree.expressions import Expr
from tidelog.syntax.tree.spans import spanned

__all__ = [
    "Argument",
    "Assignment",
    "Atom",
    "Condition",
    "Destructuring",
    "Disjunction",
    "Generator",
    "Literal",
    "NegatedBody",
    "Negation",
    "Row",
]


@dataclass(frozen=True, slots=True)
class Argument:
    """`value`, or `.name = value`."""

    value: Expr
    name: str | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Atom:
    """`Relation(arguments)`, or `Relation[row]` if `is_whole`: the one argument is then the whole row.

    With a `delay`, `Relation-1(arguments)`: the relation some commits ago. With `is_prime`,
    `Relation'(arguments)`: the rows of a stream or multiset, as an ordinary relation.
    """

    relation: str
    args: tuple[Argument, ...]
    span: Span = spanned()
    name_span: Span = spanned()
    is_whole: bool = False
    delay: int = 0
    is_prime: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """`name in Relation(arguments)`: an atom whose row has a name."""

    name: str
    atom: Atom
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Negation:
    atom: Atom
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Condition:
    value: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Assignment:
    """`var name = value`"""

    name: str
    value: Expr
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Destructuring:
    """`var pattern = value`, for a pattern that is more than a name."""

    pattern: Expr
    value: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Generator:
    """`var pattern in collection`: holds once for each item."""

    pattern: Expr
    collection: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class NegatedBody:
    """`not (a, b; c)`: no alternative holds, for any values of the variables that occur only inside."""

    alternatives: tuple[tuple[Literal, ...], ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`(a, b; c)`: the literals of at least one alternative hold."""

    alternatives: tuple[tuple[Literal, ...], ...]
    span: Span = spanned()


Literal: TypeAlias = (
    Atom | Row | Negation | Condition | Assignment | Disjunction | Destructuring | Generator | NegatedBody
)
