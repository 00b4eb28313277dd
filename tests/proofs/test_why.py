"""`db.why` finds proofs that check themselves, under every strategy."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import tidelog
from tidelog.errors import SessionError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.proofs.model import Asserted, Fact
from tidelog.proofs.proof import Proof

PROGRAM = """
input relation Edge(x: string, y: string)
input relation Blocked(x: string)
relation Reach(x: string, y: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z), not Blocked(z).
relation Reached(x: string, n: int)
Reached(x, n) :- Reach(x, y), var n = y.group_by(x).count().
relation Big(x: string)
Big(x) :- Reached(x, n), n > 1, var k = count { Edge(x, y) }, k < 10, not (Edge(x, y), Blocked(y)).
input relation Road(x: string, y: string, length: int)
relation Distance(y: string, d: int)
Distance(y, d) :- Road("a", y, w), var d = w.group_by(y).min().
Distance(y, d) :- Distance(x, e), Road(x, y, w), var d = (e + w).group_by(y).min().
"""
FACTS = {
    "Edge": [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")],
    "Road": [("a", "b", 1), ("b", "c", 2), ("c", "b", 0), ("a", "c", 9)],
}

SHARES = """
input relation Owns(x: string, y: string, share: int)
relation Controls(x: string, y: string)
relation Held(x: string, y: string, total: int)
Held(x, y, t) :- Owns(x, y, s), var t = s.group_by(x, y).sum().
Held(x, y, t) :- Controls(x, z), Owns(z, y, s), var t = s.group_by(x, y).sum().
Controls(x, y) :- Held(x, y, t), t > 50.
"""

PARTS = """
input relation Uses(whole: string, part: string, n: int)
input relation Basic(part: string)
relation Needs(whole: string, basic: string, n: int)
Needs(p, p, n) :- Basic(p), var one = 1, var n = one.group_by(p).sum().
Needs(w, b, t) :- Uses(w, p, n), Needs(p, b, m), var t = (n * m).group_by(w, b).sum().
"""


def proofs(db: tidelog.Session) -> Iterator[Proof]:
    for relation in db:
        for row in db[relation]:
            yield db.why(relation, row)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_present_row_has_a_proof_that_checks(strategy: str) -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS, strategy=strategy)
    for proof in proofs(db):
        proof.check()
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
        tx.insert("Edge", [("d", "b")])
        tx.insert("Blocked", [("c",)])
    for proof in proofs(db):
        proof.check()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_totals_show_their_contributions(strategy: str) -> None:
    owned = [("a", "b", 60), ("b", "c", 30), ("a", "c", 30), ("c", "b", 60), ("c", "a", 10)]
    db = tidelog.open(text=SHARES, facts={"Owns": owned}, strategy=strategy)
    assert ("a", "c") in db["Controls"]
    for proof in proofs(db):
        proof.check()
    used = [("car", "wheel", 4), ("wheel", "bolt", 5), ("car", "bolt", 10)]
    db = tidelog.open(text=PARTS, facts={"Uses": used, "Basic": [("bolt",)]}, strategy=strategy)
    proof = db.why("Needs", ("car", "bolt", 30))
    proof.check()
    assert "the total of 2 contributions" in str(proof)


def test_the_text_names_facts_rules_and_conditions() -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS)
    text = str(db.why("Big", ("a",)))
    assert text.startswith('Big("a")  by Big(x) :- Reached(x, n), n > 1,')
    assert 'Edge("a", "b")  asserted' in text
    assert "n > 1 (with n = 4)" in text
    assert 'no instance of (Edge(x, y), Blocked(y)) (with x = "a")' in text


def test_a_proof_is_also_json_html_and_svg() -> None:
    proof = tidelog.open(text=PROGRAM, facts=FACTS).why("Reach", ("a", "d"))
    data = json.loads(proof.to_json())
    assert data["steps"][data["goal"]]["row"] == ["a", "d"]
    assert "<details" in proof.to_html()
    assert proof.to_svg().startswith("<svg")


def test_a_proof_without_one_of_its_steps_fails_its_check() -> None:
    proof = tidelog.open(text=PROGRAM, facts=FACTS).why("Reach", ("a", "d"))
    dropped = next(iter(proof.steps))
    steps = {fact: step for fact, step in proof.steps.items() if fact != dropped}
    with pytest.raises(SessionError, match="does not hold"):
        Proof(proof._state, proof.goal, steps, None).check()


def test_a_fact_that_is_not_asserted_fails_the_check() -> None:
    proof = tidelog.open(text=PROGRAM, facts=FACTS).why("Reach", ("a", "d"))
    wrong = Fact("Edge", ("a", "z"))
    with pytest.raises(SessionError, match="does not hold"):
        Proof(proof._state, wrong, {wrong: Asserted(wrong)}, None).check()


def test_asking_for_a_missing_row_is_an_error() -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS)
    with pytest.raises(SessionError, match="is not there"):
        db.why("Reach", ("d", "a"))


def test_a_search_beyond_the_limit_is_an_error() -> None:
    db = tidelog.open(text=PROGRAM, facts=FACTS)
    with pytest.raises(SessionError, match="more than 2 rows"):
        db.why("Reach", ("a", "a"), limit=2)


STAGES = """
input relation Order(customer: string, region: string, amount: int)
relation Leader(region: string, customer: string, total: int)
Leader(r, c, m) :-
    Order(customer, r, amount),
    var total = amount.group_by(customer, r).sum(),
    total > 2,
    var c = customer.group_by(r).arg_max(total),
    var m = total.group_by(r).max().
