"""Proofs of random programs in which one thing is changed: neither checker accepts them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest

from oracle.generator import DECLARED, FLAVOURS, WIDE, Generator
from proofs.histories import committed
from proofs.test_random import sampled
from sizes import size
from tidelog.errors import SessionError
from tidelog.program.draft import Draft
from tidelog.proofs.model import Asserted, Derived, Fact, Grouped, Step
from tidelog.proofs.proof import Proof
from tidelog.reference.proofs import ProofChecker
from tidelog.session.session import Session

SEEDS = int(os.environ.get("TIDELOG_SEEDS", size(2, 100)))
FORGED = 6  # proofs after a commit
SMALL = sorted(set(FLAVOURS) - set(WIDE))


def forged(proof: Proof, db: Session, random: Random) -> tuple[Fact, Mapping[Fact, Step]] | None:
    """The goal and the steps of a proof with one change that makes it wrong."""
    steps, fact = dict(proof.steps), random.choice(list(proof.steps))
    match random.choice(["fact", "assertion", "step", "premise"]), steps[fact]:
        case "fact", (Derived() | Grouped()) as step:
            row = tuple(v + 1 if type(v) is int else v for v in fact.row)
            other = Fact(fact.relation, row)
            if row == fact.row:
                return None
            swapped = {
                other if f == fact else f: replace(s, fact=other) if s is step else s
                for f, s in steps.items()
            }
            return other if fact == proof.goal else proof.goal, swapped
        case "assertion", (Derived() | Grouped()) if not db[fact.relation].is_given(fact.row):
            return proof.goal, {**steps, fact: Asserted(fact)}
        case "step", _ if fact != proof.goal:
            del steps[fact]
            return proof.goal, steps
        case "premise", Derived(instance=instance) as step if instance.facts:
            number = random.choice(list(instance.facts))
            wanted = instance.facts[number]
            others = [f for f in steps if f.relation == wanted.relation and f not in (wanted, fact)]
            if not others:
                return None
            facts = {**instance.facts, number: random.choice(others)}
            return proof.goal, {**steps, fact: replace(step, instance=replace(instance, facts=facts))}
        case _:
            return None


@pytest.mark.parametrize("flavour", SMALL)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_forged_proofs_are_refused(seed: int, flavour: str) -> None:
    random, db = Random(seed), Session(Draft(DECLARED))
    for step in list(Generator(seed, flavour).steps())[:3]:
        if committed(db, step) is None:
            return
        second = ProofChecker(db.program, {name: db[name].given for name in db})
        for proof in list(sampled(db, random))[:FORGED]:
            made = forged(proof, db, random)
            if made is None:
                continue
            with pytest.raises(SessionError, match="does not hold"):
                Proof(proof._state, *made, None).check()
            assert second.problem(*made) is not None
