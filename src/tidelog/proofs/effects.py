"""Which relations may lose or gain rows when a row of another is inserted or deleted.

An effect on a relation has a sign: 1 if more rows there can mean more rows here, -1 if they can mean fewer.
Negation turns the sign around; what aggregates read has both. What earlier commits had does not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, assert_never

from tidelog.program.typed import Absent, Bind, Body, Each, Match, Nested, Rule, Stage, Test, Without
from tidelog.proofs.candidates import Strata

__all__ = ["Effects"]

Effect: TypeAlias = tuple[str, int]


class Effects:
    def __init__(self, strata: Strata) -> None:
        self._strata = strata
        self._of: dict[str, frozenset[Effect]] = {}  # what a relation reads directly

    def on(self, rule: Rule, body: Body) -> frozenset[Effect]:
        """The effects on the instances of a body of a rule, before or after its group; also through rules."""
        start = set(_of_body(body, 1))
        if rule.group is not None and body in rule.after:
            start |= {(name, sign) for name, _ in _of_bodies(rule.bodies, 1) for sign in (1, -1)}
        found, waiting = set(start), list(start)
        while waiting:
            name, sign = waiting.pop()
            below = {(other, sign * turned) for other, turned in self._direct(name)}
            waiting += below - found
            found |= below
        return frozenset(found)

    def _direct(self, relation: str) -> frozenset[Effect]:
        found = self._of.get(relation)
        if found is None:
            rules = {d.rule.id: d.rule for d in self._strata.deriving(relation)}
            found = self._of[relation] = frozenset(e for rule in rules.values() for e in _of_rule(rule))
        return found


def _of_rule(rule: Rule) -> Iterator[Effect]:
    yield from _of_bodies(rule.after, 1)
    for name, sign in _of_bodies(rule.bodies, 1):
        yield name, sign
        if rule.group is not None:
            yield name, -sign


def _of_bodies(bodies: Iterable[Body], sign: int) -> Iterator[Effect]:
    for body in bodies:
        yield from _of_body(body, sign)


def _of_body(body: Body, sign: int) -> Iterator[Effect]:
    for literal in body:
        match literal:
            case Match(relation, delay=delay):
                yield from () if delay else ((relation, sign),)
            case Absent(relation, delay=delay):
                yield from () if delay else ((relation, -sign),)
            case Without(bodies=bodies):
                yield from _of_bodies(bodies, -sign)
            case Nested(bodies=bodies) | Stage(bodies=bodies):
                yield from _of_bodies(bodies, 1)
                yield from _of_bodies(bodies, -1)
            case Test() | Bind() | Each():
                pass
            case _:
                assert_never(literal)
