"""The typed program: what elaboration makes of a tree and all that later layers read.

A rule is taken apart as far as its meaning allows and no further:

- its body is a tuple of alternative *bodies* (disjunctions multiplied out), each a tuple of literals;
- a body *instance* is one tuple for each positive atom of one alternative (columns under `_` included)
  that satisfies every other literal;
- without a group, each instance gives one row to each head;
- with a group, the instances of all alternatives are put together by the values of the keys; each
  non-empty group gives one binding of the keys and the aggregates' results; that binding is carried on
  through the alternatives of `after`, whose instances give the rows of the heads.

Invariants, established by elaboration and relied on by everyone: names resolve, types fit, the terms of
an atom are variables, constants or wildcards (expressions were given variables of their own), every
variable is bound by a positive atom or an assignment, and assignments are in an order in which each uses
only what positive atoms and earlier assignments bind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from tidelog.data.types import Type
from tidelog.data.values import Value
from tidelog.errors import NOWHERE, Span

__all__ = [
    "Absent",
    "Aggregate",
    "Best",
    "Binary",
    "Bind",
    "Body",
    "Call",
    "Cast",
    "Column",
    "Constant",
    "Expr",
    "Function",
    "Group",
    "Head",
    "If",
    "Let",
    "Literal",
    "Match",
    "PythonFunction",
    "Relation",
    "Role",
    "Rule",
    "Stratum",
    "Term",
    "Test",
    "Unary",
    "Var",
    "Wildcard",
    "expressions",
    "subexpressions",
    "variables",
]


# -- expressions


@dataclass(frozen=True, slots=True)
class Constant:
    value: Value
    type: Type

    def __eq__(self, other: object) -> bool:
        # True == 1 == 1.0 in Python; the type tells them apart
        return isinstance(other, Constant) and (self.type, self.value) == (other.type, other.value)

    def __hash__(self) -> int:
        return hash((self.type, self.value))


@dataclass(frozen=True, slots=True)
class Var:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Unary:
    """`-`, `~` or `not`."""

    op: str
    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Binary:
    """One of `+ - * / % ++ & | ^ << >> == != < <= > >= and or`; both operands have one type, but for shifts.

    `and` and `or` look at their right side only if the left one leaves the answer open.
    """

    op: str
    left: Expr
    right: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Let:
    """`value` under `name` inside `body`."""

    name: str
    value: Expr
    body: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A function by name: of the standard library, of the program, or registered from Python."""

    function: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    operand: Expr
    type: Type


Expr: TypeAlias = Constant | Var | Unary | Binary | If | Let | Call | Cast


# -- literals


@dataclass(frozen=True, slots=True)
class Wildcard:
    pass


Term: TypeAlias = Var | Constant | Wildcard


@dataclass(frozen=True, slots=True)
class Match:
    """A positive atom."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """A negated atom: no tuple agrees with the terms that are not wildcards."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Test:
    condition: Expr


@dataclass(frozen=True, slots=True)
class Bind:
    variable: Var
    value: Expr


Literal: TypeAlias = Match | Absent | Test | Bind
Body: TypeAlias = tuple[Literal, ...]


# -- rules


@dataclass(frozen=True, slots=True)
class Head:
    relation: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`result` is `function` over the instances' values of `args[0]`.

    `args[1]` is what `arg_min` and `arg_max` compare, and the separator of `concat`.
    With `distinct`, equal values of `args` count once.
    """

    result: Var
    function: str
    args: tuple[Expr, ...]
    distinct: bool


@dataclass(frozen=True, slots=True)
class Group:
    keys: tuple[Var, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """`id` is the canonical form: rules that differ in the names of their variables alone share it."""

    id: str
    heads: tuple[Head, ...]
    bodies: tuple[Body, ...]
    group: Group | None
    after: tuple[Body, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def is_fact(self) -> bool:
        return self.bodies == ((),) and self.group is None


# -- declarations


class Role(Enum):
    INPUT = "input"
    INTERNAL = "internal"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Relation:
    """`key` holds the positions of the primary key's columns, or is None."""

    name: str
    columns: tuple[Column, ...]
    role: Role
    key: tuple[int, ...] | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(c.type for c in self.columns)


@dataclass(frozen=True, slots=True)
class Function:
    """A function written in the language; calls among functions never form a cycle."""

    name: str
    parameters: tuple[Column, ...]
    result: Type
    body: Expr
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A pure Python function, known to other processes by `module` and `qualname`."""

    name: str
    parameters: tuple[Column, ...]
    result: Type
    module: str
    qualname: str
    call: Callable[..., object] = field(compare=False, repr=False)


# -- strata


@dataclass(frozen=True, slots=True)
class Best:
    """The relation keeps, per value of its other columns, the row with the best value of `column`."""

    column: int
    function: str  # "min" or "max"


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations that depend on each other, with the rules that derive them, as they mean here.

    `best` names those of them that are kept as the best value per key.
    """

    relations: frozenset[str]
    rules: tuple[Rule, ...]
    recursive: bool
    best: tuple[tuple[str, Best], ...] = ()


# -- looking into them


def subexpressions(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly below this one."""
    match expr:
        case Constant() | Var():
            return ()
        case Unary(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case If(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Let(value=value, body=body):
            return (value, body)
        case Call(args=args):
            return args


def variables(expr: Expr) -> Iterator[Var]:
    """The variables an expression reads from its surroundings, in order, with repetitions."""
    match expr:
        case Var():
            yield expr
        case Let(name, value, body):
            yield from variables(value)
            yield from (v for v in variables(body) if v.name != name)
        case _:
            for sub in subexpressions(expr):
                yield from variables(sub)


def expressions(literal: Literal) -> tuple[Expr, ...]:
    """The expressions a literal reads; a binding's own variable is not among them."""
    match literal:
        case Match(terms=terms) | Absent(terms=terms):
            return tuple(t for t in terms if not isinstance(t, Wildcard))
        case Test(condition):
            return (condition,)
        case Bind(value=value):
            return (value,)
