"""Finds what keeps a row away: an obstacle for each alternative of each rule of its relation.

Of all bindings, the best is one that satisfies all literals but one which a single change would satisfy, if
there is one; else one that satisfies most literals in the order in which they are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from tidelog.data.values import Value
from tidelog.program.typed import Absent, Bind, Each, Literal, Match, Nested, Stage, Test, Without
from tidelog.program.weighting import read_name
from tidelog.proofs.absence import Blocked, Change, Kept, Mismatch, Obstacle, Other, Pattern
from tidelog.proofs.bodies import bound_columns
from tidelog.proofs.candidates import Deriving, wanted_values
from tidelog.proofs.effects import Effects
from tidelog.proofs.model import Computed, Fact, Instance, Members
from tidelog.proofs.nearest import NEAR, nearest
from tidelog.proofs.remedies import Attempt, Remedies
from tidelog.proofs.search import Prover
from tidelog.proofs.state import State, same

__all__ = ["Refuter"]


class Refuter:
    def __init__(self, state: State, limit: int | None) -> None:
        prover = Prover(state, limit)
        self.state = state
        self.bodies = prover.bodies
        self.strata = prover.strata
        self.candidates = prover.candidates
        self.remedies = Remedies(prover.candidates, Effects(prover.strata))

    def obstacles(self, goal: Pattern) -> tuple[Obstacle, ...]:
        """An obstacle for each alternative; the relation has no row that matches the goal."""
        derivings = self.strata.deriving(goal.relation)
        order = {id_: n for n, id_ in enumerate(self.state.program.rules)}
        ordered = sorted(derivings, key=lambda d: order.get(d.rule.id, len(order)))
        return tuple(obstacle for deriving in ordered for obstacle in self._of(deriving, goal))

    def key_of(self, goal: Pattern) -> Mapping[int, Value]:
        """The values of a goal without the column of which its relation keeps one value per key."""
        column = self.strata.key(goal.relation)
        return {i: v for i, v in goal.bound.items() if i != column}

    def kept(self, goal: Pattern) -> tuple[Fact, ...]:
        """The row that the relation has for the key of a goal instead."""
        column = self.strata.key(goal.relation)
        if column is None or len(self.key_of(goal)) + 1 < len(
            self.state.program.relations[goal.relation].columns
        ):
            return ()
        return tuple(Fact(goal.relation, row) for row in self.state.some(goal.relation, self.key_of(goal), 1))

    def _of(self, deriving: Deriving, goal: Pattern) -> Iterator[Obstacle]:
        goal = Pattern(goal.relation, self.key_of(goal)) if deriving.body is not None else goal
        wanted = wanted_values(deriving.values, goal.bound)
        if wanted is None:
            yield Mismatch(deriving.rule, deriving.head)
        elif deriving.body is None:
            yield from self._of_groups(deriving, goal, wanted)
        elif self.strata.key(goal.relation) is not None:
            yield self._blocked(Attempt(deriving, deriving.body, wanted, (), goal), None)
        else:
            yield self._of_body(Attempt(deriving, deriving.body, wanted, (), goal), None)

    # -- groups

    def _of_groups(self, deriving: Deriving, goal: Pattern, wanted: dict[str, Value]) -> Iterator[Obstacle]:
        rule, group = deriving.rule, deriving.rule.group
        assert group is not None
        keys = {k.name: wanted[k.name] for k in group.keys if k.name in wanted}
        other: Other | None = None
        for known, members in self.bodies.groups(group, rule.bodies, wanted):
            if all(same(wanted.get(n, v), v) for n, v in known.items()):
                for body in rule.after:
                    attempt = Attempt(deriving, body, {**wanted, **known}, tuple(known), goal)
                    yield self._of_body(attempt, members)
                return
            other = other or Other(rule, deriving.head, members, None, None, known)
        if other is not None:
            yield other
            return
        for body in rule.bodies:
            yield self._blocked(Attempt(deriving, body, keys, (), goal), None)

    # -- bodies

    def _of_body(self, attempt: Attempt, members: Members | None) -> Obstacle:
        found = self.remedies.of(attempt)
        if found:
            instance, number = found[0].instance, found[0].literal
            holds = frozenset(n for n in range(len(attempt.body)) if n != number)
            changes = tuple(remedy.change for remedy in found)
            return self._blocked_by(attempt, members, instance, holds, number, changes)
        return self._blocked(attempt, members)

    def _blocked(self, attempt: Attempt, members: Members | None) -> Obstacle:
        """The obstacle under the binding that satisfies most literals."""
        instance, holds, number = self.bodies.furthest(attempt.body, attempt.wanted, attempt.placed)
        if number is not None:
            return self._blocked_by(attempt, members, instance, holds, number, ())
        rule, head = attempt.deriving.rule, attempt.deriving.head
        row = self.candidates.head_row(attempt.deriving, instance)
        column = self.strata.key(attempt.goal.relation)
        if column is not None and row is not None:
            key = {i: v for i, v in enumerate(row) if i != column}
            for kept in self.state.some(attempt.goal.relation, key, 1):
                return Kept(rule, head, instance, Fact(attempt.goal.relation, kept))
        return Other(rule, head, members, instance, row, {})

    def _blocked_by(
        self,
        attempt: Attempt,
        members: Members | None,
        instance: Instance,
        holds: frozenset[int],
        number: int,
        changes: tuple[Change, ...],
    ) -> Blocked:
        literal = attempt.body[number]
        near, instead = self._near(literal, instance), self._instead(literal, instance)
        rule, head = attempt.deriving.rule, attempt.deriving.head
        return Blocked(rule, head, instance, holds, number, members, near, instead, changes)

    def _near(self, literal: Literal, instance: Instance) -> tuple[Fact, ...]:
        """The rows that come closest to what a literal needs, or those that it must not find."""
        match literal:
            case Match(terms=terms):
                return nearest(self.state, read_name(literal), bound_columns(terms, instance.values))
            case Absent(terms=terms):
                name = read_name(literal)
                rows = self.state.some(name, bound_columns(terms, instance.values), NEAR)
                return tuple(Fact(name, row) for row in rows)
            case Without(parameters, bodies):
                inner = next(self.bodies.inner(parameters, bodies, instance.values), None)
                return () if inner is None else tuple(inner.facts.values())
            case Test() | Bind() | Each() | Nested() | Stage():
                return ()
            case _:
                assert_never(literal)

    def _instead(self, literal: Literal, instance: Instance) -> tuple[Computed, ...]:
        """The value that a literal gives to its variable."""
        match literal:
            case Bind(value=value):
                return (self.bodies.calculator.value(value, instance.values),)
            case Nested():
                return (self.bodies.nested(literal, instance.values)[0],)
            case Match() | Absent() | Test() | Each() | Without() | Stage():
                return ()
            case _:
                assert_never(literal)
