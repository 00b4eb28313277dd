"""The reference checker refuses proofs that do not hold."""

from __future__ import annotations

from dataclasses import replace

import tidelog
from tidelog.proofs.model import Added, Asserted, Derived, Fact
from tidelog.reference.proofs import ProofChecker

PROGRAM = """
input relation Edge(x: string, y: string)
input relation Weight(x: string, n: int)
relation Reach(x: string, y: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
relation Total(x: string, n: int)
Total(x, t) :- Weight(x, n), var t = n.group_by(x).sum().
Total(x, t) :- Edge(x, y), Total(y, n), var t = n.group_by(x).sum().
"""
FACTS = {"Edge": [("a", "b"), ("b", "c")], "Weight": [("b", 2), ("c", 3)]}


def opened() -> tuple[tidelog.Session, ProofChecker]:
    db = tidelog.open(text=PROGRAM, facts=FACTS)
    return db, ProofChecker(db.program, {name: db[name].given for name in db})


def test_proofs_of_a_session_hold() -> None:
    db, checker = opened()
    for relation in db:
        for row in db[relation]:
            proof = db.why(relation, row)
            assert checker.problem(proof.goal, proof.steps) is None


def test_a_fact_that_was_not_asserted_is_no_leaf() -> None:
    _, checker = opened()
    goal = Fact("Reach", ("a", "c"))
    assert checker.problem(goal, {goal: Asserted(goal)}) is not None


def test_steps_in_the_wrong_order_rest_on_nothing() -> None:
    db, checker = opened()
    proof = db.why("Reach", ("a", "c"))
    turned = dict(reversed(list(proof.steps.items())))
    assert "no step before it" in (checker.problem(proof.goal, turned) or "")


def test_a_step_to_another_fact_does_not_follow() -> None:
    db, checker = opened()
    proof, goal = db.why("Reach", ("a", "b")), Fact("Reach", ("a", "c"))
    step = proof.steps[proof.goal]
    assert isinstance(step, Derived)
    steps = {**proof.steps, goal: replace(step, fact=goal)}
    assert "does not follow by its step" in (checker.problem(goal, steps) or "")


def test_a_contribution_counts_once() -> None:
    db, checker = opened()
    proof = db.why("Total", ("b", 5))
    step = proof.steps[proof.goal]
    assert isinstance(step, Added)
    twice = replace(step, count=3, parts=(*step.parts, step.parts[0]))
    assert checker.problem(proof.goal, {**proof.steps, proof.goal: twice}) is not None
    once = replace(step, count=1, parts=step.parts[:1])
    assert checker.problem(proof.goal, {**proof.steps, proof.goal: once}) is not None
