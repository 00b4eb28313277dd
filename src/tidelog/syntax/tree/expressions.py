"""Types and expressions. A pattern is an expression, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from tidelog.errors import Span
from tidelog.syntax.tree.spans import spanned

if TYPE_CHECKING:
    from tidelog.syntax.tree.literals import Argument, Assignment, Destructuring, Literal
    from tidelog.syntax.tree.statements import Statement

__all__ = [
    "Aggregate",
    "At",
    "Binary",
    "Block",
    "BoolLiteral",
    "BytesLiteral",
    "Call",
    "Case",
    "Cast",
    "Closure",
    "Conditional",
    "Construct",
    "DurationLiteral",
    "Expr",
    "FieldAccess",
    "FractionLiteral",
    "IntLiteral",
    "Interpolation",
    "MapLiteral",
    "Match",
    "NoneLiteral",
    "Parameter",
    "Slice",
    "Steps",
    "StringLiteral",
    "SubAggregate",
    "TupleValue",
    "TypeName",
    "Unary",
    "Variable",
    "VecLiteral",
    "WidthLiteral",
    "Wildcard",
]


# -- types


@dataclass(frozen=True, slots=True)
class TypeName:
    """`string`, `bit<32>`, `decimal(10, 2)`, `vec<date>`, or the name of a type of the program.

    A tuple type `(int, string)` has the name "()". The type of a closure, `|int, string|: bool`, has the name
    "||" and its result as the last argument.
    """

    name: str
    args: tuple[TypeName | int, ...] = ()
    span: Span = spanned()


# -- constants, operators and calls


@dataclass(frozen=True, slots=True)
class BoolLiteral:
    value: bool
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class IntLiteral:
    value: int
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class FractionLiteral:
    """A number with a point or an exponent, exactly as written. It may become a float or a decimal."""

    value: Decimal
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class DurationLiteral:
    """`3 hours`: a number and a unit, in the word that was written."""

    amount: IntLiteral | FractionLiteral
    unit: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class WidthLiteral:
    """`32'd15`: the value of an unsigned integer of a number of bits; also `8'hff` and `4'b1010`."""

    width: int
    value: int
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """`"text"`, or `r"text"`, in which a backslash is a backslash. `short` is the short name of an IRI."""

    value: str
    span: Span = spanned()
    short: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class BytesLiteral:
    value: bytes
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class NoneLiteral:
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Interpolation:
    """`"a ${x} b"`: a sequence of texts and expressions, with at least one expression and no empty text."""

    parts: tuple[str | Expr, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Wildcard:
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Unary:
    """`not a`, `-a`, `~a`, or `a?`, which follows its operand."""

    op: str
    operand: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Binary:
    op: str
    left: Expr
    right: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if (condition) then else otherwise`"""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Block:
    """`{ var a = …; var b = …; result }`"""

    bindings: tuple[Assignment | Destructuring, ...]
    result: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Steps:
    """`{ var a = …; a = …; result }`: a block with statements besides `var`, or without a result."""

    statements: tuple[Statement, ...]
    result: Expr | None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Call:
    """`f(a, b)`, or the same call written as `a.f(b)` if `method`."""

    function: str
    args: tuple[Expr, ...]
    method: bool = False
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Cast:
    operand: Expr
    type: TypeName
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`value.group_by(keys).function(args)`, with `.distinct()` in between if `distinct`."""

    value: Expr
    keys: tuple[Expr, ...]
    function: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class SubAggregate:
    """`count { body }`, `sum(e) { body }`: an aggregate over the instances of a body of its own."""

    function: str
    args: tuple[Expr, ...]
    alternatives: tuple[tuple[Literal, ...], ...]
    span: Span = spanned()
    name_span: Span = spanned()


# -- structured values, and patterns


@dataclass(frozen=True, slots=True)
class Construct:
    """`IPv4{1, 2}`, `IPv4{.src = 1, .dst = 2}`, or `Other`, which `is_bare`.

    In a pattern, fields may be left out by name, and `IPv4{..}` leaves out all the others (`is_open`).
    """

    constructor: str
    args: tuple[Argument, ...] = ()
    is_bare: bool = False
    is_open: bool = False
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class TupleValue:
    """`(a, b)`: two items or more."""

    items: tuple[Expr, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class VecLiteral:
    """`[a, b]`"""

    items: tuple[Expr, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`[k -> v, l -> w]`"""

    entries: tuple[tuple[Expr, Expr], ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class FieldAccess:
    """`value.name`, or `value.0` for an item of a tuple."""

    operand: Expr
    field: str | int
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Slice:
    """`value[high:low]`: bits of an integer, both included."""

    operand: Expr
    high: int
    low: int
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class At:
    """The pattern `name @ pattern`: matches what the pattern matches, and binds the name to it."""

    name: str
    pattern: Expr
    span: Span = spanned()
    name_span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Case:
    """`pattern -> value`"""

    pattern: Expr
    value: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Match:
    """`match (value) { pattern -> value, … }`"""

    subject: Expr
    cases: tuple[Case, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Closure:
    """`|x, y| e`; a parameter may have a type: `|x: int| e`."""

    parameters: tuple[Parameter, ...]
    body: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: TypeName | None = None
    span: Span = spanned()


Expr: TypeAlias = (
    BoolLiteral
    | IntLiteral
    | FractionLiteral
    | DurationLiteral
    | WidthLiteral
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
    | Steps
    | Call
    | Cast
    | Aggregate
    | SubAggregate
    | Construct
    | TupleValue
    | VecLiteral
    | MapLiteral
    | FieldAccess
    | Slice
    | At
    | Match
    | Closure
)
