"""Verifies a refutation against the rows of a state.

No alternative of any rule may have an instance that derives a row of the goal, every alternative must have an
obstacle, and each obstacle must be one: what it says holds must hold, what it says fails must fail, and after
each change that it names, the rule must derive such a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from tidelog.proofs.absence import (
    Blocked,
    Change,
    Delete,
    Drop,
    Insert,
    Kept,
    Mismatch,
    Obstacle,
    Other,
    Pattern,
)
from tidelog.proofs.candidates import Deriving, wanted_values
from tidelog.proofs.model import Fact, Instance
from tidelog.proofs.overlay import supposing
from tidelog.proofs.refuting import Refuter
from tidelog.proofs.state import State

__all__ = ["refutation_problems"]

_ANY = object()  # the value of a column that may have any


def refutation_problems(
    goal: Pattern, obstacles: Iterable[Obstacle], state: State, limit: int | None
) -> Iterator[str]:
    """What is wrong with a refutation; nothing if it holds."""
    check = _Check(goal, state, limit)
    if state.some(goal.relation, goal.bound, 1):
        yield f"{goal.relation} has such a row"
    named = [(o.rule.id, o.head) for o in obstacles]
    for deriving in check.refuter.strata.deriving(goal.relation):
        if (deriving.rule.id, deriving.head) not in named:
            yield f"the rule {deriving.rule.id} has no obstacle"
        if check.derives(deriving):
            yield f"the rule {deriving.rule.id} derives such a row"
    for obstacle in obstacles:
        if not check.is_sound(obstacle):
            yield f"the obstacle to the rule {obstacle.rule.id} is none"


class _Check:
    def __init__(self, goal: Pattern, state: State, limit: int | None) -> None:
        self.goal = goal
        self.limit = limit
        self.refuter = Refuter(state, limit)

    def derives(self, deriving: Deriving) -> bool:
        """Whether an alternative has an instance that derives a row of the goal, and none better is kept."""
        key = self.refuter.key_of(self.goal)
        wanted = wanted_values(deriving.values, self.goal.bound)
        if deriving.body is None:
            found = () if wanted is None else self.refuter.candidates.group_rows(deriving, wanted)
            return any(row is not None and self.goal.matches(row) for row, _, _ in found)
        column = self.refuter.strata.key(self.goal.relation)
        rows = (row for row, _ in self.refuter.candidates.rows(deriving, key))
        if column is None:
            return next(rows, None) is not None
        keys = ({i: v for i, v in enumerate(row) if i != column} for row in rows)
        return any(self._is_free(Pattern(self.goal.relation, k)) for k in keys)

    def _is_free(self, key: Pattern) -> bool:
        """Whether a relation has no row for a key, or one that matches the goal."""
        rows = self.refuter.state.some(key.relation, key.bound, 1)
        return not rows or self.goal.matches(rows[0])

    # -- obstacles

    def is_sound(self, obstacle: Obstacle) -> bool:
        match obstacle:
            case Mismatch(rule, head):
                return wanted_values(rule.heads[head], self.refuter.key_of(self.goal)) is None
            case Other(row=row):
                return row is None or not self.goal.matches(row)
            case Kept(kept=kept):
                return self._is_present(kept) and not self.goal.matches(kept.row)
            case Blocked():
                return self._is_blocked(obstacle) and all(self._works(obstacle, c) for c in obstacle.changes)
            case _:
                assert_never(obstacle)

    def _is_present(self, fact: Fact) -> bool:
        return bool(self.refuter.state.some(fact.relation, dict(enumerate(fact.row)), 1))

    def _is_blocked(self, obstacle: Blocked) -> bool:
        instance, holds = obstacle.instance, obstacle.holds
        there = all(map(self._is_present, (*instance.facts.values(), *obstacle.near)))
        failing = self.refuter.bodies.holds(instance, holds, _placed(obstacle), obstacle.literal)
        return there and self._hold(obstacle, instance, holds) and not failing

    def _hold(self, obstacle: Blocked, instance: Instance, numbers: Iterable[int]) -> bool:
        """Whether some literals hold under a binding."""
        return all(self.refuter.bodies.holds(instance, (), _placed(obstacle), n) for n in numbers)

    # -- changes

    def _works(self, obstacle: Blocked, change: Change) -> bool:
        match change:
            case Insert(pattern):
                columns = range(len(self.refuter.state.program.relations[pattern.relation].columns))
                row = tuple(pattern.bound.get(i, _ANY) for i in columns)
                return self._follows(obstacle, Fact(pattern.relation, row), is_there=True)  # type: ignore[arg-type]
            case Delete(fact):
                is_asserted = self.refuter.state.is_asserted(fact)
                return is_asserted and self._follows(obstacle, fact, is_there=False)
            case Drop(literal, instance):
                others = (n for n in range(len(instance.body)) if n != literal)
                found = self.refuter.bodies.arguments(obstacle.rule.heads[obstacle.head].values, instance)
                is_wanted = found is not None and self.goal.matches(found)
                return is_wanted and self._hold(obstacle, instance, others)
            case _:
                assert_never(change)

    def _follows(self, obstacle: Blocked, fact: Fact, *, is_there: bool) -> bool:
        """Whether the rule derives a row of the goal with a fact, or without it."""
        other = _Check(self.goal, supposing(self.refuter.state, fact, is_there=is_there), self.limit)
        found = other.refuter.strata.deriving(self.goal.relation)
        return any(
            other.derives(d) for d in found if d.rule.id == obstacle.rule.id and d.head == obstacle.head
        )


def _placed(obstacle: Blocked) -> list[str]:
    """The variables that have values from a group."""
    group = obstacle.rule.group
    return [] if obstacle.members is None or group is None else [v.name for v in group.columns]