"""


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_row_of_several_stages_of_aggregates_has_a_proof(strategy: str) -> None:
    db = tidelog.open(text=STAGES, strategy=strategy)
    orders = [("ann", "north", 3), ("ann", "north", 4), ("bob", "north", 5), ("cid", "south", 1)]
    with db.transaction() as t:
        t.insert("Order", orders)
    proof = db.why("Leader", ("north", "ann", 7))
    proof.check()
    assert {f.row for f in proof.facts} == set(orders[:3])
    assert 'a group with customer = "ann", r = "north", total = 7' in str(proof)


TWO = "typedef Two = Two{x: int, y: int} output relation P(t: Two) relation Q(x: int, y: int)"


@pytest.mark.parametrize(
    ("program", "row"),
    [
        ("output relation P(x: int) P(0). P(x + 1) :- P(x), Most(m), x < m.", (300,)),
        ("output relation P(x: int) P(300). P(x - 1) :- P(x), Most(m), x > 0.", (0,)),
        ("output relation P(x: bit<16>) P(0). P(1 + (x + 2) - 2) :- P(x), Most(m), x as int < m.", (300,)),
        (
            f"{TWO} Q(0, 0). P(Two{{x, y - 1}}), Q(x + 1, y + 1) :- Q(x, y), Most(m), x < m.",
            ({"x": 299, "y": 298},),
        ),
    ],
)
def test_steps_of_a_recursion_that_makes_values_are_found_without_looking_at_every_row(
    program: str, row: tuple[object, ...]
) -> None:
    db = tidelog.open(text=f"input relation Most(m: int)\n{program}", facts={"Most": [(300,)]})
    proof = db.why("P", row, limit=5000)
    proof.check()
    assert {fact.relation for fact in proof.facts} == {"Most"}


def test_a_value_is_not_sought_beyond_its_type() -> None:
    db = tidelog.open(
        text="""
        input relation In(x: bit<8>)
        output relation P(x: bit<8>)
        P(x + 5) :- In(x).
        P(x - 5) :- In(x).
        """,
        facts={"In": [(5,), (250,)]},
    )
    for x in (0, 10, 245, 255):
        db.why("P", (x,)).check()
    db.why_not("P", (3,)).check()
    db.why_not("P", (253,)).check()
