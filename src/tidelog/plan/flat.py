"""The flat program: the input of maintenance and engines.

Every rule is one head and one conjunction. Other features of rules are expressed by hidden relations, each in
a stratum of its own:

- A group has *instances* (keys and aggregated values, one row for each combination, with the number of
  instances as its count) and *results* (keys and aggregates, one row for each nonempty group), from which the
  rule's head is derived.
- A negated atom with wildcards is the negation of a *projection* onto its other columns.
- A negated body is the negation of a relation of the parameters for which the body holds; an aggregate over
  a body is a group whose keys are its parameters. Parameters that a body only tests are supplied by a
  relation of their values in the rule around it, the *demand*. If these come from the recursion, the body is
  an expression (`typed.Over`) over vecs of what it reads.
- The starting tuples of a recursion may be a relation of *seeds* (see `plan.seeds`).
- Each relation of a recursion with totals has *asserted* rows, *instances*, *groups* and *dependencies* (see
  `Totals`).

Identities are stable: a hidden relation is named after its definition, so the flat programs of two versions
of a program can be compared part by part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias
from weakref import ref

from tidelog.data.types import Type
from tidelog.errors import NOWHERE, Span
from tidelog.program.analysis.order import Order
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.typed import Absent, Aggregate, Best, Bind, Each, Expr, Match, Test

__all__ = [
    "Dependencies",
    "FlatBody",
    "FlatChange",
    "FlatIndex",
    "FlatLiteral",
    "FlatProgram",
    "FlatRule",
    "Grouping",
    "Kept",
    "Kind",
    "Parts",
    "Role",
    "Stored",
    "Stratum",
    "Totals",
]


FlatLiteral: TypeAlias = Match | Absent | Test | Bind | Each
FlatBody: TypeAlias = tuple[FlatLiteral, ...]


class Kind(Enum):
    """Why a relation exists."""

    DECLARED = "declared"
    INSTANCES = "instances"
    RESULTS = "results"
    PROJECTION = "projection"
    BODY = "body"
    DEMAND = "demand"
    SEEDS = "seeds"
    ASSERTED = "asserted"
    GROUPS = "groups"
    DEPENDENCIES = "dependencies"


@dataclass(frozen=True, slots=True)
class Stored:
    """A relation that an engine stores; `keyed` if it has a primary key.

    `columns` and `title` are the names shown to users. `source` is the relation whose asserted rows it holds.
    """

    name: str
    types: tuple[Type, ...]
    kind: Kind = Kind.DECLARED
    keyed: bool = False
    columns: tuple[str, ...] = field(default=(), compare=False)
    title: str = field(default="", compare=False)
    source: str | None = None


class Role(Enum):
    """Which instances a rule finds. In the last two roles its head is the first atom of its body."""

    DERIVE = "derive"  # all its instances
    REDERIVE = "rederive"  # the instances of given heads
    BY_KEY = "by key"  # the instances of given keys: the head without its value


@dataclass(frozen=True, slots=True)
class FlatRule:
    """One head and one conjunction; atoms under `not` have no wildcards.

    A rule is identified by its id and its role. `origin` is the text of the original rule, and `reads` are
    the relations in its body.
    """

    id: str
    head: str
    values: tuple[Expr, ...]
    body: FlatBody
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

    `arguments` are the columns of `instances` that each aggregate reads, one for each of its arguments except
    the one that is a constant. `besides` are other relations that
    must be complete before.
    """

    instances: str
    results: str
    keys: int
    aggregates: tuple[Aggregate, ...]
    arguments: tuple[tuple[int, ...], ...]
    origin: str
    besides: tuple[str, ...] = ()

    @property
    def reads(self) -> frozenset[str]:
        return frozenset([self.instances, *self.besides])


