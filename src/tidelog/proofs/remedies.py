"""Finds the single changes after which a body has an instance that derives a wanted row.

The body is evaluated without one of its literals. If it then has an instance, the change is what makes the
literal hold: the row that is missing, or the only row in its way; or the rule without the literal.

A change of facts must not undo what it repairs. So it is left out if other literals of the body may lose
instances by it (see `effects`), if rules may derive the row that is deleted, or if the relation keeps one
row per key, or several copies of it. Rows of earlier commits cannot be changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, assert_never

from tidelog.data.values import Value
from tidelog.program.declared import Role
from tidelog.program.traversal import expressions, variables
from tidelog.program.typed import Absent, Bind, Body, Each, Match, Nested, Stage, Test, Var, Without
from tidelog.program.weighting import read_name
from tidelog.proofs.absence import Change, Delete, Drop, Insert, Pattern
from tidelog.proofs.bodies import bound_columns
from tidelog.proofs.candidates import Candidates, Deriving
from tidelog.proofs.effects import Effects
from tidelog.proofs.model import Fact, Instance
from tidelog.proofs.wording import is_shown

__all__ = ["Attempt", "Remedies", "Remedy"]

_ALLOWED: Final = 10_000  # rows to read for one literal
_TRIED: Final = 8  # bindings that satisfy all other literals


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """A body that should have an instance with these values, whose head is a row of the goal.

    Variables of `placed` have a value from the group before.
    """

    deriving: Deriving
    body: Body
    wanted: Mapping[str, Value]
    placed: tuple[str, ...]
    goal: Pattern

    @property
    def is_after_group(self) -> bool:
        return self.deriving.body is None


@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """A change that makes a literal hold, and a binding that satisfies all others."""

    change: Change
    literal: int
    instance: Instance


class Remedies:
    def __init__(self, candidates: Candidates, effects: Effects) -> None:
        self._candidates = candidates
        self._bodies = candidates.bodies
        self._state = candidates.bodies.state
        self._effects = effects

    def of(self, attempt: Attempt) -> list[Remedy]:
        """One remedy for each literal that has one, the best first."""
        found: list[Remedy] = []
        for number in range(len(attempt.body)):
            with self._bodies.budget.at_most(_ALLOWED):
                found += islice(self._of_literal(attempt, number), 1)
        return sorted(found, key=self._place)

    def _place(self, remedy: Remedy) -> int:
        match remedy.change:
            case Insert(pattern):
                return 0 if self._state.program.relations[pattern.relation].role is Role.INPUT else 2
            case Delete():
                return 1
            case Drop():
                return 3
            case _:
                assert_never(remedy.change)

    def _of_literal(self, attempt: Attempt, number: int) -> Iterator[Remedy]:
        if isinstance(attempt.body[number], Bind | Each | Nested | Stage):
            return
        found = self._bodies.instances_without(attempt.body, number, attempt.wanted, attempt.placed)
        for instance in islice((x for x in found if self._derives(attempt, x, number)), _TRIED):
            change = self._change(attempt, instance, number)
            if change is not None:
                yield Remedy(change, number, instance)

    def _derives(self, attempt: Attempt, instance: Instance, number: int) -> bool:
        """Whether the head is a wanted row; a variable that only the literal has may have any value."""
        bound = attempt.goal.bound
        for place, value in enumerate(attempt.deriving.values.values):
            used = {v.name for v in variables(value)}
            if not used <= instance.values.keys():
                if place in bound or not isinstance(value, Var):
                    return False
                continue
            row = self._bodies.arguments((value,), instance)
            if row is None or (place in bound and not Pattern("", {0: bound[place]}).matches(row)):
                return False
        return True

    def _change(self, attempt: Attempt, instance: Instance, number: int) -> Change | None:
        literal = attempt.body[number]
        match literal:
            case Match():
                return self._insertion(attempt, literal, instance)
            case Absent(terms=terms):
                name = read_name(literal)
                rows = self._state.some(name, bound_columns(terms, instance.values), 2)
                facts = [Fact(name, row) for row in rows]
                return self._deletion(attempt, facts if len(facts) == 1 else []) or self._drop(
                    attempt, instance, number
                )
            case Without(parameters, bodies):
                inner = list(self._bodies.inner(parameters, bodies, instance.values))
                shared = [f for f in inner[0].facts.values() if all(f in x.facts.values() for x in inner)]
                return self._deletion(attempt, shared) or self._drop(attempt, instance, number)
            case Test():
                return self._drop(attempt, instance, number) if is_shown(literal) else None
            case Bind() | Each() | Nested() | Stage():
                return None
            case _:
                assert_never(literal)

    # -- rows

    def _insertion(self, attempt: Attempt, atom: Match, instance: Instance) -> Insert | None:
        bound = bound_columns(atom.terms, instance.values)
        free = [t.name for t in atom.terms if isinstance(t, Var) and t.name not in instance.values]
        is_fixed = atom.delay > 0 or self._candidates.strata.key(atom.relation) is not None
        if is_fixed or len(free) > len(set(free)) or self._may_undo(attempt, atom.relation, -1):
            return None
        pattern = Pattern(atom.relation, bound)
        is_goal = atom.relation == attempt.goal.relation and attempt.goal.bound.items() <= bound.items()
        return (
            None
            if is_goal or self._joins_none(attempt, atom, bound) or self._conflicts(pattern)
            else Insert(pattern)
        )

    @staticmethod
    def _joins_none(attempt: Attempt, atom: Match, bound: Mapping[int, Value]) -> bool:
        """Whether a missing value would have to join another, so that no row helps."""
        if None not in bound.values():
            return False
        names = [
            t.name for i, t in enumerate(atom.terms) if i in bound and bound[i] is None and isinstance(t, Var)
        ]
        others = [v.name for x in attempt.body if x is not atom for e in expressions(x) for v in variables(e)]
        constants = sum(bound[i] is None for i in bound) > len(names)
        return (
            constants or len(names) > len(set(names)) or not set(names).isdisjoint([*others, *attempt.placed])
        )

    def _conflicts(self, pattern: Pattern) -> bool:
        """Whether a row with the same primary key is there, or the same row."""
        key = self._state.program.relations[pattern.relation].key
        columns = pattern.bound.keys() if key is None else key
        if not pattern.bound.keys() >= set(columns):
            return False
        return bool(self._state.some(pattern.relation, {i: pattern.bound[i] for i in columns}, 1))

    def _deletion(self, attempt: Attempt, facts: Iterable[Fact]) -> Delete | None:
        for fact in facts:
            is_kept = self._candidates.strata.key(fact.relation) is not None
            is_alone = not is_kept and self._state.weight(fact) == 1
            is_lost = is_alone and self._state.is_asserted(fact) and not self._is_derived(fact)
            if is_lost and not self._may_undo(attempt, fact.relation, 1):
                return Delete(fact)
        return None

    def _is_derived(self, fact: Fact) -> bool:
        rules = self._candidates.strata.deriving(fact.relation)
        return any(next(self._candidates.steps(d, fact), None) is not None for d in rules)

    def _may_undo(self, attempt: Attempt, relation: str, sign: int) -> bool:
        return (relation, sign) in self._effects.on(attempt.deriving.rule, attempt.body)

    # -- rules

    def _drop(self, attempt: Attempt, instance: Instance, number: int) -> Drop | None:
        """The rule without a literal, unless it could change what the other literals read."""
        relation = attempt.goal.relation
        stratum = self._candidates.strata.of(relation)
        assert stratum is not None
        is_simple = not stratum.best and stratum.totals is None and len(attempt.deriving.rule.heads) == 1
        return Drop(number, instance) if is_simple else None
