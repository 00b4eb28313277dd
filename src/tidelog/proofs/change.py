"""Why a commit inserted or deleted a row.

Both are explained by a proof in the state that has the row, before or after the commit, compared with the
other state. What only one of them has is marked, and what both have is not explained further. For a deleted
row, the proof is the former one; `ways` are all ways in which it was derived before, each with what it has
lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from tidelog.errors import SessionError
from tidelog.program.analysis.kinds import atoms_in
from tidelog.program.typed import Absent, Literal, Match, Rule
from tidelog.program.weighting import read_name
from tidelog.proofs.absence import Pattern
from tidelog.proofs.bodies import SHOWN, bound_columns
from tidelog.proofs.checking import holds
from tidelog.proofs.drawing import Line
from tidelog.proofs.kinds import is_stream, weighted
from tidelog.proofs.model import (
    Derived,
    Fact,
    Grouped,
    Instance,
    Step,
    Steps,
    instances_of,
    premises,
    single_steps,
)
from tidelog.proofs.proof import Proof
from tidelog.proofs.refutation import refute
from tidelog.proofs.search import Prover
from tidelog.proofs.state import State
from tidelog.proofs.wording import is_shown, rule_text

__all__ = ["Arrival", "Departure", "Way", "arrival", "departure"]

_WAYS: Final = 1_000  # ways in which a deleted row was derived, at most


class _Compared(Proof):
    """A proof in one state, compared with another state."""

    only_here = ""  # what is said of facts and rules that the other state does not have
    only_there = ""
    is_here = ""  # the same, as a predicate
    is_there = ""
    elsewhere = ""  # the other state

    def __init__(self, state: State, other: State, goal: Fact, steps: Steps, limit: int | None) -> None:
        super().__init__(state, goal, steps, limit)
        self._other = other
        self._elsewhere = Prover(other, limit).bodies

    @property
    def leaves(self) -> tuple[Fact, ...]:
        """The facts at the leaves that only this state has, or with this weight."""
        return tuple(fact for fact in (*self.facts, *self.earlier) if self._differs(fact))

    @property
    def causes(self) -> tuple[str, ...]:
        """What only one of the two states has, of all that the proof rests on, in words."""
        facts = [f"{self._wording.fact(fact)} {self._is(fact)}" for fact in self.leaves]
        found = [cause for step in self.steps.values() for cause in self._causes(step)]
        return tuple(dict.fromkeys([*facts, *found]))

    def _causes(self, step: Step) -> Iterator[str]:
        """The rules of a step that only this state has, and conditions that only hold in this state."""
        for rule in self._rules_only_here(step):
            yield f"the rule {rule_text(rule)} {self.is_here}"
        for instance in instances_of(step):
            for number, literal in enumerate(instance.body):
                if isinstance(literal, Match) or self._holds_there(instance, number):
                    continue
                rows = self._rows_there(literal, instance)
                yield from (f"{self._wording.fact(fact)} {self.is_there}" for fact in rows)
                if not rows:
                    yield f"{self._wording.literal(literal, instance.values)}: {self.only_here}"

    def _rows_there(self, literal: Literal, instance: Instance) -> tuple[Fact, ...]:
        """The rows in the way of a negated atom in the other state."""
        if not isinstance(literal, Absent):
            return ()
        bound, name = bound_columns(literal.terms, instance.values), read_name(literal)
        return tuple(Fact(name, row) for row in self._other.some(name, bound, SHOWN))

    def check(self) -> None:
        super().check()
        changed = (self._has_changed(step) for step in self.steps.values())
        if not any(changed):
            raise SessionError("the explanation does not hold: nothing that it rests on has changed")

    def _has_changed(self, step: Step) -> bool:
        """Whether a step is one that the other state does not have."""
        if self._rules_only_here(step) or self._differs(step.fact):
            return True
        return any(not self._holds_there(x, n) for x in instances_of(step) for n in range(len(x.body)))

    def _rules_only_here(self, step: Step) -> list[Rule]:
        rules = (single.rule for single in single_steps(step) if isinstance(single, Derived | Grouped))
        return [rule for rule in rules if rule.id not in self._other.program.rules]

    def _is_only_here(self, fact: Fact) -> bool:
        return not self._other.some(fact.relation, dict(enumerate(fact.row)), 1)

    def _differs(self, fact: Fact) -> bool:
        """Whether the other state does not have a fact, or with another weight, or in another stream."""
        is_other = self._is_only_here(fact) or is_stream(self._state.program, fact.relation)
        return is_other or self._other.weight(fact) != self._state.weight(fact)

    def _holds_there(self, instance: Instance, number: int) -> bool:
        """Whether a literal of an instance holds in the other state."""
        literal = instance.body[number]
        if isinstance(literal, Match):
            return not self._differs(instance.facts[number])
        if any(atom.relation not in self._other.program.relations for atom in atoms_in((literal,))):
            return True  # the rule is not there
        return self._elsewhere.holds(instance, (), (), number)

    # -- shown

    def _mark(self, fact: Fact) -> str:
        if not self._differs(fact):
            return ""
        return f"  ({self.only_here if self._is_new(fact) else self._other_weight(fact)})"

    def _is(self, fact: Fact) -> str:
        """What is said of a fact that differs, as a predicate."""
        return self.is_here if self._is_new(fact) else f"weighs {self._weights(fact)}"

    def _is_new(self, fact: Fact) -> bool:
        """Whether the other state does not have a fact; the rows of a stream are those of one commit."""
        return self._is_only_here(fact) or is_stream(self._state.program, fact.relation)

    def _other_weight(self, fact: Fact) -> str:
        return f"×{self._other.weight(fact):,} {self.elsewhere}"

    def _weights(self, fact: Fact) -> str:
        """The weights of a fact after and before the commit."""
        here, there = self._state.weight(fact), self._other.weight(fact)
        now, before = (here, there) if self.elsewhere == "before" else (there, here)
        return f"{now:,}, {before:,} before"

    def _is_open(self, fact: Fact) -> bool:
        return fact == self.goal or self._differs(fact)

    def _rule(self, rule: Rule) -> str:
        mark = "" if rule.id in self._other.program.rules else f"  ({self.only_here})"
        return f"{rule_text(rule)}{mark}"

    def _condition(self, instance: Instance, number: int) -> str:
        mark = "" if self._holds_there(instance, number) else f"  ({self.only_here})"
        return f"{super()._condition(instance, number)}{mark}"

    def _left(self, rule: Rule, after: Instance) -> Iterable[Line]:
        group = rule.group
        if group is None or rule.id not in self._other.program.rules:
            return
        keys = {k.name: after.values[k.name] for k in group.keys}
        found = (x for body in rule.bodies for x in self._elsewhere.instances(body, keys))
        here = self._state
        for instance in islice((x for x in found if not _are_in(here, x.facts.values())), SHOWN):
            facts = ", ".join(map(self._wording.fact, instance.facts.values()))
            yield Line(f"{facts}  ({self.only_there})", "part")


def _are_in(state: State, facts: Iterable[Fact]) -> bool:
    return all(state.some(f.relation, dict(enumerate(f.row)), 1) for f in facts)


class Arrival(_Compared):
    """Why a commit inserted a row: its proof, in which what is new is marked."""

    only_here = "new"
    only_there = "deleted"
    is_here = "is new"
    is_there = "was deleted"
    elsewhere = "before"

    def __repr__(self) -> str:
        return self.names.in_text(
            f"<why {self._wording.fact(self.goal)} was inserted: {len(self.steps):,} steps>"
        )

    def to_dict(self) -> dict[str, Any]:
        new = [self._wording.fact(fact) for fact in self.leaves]
        return {"change": "inserted", "new": new, "causes": list(self.causes), **super().to_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way in which a row was derived before a commit: what it rested on that is gone.

    `rule` is the rule if that was removed, and `literals` are conditions that no longer hold, with the
    instance that they belong to. If nothing is missing, a better row for the same key is there now.
    """

    step: Step
    rule: Rule | None
    facts: tuple[Fact, ...]
    literals: tuple[tuple[Instance, int], ...]

    @property
    def has_lost(self) -> bool:
        return bool(self.rule or self.facts or self.literals)


