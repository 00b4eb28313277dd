"""After every commit of a random history, ranks, counts and tables are what they have to be."""

from __future__ import annotations

import os

import pytest

from conformance.reasoners import ImpatientRun, LocalReasoner
from engine.local.recount import check_state
from oracle.generator import FLAVOURS, Generator
from tidelog.engine.run import Run
from tidelog.errors import EngineError

SEEDS = int(os.environ.get("TIDELOG_SEEDS", "60")) // 4


@pytest.mark.parametrize("flavour", [f for f in FLAVOURS if f != "large"])
def test_counts_are_the_numbers_of_supports_after_every_commit(flavour: str) -> None:
    for seed in range(SEEDS):
        check(flavour, seed)


def check(flavour: str, seed: int) -> None:
    reasoner = LocalReasoner(ImpatientRun if seed % 2 else Run)
    for number, step in enumerate(Generator(seed, flavour).steps()):
        try:
            reasoner.commit(step.program, step.facts)
        except EngineError:
            check_state(reasoner)
            return
        try:
            check_state(reasoner)
        except AssertionError as error:
            raise AssertionError(f"{flavour} {seed}, step {number}: {error}") from error
