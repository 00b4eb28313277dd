"""What tasks send each other, so that each of them finds its part of a recursion on its own.

The relations of a stratum are *divided*, each by one of its columns: a tuple belongs to the partition that
its value in that column hashes to. Where a rule joins relations of the stratum with each other, the tuples
that it joins must be in one partition:

- A rule may select tuples by constants (`T(a, "subClassOf", b)`). If these are few, all partitions have
  *copies* of them.
- All other atoms of a rule must have a variable in common. Their tuples are joined in the partition that its
  value hashes to. Tuples that are selected by constants and divided by another column are also *arranged* by
  this one: they are stored a second time in that partition, under another name. (Storing whole relations
  twice takes longer than joins.)

A head stays where it is found if the join variable divides it. The heads of all other rules are *sent* to the
partitions that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final, NamedTuple, TypeAlias

from tidelog.data.types import INT
from tidelog.engine.spark.joins.native import translate
from tidelog.plan.flat import FlatRule, Stored, Stratum
from tidelog.plan.seeds import is_inner
from tidelog.program.typed import Absent, Constant, Match, Term, Test, Var, Wildcard

__all__ = [
    "Pattern",
    "Routes",
    "arranged",
    "find_routes",
    "is_routable",
    "named",
    "received",
    "sent",
    "with_routes",
]

# columns and constants: the tuples that have these constants in these columns match
Pattern: TypeAlias = tuple[tuple[int, Constant], ...]
# how many tuples of a relation match a pattern; None if they are too many
Size: TypeAlias = Callable[[str, Pattern], int | None]

_TRIES: Final = 256


class Reading(NamedTuple):
    """The atom at a position of a rule reads tuples that match a pattern and are arranged by a column."""

    rule: str
    position: int
    relation: str
    column: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Routes:
    """`owners` are the columns by which relations are divided, `sending` the rules whose heads are sent."""

    owners: Mapping[str, int]
    copied: Mapping[str, tuple[Pattern, ...]]
    sending: frozenset[str]
    readings: frozenset[Reading]

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to send."""
        return not self.copied and not self.sending and not self.readings

    @property
    def arranged(self) -> dict[tuple[str, int], tuple[Pattern, ...]]:
        """The patterns of the tuples to arrange, by relation and column."""
        found: dict[tuple[str, int], set[Pattern]] = {}
        for reading in self.readings:
            found.setdefault((reading.relation, reading.column), set()).add(reading.pattern)
        return {key: tuple(sorted(found[key], key=repr)) for key in sorted(found)}

    @property
    def received(self) -> dict[str, int]:
        """The relations of received tuples, and the columns by which they are divided."""
        made = {received(name): column + 1 for name, column in self.owners.items()}
        return made | {arranged(name, column): column + 1 for name, column in self.arranged}

    def senders(self, stratum: Stratum) -> frozenset[str]:
        """The relations that have rules whose heads are sent."""
        return frozenset(rule.head for rule in stratum.rules if rule.id in self.sending)


def is_routable(stratum: Stratum) -> bool:
    """Whether there may be routes for a stratum, if few tuples match the constants in its rules."""
    return next(_possible(stratum, lambda _, pattern: 0), None) is not None


def named(stratum: Stratum) -> dict[str, list[Pattern]]:
    """The patterns by which the rules of a stratum select tuples of its relations."""
    found: dict[str, dict[Pattern, None]] = {}
    for atom in (atom for rule in stratum.rules for atom in _atoms(rule, stratum).values()):
        if pattern := _pattern(atom.terms):
            found.setdefault(atom.relation, {})[pattern] = None
    return {name: list(patterns) for name, patterns in found.items()}


def find_routes(stratum: Stratum, size: Size) -> Routes | None:
    """The routes of a stratum with the least to send; None if there are none."""
    return min(_possible(stratum, size), key=lambda r: len(r.sending) + len(r.arranged), default=None)


def _possible(stratum: Stratum, size: Size) -> Iterator[Routes]:
    """The routes of a stratum, for each way to divide its relations."""
    inner = [rule for rule in stratum.rules if is_inner(rule, stratum)]
    arity = {rule.head: len(rule.values) for rule in stratum.rules}
    plain = stratum.recursive and not stratum.best and stratum.grouping is None and all(map(_is_plain, inner))
    if not inner or not plain or any(not arity.get(name) for name in stratum.relations):
        return
    copied = _copied(inner, stratum, size)
    for owners in _divisions({name: arity[name] for name in sorted(stratum.relations)}):
        routes = _try(inner, stratum, owners, copied)
        if routes is not None:
            yield routes