@dataclass(frozen=True, slots=True)
class Dependencies:
    """`name` says which groups of the relation `above` depend on which groups of the relation `below`.

    Its columns are the `size` columns of the group above, then those of the group below.
    """

    name: str
    above: str
    below: str
    size: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A relation of a recursion with totals, and its hidden `instances`.

    The columns of `instances` are the `keys` of the relation, then, if it keeps a total, a contribution.
    `total` is the column of the total, or None; `unsigned` if its type has no negative values. `group` are
    the columns that do not depend on totals, and `groups` is the hidden relation that has them.
    """

    relation: str
    instances: str
    keys: tuple[int, ...]
    total: int | None
    group: tuple[int, ...]
    groups: str
    unsigned: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """The relations of a recursion with totals, how rows follow from instances, and what groups depend on.

    Groups and `dependencies` are maintained in strata below. In the threshold form, `on_demand` are strata
    that compute them when they are needed.
    """

    kept: tuple[Kept, ...]
    is_threshold: bool
    # follow from the rules; a state can be updated if only these have changed
    groupings: tuple[Grouping, ...] = field(compare=False)
    dependencies: tuple[Dependencies, ...] = field(compare=False)
    on_demand: tuple[Stratum, ...] = field(default=(), compare=False)

    @property
    def reads(self) -> frozenset[str]:
        """The relations that are read besides those in rules."""
        if self.is_threshold:
            return frozenset()
        return frozenset((*(d.name for d in self.dependencies), *(kept.groups for kept in self.kept)))

    @property
    def temporary(self) -> frozenset[str]:
        """The relations that have rows only while the stratum is maintained."""
        return frozenset().union(*(stratum.relations for stratum in self.on_demand))


@dataclass(frozen=True, slots=True)
class Stratum:
    """The unit of maintenance: relations that depend on each other, or the results of one grouping.

    `reads` are the relations in the bodies of its rules, `below` those of other strata; `origins` are the
    texts of its rules; `name` is shown to users.
    """

    relations: frozenset[str]
    rules: tuple[FlatRule, ...]
    recursive: bool
    grouping: Grouping | None = None
    best: tuple[tuple[str, Best], ...] = ()
    totals: Totals | None = None
    name: str = field(default="", compare=False)
    reads: frozenset[str] = field(init=False, compare=False, repr=False)
    below: frozenset[str] = field(init=False, compare=False, repr=False)
    origins: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        more: frozenset[str] = frozenset() if self.totals is None else self.totals.reads
        reads = more.union(*(rule.reads for rule in self.rules))
        object.__setattr__(self, "reads", reads)
        object.__setattr__(self, "below", reads - self.relations)
        object.__setattr__(self, "origins", tuple(dict.fromkeys(rule.origin for rule in self.rules)))


@dataclass(frozen=True, slots=True)
class Parts:
    """What a rule of the program became: flat rules and hidden relations, by their names."""

    rules: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlatChange:
    """How a flat program differs from another: rules by id, relations by name, strata by number.

    `relations` are new or stored otherwise, and `dropped` are gone; `strata` are those that the other program
    does not have.
    """

    base: ref[FlatProgram]
    added: Collection[str]
    removed: Collection[str]
    relations: Collection[str]
    dropped: Collection[str]
    strata: Collection[int]


@dataclass(frozen=True, slots=True)
class FlatIndex:
    """Who derives and who reads a relation, so that a change costs what it touches.

    `order` are the relations of the strata; `deriving` are the rules of a relation, by id; `readers` are the
    relations whose rules or grouping read a relation; `parts` are those of each rule of the program; `best`
    are the relations that keep best values or totals; `change` is the difference from an earlier program, if
    known.
    """

    order: Order = Order()
    deriving: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    readers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    parts: Mapping[str, Parts] = field(default_factory=dict)
    best: frozenset[str] = frozenset()
    change: FlatChange | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FlatProgram:
    """A flat program; `strata` are in evaluation order.

    An addition is what a query adds to another program, whose relations it only reads.
    """

    relations: Mapping[str, Stored] = field(default_factory=dict)
    rules: Mapping[str, FlatRule] = field(default_factory=dict)
    groupings: Mapping[str, Grouping] = field(default_factory=dict)
    functions: Mapping[str, Function | PythonFunction] = field(default_factory=dict)
    strata: tuple[Stratum, ...] = ()
    is_addition: bool = False
    known: FlatIndex | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled without its index, which is made again."""
        parts = (self.relations, self.rules, self.groupings, self.functions, self.strata, self.is_addition)
        return FlatProgram, parts

    @property
    def index(self) -> FlatIndex:
        if self.known is None:
            object.__setattr__(self, "known", _indexed(self))
        assert self.known is not None
        return self.known

    def since(self, old: FlatProgram) -> FlatChange:
        """How this program differs from another. An addition has removed nothing."""
        change = self.index.change
        if change is not None and change.base() is old:
            return change
        if self is old:
            return _NO_CHANGE
        removed = () if self.is_addition else old.rules.keys() - self.rules.keys()
        known = set(map(id, old.strata))
        return FlatChange(
            ref(old),
            self.rules.keys() - old.rules.keys(),
            removed,
            [name for name, stored in self.relations.items() if old.relations.get(name) is not stored],
            () if self.is_addition else old.relations.keys() - self.relations.keys(),
            [number for number, stratum in enumerate(self.strata) if id(stratum) not in known],
        )

    def stratum_of(self, relation: str) -> Stratum | None:
        """The stratum of a relation; None if the program does not have it."""
        number = self.index.order.number.get(relation)
        return None if number is None else self.strata[number]

    def below(self, relation: str) -> frozenset[str]:
        """The relations that a relation is derived from directly."""
        ids = self.index.deriving.get(relation, ())
        grouping = self.groupings.get(relation)
        own = frozenset() if grouping is None else grouping.reads
        return own.union(*(self.rules[id_].reads for id_ in ids))

    def used(self) -> frozenset[str]:
        """The relations that strata derive or read."""
        return frozenset().union(*(stratum.relations | stratum.reads for stratum in self.strata))

    def title(self, relation: str) -> str:
        """The name of a relation for users."""
        return self.relations[relation].title or relation

    def columns(self, relation: str, places: Iterable[int]) -> str:
        """The names of some columns of a relation for users."""
        names = self.relations[relation].columns
        return ", ".join(names[i] for i in places)


_NO_CHANGE: Final = FlatChange(ref(FlatProgram()), (), (), (), (), ())


def _indexed(program: FlatProgram) -> FlatIndex:
    deriving: dict[str, list[str]] = {}
    readers: dict[str, set[str]] = {}
    for rule in program.rules.values():
        deriving.setdefault(rule.head, []).append(rule.id)
        for name in rule.reads:
            readers.setdefault(name, set()).add(rule.head)
    for grouping in program.groupings.values():
        for name in grouping.reads:
            readers.setdefault(name, set()).add(grouping.results)
    return FlatIndex(
        Order.of(stratum.relations for stratum in program.strata),
        {head: tuple(ids) for head, ids in deriving.items()},
        {name: frozenset(heads) for name, heads in readers.items()},
    )
