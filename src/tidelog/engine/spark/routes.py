"""What tasks send each other: a recursion whose rules join no two large parts of it.

The relations of a unit are *divided*, each by one of its columns: a tuple belongs to the partition that the
value there is hashed to. Of a relation that a rule joins with another of the unit, the rule may name some
tuples by constants (`T(a, "subClassOf", b)`); where these are few, all partitions have *copies* of them. If
that leaves every rule at most one atom that is divided, each of its instances can be found within a
partition: the one that its divided tuple belongs to. The head belongs there too if the rule takes the value
over by which it is divided; the heads of all other rules are *sent* to where they belong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Final, TypeAlias

from tidelog.data.types import INT
from tidelog.engine.spark.native import translate
from tidelog.plan.flat import FlatRule, Stored, Unit
from tidelog.plan.seeds import is_inner
from tidelog.program.typed import Absent, Constant, Match, Term, Test, Var, Wildcard

__all__ = ["Pattern", "Routes", "find_routes", "is_routable", "named", "received", "sent", "with_routes"]

# columns and what is in them, of the tuples that are meant
Pattern: TypeAlias = tuple[tuple[int, Constant], ...]

_TRIES: Final = 4096


@dataclass(frozen=True, slots=True)
class Routes:
    """`owners` are the columns by which relations are divided, `sending` the rules whose heads are sent."""

    owners: Mapping[str, int]
    copied: Mapping[str, tuple[Pattern, ...]]
    sending: frozenset[str]

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to send."""
        return not self.copied and not self.sending

    def senders(self, unit: Unit) -> frozenset[str]:
        """The relations some of whose rules send their heads."""
        return frozenset(rule.head for rule in unit.rules if rule.id in self.sending)


def is_routable(unit: Unit) -> bool:
    """Whether there may be routes for a unit, if what its rules name by constants is little."""
    return find_routes(unit, lambda _, pattern: 0) is not None


def named(unit: Unit) -> dict[str, list[Pattern]]:
    """What the rules of a unit name by constants, of its relations."""
    found: dict[str, dict[Pattern, None]] = {}
    for atom in (atom for rule in unit.rules for atom in _atoms(rule, unit)):
        if pattern := _pattern(atom.terms):
            found.setdefault(atom.relation, {})[pattern] = None
    return {name: list(patterns) for name, patterns in found.items()}


def find_routes(unit: Unit, size: Callable[[str, Pattern], int | None]) -> Routes | None:
    """The routes of a unit; `size` says how many tuples a pattern means, None if they are too many."""
    inner = [rule for rule in unit.rules if is_inner(rule, unit)]
    arity = {rule.head: len(rule.values) for rule in unit.rules}
    plain = unit.recursive and not unit.best and unit.grouping is None and all(map(_is_plain, inner))
    if not inner or not plain or any(not arity.get(name) for name in unit.relations):
        return None
    copied: dict[str, set[Pattern]] = {}
    for rule in inner:
        for atom in _but_the_largest(rule, unit, size):
            pattern = _pattern(atom.terms)
            if not pattern or size(atom.relation, pattern) is None:
                return None
            copied.setdefault(atom.relation, set()).add(pattern)
    patterns = {name: tuple(sorted(found, key=repr)) for name, found in copied.items()}
    names = sorted(unit.relations)
    tries = islice(product(*(range(arity[name]) for name in names)), _TRIES)
    owners, sending = min(
        ((chosen, _sending(inner, unit, chosen, patterns)) for chosen in _choices(names, tries)),
        key=lambda found: len(found[1]),
    )
    return Routes(owners, patterns, frozenset(sending))


def _choices(names: list[str], tries: Iterator[tuple[int, ...]]) -> Iterator[dict[str, int]]:
    return (dict(zip(names, columns, strict=True)) for columns in tries)


def _is_plain(rule: FlatRule) -> bool:
    """Whether no instance of a rule can fail, and all its values are of its body."""
    named = {t.name: "x" for x in rule.body if isinstance(x, Match) for t in x.terms if isinstance(t, Var)}
    return all(
        isinstance(v, Constant) or (isinstance(v, Var) and v.name in named) for v in rule.values
    ) and all(
        isinstance(x, Match | Absent) or (isinstance(x, Test) and translate(x.condition, named) is not None)
        for x in rule.body
    )


def _pattern(terms: tuple[Term, ...]) -> Pattern:
    return tuple((i, t) for i, t in enumerate(terms) if isinstance(t, Constant) and t.value is not None)


def _but_the_largest(
    rule: FlatRule, unit: Unit, size: Callable[[str, Pattern], int | None]
) -> Iterator[Match]:
    """The atoms of a rule that its unit defines, without the one that means the most tuples."""
    atoms = list(_atoms(rule, unit))

    def weight(atom: Match) -> float:
        pattern = _pattern(atom.terms)
        found = size(atom.relation, pattern) if pattern else None
        return float("inf") if found is None else found

    largest = max(range(len(atoms)), key=lambda i: weight(atoms[i]))
    return (atom for i, atom in enumerate(atoms) if i != largest)


def _atoms(rule: FlatRule, unit: Unit) -> Iterator[Match]:
    return (x for x in rule.body if isinstance(x, Match) and x.relation in unit.relations)


def _sending(
    inner: list[FlatRule],
    unit: Unit,
    owners: Mapping[str, int],
    copied: Mapping[str, tuple[Pattern, ...]],
) -> list[str]:
    return [rule.id for rule in inner if not _stays(rule, unit, owners, copied)]


def _stays(
    rule: FlatRule, unit: Unit, owners: Mapping[str, int], copied: Mapping[str, tuple[Pattern, ...]]
) -> bool:
    """Whether what a rule finds belongs to where it is found."""
    divided = [a for a in _atoms(rule, unit) if not _is_copied(a.terms, copied.get(a.relation, ()))]
    if not divided:  # found in all partitions
        heads = tuple(v for v in rule.values if isinstance(v, Var | Constant))
        return _is_copied(heads, copied.get(rule.head, ()))
    (atom,) = divided
    value = rule.values[owners[rule.head]]
    return isinstance(value, Var) and atom.terms[owners[atom.relation]] == value


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


def with_routes(
    unit: Unit, relations: Mapping[str, Stored], routes: Routes
) -> tuple[Unit, Mapping[str, Stored]]:
    """The unit, with relations for what its partitions send and receive.

    They are of the unit itself, so that what is received has a rank: it only ever supports what ranks above.
    """
    made: dict[str, Stored] = {}
    rules = [
        replace(rule, head=sent(rule.head)) if rule.id in routes.sending else rule for rule in unit.rules
    ]
    senders = routes.senders(unit)
    for name in sorted(senders):
        made[sent(name)] = replace(relations[name], name=sent(name), keyed=False)
    for name in sorted(senders | routes.copied.keys()):
        types = relations[name].types
        made[received(name)] = Stored(received(name), (INT, *types))
        values = tuple(Var(f"v{i}", type_) for i, type_ in enumerate(types))
        body = (Match(received(name), (Wildcard(), *values)),)
        rules.append(FlatRule(received(name), name, values, body, unit.rules[0].origin))
    own = replace(unit, relations=unit.relations.union(made), rules=tuple(rules))
    return own, {**relations, **made}