def _divisions(arity: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Columns to divide relations by: all combinations, or if too many, the same column for all relations."""
    if prod(arity.values()) <= _TRIES:
        for columns in product(*map(range, arity.values())):
            yield dict(zip(arity, columns, strict=True))
    else:
        for column in range(max(arity.values())):
            yield {name: min(column, count - 1) for name, count in arity.items()}


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


def _pattern(terms: tuple[Term, ...]) -> Pattern:
    return tuple((i, t) for i, t in enumerate(terms) if isinstance(t, Constant) and t.value is not None)


def _atoms(rule: FlatRule, stratum: Stratum) -> dict[int, Match]:
    """The atoms of a rule whose relations belong to its stratum, by position."""
    return {i: x for i, x in enumerate(rule.body) if isinstance(x, Match) and x.relation in stratum.relations}


def _try(
    inner: Sequence[FlatRule],
    stratum: Stratum,
    owners: Mapping[str, int],
    copied: Mapping[str, tuple[Pattern, ...]],
) -> Routes | None:
    """The routes with relations divided by these columns; None if that is impossible for some rule."""
    sending: set[str] = set()
    readings: set[Reading] = set()
    for rule in inner:
        apart = {
            i: atom
            for i, atom in _atoms(rule, stratum).items()
            if not _is_copied(atom.terms, copied.get(atom.relation, ()))
        }
        if not apart:  # all partitions find the same heads
            heads = tuple(v for v in rule.values if isinstance(v, Var | Constant))
            stays = _is_copied(heads, copied.get(rule.head, ()))
        else:
            key = _key(rule, apart, owners)
            own = _readings(rule, apart, owners, key)
            if (key is None and len(apart) > 1) or any(not reading.pattern for reading in own):
                return None
            stays = key is not None and rule.values[owners[rule.head]] == key
            readings |= own
        if not stays:
            sending.add(rule.id)
    return Routes(owners, copied, frozenset(sending), frozenset(readings))


def _key(rule: FlatRule, atoms: Mapping[int, Match], owners: Mapping[str, int]) -> Var | None:
    """The variable that a rule joins on: of those that its atoms share, the one with the least to send."""
    first = next(iter(atoms.values()))
    if len(atoms) == 1:
        term = first.terms[owners[first.relation]]
        return term if isinstance(term, Var) else None
    shared = [t for t in first.terms if isinstance(t, Var) and all(t in a.terms for a in atoms.values())]

    def to_send(key: Var) -> int:
        stays = rule.values[owners[rule.head]] == key
        return len(_readings(rule, atoms, owners, key)) + (not stays)

    return min(shared, key=to_send, default=None)


def _readings(
    rule: FlatRule, atoms: Mapping[int, Match], owners: Mapping[str, int], key: Var | None
) -> set[Reading]:
    """The atoms that are not divided by the join variable."""
    return {
        Reading(rule.id, i, atom.relation, atom.terms.index(key), _pattern(atom.terms))
        for i, atom in atoms.items()
        if key is not None and atom.terms[owners[atom.relation]] != key
    }


def _is_copied(terms: tuple[Term, ...], patterns: tuple[Pattern, ...]) -> bool:
    own = set(_pattern(terms))
    return any(own >= set(pattern) for pattern in patterns)


# -- the stratum in tasks


def sent(relation: str) -> str:
    """The relation of heads to send."""
    return f"{relation} [sent]"


def received(relation: str) -> str:
    """The relation of received tuples: the sender, then the tuple."""
    return f"{relation} [received]"


def arranged(relation: str, column: int) -> str:
    """The relation of tuples received to be arranged by a column: the sender, then the tuple."""
    return f"{relation} [by {column}]"


def with_routes(
    stratum: Stratum, relations: Mapping[str, Stored], routes: Routes
) -> tuple[Stratum, Mapping[str, Stored]]:
    """The stratum, with relations for the tuples that its partitions send and receive.

    These belong to the stratum, so that received tuples have ranks: they only support tuples of higher rank.
    """
    made: dict[str, Stored] = {}
    rules = [_rerouted(rule, routes) for rule in stratum.rules]
    senders = routes.senders(stratum)
    for name in sorted(senders):
        made[sent(name)] = replace(relations[name], name=sent(name), keyed=False)
    for name in sorted(senders | routes.copied.keys()):
        types = relations[name].types
        made[received(name)] = Stored(received(name), (INT, *types))
        values = tuple(Var(f"v{i}", type_) for i, type_ in enumerate(types))
        body = (Match(received(name), (Wildcard(), *values)),)
        rules.append(FlatRule(received(name), name, values, body, stratum.rules[0].origin))
    for name, column in routes.arranged:
        kept = arranged(name, column)
        made[kept] = Stored(kept, (INT, *relations[name].types))
    own = replace(stratum, relations=stratum.relations.union(made), rules=tuple(rules))
    return own, {**relations, **made}


def _rerouted(rule: FlatRule, routes: Routes) -> FlatRule:
    """The rule, reading the tuples that are arranged for it and deriving the tuples to send."""
    body = list(rule.body)
    for reading in routes.readings:
        if reading.rule == rule.id:
            atom = body[reading.position]
            assert isinstance(atom, Match)
            body[reading.position] = Match(arranged(atom.relation, reading.column), (Wildcard(), *atom.terms))
    return replace(rule, head=sent(rule.head) if rule.id in routes.sending else rule.head, body=tuple(body))