class Departure(_Compared):
    """Why a commit deleted a row: its former proof, in which what was deleted is marked, and all `ways`.

    `kept` is the row that the relation has for its key now, if it keeps one row per key.
    """

    only_here = "deleted"
    only_there = "new"
    is_here = "was deleted"
    is_there = "is new"
    elsewhere = "now"

    def __init__(
        self,
        state: State,
        other: State,
        goal: Fact,
        steps: Steps,
        ways: tuple[Way, ...],
        kept: tuple[Fact, ...],
        limit: int | None,
    ) -> None:
        super().__init__(state, other, goal, steps, limit)
        self.ways = ways
        self.kept = kept

    def check(self) -> None:
        super().check()
        if self._is_only_here(self.goal):
            goal = Pattern(self.goal.relation, dict(enumerate(self.goal.row)))
            refute(self._other, goal, self._limit).check()
        candidates = Prover(self._state, self._limit).candidates
        for way in self.ways:
            has_lost = way.has_lost or self.kept or isinstance(way.step, Grouped)
            if not has_lost or not holds(way.step, candidates):
                raise SessionError("the explanation does not hold: the row is still derived in some way")

    # -- shown

    def lines(self) -> Line:
        shown = [Line(f"{self._wording.fact(fact)} is kept for this key now", "kept") for fact in self.kept]
        if len(self.ways) > 1:
            shown += [self._way(way) for way in self.ways[:SHOWN]]
            more = len(self.ways) - SHOWN
            shown += [Line(f"… and {more:,} more ways", "more")] if more > 0 else []
        below = (*shown, super().lines())
        return Line(f"{self._wording.fact(self.goal)} {self._what()}", "goal", below)

    def _what(self) -> str:
        """What the commit did to the row."""
        return "was deleted" if self._is_only_here(self.goal) else f"weighs {self._weights(self.goal)}"

    def _is_less(self, fact: Fact) -> bool:
        """Whether a fact is no longer there, or has fewer copies."""
        return self._is_only_here(fact) or self._other.weight(fact) < self._state.weight(fact)

    def _way(self, way: Way) -> Line:
        rule = getattr(way.step, "rule", None)
        text = "it was derived" if rule is None else f"it was derived by {self._rule(rule)}"
        return Line(text, "way", tuple(Line(lost, "fails") for lost in self._lost(way)))

    def _lost(self, way: Way) -> Iterator[str]:
        """What a way has lost, in words."""
        if way.rule is not None:
            yield "the rule was removed"
        for fact in way.facts:
            yield f"{self._wording.fact(fact)} {self._is(fact)}"
        for instance, number in way.literals:
            yield f"{self._wording.literal(instance.body[number], instance.values)}: no longer"

    def __repr__(self) -> str:
        return self.names.in_text(
            f"<why {self._wording.fact(self.goal)} {self._what()}; {len(self.ways):,} ways>"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "change": "deleted",
            "deleted": [self._wording.fact(fact) for fact in self.leaves],
            "causes": list(self.causes),
            "kept": [self._wording.fact(fact) for fact in self.kept],
            "ways": [list(self._lost(way)) for way in self.ways],
            **super().to_dict(),
        }


