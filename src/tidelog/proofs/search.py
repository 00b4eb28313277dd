"""Finds the steps of a proof, top-down from a fact.

Strata are settled one fact at a time: the steps to a fact are found together with the steps to all facts of
its own stratum that they rest on, so that settled facts never depend on unsettled ones. How that is done
depends on the stratum:

- Without recursion, the first instance is a step.
- Where ranks are known, a step is an instance whose facts of the stratum all rank below. No search is needed.
- Otherwise, goals are expanded breadth first into an AND-OR graph, and facts are proved forwards in it as
  soon as everything that some instance needs is proved. Instances are taken a few at a time; more of them
  only if the others do not suffice. A rule with several recursive atoms is first tried with all but one of
  them derived without recursion, which makes closures linear.
- Relations that keep one row per key are left to `history` if that fails, since steps may rest on rows that
  were replaced. Totals in order of their groups need no search.
- A row of a multiset or stream needs none either: all its instances are its step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import itemgetter
from typing import Final

from tidelog.data.values import Row, Value
from tidelog.errors import SessionError
from tidelog.program.typed import Stratum
from tidelog.program.weighting import is_weighted
from tidelog.proofs.bodies import SHOWN, Bodies
from tidelog.proofs.calculator import Calculator
from tidelog.proofs.candidates import Candidates, Strata
from tidelog.proofs.history import replayed
from tidelog.proofs.kinds import relation_read
from tidelog.proofs.model import (
    Added,
    Asserted,
    Copies,
    Earlier,
    Fact,
    Part,
    Share,
    Step,
    instances_of,
    premises,
)
from tidelog.proofs.state import Budget, State

__all__ = ["Prover"]

_FEW: Final = 8  # instances of a goal that are taken at once


@dataclass(slots=True, eq=False)
class _Option:
    """A step to a goal, and the facts of the stratum that are not proved yet."""

    step: Step
    missing: set[Fact]


@dataclass(slots=True, eq=False)
class _Goal:
    steps: Iterator[Step | None]
    is_exhausted: bool = False
    waiting: list[tuple[Fact, _Option]] = field(default_factory=list)  # options that need this goal


class Prover:
    def __init__(self, state: State, limit: int | None) -> None:
        self.state = state
        self.budget = Budget(limit)
        self.bodies = Bodies(state, Calculator(state.program.functions), self.budget)
        self.strata = Strata(state.program)
        self.candidates = Candidates(self.strata, self.bodies)
        self.steps: dict[Fact, Step] = {}  # each rests on earlier ones

    def prove(self, goal: Fact) -> None:
        """Add the steps to a fact, which is present, with all that they rest on."""
        waiting: list[tuple[Fact, dict[Fact, Step] | None]] = [(goal, None)]
        while waiting:
            fact, found = waiting.pop()
            if fact in self.steps:
                continue
            if found is None:
                found = self._settle(fact)
                waiting.append((fact, found))
                below = (f for step in found.values() for f in premises(step) if f not in found)
                waiting += [(f, None) for f in dict.fromkeys(below) if f not in self.steps]
            else:
                self.steps.update(found)

    def _settle(self, fact: Fact) -> dict[Fact, Step]:
        """The steps to a fact and to the facts of its stratum that they rest on, in order."""
        stratum = self.strata.of(fact.relation)
        relation, delay = relation_read(self.state.program, fact.relation)
        if delay:
            return {fact: Earlier(fact, self.state.commit - delay)}
        if relation is not None and is_weighted(relation):
            return {fact: self._copies(fact)}
        is_total = self.strata.key(fact.relation) is not None and stratum and stratum.totals is not None
        if self.state.is_asserted(fact) and not is_total:
            return {fact: Asserted(fact)}
        if stratum is None:
            return {fact: self._assumed(fact)}
        if stratum.totals is not None:
            return self._total(fact, stratum)
        if not stratum.recursive:
            step = next(self._steps(fact, stratum), None)
            return {fact: step or self._assumed(fact)}
        found = self._by_rank(fact, stratum) or self._searched(fact, stratum)
        if found is None and stratum.best:
            found = replayed(fact, stratum, self.candidates, self.budget)
        return found or {fact: self._assumed(fact)}

    def _copies(self, fact: Fact) -> Step:
        """The step to a row of a multiset or stream, with all that adds to its weight."""
        weight, count = 0, 0
        shown: list[tuple[bool, int, Share]] = []
        for share in self.candidates.shares(fact):
            weight, count = weight + share.weight, count + 1
            is_preferred = any(map(self.bodies.prefers, instances_of(share.step)))
            shown.append((not is_preferred, count, share))
            if len(shown) > 2 * SHOWN:
                shown = nsmallest(SHOWN, shown, key=itemgetter(0, 1))
        shares = (share for _, _, share in nsmallest(SHOWN, shown, key=itemgetter(0, 1)))
        return Copies(fact, weight, count, tuple(shares)) if count else self._assumed(fact)

    def _assumed(self, fact: Fact) -> Step:
        """A step to a fact that nothing derives."""
        if self.state.was_asserted(fact):
            return Asserted(fact)
        raise SessionError(f"no rule derives {fact.relation}{fact.row!r}, although it is present")

    def _steps(self, fact: Fact, stratum: Stratum) -> Iterator[Step]:
        """The steps to a fact, the most promising ones first."""
        return (step for step in self._phases(fact, stratum) if step is not None)

    def _phases(self, fact: Fact, stratum: Stratum) -> Iterator[Step | None]:
        """The steps to a fact; after None come those to try only if the others do not suffice."""
        rules = self.strata.deriving(fact.relation)
        several = [d for d in rules if len(d.own_atoms(stratum)) > 1]
        for deriving in (d for d in rules if d not in several):
            yield from self.candidates.steps(deriving, fact)
        for deriving in several:  # towards one side only: both would lead to all pairs of a closure
            others = dict.fromkeys(deriving.own_atoms(stratum)[1:], self._base)
            yield from self.candidates.steps(deriving, fact, others)
        yield None
        for deriving in several:
            yield from self.candidates.steps(deriving, fact)

    def _base(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Row]:
        """The rows with these values that follow without recursion."""
        stratum = self.strata.of(relation)
        assert stratum is not None
        found: dict[Row, None] = {}
        for deriving in self.strata.deriving(relation):
            if deriving.body is not None and not deriving.own_atoms(stratum):
                found.update((row, None) for row, _ in self.candidates.rows(deriving, bound))
        for row in found:
            if not stratum.best or row in self.state.rows(relation, dict(enumerate(row))):
                yield row

    # -- by ranks

    def _by_rank(self, goal: Fact, stratum: Stratum) -> dict[Fact, Step] | None:
        """The steps if ranks lead to them."""
        found: dict[Fact, Step] = {}
        waiting = [goal]
        while waiting:
            fact = waiting.pop()
            if fact in found or fact in self.steps:
                continue
            step = self._lower(fact, stratum)
            if step is None:
                return None
            found[fact] = step
            waiting += self._own(step, stratum)
        return _in_order(goal, found, stratum)

    def _lower(self, fact: Fact, stratum: Stratum) -> Step | None:
        """A step that rests on facts of lower rank only."""
        if self.state.is_asserted(fact):
            return Asserted(fact)
        rank = self.state.rank(fact)
        if rank is None:
            return None
        for step in self._steps(fact, stratum):
            ranks = [0 if f in self.steps else self.state.rank(f) for f in self._own(step, stratum)]
            if all(r is not None and r < rank for r in ranks):
                return step
        return None

    @staticmethod
    def _own(step: Step, stratum: Stratum) -> set[Fact]:
        """The facts of the stratum that a step rests on."""
        return {f for f in premises(step) if f.relation in stratum.relations}

    # -- by search

    def _searched(self, root: Fact, stratum: Stratum) -> dict[Fact, Step] | None:
        """The steps, found by expanding goals until the root is proved; None if no proof exists."""
        goals: dict[Fact, _Goal] = {}
        proved: dict[Fact, Step] = {}
        agenda = deque([root])
        few = _FEW
        while root not in proved:
            if not agenda:  # all instances taken so far do not suffice
                agenda.extend(f for f, goal in goals.items() if f not in proved and not goal.is_exhausted)
                few *= 8
                if not agenda:
                    return None
            self._expand(agenda.popleft(), stratum, goals, proved, agenda, few)
        return _in_order(root, proved, stratum)

    def _expand(
        self,
        fact: Fact,
        stratum: Stratum,
        goals: dict[Fact, _Goal],
        proved: dict[Fact, Step],
        agenda: deque[Fact],
        few: int,
    ) -> None:
        """Take some more steps to a goal, and add the goals that they need."""
        if fact in proved:
            return
        goal = goals.get(fact)
        if goal is None:
            goal = goals[fact] = _Goal(self._phases(fact, stratum))
        if self.state.is_asserted(fact):
            self._conclude(fact, Asserted(fact), goals, proved)
            return
        for step in goal.steps:
            if step is None:
                return
            self.budget.spend()
            missing = {f for f in self._own(step, stratum) if f not in proved and f not in self.steps}
            if not missing:
                self._conclude(fact, step, goals, proved)
                return
            self._need(fact, _Option(step, missing), stratum, goals, agenda)
            few -= 1
            if not few:
                return
        goal.is_exhausted = True

    def _need(
        self, fact: Fact, option: _Option, stratum: Stratum, goals: dict[Fact, _Goal], agenda: deque[Fact]
    ) -> None:
        """Add the goals that an option needs."""
        for needed in option.missing:
            if needed not in goals:
                goals[needed] = _Goal(self._phases(needed, stratum))
                agenda.append(needed)
            goals[needed].waiting.append((fact, option))

    @staticmethod
    def _conclude(fact: Fact, step: Step, goals: Mapping[Fact, _Goal], proved: dict[Fact, Step]) -> None:
        """Record that a fact is proved, and everything that follows from that among the goals."""
        waiting = [(fact, step)]
        while waiting:
            done, by = waiting.pop()
            if done in proved:
                continue
            proved[done] = by
            for above, option in goals[done].waiting:
                option.missing.discard(done)
                if not option.missing and above not in proved:
                    waiting.append((above, option.step))

    # -- totals

    def _total(self, fact: Fact, stratum: Stratum) -> dict[Fact, Step]:
        """The step to a row of a recursion with totals. The order of its groups makes it well-founded."""
        assert stratum.totals is not None
        if stratum.totals.is_threshold:
            found = replayed(fact, stratum, self.candidates, self.budget)
            return found or {fact: self._assumed(fact)}
        column = self.strata.key(fact.relation)
        if column is None:
            return {fact: next(self._steps(fact, stratum), None) or self._assumed(fact)}
        parts = list(self.candidates.parts(fact.relation, fact.row, column))
        key = {i: v for i, v in enumerate(fact.row) if i != column}
        asserted = self.state.asserted(fact.relation, key)
        parts += [Part(row[column], None, None) for row in asserted]
        if not parts:
            return {fact: self._assumed(fact)}
        parts.sort(key=lambda p: p.instance is not None and not self.bodies.prefers(p.instance))
        return {fact: Added(fact, sum(p.weight for p in parts), tuple(parts[:SHOWN]))}


def _in_order(root: Fact, found: Mapping[Fact, Step], stratum: Stratum) -> dict[Fact, Step]:
    """The steps that the root needs, each after those that it rests on."""
    ordered: dict[Fact, Step] = {}
    waiting = [(root, False)]
    while waiting:
        fact, is_ready = waiting.pop()
        if fact in ordered or fact not in found:
            continue
        if is_ready:
            ordered[fact] = found[fact]
            continue
        waiting.append((fact, True))
        waiting += [(f, False) for f in premises(found[fact]) if f.relation in stratum.relations]
    return ordered
