"""The typed program: the result of elaboration, and the only input of later layers.

A rule is normalised as far as its meaning allows and no further:

- its body is a tuple of alternative *bodies* (disjunctions are expanded), each a tuple of literals;
- a body *instance* is one tuple for each positive atom of one alternative (columns under `_` included)
  that satisfies every other literal;
- without a group, each instance derives one row for each head;
- with a group, the instances of all alternatives are grouped by the values of the keys; each non-empty
  group gives one binding of the keys and the aggregates' results; the alternatives of `after` are evaluated
  under that binding, and their instances derive the rows of the heads.

Structured values are taken apart by three expressions: `Is` asks for the constructor, `Get` reads a field
and `Make` builds a value. Patterns and `match` are expressed by them, with `If` and `Let`. A generator
(`Each`) is a positive literal: an instance has one item of its collection, and equal items at two positions
are two instances. A *nested* body (of `Nested` and `Without`) is evaluated under the values of its
parameters, which are variables that the literals around it bind; its other variables are its own.

Invariants, established by elaboration and relied on by all later layers: names resolve, types match, the
terms of an atom are variables, constants or wildcards (expressions are assigned to fresh variables), every
variable is bound by a positive atom or an assignment, and assignments are ordered so that each uses only
variables that positive atoms and earlier assignments bind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.data.types import Type
from tidelog.data.values import Value
from tidelog.errors import NOWHERE, Span
from tidelog.program.steps import Steps

__all__ = [
    "Absent",
    "Aggregate",
    "Best",
    "Binary",
    "Bind",
    "Block",
    "Body",
    "Call",
    "Cast",
    "Constant",
    "Each",
    "Expr",
    "Get",
    "Group",
    "Head",
    "If",
    "Is",
    "Lambda",
    "Let",
    "Listing",
    "Literal",
    "Make",
    "Match",
    "Nested",
    "Over",
    "Rule",
    "Source",
    "Stage",
    "Stratum",
    "Term",
    "Test",
    "Total",
    "Totals",
    "Unary",
    "Var",
    "Wildcard",
    "Without",
]


# -- expressions


@dataclass(frozen=True, slots=True)
class Constant:
    value: Value
    type: Type

    def __eq__(self, other: object) -> bool:
        # True == 1 == 1.0 in Python; the type distinguishes them.
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
    """One of `+ - * / % +% -% *% ++ & | ^ << >> == != < <= > >= and or`.

    Both operands have the same type, except for shifts. `and` and `or` short-circuit: the right side is
    evaluated only if the left side does not decide the result.
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
    """`body`, in which `name` stands for `value`."""

    name: str
    value: Expr
    body: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function by name: standard, declared in the program, or registered from Python."""

    function: str
    args: tuple[Expr, ...]
    type: Type
    closures: tuple[Lambda, ...] = ()


@dataclass(frozen=True, slots=True)
class Lambda:
    """A closure that a standard function calls; it may use the variables around it."""

    parameters: tuple[Var, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Make:
    """A value of a struct, union or tuple type; `constructor` is "" for a tuple."""

    constructor: str
    fields: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Get:
    """A field of a value, by position. It fails if the value has another constructor ("" for a tuple)."""

    operand: Expr
    constructor: str
    field: int
    type: Type


@dataclass(frozen=True, slots=True)
class Is:
    """Whether a value has this constructor. Its type is `bool`."""

    operand: Expr
    constructor: str
    type: Type


@dataclass(frozen=True, slots=True)
class Listing:
    """A vec of these items."""

    items: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Block:
    """What statements return."""

    steps: Steps
    type: Type


@dataclass(frozen=True, slots=True)
class Source:
    """Instances of a body: the items of `rows` for which the literals of `body` hold.

    An item is a tuple that begins with the values of `columns`. An instance fails if one of its literals or
    `args` fails and all others hold.
    """

    rows: Expr
    columns: tuple[Var, ...]
    body: tuple[Test | Bind | Each, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Over:
    """An aggregate over instances; made by `plan.per_binding` of a nested body.

    Over nothing, the value is that of `nothing`; if that is None, `type` is a vec of at most one result. The
    function `none` says whether there is no instance. Any other fails if an instance or one of the
    `parameters` fails.
    """

    function: str
    distinct: bool
    parameters: tuple[Var, ...]
    sources: tuple[Source, ...]
    nothing: Expr | None
    type: Type


Expr: TypeAlias = (
    Constant | Var | Unary | Binary | If | Let | Call | Cast | Make | Get | Is | Listing | Block | Over
)


# -- literals


@dataclass(frozen=True, slots=True)
class Wildcard:
    pass


Term: TypeAlias = Var | Constant | Wildcard


@dataclass(frozen=True, slots=True)
class Match:
    """A positive atom.

    With a `delay`, it reads the relation as of so many commits ago. With `is_prime`, each row of a stream or
    multiset counts once. `program.weighting` leaves neither, and no multisets.
    """

    relation: str
    terms: tuple[Term, ...]
    delay: int = 0
    is_prime: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """A negated atom: no tuple matches the terms that are not wildcards."""

    relation: str
    terms: tuple[Term, ...]
    delay: int = 0
    is_prime: bool = False


@dataclass(frozen=True, slots=True)
class Test:
    condition: Expr


@dataclass(frozen=True, slots=True)
class Bind:
    variable: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Each:
    """`variable` is an item of a vec, an element of a set, or a tuple of a key and its value in a map."""

    variable: Var
    collection: Expr


@dataclass(frozen=True, slots=True)
class Nested:
    """`result` is an aggregate over the instances of the bodies, under the values of `parameters`.

    Over no instances, the aggregate has the value that `catalog` gives for it, or the literal does not hold.
    """

    result: Var
    function: str
    args: tuple[Expr, ...]
    distinct: bool
    parameters: tuple[Var, ...]
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """No body has an instance, under the values of `parameters`."""

    parameters: tuple[Var, ...]
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """`columns` are the keys and results of the groups of an earlier stage of a rule, one row per group.

    Its bodies are complete by themselves. All bodies of a later stage begin with it.
    """

    group: Group
    bodies: tuple[Body, ...]

    @property
    def columns(self) -> tuple[Var, ...]:
        return self.group.columns


Literal: TypeAlias = Match | Absent | Test | Bind | Each | Nested | Without | Stage
Body: TypeAlias = tuple[Literal, ...]


# -- rules


@dataclass(frozen=True, slots=True)
class Head:
    relation: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`result` is `function` over the values of `args[0]` in all instances.

    The others are those of the catalogue, such as the value that `arg_min` and `arg_max` compare. The
    separator of `concat`, the fraction of `quantile` and the number of `top` are constants.
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

    @property
    def columns(self) -> tuple[Var, ...]:
        """What is known after the group: its keys and results."""
        return (*self.keys, *(a.result for a in self.aggregates))


@dataclass(frozen=True, slots=True)
class Rule:
    """`id` is the canonical form: rules that differ only in the names of their variables share it."""

    id: str
    heads: tuple[Head, ...]
    bodies: tuple[Body, ...]
    group: Group | None
    after: tuple[Body, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def is_fact(self) -> bool:
        return self.bodies == ((),) and self.group is None


# -- strata


@dataclass(frozen=True, slots=True)
class Best:
    """The relation keeps, per value of its other columns, the row with the best value of `column`."""

    column: int
    function: str  # "min" or "max"


@dataclass(frozen=True, slots=True)
class Total:
    """The relation keeps, per value of its other columns, one row: the total of all contributions."""

    column: int
    function: str  # "sum" or "count"


@dataclass(frozen=True, slots=True)
class Totals:
    """What is known about a stratum with recursive sums or counts (see `analysis.totals`).

    `kept` are the relations that keep a total, and `aggregated` the columns of all relations of the stratum
    that depend on totals. `is_threshold` says that totals are only compared with what they must exceed.
    """

    kept: tuple[tuple[str, Total], ...]
    aggregated: tuple[tuple[str, frozenset[int]], ...]
    is_threshold: bool


@dataclass(frozen=True, slots=True)
class Stratum:
    """Mutually dependent relations with the rules that derive them, as rewritten for this stratum.

    `best` names the relations that keep only the best value per key. `totals` are recursive sums and counts.
    `per_binding` are the rules with nested bodies that test values from the recursion, by their identities.
    """

    relations: frozenset[str]
    rules: tuple[Rule, ...]
    recursive: bool
    best: tuple[tuple[str, Best], ...] = ()
    totals: Totals | None = None
    per_binding: frozenset[str] = frozenset()
