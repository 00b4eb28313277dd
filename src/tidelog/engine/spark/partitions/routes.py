"""What tasks send each other, so that each of them finds its part of a recursion on its own.

The relations of a stratum are *divided*, each by one of its columns: a tuple belongs to the partition that
its value in that column hashes to. A best value belongs to its key, so it is divided by a column of the key.
The tuples of the stratum that a rule joins must be in one partition:

- A rule may select tuples by constants (`T(a, "subClassOf", b)`). If these are few, all partitions have
  *copies* of them.
- All other atoms of a rule must have a variable in common. Their tuples are joined in the partition that its
  value hashes to. Tuples that are divided by another column are also *arranged* by this one: they are stored
  a second time in that partition, under another name. (Storing whole relations twice is the last resort.)

What a rule reads from lower strata is *divided beside* the recursion if it has many rows and contains the
join variable, and otherwise sent to all partitions.

A head stays where it is found if the join variable divides it. The heads of all other rules are *sent* to the
partitions that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final, NamedTuple, TypeAlias

from tidelog.engine.spark.joins.native import translate
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.plan.seeds import is_inner
from tidelog.program.typed import Absent, Best, Constant, Match, Term, Test, Var

__all__ = [
    "BESIDE",
    "WIDE",
    "Beside",
    "Pattern",
    "Reading",
    "Routes",
    "find_routes",
    "is_routable",
    "named",
]

# columns and constants: the tuples that have these constants in these columns match
Pattern: TypeAlias = tuple[tuple[int, Constant], ...]
# how many tuples of a relation match a pattern; None if they are too many
Size: TypeAlias = Callable[[str, Pattern], int | None]
# how many rows a lower relation has
SizeBeside: TypeAlias = Callable[[str], int]

BESIDE: Final = 5_000_000  # rows that every task may get in addition to its own
WIDE: Final = 200_000  # rows of a lower relation above which it is divided if that is possible
_TRIES: Final = 256
_WHOLE: Final = 10  # arranging a whole relation counts as much as sending the heads of so many rules


class Reading(NamedTuple):
    """The atom at a position of a rule reads tuples that match a pattern and are arranged by a column."""

    rule: str
    position: int
    relation: str
    column: int
    pattern: Pattern


class Beside(NamedTuple):
    """The literal at a position of a rule reads a lower relation that is divided by a column."""

    rule: str
    position: int
    relation: str
    column: int


@dataclass(frozen=True, slots=True)
class Routes:
    """`owners` are the columns by which relations are divided, `sending` the rules whose heads are sent.

    With `in_phases`, all partitions finish deletions before any of them begins with insertions: values are
    computed that must not follow from tuples that are about to be deleted.
    """

    owners: Mapping[str, int]
    copied: Mapping[str, tuple[Pattern, ...]]
    sending: frozenset[str]
    readings: frozenset[Reading]
    beside: frozenset[Beside] = frozenset()
    in_phases: bool = False
    broadcast: frozenset[str] = field(default=frozenset(), compare=False)  # lower relations read by all

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to send, and nothing to divide but the recursion."""
        return not self.copied and not self.sending and not self.readings and not self.beside

    @property
    def arranged(self) -> dict[tuple[str, int], tuple[Pattern, ...]]:
        """The patterns of the tuples to arrange, by relation and column."""
        found: dict[tuple[str, int], set[Pattern]] = {}
        for reading in self.readings:
            found.setdefault((reading.relation, reading.column), set()).add(reading.pattern)
        return {key: tuple(sorted(found[key], key=repr)) for key in sorted(found)}

    def senders(self, stratum: Stratum) -> frozenset[str]:
        """The relations that have rules whose heads are sent."""
        return frozenset(rule.head for rule in stratum.rules if rule.id in self.sending)

    @property
    def cost(self) -> int:
        """How much there is to send: rules, and arranged relations."""
        whole = sum(() in patterns for patterns in self.arranged.values())
        return len(self.sending) + len(self.arranged) + _WHOLE * whole


