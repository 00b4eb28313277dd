"""The flat program: what maintenance and engines work on.

Every rule is one head and one conjunction. What a rule of the language has beyond that is made of hidden
relations, each in a stratum of its own:

- a group is its *instances* (keys and aggregated values, one row for each combination, its count being the
  number of instances) and its *results* (keys and aggregates, one row for each non-empty group), which the
  rule's head is derived from;
- a negated atom with wildcards is the negation of a *projection* onto its other columns;
- what a recursion begins with may be a relation of *seeds* (see `plan.seeds`).

Identities are stable: a hidden relation is named after what it is made from, so that the flat programs of
two versions of a program can be compared part by part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from tidelog.data.types import Type
from tidelog.errors import NOWHERE, Span
from tidelog.program.typed import Absent, Aggregate, Best, Body, Expr, Function, Match, PythonFunction

__all__ = ["FlatProgram", "FlatRule", "Grouping", "Kind", "Role", "Stored", "Stratum"]


class Kind(Enum):
    """Why a relation is there."""

    DECLARED = "declared"
    INSTANCES = "instances"
    RESULTS = "results"
    PROJECTION = "projection"
    SEEDS = "seeds"


@dataclass(frozen=True, slots=True)
class Stored:
    """A relation that an engine keeps; `keyed` if some columns are a primary key of it.

    `columns` and `title` are what people call its columns and itself.
    """

    name: str
    types: tuple[Type, ...]
    kind: Kind = Kind.DECLARED
    keyed: bool = False
    columns: tuple[str, ...] = field(default=(), compare=False)
    title: str = field(default="", compare=False)


class Role(Enum):
    """What a rule is asked for. In the last two roles its head is the first atom of its body."""

    DERIVE = "derive"  # all its instances
    REDERIVE = "rederive"  # the instances of given heads
    BY_KEY = "by key"  # the instances of given keys: the head without its value


@dataclass(frozen=True, slots=True)
class FlatRule:
    """One head, one conjunction; atoms under `not` have no wildcards.

    A rule is identified by its id and its role. `origin` is the text of the rule that it was made from;
    `reads` are the relations in its body.
    """

    id: str
    head: str
    values: tuple[Expr, ...]
    body: Body
    origin: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    role: Role = Role.DERIVE
    reads: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        reads = frozenset(x.relation for x in self.body if isinstance(x, Match | Absent))
        object.__setattr__(self, "reads", reads)


@dataclass(frozen=True, slots=True)
class Grouping:
    """`results` holds, for each key among `instances`, the aggregates over the rows with that key.

    `arguments` are the columns of `instances` that each aggregate reads.
    """

    instances: str
    results: str
    keys: int
    aggregates: tuple[Aggregate, ...]
    arguments: tuple[tuple[int, ...], ...]
    origin: str


@dataclass(frozen=True, slots=True)
class Stratum:
    """What is maintained together: relations that depend on each other, or the results of one grouping.

    `reads` are the relations in the bodies of its rules; `name` is what people call it.
    """

    relations: frozenset[str]
    rules: tuple[FlatRule, ...]
    recursive: bool
    grouping: Grouping | None = None
    best: tuple[tuple[str, Best], ...] = ()
    name: str = field(default="", compare=False)
    reads: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", frozenset().union(*(rule.reads for rule in self.rules)))


@dataclass(frozen=True, slots=True)
class FlatProgram:
    """`units` are in an order of evaluation."""

    relations: Mapping[str, Stored] = field(default_factory=dict)
    rules: Mapping[str, FlatRule] = field(default_factory=dict)
    groupings: Mapping[str, Grouping] = field(default_factory=dict)
    functions: Mapping[str, Function | PythonFunction] = field(default_factory=dict)
    strata: tuple[Stratum, ...] = ()

    def used(self) -> frozenset[str]:
        """The relations that units derive or read."""
        return frozenset().union(*(stratum.relations | stratum.reads for stratum in self.strata))

    def title(self, relation: str) -> str:
        """What people call a relation."""
        return self.relations[relation].title or relation

    def columns(self, relation: str, places: Iterable[int]) -> str:
        """What people call some of its columns."""
        names = self.relations[relation].columns
        return ", ".join(names[i] for i in places)
