"""Verifies a proof against the rows of a state, step by step.

Every step must rest on facts of earlier steps, every asserted fact must be asserted, and every literal of an
instance must hold again for its values. Groups are computed again from all their instances. Facts that were
replaced need not be present, but their steps must hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidelog.data.values import Value
from tidelog.program.typed import Match
from tidelog.proofs.bodies import Bodies, only
from tidelog.proofs.candidates import Candidates, Strata
from tidelog.proofs.kinds import instance_weight, relation_read
from tidelog.proofs.model import (
    Added,
    Asserted,
    Copies,
    Derived,
    Earlier,
    Fact,
    Failed,
    Grouped,
    Instance,
    Part,
    Share,
    Step,
    Steps,
    premises,
)
from tidelog.proofs.state import State, same

__all__ = ["holds", "problems"]


def problems(steps: Steps, goal: Fact, candidates: Candidates) -> Iterator[str]:
    """What is wrong with a proof; nothing if it holds."""
    if goal not in steps:
        yield f"there is no step to {goal.relation}{goal.row!r}"
    known: set[Fact] = set()
    for fact, step in steps.items():
        for premise in premises(step):
            if premise not in known:
                yield f"{fact} rests on {premise}, which is not proved before it"
        if not holds(step, candidates):
            yield f"the step to {fact} does not hold"
        known.add(fact)


def holds(step: Step, candidates: Candidates) -> bool:
    """Whether the fact of a step follows from those that it rests on."""
    bodies, strata = candidates.bodies, candidates.strata
    match step:
        case Asserted(fact):
            return bodies.state.is_asserted(fact) or fact.row in _asserted(bodies.state, strata, fact)
        case Derived(fact, rule, head, instance):
            is_rule = rule.id in bodies.state.program.rules
            row = bodies.arguments(rule.heads[head].values, instance)
            return is_rule and row == fact.row and _is_instance(instance, bodies)
        case Grouped(fact, rule, head, _, after):
            found = (d for d in strata.deriving(fact.relation) if d.rule.id == rule.id and d.head == head)
            again = (s for d in found for s in candidates.steps(d, fact))
            return any(isinstance(s, Grouped) and s.after.values == after.values for s in again)
        case Added():
            return _adds_up(step, candidates)
        case Copies():
            return _is_whole(step, candidates)
        case Earlier(fact, commit):
            _, delay = relation_read(bodies.state.program, fact.relation)
            is_there = bool(bodies.state.rows(fact.relation, dict(enumerate(fact.row))))
            return is_there and delay > 0 and commit == bodies.state.commit - delay
        case _:
            assert_never(step)


def _asserted(state: State, strata: Strata, fact: Fact) -> list[tuple[Value, ...]]:
    """Asserted rows that a relation with one row per key has replaced."""
    key = strata.key(fact.relation)
    if key is None:
        return [fact.row] if state.was_asserted(fact) else []
    return list(state.asserted(fact.relation, dict(enumerate(fact.row))))


def _adds_up(step: Added, candidates: Candidates) -> bool:
    fact = step.fact
    bodies, column = candidates.bodies, candidates.strata.key(fact.relation)
    assert column is not None
    parts = list(step.parts)
    if sum(part.weight for part in parts) < step.count:  # only some are shown
        parts = list(candidates.parts(fact.relation, fact.row, column))
        key = {i: v for i, v in enumerate(fact.row) if i != column}
        parts += [Part(row[column], None, None) for row in bodies.state.asserted(fact.relation, key)]
    type_ = candidates.strata.program.relations[fact.relation].columns[column].type
    total = bodies.calculator.total(type_, [p.value for p in parts], [p.weight for p in parts])
    sound = all(
        _is_instance(p.instance, bodies) and p.weight == instance_weight(p.instance, bodies.state)
        for p in step.parts
        if p.instance is not None
    )
    return sound and not isinstance(total, Failed) and same(total, fact.row[column])


def _is_whole(step: Copies, candidates: Candidates) -> bool:
    """Whether the weight is the total of all contributions, of which those shown are some."""
    every = list(candidates.shares(step.fact))
    weight = sum(share.weight for share in every)
    if weight != step.weight or weight != candidates.bodies.state.weight(step.fact):
        return False
    return len(every) == step.count and all(_is_share(x, step.fact, candidates) for x in step.shares)


def _is_share(share: Share, fact: Fact, candidates: Candidates) -> bool:
    state, step = candidates.bodies.state, share.step
    if step.fact != fact or not holds(step, candidates):
        return False
    match step:
        case Asserted():
            return share.weight == state.asserted_weight(fact)
        case Derived(instance=instance) | Grouped(after=instance):
            return share.weight == instance_weight(instance, state)
        case _:
            assert_never(step)


def _is_instance(instance: Instance, bodies: Bodies) -> bool:
    """Whether the body holds for exactly these values and facts, whether or not those are present."""
    body = instance.body
    atoms = [n for n, x in enumerate(body) if isinstance(x, Match)]
    if sorted(instance.facts) != atoms:
        return False

    reads = {n: only(fact) for n, fact in instance.facts.items()}
    return next(bodies.instances(body, instance.values, (), reads), None) is not None
