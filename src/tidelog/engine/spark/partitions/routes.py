"""What tasks send each other, so that each of them finds its part of a recursion on its own.

The relations of a unit are *divided*, each by one of its columns: a tuple belongs to the partition that the
value there is hashed to. Where a rule joins relations of the unit with each other, what it joins has to be in
one partition:

- A rule may name some tuples by constants (`T(a, "subClassOf", b)`); where these are few, all partitions have
  *copies* of them.
- All other atoms of a rule must have a variable in common. What they mean is joined in the partition that its
  value is hashed to. What is named by constants, and divided by another column, is *arranged* by this one
  too: it is also kept there, under another name. (To keep whole relations twice takes longer than joins.)

A head stays where it is found if it is divided by what the join is by; the heads of all other rules are
*sent* to where they belong.
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

# columns and what is in them, of the tuples that are meant
Pattern: TypeAlias = tuple[tuple[int, Constant], ...]
# how many tuples of a relation a pattern means, if they are not too many
Size: TypeAlias = Callable[[str, Pattern], int | None]

_TRIES: Final = 256


class Reading(NamedTuple):
    """The atom at a position of a rule means what is arranged by a column, of what it names by constants."""

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
        """What is arranged of relations, and by which columns, beside those that divide them."""
        found: dict[tuple[str, int], set[Pattern]] = {}
        for reading in self.readings:
            found.setdefault((reading.relation, reading.column), set()).add(reading.pattern)
        return {key: tuple(sorted(found[key], key=repr)) for key in sorted(found)}

    @property
    def received(self) -> dict[str, int]:
        """The relations of what is received, and the columns by which they are divided."""
        made = {received(name): column + 1 for name, column in self.owners.items()}
        return made | {arranged(name, column): column + 1 for name, column in self.arranged}

    def senders(self, stratum: Stratum) -> frozenset[str]:
        """The relations some of whose rules send their heads."""
        return frozenset(rule.head for rule in stratum.rules if rule.id in self.sending)


def is_routable(stratum: Stratum) -> bool:
    """Whether there may be routes for a unit, if what its rules name by constants is little."""
    return next(_possible(stratum, lambda _, pattern: 0), None) is not None


def named(stratum: Stratum) -> dict[str, list[Pattern]]:
    """What the rules of a unit name by constants, of its relations."""
    found: dict[str, dict[Pattern, None]] = {}
    for atom in (atom for rule in stratum.rules for atom in _atoms(rule, stratum).values()):
        if pattern := _pattern(atom.terms):
            found.setdefault(atom.relation, {})[pattern] = None
    return {name: list(patterns) for name, patterns in found.items()}


def find_routes(stratum: Stratum, size: Size) -> Routes | None:
    """The routes of a unit, with as little to send as possible; None if there are none."""
    return min(_possible(stratum, size), key=lambda r: len(r.sending) + len(r.arranged), default=None)


def _possible(stratum: Stratum, size: Size) -> Iterator[Routes]:
    """The routes of a unit, with its relations divided in one way or another."""
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
    """Columns to divide relations by: all ways, or where these are too many, the same for all of them."""
    if prod(arity.values()) <= _TRIES:
        for columns in product(*map(range, arity.values())):
            yield dict(zip(arity, columns, strict=True))
    else:
        for column in range(max(arity.values())):
            yield {name: min(column, count - 1) for name, count in arity.items()}


def _is_plain(rule: FlatRule) -> bool:
    """Whether no instance of a rule can fail, and all its values are of its body."""
    terms = (t for x in rule.body if isinstance(x, Match) for t in x.terms)
    known = {t.name: "x" for t in terms if isinstance(t, Var)}

    def is_plain(literal: object) -> bool:
        return isinstance(literal, Match | Absent) or (
            isinstance(literal, Test) and translate(literal.condition, known) is not None
        )

    values = (isinstance(v, Constant) or (isinstance(v, Var) and v.name in known) for v in rule.values)
    return all(values) and all(map(is_plain, rule.body))


def _copied(inner: Sequence[FlatRule], stratum: Stratum, size: Size) -> dict[str, tuple[Pattern, ...]]:
    """What all have copies of: the little that rules name by constants, but for the most in each rule."""
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
    """The atoms of a rule that its unit defines, by position."""
    return {i: x for i, x in enumerate(rule.body) if isinstance(x, Match) and x.relation in stratum.relations}


def _try(
    inner: Sequence[FlatRule],
    stratum: Stratum,
    owners: Mapping[str, int],
    copied: Mapping[str, tuple[Pattern, ...]],
) -> Routes | None:
    """The routes with relations divided by these columns; None if some rule cannot do with that."""
    sending: set[str] = set()
    readings: set[Reading] = set()
    for rule in inner:
        apart = {
            i: atom
            for i, atom in _atoms(rule, stratum).items()
            if not _is_copied(atom.terms, copied.get(atom.relation, ()))
        }
        if not apart:  # found in all partitions
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
    """The variable that a rule is joined by: of those that its atoms share, the one with least to send."""
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
    """The atoms that are not divided by what they are joined by."""
    return {
        Reading(rule.id, i, atom.relation, atom.terms.index(key), _pattern(atom.terms))
        for i, atom in atoms.items()
        if key is not None and atom.terms[owners[atom.relation]] != key
    }


def _is_copied(terms: tuple[Term, ...], patterns: tuple[Pattern, ...]) -> bool:
    own = set(_pattern(terms))
    return any(own >= set(pattern) for pattern in patterns)


# -- the unit as tasks have it


def sent(relation: str) -> str:
    """The relation of heads that are to be sent."""
    return f"{relation} [sent]"


def received(relation: str) -> str:
    """The relation of tuples that were received: who sent them, and they."""
    return f"{relation} [received]"


def arranged(relation: str, column: int) -> str:
    """The relation of tuples that were received to be arranged by a column: who sent them, and they."""
    return f"{relation} [by {column}]"


def with_routes(
    stratum: Stratum, relations: Mapping[str, Stored], routes: Routes
) -> tuple[Stratum, Mapping[str, Stored]]:
    """The unit, with relations for what its partitions send and receive.

    They are of the unit itself, so that what is received has a rank: it only ever supports what ranks above.
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
    """A rule that reads what is arranged for it, and gives what is to be sent."""
    body = list(rule.body)
    for reading in routes.readings:
        if reading.rule == rule.id:
            atom = body[reading.position]
            assert isinstance(atom, Match)
            body[reading.position] = Match(arranged(atom.relation, reading.column), (Wildcard(), *atom.terms))
    return replace(rule, head=sent(rule.head) if rule.id in routes.sending else rule.head, body=tuple(body))
