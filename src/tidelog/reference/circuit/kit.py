"""The grounding kit: a program as Z-sets that guide rewriting.

Idea: evaluating a body means extending rewrites (values for variables) from one prefix of the body to the
next. A *direction* says that one prefix follows another. A *signal* says that a prefix is a whole body, and
which head it grounds. A *join order* names the columns by which a relation is looked up. An *absence* names
the columns that are looked up under a negation. Adding or removing rules adds or removes these.

Invariant: a prefix is identified by a number that is assigned to its tuple of literals (`Prefixes`). Two
bodies share a number iff they start with the same literals; a sum of hashes could not guarantee that.

Mathematics: `kit` is linear: each clause contributes its own part, times its weight. Parts that several
clauses share add up. Consumers that need each part once apply distinct.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise, starmap
from typing import NamedTuple

from tidelog.data.zset import ZSet
from tidelog.program.typed import Absent, Body, Constant, Head, Literal, Match, Term, Var, Wildcard
from tidelog.reference.circuit.clause import Clause, binds, slot

__all__ = ["Direction", "Kit", "Order", "Prefix", "Prefixes", "Signal", "absence", "kit", "order"]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first literals of a body: their number, the last one, and the count of variables bound before."""

    number: int
    last: Literal | None = field(compare=False)
    bound: int = field(compare=False)


class Prefixes:
    """The table of prefixes: each tuple of literals has one number, and no other tuple has it."""

    def __init__(self) -> None:
        self._numbers: dict[Body, Prefix] = {}

    def of(self, body: Body) -> Prefix:
        known = self._numbers.get(body)
        if known is None:
            bound = {v for literal in body[:-1] for v in binds(literal)}
            known = Prefix(len(self._numbers), body[-1] if body else None, len(bound))
            self._numbers[body] = known
        return known


class Direction(NamedTuple):
    before: Prefix
    after: Prefix


class Signal(NamedTuple):
    prefix: Prefix
    head: Head
    rule: str


class Order(NamedTuple):
    """The columns by which rows of a relation are looked up."""

    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kit:
    directions: ZSet[Direction]
    signals: ZSet[Signal]
    orders: ZSet[Order]
    absences: ZSet[Order]


def kit(clauses: ZSet[Clause], prefixes: Prefixes) -> Kit:
    """The contribution of these clauses, with their weights, to the program."""
    paths = [(clause, _path(clause.body, prefixes), weight) for clause, weight in clauses.items()]
    steps = [(prefix, weight) for _, path, weight in paths for prefix in path]
    return Kit(
        ZSet((d, w) for _, path, w in paths for d in starmap(Direction, pairwise(path))),
        ZSet((Signal(path[-1], clause.head, clause.rule), w) for clause, path, w in paths),
        ZSet((order(p.last, p.bound), w) for p, w in steps if isinstance(p.last, Match)),
        ZSet((absence(p.last), w) for p, w in steps if isinstance(p.last, Absent)),
    )


def order(atom: Match, bound: int) -> Order:
    """The columns of an atom that are known before it is matched: constants and variables bound earlier."""
    return Order(atom.relation, tuple(n for n, term in enumerate(atom.terms) if _known(term, bound)))


def absence(atom: Absent) -> Order:
    """The columns of a negated atom that determine which rows must be absent."""
    columns = (n for n, term in enumerate(atom.terms) if not isinstance(term, Wildcard))
    return Order(atom.relation, tuple(columns))


def _known(term: Term, bound: int) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Var) and slot(term) < bound)


def _path(body: Body, prefixes: Prefixes) -> list[Prefix]:
    """Every prefix of the body, from the empty one to the whole."""
    return [prefixes.of(body[:length]) for length in range(len(body) + 1)]
