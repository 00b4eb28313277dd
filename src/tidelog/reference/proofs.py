"""A second opinion on proofs: each step is derived again, in the most obvious way.

Nothing is believed but the program and the asserted facts. The rows of all relations are computed by `chibi`,
and a step holds if the rule, whose atoms match exactly the facts that the step rests on, derives its fact.
Those facts must have steps before it. All other literals read what `chibi` has computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from tidelog.data.values import Row
from tidelog.program.analysis.totals import contributions
from tidelog.program.model import Program
from tidelog.program.typed import Bind, Rule, Total
from tidelog.proofs.model import Added, Asserted, Derived, Fact, Grouped, Instance, Part, Step, Steps
from tidelog.reference.aggregates import aggregate
from tidelog.reference.chibi import consequences, derivable
from tidelog.reference.facts import IndexedFacts

__all__ = ["ProofChecker"]


class ProofChecker:
    """Checks proofs about one state: a program and its asserted facts."""

    def __init__(self, program: Program, given: Mapping[str, Iterable[Row]]) -> None:
        self._program = program
        self._given = {name: frozenset(rows) for name, rows in given.items()}
        self._facts = IndexedFacts(consequences(program, self._given))
        self._best = {name for stratum in program.strata for name, _ in stratum.best}
        kept = (s.totals.kept for s in program.strata if s.totals is not None)
        self._totals: dict[str, Total] = {name: total for pairs in kept for name, total in pairs}

    def problem(self, goal: Fact, steps: Steps) -> str | None:
        """What is wrong with a proof first; None if it holds."""
        if goal.row not in self._facts.rows[goal.relation]:
            return f"{goal} does not follow"
        known: set[Fact] = set()
        for fact, step in steps.items():
            if step.fact != fact or not known.issuperset(_premises(step)):
                return f"{fact} rests on what has no step before it"
            if not self._holds(step):
                return f"{fact} does not follow by its step"
            known.add(fact)
        return None if goal in known else f"{goal} has no step"

    def _holds(self, step: Step) -> bool:
        match step:
            case Asserted(fact):
                return fact.row in self._given.get(fact.relation, ())
            case Derived(fact, rule, head, instance):
                return fact.relation not in self._totals and self._follows(fact, rule, head, instance)
            case Grouped(fact, rule, head, members, after):
                present = (f for x in members.shown for f in x.facts.values())
                are_there = all(f.row in self._facts.rows[f.relation] for f in present)
                return rule.group is not None and are_there and self._follows(fact, rule, head, after)
            case Added():
                return self._adds_up(step)
            case _:
                assert_never(step)

    def _follows(self, fact: Fact, rule: Rule, head: int, instance: Instance) -> bool:
        if self._program.rules.get(rule.id) != rule:
            return False
        alone = self._as_meant(replace(rule, heads=(rule.heads[head],)))
        matched = [instance.facts[n] for n in sorted(instance.facts)]
        return fact in derivable(self._program, alone, self._facts, matched, instance.body)

    def _as_meant(self, rule: Rule) -> Rule:
        """A rule with candidates for the best value, or with contributions, in place of its group."""
        (head,) = rule.heads
        if head.relation in self._totals:
            return replace(rule, bodies=contributions(rule), group=None, after=((),))
        if head.relation in self._best and rule.group is not None:
            result = rule.group.aggregates[0]
            bodies = tuple((*body, Bind(result.result, result.args[0])) for body in rule.bodies)
            return replace(rule, bodies=bodies, group=None, after=((),))
        return rule

    # -- totals

    def _adds_up(self, step: Added) -> bool:
        fact, total = step.fact, self._totals.get(step.fact.relation)
        if total is None or not all(self._contributes(part, fact, total.column) for part in step.parts):
            return False
        kinds = {
            (p.rule.id, repr(p.instance.body), repr(_values(p.instance)))
            for p in step.parts
            if p.rule and p.instance
        }
        if len(kinds) < sum(part.instance is not None for part in step.parts):
            return False  # counts an instance twice
        if step.count > len(step.parts):  # the others are not shown; `chibi` found the same total
            return fact.row in self._facts.rows[fact.relation]
        type_ = self._program.relations[fact.relation].columns[total.column].type
        rows = [(part.value,) for part in step.parts]
        return aggregate("sum", rows, (type_,), type_, distinct=False) == fact.row[total.column]

    def _contributes(self, part: Part, fact: Fact, column: int) -> bool:
        row = (*fact.row[:column], part.value, *fact.row[column + 1 :])
        if part.rule is None or part.instance is None:
            return row in self._given.get(fact.relation, ())
        heads = (n for n, head in enumerate(part.rule.heads) if head.relation == fact.relation)
        found = Fact(fact.relation, row)
        return any(self._follows(found, part.rule, head, part.instance) for head in heads)


def _values(instance: Instance) -> list[tuple[str, object]]:
    return sorted(instance.values.items(), key=lambda pair: pair[0])


def _premises(step: Step) -> Iterator[Fact]:
    match step:
        case Asserted():
            return
        case Derived(instance=instance):
            yield from _below(instance)
        case Grouped(members=members, after=after):
            for instance in (*members.shown, after):
                yield from _below(instance)
        case Added(parts=parts):
            for part in parts:
                yield from () if part.instance is None else _below(part.instance)
        case _:
            assert_never(step)


def _below(instance: Instance) -> Iterator[Fact]:
    yield from instance.facts.values()
    for members in instance.inner.values():
        for shown in members.shown:
            yield from _below(shown)