def arrival(now: State, before: State, goal: Fact, limit: int | None) -> Arrival:
    """Why a commit inserted a row."""
    prover = _preferring(now, before, limit)
    prover.prove(goal)
    return Arrival(now, before, goal, prover.steps, limit)


def departure(now: State, before: State, goal: Fact, limit: int | None) -> Departure:
    """Why a commit deleted a row."""
    prover = _preferring(before, now, limit)
    prover.prove(goal)
    found = Departure(before, now, goal, prover.steps, (), (), limit)
    derivings = prover.strata.deriving(goal.relation)
    steps = (step for deriving in derivings for step in prover.candidates.steps(deriving, goal))
    ways = tuple(_way(found, step) for step in islice(steps, _WAYS))
    if weighted(before.program, goal.relation):  # those that still count the same are not of interest
        ways = tuple(way for way in ways if way.has_lost or isinstance(way.step, Grouped))
    column = prover.strata.key(goal.relation)
    key = {i: v for i, v in enumerate(goal.row) if i != column}
    kept = now.some(goal.relation, key, 1) if column is not None else ()
    others = tuple(Fact(goal.relation, row) for row in kept)
    return Departure(before, now, goal, prover.steps, ways, others, limit)


def _preferring(state: State, other: State, limit: int | None) -> Prover:
    """Finds proofs in a state that show the members of groups first that the other state does not have."""
    prover = Prover(state, limit)

    def is_changed(instance: Instance) -> bool:
        facts = instance.facts.values()
        return not _are_in(other, facts) or any(other.weight(f) != state.weight(f) for f in facts)

    prover.bodies.prefers = is_changed
    return prover


def _way(found: Departure, step: Step) -> Way:
    rule = getattr(step, "rule", None)
    is_removed = rule is not None and rule.id not in found._other.program.rules
    literals = tuple(
        (instance, number)
        for instance in instances_of(step)
        for number, literal in enumerate(instance.body)
        if not isinstance(literal, Match) and is_shown(literal) and not found._holds_there(instance, number)
    )
    counts = isinstance(step, Grouped) or weighted(found._state.program, step.fact.relation)
    is_lost = found._is_less if counts else found._is_only_here
    gone = tuple(dict.fromkeys(f for f in premises(step) if is_lost(f)))
    return Way(step, rule if is_removed else None, gone, literals)