def is_routable(stratum: Stratum) -> bool:
    """Whether there may be routes for a stratum, if few tuples match the constants in its rules."""
    return next(_possible(stratum, lambda _, pattern: 0, lambda _: 0), None) is not None


def named(stratum: Stratum) -> dict[str, list[Pattern]]:
    """The patterns by which the rules of a stratum select tuples of its relations."""
    found: dict[str, dict[Pattern, None]] = {}
    for atom in (atom for rule in stratum.rules for atom in _atoms(rule, stratum).values()):
        if pattern := _pattern(atom.terms):
            found.setdefault(atom.relation, {})[pattern] = None
    return {name: list(patterns) for name, patterns in found.items()}


def find_routes(stratum: Stratum, size: Size, beside: SizeBeside = lambda _: 0) -> Routes | None:
    """The routes of a stratum with the least to send; None if there are none.

    Relations that all tasks get have at most `BESIDE` rows together.
    """

    def fits(routes: Routes) -> bool:
        return sum(map(beside, routes.broadcast)) <= BESIDE

    return min(filter(fits, _possible(stratum, size, beside)), key=lambda r: r.cost, default=None)


def _possible(stratum: Stratum, size: Size, beside: SizeBeside) -> Iterator[Routes]:
    """The routes of a stratum, for each way to divide its relations."""
    inner = [rule for rule in stratum.rules if is_inner(rule, stratum)]
    arity = {rule.head: len(rule.values) for rule in stratum.rules}
    fits = stratum.recursive and stratum.grouping is None and stratum.totals is None
    if not inner or not fits or any(not arity.get(name) for name in stratum.relations):
        return
    copied = _copied(inner, stratum, size)
    in_phases = bool(stratum.best) or not all(map(_is_plain, inner))
    for owners in _divisions({name: arity[name] for name in sorted(stratum.relations)}, dict(stratum.best)):
        routes = _Attempt(stratum, owners, copied, beside, in_phases).routes(inner)
        if routes is not None:
            yield routes


def _divisions(arity: Mapping[str, int], best: Mapping[str, Best]) -> Iterator[dict[str, int]]:
    """Columns to divide relations by: all combinations, or if too many, the same column for all relations."""
    keys = {
        name: [c for c in range(count) if name not in best or c != best[name].column]
        for name, count in arity.items()
    }
    if not all(keys.values()):
        return
    if prod(map(len, keys.values())) <= _TRIES:
        for columns in product(*keys.values()):
            yield dict(zip(keys, columns, strict=True))
    else:
        for column in range(max(map(len, keys.values()))):
            yield {name: columns[min(column, len(columns) - 1)] for name, columns in keys.items()}


def _is_plain(rule: FlatRule) -> bool:
    """Whether no instance of a rule can fail, and its head has only constants and variables of its body."""
    terms = (t for x in rule.body if isinstance(x, Match) for t in x.terms)
    known = {t.name: "x" for t in terms if isinstance(t, Var)}

    def is_plain(literal: object) -> bool:
        return isinstance(literal, Match | Absent) or (
            isinstance(literal, Test) and translate(literal.condition, known) is not None
        )

    values = (isinstance(v, Constant) or (isinstance(v, Var) and v.name in known) for v in rule.values)
    return all(values) and all(map(is_plain, rule.body))


def _copied(inner: Sequence[FlatRule], stratum: Stratum, size: Size) -> dict[str, tuple[Pattern, ...]]:
    """The patterns of copied tuples: those with few tuples, except the one with the most in each rule."""
    copied: dict[str, set[Pattern]] = {}
    for rule in inner:
        atoms = list(_atoms(rule, stratum).values())
        sizes = [size(a.relation, _pattern(a.terms)) if _pattern(a.terms) else None for a in atoms]
        weights = [float("inf") if found is None else found for found in sizes]
        largest = weights.index(max(weights))
        for i, atom in enumerate(atoms):
            if i != largest and sizes[i] is not None:
                copied.setdefault(atom.relation, set()).add(_pattern(atom.terms))
    return {name: tuple(sorted(found, key=repr)) for name, found in copied.items()}


