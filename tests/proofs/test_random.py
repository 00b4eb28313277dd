"""Random programs and edits: every present row has a proof that checks, and proofs depend on what they name.

TIDELOG_SEEDS is the number of seeds. A seed that ever failed stays here for good.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest

from oracle.generator import DECLARED, FLAVOURS, WIDE, Generator
from proofs.histories import committed, with_sessions
from sizes import size
from tidelog.errors import EngineError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import Draft
from tidelog.proofs.proof import Proof
from tidelog.reference.proofs import ProofChecker
from tidelog.session.session import Session

CORE = int(os.environ.get("TIDELOG_SEEDS", size(6, 200)))
WHOLE = int(os.environ.get("TIDELOG_SEEDS", size(40, 2_000)))
SAMPLE = 6  # rows of a relation
KEPT_CORE: list[tuple[str, int]] = []
KEPT_WHOLE: list[int] = []


def sampled(db: Session, random: Random) -> Iterator[Proof]:
    """Proofs of some rows of every relation that has rules."""
    derived = {head.relation for rule in db.program.rules.values() for head in rule.heads}
    for relation in sorted(derived):
        rows = sorted(db[relation], key=repr)
        for row in random.sample(rows, min(SAMPLE, len(rows))):
            yield db.why(relation, row)


def check_proofs(db: Session, random: Random, *, is_small: bool = True) -> None:
    """Check the proofs of some rows, and of one of them without the facts that its proof rests on."""
    proofs = list(sampled(db, random))
    second = ProofChecker(db.program, {name: db[name].given for name in db}) if is_small else None
    for proof in proofs:
        proof.check()
        problem = None if second is None else second.problem(proof.goal, proof.steps)
        assert problem is None, f"{problem}: {proof}"
        str(proof)
    with_facts = [proof for proof in proofs if proof.facts]
    if with_facts:
        check_without(db, random.choice(with_facts))


def check_without(db: Session, proof: Proof) -> None:
    """If a row is there without a fact of its proof, it has another proof, which does not rest on it."""
    gone = proof.facts[0]
    tx = db.transaction()
    try:
        tx.delete(gone.relation, [gone.row])
        tx.commit()
    except EngineError:
        return  # an expression fails without the fact
    if proof.goal.row in db[proof.goal.relation]:
        other = db.why(*proof.goal)
        other.check()
        assert gone not in other.facts
    tx = db.transaction()
    tx.insert(gone.relation, [gone.row])
    tx.commit()
    db.why(*proof.goal).check()


def core(flavour: str, seed: int) -> None:
    random = Random(seed)
    db = Session(Draft(DECLARED), random.choice(list(STRATEGIES)))
    for step in Generator(seed, flavour).steps():
        if committed(db, step) is None:
            return
        check_proofs(db, random, is_small=flavour not in WIDE)


@pytest.mark.parametrize(("flavour", "seed"), [*KEPT_CORE, *((f, s) for f in FLAVOURS for s in range(CORE))])
def test_rows_of_core_programs_have_proofs(flavour: str, seed: int) -> None:
    core(flavour, seed)


def whole(seed: int) -> None:
    random = Random(seed)
    with_sessions(seed, random, lambda db: check_proofs(db, random))


@pytest.mark.parametrize("seed", [*KEPT_WHOLE, *range(WHOLE)])
def test_rows_of_programs_of_the_whole_language_have_proofs(seed: int) -> None:
    whole(seed)
