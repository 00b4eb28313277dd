"""Rows, absences and changes of a session on Spark are explained, wherever its strata are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tidelog
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


@pytest.mark.parametrize("placement", ["driver", "tasks", "shuffled"])
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
