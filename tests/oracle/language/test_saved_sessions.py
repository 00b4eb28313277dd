"""Random histories in which every step begins with a saved state, and unused values are dropped early."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from oracle.language import host
from oracle.language.checking import Subject, names_for, open_local
from oracle.language.histories import programs
from oracle.language.model import MAX_ROUNDS, outcomes
from sizes import size
from tidelog.engine.limits import Limits
from tidelog.engine.local.codes import garbage
from tidelog.engine.local.storage.record import read_record
from tidelog.session.backends.resume import save
from tidelog.session.session import Session

BLOCK = 5
SEEDS = range(900_000, 900_000 + size(15, 1_000))


def _resumed(session: Session, strategy: str) -> Session:
    """Another session with the program and the saved state of one."""
    written = io.BytesIO()
    save(session, written)
    other = Session(host.draft(), strategy, Limits(max_iterations=MAX_ROUNDS))
    assert other._state.resume(session.program, read_record(written.getvalue()))
    return other


def _problem(seed: int) -> str | None:
    """What first differs from the model, if anything does."""
    case = replace(programs(seed), watched=())
    name = names_for(seed)[seed // 4 % 4]
    subject = Subject(case, name, open_local)
    strategy = "elastic" if name in ("updating", "dense") else name
    for number, (step, outcome) in enumerate(zip(case.steps, outcomes(case), strict=True)):
        subject.session = _resumed(subject.session, strategy)
        problem = subject.compare(step, outcome, asks=True)
        if problem:
            return f"seed {seed}, {name}, step {number}: {problem}"
    return None


@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, BLOCK))
def test_sessions_that_are_saved_do_what_the_model_does(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "SMALLEST", 3)
    for seed in range(first, min(first + BLOCK, SEEDS.stop)):
        problem = _problem(seed)
        assert problem is None, problem
