"""A second opinion on proofs: each step is derived again, in the most obvious way.

Nothing is believed but the program and the asserted facts. The rows of all relations are computed by `chibi`,
and a step holds if the rule, whose atoms match exactly the facts that the step rests on, derives its fact.
Those facts must have steps before it. All other literals read what `chibi` has computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import assert_never

from tidelog.data.values import Row
from tidelog.program.analysis.totals import contributions
from tidelog.program.model import Program
from tidelog.program.typed import Bind, Match, Rule, Total
from tidelog.program.weighting import delayed, delays
from tidelog.proofs.model import (
    Added,
    Asserted,
    Copies,
    Derived,
    Earlier,
    Fact,
    Grouped,
    Instance,
    Part,
    Share,
    Step,
    Steps,
)
from tidelog.reference.aggregates import aggregate
from tidelog.reference.chibi import consequences, derivable
from tidelog.reference.facts import IndexedFacts, stored
from tidelog.reference.replay import Replay

__all__ = ["ProofChecker"]


class ProofChecker:
    """Checks proofs about one state: a program and its asserted facts, or what a replay has reached."""

    def __init__(
        self, program: Program, given: Mapping[str, Iterable[Row]], replay: Replay | None = None
    ) -> None:
        self._program = program
        self._given = {name: Counter(rows) for name, rows in given.items()}
        self._facts = IndexedFacts(consequences(program, self._given)) if replay is None else replay.facts
        self._commit = 0 if replay is None else len(replay.history) - 1
        self._delays = delays(program)
        self._best = {name for stratum in program.strata for name, _ in stratum.best}
        kept = (s.totals.kept for s in program.strata if s.totals is not None)
        self._totals: dict[str, Total] = {name: total for pairs in kept for name, total in pairs}

    @classmethod
    def of(cls, replay: Replay) -> ProofChecker:
        """A checker of the last commit of a replay, whose facts have weights and a history."""
        given = {name: rows.elements() for name, rows in replay.given.items()}
        return cls(replay.program, given, replay)

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
                are_there = all(f.row in self._facts.rows[self._stored(f)] for f in present)
                return rule.group is not None and are_there and self._follows(fact, rule, head, after)
            case Added():
                return self._adds_up(step)
            case Copies():
                return self._weighs(step)
            case Earlier(fact, commit):
                relation, delay = self._delays[fact.relation]
                is_there = fact.row in self._facts.rows[f"{relation}-{delay}"]
                return is_there and commit == self._commit - delay
            case _:
                assert_never(step)

    def _follows(self, fact: Fact, rule: Rule, head: int, instance: Instance) -> bool:
        if self._program.rules.get(rule.id) != rule:
            return False
        alone = self._as_meant(replace(rule, heads=(rule.heads[head],)))
        return fact in self._derivable(alone, instance)

    def _derivable(self, rule: Rule, instance: Instance) -> list[tuple[str, Row]]:
        """The heads of the instances that match exactly the facts of this one."""
        matched: list[tuple[str, Row]] = []
        for number, found in sorted(instance.facts.items()):
            atom = instance.body[number]
            if not isinstance(atom, Match) or self._read(atom) != found.relation:
                return []
            matched.append((stored(atom), found.row))
        return derivable(self._program, rule, self._facts, matched, instance.body)

    @staticmethod
    def _read(atom: Match) -> str:
        return delayed(atom.relation, atom.delay) if atom.delay else atom.relation

    def _stored(self, fact: Fact) -> str:
        """The name under which the rows of a fact's relation are stored here."""
        relation, delay = self._delays.get(fact.relation, (fact.relation, 0))
        return f"{relation}-{delay}" if delay else relation

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

    # -- weights

    def _weighs(self, step: Copies) -> bool:
        """Whether the weight of a row is that of the replay, and each share is one, and counted once."""
        fact, shares = step.fact, step.shares
        if step.weight != self._facts.weights[fact.relation, fact.row]:
            return False
        if len(shares) == step.count and sum(share.weight for share in shares) != step.weight:
            return False
        alike = Counter(_key(share) for share in shares)
        return all(alike[_key(share)] <= self._times(share, fact) for share in shares)

    def _times(self, share: Share, fact: Fact) -> int:
        """How often there is such a share, with this weight."""
        match share.step:
            case Asserted(asserted):
                return int(asserted == fact and self._given[fact.relation][fact.row] == share.weight)
            case Derived(derived, rule, head, instance) | Grouped(derived, rule, head, _, instance):
                weights = (
                    self._facts.weights.get((stored(atom), instance.facts[n].row), 1)
                    for n, atom in enumerate(instance.body)
                    if isinstance(atom, Match)
                )
                if derived != fact or prod(weights) != share.weight or not self._holds(share.step):
                    return 0
                alone = replace(rule, heads=(rule.heads[head],))
                return self._derivable(alone, instance).count(fact)
            case _:
                assert_never(share.step)

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
        if step.count > sum(
            part.weight for part in step.parts
        ):  # the others are not shown; `chibi` found the same total
            return fact.row in self._facts.rows[fact.relation]
        type_ = self._program.relations[fact.relation].columns[total.column].type
        rows = [(part.value,) for part in step.parts for _ in range(part.weight)]
        return aggregate("sum", rows, (type_,), type_, distinct=False) == fact.row[total.column]

    def _contributes(self, part: Part, fact: Fact, column: int) -> bool:
        row = (*fact.row[:column], part.value, *fact.row[column + 1 :])
        if part.rule is None or part.instance is None:
            return row in self._given.get(fact.relation, ())
        heads = (n for n, head in enumerate(part.rule.heads) if head.relation == fact.relation)
        found = Fact(fact.relation, row)
        return any(self._follows(found, part.rule, head, part.instance) for head in heads)


def _key(share: Share) -> object:
    """What is the same for instances that match the same facts by the same rule."""
    match share.step:
        case Asserted():
            return None
        case Derived(_, rule, head, instance) | Grouped(_, rule, head, _, instance):
            return rule.id, head, repr(instance.body), repr(instance.facts), repr(_values(instance))
        case _:
            assert_never(share.step)


def _values(instance: Instance) -> list[tuple[str, object]]:
    return sorted(instance.values.items(), key=lambda pair: pair[0])


def _premises(step: Step) -> Iterator[Fact]:
    match step:
        case Asserted() | Earlier():
            return
        case Copies(shares=shares):
            for share in shares:
                yield from _premises(share.step)
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
