"""Multisets, streams and delays: proofs with weights, of random programs also checked against a replay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import tidelog
from oracle.kinds.programs import KINDS
from oracle.kinds.test_histories import check
from sizes import size
from tidelog.errors import DataError, SessionError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.proofs.change import Arrival, Departure
from tidelog.proofs.model import Copies, Fact, Share
from tidelog.proofs.proof import Proof
from tidelog.reference.proofs import ProofChecker
from tidelog.reference.refutations import RefutationChecker
from tidelog.reference.replay import Replay
from tidelog.session import Changes, Session

SEEDS = int(os.environ.get("TIDELOG_SEEDS", size(4, 400)))
SAMPLE = 3
KEPT: list[int] = []  # seeds that failed

PROGRAM = """
input multiset Paid(who: string, cents: int)
input multiset Rate(cents: int)
input stream Seen(who: string)
output multiset Due(who: string)
Due(w) :- Paid(w, c), Rate(c).
Due(w) :- Paid(w, _).
output relation Payments(who: string, n: int, total: int)
Payments(w, n, t) :- Paid(w, c), var n = c.group_by(w).count(), var t = c.group_by(w).sum().
output relation Ever(who: string)
Ever(w) :- Seen'(w).
Ever(w) :- Ever-1(w).
output stream Alert(who: string)
Alert(w) :- Seen(w), Paid(w, _).
"""
PAID = [("ann", 5), ("ann", 5), ("ann", 7), ("bob", 5)]


def opened(**options: Any) -> Session:
    facts = {"Paid": PAID, "Rate": [(5,), (5,), (5,)], "Seen": [("ann",), ("ann",)]}
    return tidelog.open(text=PROGRAM, facts=facts, **options)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_weights_multiply_and_add_up(strategy: str) -> None:
    db = opened(strategy=strategy)
    for relation in db:
        for row in db[relation]:
            proof = db.why(relation, row)
            proof.check()
            proof.to_json()
    assert str(db.why("Due", ("ann",))).splitlines() == [
        'Due("ann") ×9  the total of 3 contributions',
        "├─ ×6  by Due(w) :- Paid(w, c), Rate(c).",
        '│  ├─ Paid("ann", 5) ×2  asserted',
        "│  └─ Rate(5) ×3  asserted",
        "├─ ×2  by Due(w) :- Paid(w, _).",
        '│  └─ Paid("ann", 5) ×2  asserted',
        "└─ ×1  by Due(w) :- Paid(w, _).",
        '   └─ Paid("ann", 7) ×1  asserted',
    ]
    assert db.why("Payments", ("ann", 3, 17)).to_dict()["steps"][-1]["instances"] == 3
    assert str(db.why("Alert", ("ann",))).startswith('Alert("ann") ×6  the total of 2 contributions')


def test_earlier_commits_are_leaves_with_their_commit() -> None:
    db = opened()
    assert 'Seen("ann") ×2  asserted' in str(db.why("Ever", ("ann",)))
    with db.transaction() as tx:
        tx.insert("Seen", [("bob",)])
    proof = db.why("Ever", ("ann",))
    proof.check()
    assert 'Ever-1("ann")  as of commit 0' in str(proof)
    assert proof.to_dict()["steps"][0] == {
        "relation": "Ever",
        "row": ["ann"],
        "fact": 'Ever-1("ann")',
        "delay": 1,
        "kind": "earlier",
        "commit": 0,
    }
    new = tx.changes.why("Alert", ("bob",))
    new.check()
    assert 'Seen("bob") ×1  asserted  (new)' in str(new)
    with pytest.raises(SessionError, match="is not there"):
        db.why("Alert", ("ann",))


def test_a_row_may_be_given_with_its_weight() -> None:
    db = opened()
    assert str(db.why("Due", ("ann", 9))) == str(db.why("Due", {"who": "ann", "weight": 9}))
    with pytest.raises(SessionError, match=r'Due\("ann"\) is there with the weight 9, not 8'):
        db.why("Due", ("ann", 8))
    with pytest.raises(DataError, match="a weight is a whole number"):
        db.why("Due", ("ann", "x"))
    with pytest.raises(DataError, match="give a row of 1 values, as a tuple: who"):
        db.why("Due", ())


def test_changes_of_weights_are_explained() -> None:
    db = opened()
    with db.transaction() as tx:
        tx.insert("Paid", [("ann", 5)])
        tx.delete("Rate", [(5,), (5,)])
    less = tx.changes.why("Due", ("ann",))
    less.check()
    assert isinstance(less, Departure)
    assert str(less).startswith('Due("ann") weighs 7, 9 before\n')
    assert less.causes == ("Rate(5) weighs 1, 3 before", 'Paid("ann", 5) weighs 3, 2 before')
    more = tx.changes.why("Paid", ("ann", 5))
    assert str(more) == 'Paid("ann", 5) ×3  asserted  (×2 before)'
    with pytest.raises(SessionError, match="neither inserted nor deleted"):
        tx.changes.why("Paid", ("bob", 5))


def test_absences_say_what_the_last_commit_lacked() -> None:
    db = opened()
    absence = db.why_not("Alert", ("bob",))
    absence.check()
    assert absence.changes == ('it would be there if Seen("bob") had been asserted in commit 0',)
    with db.transaction() as tx:
        tx.insert("Seen", [("bob",)])
    gone = db.why_not("Ever", ("cid",))
    gone.check()
    assert 'no row Ever-1("cid")' in str(gone)
    assert 'no row Seen\'("cid")' in str(gone)


def test_forged_weights_fail_the_check() -> None:
    proof = opened().why("Due", ("ann",))
    step = proof.steps[proof.goal]
    assert isinstance(step, Copies)
    first, *others = step.shares
    heavier = Copies(step.fact, step.weight + 1, step.count, (Share(7, first.step), *others))
    twice = Copies(step.fact, 12, 3, (first, first))
    less = Copies(step.fact, step.weight, step.count, (Share(1, first.step), *others))
    for forged in (heavier, twice, less):
        with pytest.raises(SessionError, match="does not hold"):
            Proof(proof._state, proof.goal, {**proof.steps, proof.goal: forged}, None).check()


# -- random programs


def proved(db: Session, random: Random) -> Iterator[Proof]:
    for relation in db:
        rows = sorted(db[relation])
        for row in random.sample(rows, min(SAMPLE, len(rows))):
            yield db.why(relation, row)


def explain(random: Random, db: Session, replay: Replay, earlier: Replay, changes: Changes) -> None:
    now = ProofChecker.of(replay)
    for proof in proved(db, random):
        proof.check()
        problem = now.problem(proof.goal, proof.steps)
        assert problem is None, f"{problem}: {proof}"
        proof.to_json()
    before = ProofChecker.of(earlier)
    for relation in changes:
        every = list(changes[relation])
        for row, sign in random.sample(every, min(SAMPLE, len(every))):
            found = changes.why(relation, row)
            assert isinstance(found, Arrival if sign > 0 else Departure)
            found.check()
            assert found.to_json()
            assert str(found)
            problem = (now if sign > 0 else before).problem(found.goal, found.steps)
            assert problem is None, f"{problem}: {found}"
    refute(random, db, replay)


def refute(random: Random, db: Session, replay: Replay) -> None:
    checker = RefutationChecker.of(replay)
    for relation in random.sample(sorted(KINDS), 4):
        row = random.choice([(random.randrange(4), random.randrange(4)), (random.randrange(4), ...)])
        bound = {n: v for n, v in zip("xy", row, strict=True) if v is not ...}
        if len(db[relation].where(**bound)):
            continue
        absence = db.why_not(relation, row)
        absence.check()
        problem = checker.problem(absence.goal, absence.obstacles)
        assert problem is None, f"{problem}: {absence}"
        assert absence.to_json()
        assert str(absence)


def history(seed: int, strategy: str) -> None:
    chooser = Random(seed)
    check(Random(seed), strategy, lambda *parts: explain(chooser, *parts))


@pytest.mark.parametrize("seed", [*KEPT, *range(SEEDS)])
def test_random_histories_are_explained(seed: int) -> None:
    history(seed, sorted(STRATEGIES)[seed % len(STRATEGIES)])


def test_a_fact_of_another_weight_is_another_leaf() -> None:
    proof = opened().why("Paid", ("ann", 5))
    assert proof.facts == (Fact("Paid", ("ann", 5)),)
