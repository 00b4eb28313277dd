"""The syntax tree: closed unions of frozen nodes, each with its span in the source.

Invariant: spans are ignored by equality, so `parse(print(t)) == t` compares content, not positions.
The tree carries no meaning: names are unresolved, types are names with arguments (which leaves room for
structs, unions, generics and collections), and a number has exactly the digits that were written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from tidelog.errors import NOWHERE, Span

__all__ = [
    "Aggregate",
    "Alias",
    "Argument",
    "Assignment",
    "Atom",
    "Binary",
    "Block",
    "BoolLiteral",
    "BytesLiteral",
    "Call",
    "Cast",
    "Column",
    "Comment",
    "Condition",
    "Conditional",
    "Disjunction",
    "Expr",
    "FractionLiteral",
    "Function",
    "IntLiteral",
    "Interpolation",
    "Item",
    "Literal",
    "Negation",
    "NoneLiteral",
    "Program",
    "Relation",
    "Rule",
    "StringLiteral",
    "TypeName",
    "Unary",
    "Variable",
    "Wildcard",
]


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


# -- types


@dataclass(frozen=True, slots=True)
class TypeName:
    """`string`, `bit<32>`, `decimal(10, 2)`, `option<date>`, or the name of an alias."""

    name: str
    args: tuple[TypeName | int, ...] = ()
    span: Span = _span()


# -- expressions


@dataclass(frozen=True, slots=True)
class BoolLiteral:
    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class IntLiteral:
    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class FractionLiteral:
    """A number with a point or an exponent, exactly as written. It may become a float or a decimal."""

    value: Decimal
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class StringLiteral:
    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BytesLiteral:
    value: bytes
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class NoneLiteral:
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Interpolation:
    """`"a ${x} b"`: a sequence of texts and expressions, with at least one expression and no empty text."""

    parts: tuple[str | Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Wildcard:
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Unary:
    op: str
    operand: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    op: str
    left: Expr
    right: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if (condition) then else otherwise`"""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Block:
    """`{ var a = …; var b = …; result }`"""

    bindings: tuple[Assignment, ...]
    result: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """`f(a, b)`, or the same call written as `a.f(b)` if `method`."""

    function: str
    args: tuple[Expr, ...]
    method: bool = False
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class Cast:
    operand: Expr
    type: TypeName
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`value.group_by(keys).function(args)`, with `.distinct()` in between if `distinct`."""

    value: Expr
    keys: tuple[Expr, ...]
    function: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    span: Span = _span()
    name_span: Span = _span()


Expr: TypeAlias = (
    BoolLiteral
    | IntLiteral
    | FractionLiteral
    | StringLiteral
    | BytesLiteral
    | NoneLiteral
    | Interpolation
    | Variable
    | Wildcard
    | Unary
    | Binary
    | Conditional
    | Block
    | Call
    | Cast
    | Aggregate
)


# -- literals of a rule


@dataclass(frozen=True, slots=True)
class Argument:
    """`value`, or `.name = value`."""

    value: Expr
    name: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    args: tuple[Argument, ...]
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negation:
    atom: Atom
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Condition:
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Assignment:
    """`var name = value`"""

    name: str
    value: Expr
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`(a, b; c)`: the literals of at least one alternative hold."""

    alternatives: tuple[tuple[Literal, ...], ...]
    span: Span = _span()


Literal: TypeAlias = Atom | Negation | Condition | Assignment | Disjunction


# -- items of a program


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: TypeName
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Relation:
    """`role` is "input", "output" or "" (internal); `key` names the columns of the primary key."""

    role: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[Variable, ...] | None = None
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class Alias:
    """`typedef Name = type`"""

    name: str
    type: TypeName
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    parameters: tuple[Column, ...]
    result: TypeName
    body: Block
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class Rule:
    """A fact if the body is empty."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...] = ()
    span: Span = _span()


Item: TypeAlias = Relation | Alias | Function | Rule


@dataclass(frozen=True, slots=True)
class Comment:
    """The text with its comment markers; `trailing` if a token precedes it on its line."""

    text: str
    trailing: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Program:
    """The items of a text. Comments are kept for the printer and ignored by equality."""

    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False, repr=False)