def _pattern(terms: Sequence[Term | None]) -> Pattern:
    return tuple((i, t) for i, t in enumerate(terms) if isinstance(t, Constant) and t.value is not None)


def _atoms(rule: FlatRule, stratum: Stratum) -> dict[int, Match]:
    """The atoms of a rule whose relations belong to its stratum, by position."""
    return {i: x for i, x in enumerate(rule.body) if isinstance(x, Match) and x.relation in stratum.relations}


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The search for routes of a stratum whose relations are divided by these columns."""

    stratum: Stratum
    owners: Mapping[str, int]
    copied: Mapping[str, tuple[Pattern, ...]]
    beside: SizeBeside
    in_phases: bool

    def routes(self, inner: Sequence[FlatRule]) -> Routes | None:
        """The routes; None if that is impossible for some rule."""
        sending: set[str] = set()
        readings: set[Reading] = set()
        divided: set[Beside] = set()
        broadcast: set[str] = set()
        for rule in inner:
            apart = {i: atom for i, atom in _atoms(rule, self.stratum).items() if not self._is_copy(atom)}
            key = self._key(rule, apart) if apart else None
            if key is None and len(apart) > 1:
                return None
            if not apart:  # all partitions find the same heads
                heads = [v if isinstance(v, Constant) else None for v in rule.values]
                stays = _matches(heads, self.copied.get(rule.head, ()))
            else:
                stays = key is not None and rule.values[self.owners[rule.head]] == key
                readings |= self._readings(rule, apart, key)
            if not stays:
                sending.add(rule.id)
            for i, literal in _below(rule, self.stratum).items():
                if key is not None and key in literal.terms and self.beside(literal.relation) > WIDE:
                    divided.add(Beside(rule.id, i, literal.relation, literal.terms.index(key)))
                else:
                    broadcast.add(literal.relation)
        return Routes(
            self.owners,
            self.copied,
            frozenset(sending),
            frozenset(readings),
            frozenset(divided),
            self.in_phases,
            frozenset(broadcast),
        )

    def _is_copy(self, atom: Match) -> bool:
        return _matches(atom.terms, self.copied.get(atom.relation, ()))

    def _key(self, rule: FlatRule, atoms: Mapping[int, Match]) -> Var | None:
        """The variable that a rule joins on: of those in all atoms, the one with the least to send."""
        first = next(iter(atoms.values()))
        if len(atoms) == 1:
            term = first.terms[self.owners[first.relation]]
            return term if isinstance(term, Var) else None
        best = dict(self.stratum.best)
        values = {a.terms[best[a.relation].column] for a in atoms.values() if a.relation in best}
        shared = [
            t
            for t in first.terms
            if isinstance(t, Var) and t not in values and all(t in a.terms for a in atoms.values())
        ]

        def to_send(key: Var) -> int:
            stays = rule.values[self.owners[rule.head]] == key
            return len(self._readings(rule, atoms, key)) + (not stays)

        return min(shared, key=to_send, default=None)

    def _readings(self, rule: FlatRule, atoms: Mapping[int, Match], key: Var | None) -> set[Reading]:
        """The atoms that are not divided by the join variable."""
        return {
            Reading(rule.id, i, atom.relation, atom.terms.index(key), _pattern(atom.terms))
            for i, atom in atoms.items()
            if key is not None and atom.terms[self.owners[atom.relation]] != key
        }


def _below(rule: FlatRule, stratum: Stratum) -> dict[int, Match | Absent]:
    """The literals of a rule over lower relations, by position."""
    return {
        i: x
        for i, x in enumerate(rule.body)
        if isinstance(x, Match | Absent) and x.relation not in stratum.relations
    }


def _matches(terms: Sequence[Term | None], patterns: tuple[Pattern, ...]) -> bool:
    own = set(_pattern(terms))
    return any(own >= set(pattern) for pattern in patterns)
