"""An engine that is written out and read back goes on as one that was not."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from conformance.reasoners import Changes, DenseReasoner, LocalReasoner
from engine.local.recount import check_state
from oracle.generator import Generator
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.record import map_record, read_record, write_record
from tidelog.engine.local.storage.saved_state import Saved, restored
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import DIFFERENTIAL
from tidelog.program.model import Program

RUNS: list[Callable[[LocalEngine], Scheduler]] = [Scheduler, lambda engine: Scheduler(engine, DIFFERENTIAL)]


def renew(reasoner: LocalReasoner, run: Callable[[LocalEngine], Scheduler], file: Path | None) -> None:
    """Put what a file (or bytes) brings back in the place of a reasoner's engine."""
    out = io.BytesIO()
    write_record(out, Saved(reasoner.engine, {}).record(), compressed=file is None)
    if file is not None:
        file.write_bytes(out.getvalue())
    record = read_record(out.getvalue()) if file is None else map_record(file)
    found = restored(record, reasoner.flat)
    assert found is not None
    reasoner.work_with(found.engine, run, reasoner.flat)


@pytest.mark.parametrize("flavour", ["positive", "negated", "full", "typed", "deep"])
@pytest.mark.parametrize("seed", range(6))
def test_a_history_with_a_renewed_engine_is_the_same_history(flavour: str, seed: int, tmp_path: Path) -> None:
    run = RUNS[seed % len(RUNS)]
    plain, renewed = LocalReasoner(run), LocalReasoner(run)
    for number, step in enumerate(Generator(seed, flavour).steps()):
        expected = commit(plain, step.program, step.facts)
        assert commit(renewed, step.program, step.facts) == expected
        if expected is None:
            return
        check_state(renewed)
        renew(renewed, run, tmp_path / f"{number}" if seed % 3 else None)
        assert renewed.contents == plain.contents


def commit(reasoner: LocalReasoner, program: Program, facts: Mapping[str, ZSet[Row]]) -> Changes | None:
    try:
        return reasoner.commit(program, facts)
    except EngineError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_dense_relations_too(seed: int) -> None:
    plain, renewed = DenseReasoner(), DenseReasoner()
    for step in Generator(seed, "positive").steps():
        expected = commit(plain, step.program, step.facts)
        assert commit(renewed, step.program, step.facts) == expected
        renew(renewed, Scheduler, None)
        assert renewed.contents == plain.contents
