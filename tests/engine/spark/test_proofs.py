"""Rows, absences and changes of a session on Spark are explained, wherever its strata are evaluated."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest

import tidelog
from oracle.generator import FLAVOURS, Generator
from oracle.kinds.test_histories import check
from oracle.schema import declarations
from proofs.histories import committed
from proofs.test_kinds import explain
from proofs.test_random import check_proofs
from proofs.test_random_absences import check_refutations
from sizes import size
from tidelog.maintain.strategy import STRATEGIES
from tidelog.reference.proofs import ProofChecker
from tidelog.reference.refutations import RefutationChecker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
input relation Edge(x: string, y: string)
input relation Blocked(x: string)
relation Reach(x: string, y: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(z).
output relation Reached(x: string, n: int)
Reached(x, n) :- Reach(x, y), var n = y.group_by(x).count().
"""
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
PLACEMENTS = ["driver", "tasks", "shuffled"]
SEEDS = int(os.environ.get("TIDELOG_SEEDS", size(0, 6)))  # programs in each placement
KINDS = """
input multiset Paid(who: string, cents: int)
input stream Seen(who: string)
output multiset Due(who: string)
Due(w) :- Paid(w, _), Ever(w).
output relation Ever(who: string)
Ever(w) :- Seen'(w).
Ever(w) :- Ever-1(w).
"""


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_explanations_on_spark(spark: SparkSession, placement: str) -> None:
    db = tidelog.open(text=PROGRAM, facts={"Edge": EDGES}, spark=spark, placement=placement)
    with db.transaction() as tx:
        tx.insert("Edge", [("d", "e")])
        tx.insert("Blocked", [("b",)])
    given = {name: list(db[name].given) for name in db}
    proofs, absences = ProofChecker(db.program, given), RefutationChecker(db.program, given)
    for relation, row in (("Reach", ("a", "e")), ("Reached", ("a", 5))):
        proof = db.why(relation, row)
        proof.check()
        assert proofs.problem(proof.goal, proof.steps) is None
    for relation, row in (("Reach", ("e", "a")), ("Reached", ("a", 4))):
        absence = db.why_not(relation, row)
        absence.check()
        assert absences.problem(absence.goal, absence.obstacles) is None
    new = tx.changes.why("Reach", ("a", "e"))
    new.check()
    assert 'Edge("d", "e")  asserted  (new)' in str(new)
    gone = tx.changes.why("Reach", ("c", "b"))
    gone.check()
    assert 'no row Blocked("b")  (deleted)' in str(gone)


@pytest.mark.parametrize("placement", ["tasks"])
def test_weights_and_earlier_commits_on_spark(spark: SparkSession, placement: str) -> None:
    db = tidelog.open(text=KINDS, facts={"Seen": [("ann",)]}, spark=spark, placement=placement)
    with db.transaction() as tx:
        tx.insert("Paid", [("ann", 5), ("ann", 5), ("ann", 7)])
    proof = db.why("Due", ("ann", 3))
    proof.check()
    assert 'Paid("ann", 5) ×2  asserted' in str(proof)
    assert 'Ever-1("ann")  as of commit 0' in str(proof)
    tx.changes.why("Due", ("ann",)).check()
    db.why_not("Due", ("bob",)).check()


def possible(placement: str) -> list[str]:
    """The strategies that a placement supports."""
    return [name for name, found in STRATEGIES.items() if found.in_frames or placement != "shuffled"]


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs_are_explained_on_spark(spark: SparkSession, placement: str, seed: int) -> None:
    random = Random(seed)
    strategy = random.choice(possible(placement))
    db = tidelog.open(text=declarations(), spark=spark, placement=placement, strategy=strategy)
    for step in list(Generator(seed, random.choice(list(FLAVOURS))).steps())[:3]:
        if committed(db, step) is None:
            return
        check_proofs(db, random)
        check_refutations(db, random)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("seed", range(SEEDS // 2))
def test_random_kinds_are_explained_on_spark(spark: SparkSession, placement: str, seed: int) -> None:
    chooser = Random(seed)
    check(
        Random(seed),
        chooser.choice(possible(placement)),
        lambda *parts: explain(chooser, *parts),
        spark=spark,
        placement=placement,
    )
