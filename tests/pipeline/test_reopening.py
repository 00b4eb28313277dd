"""A pipeline that is opened again goes on where it was, without working out again what it knew."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from oracle.generator import Generator
from pipeline.histories import History, given_of, text_of
from pipeline.places import PROGRAM, SPEC, Place, expected
from sizes import size
from tidelog import pipeline
from tidelog.store.durable import latest
from tidelog.store.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline.runner import Pipeline

pytestmark = pytest.mark.spark

CHAIN = {(i, i + 1) for i in range(30)}


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession) -> Place:
    """A pipeline that has been run once, over a chain."""
    made = Place(tmp_path)
    made.write(CHAIN, {99})
    pipeline.run(made.spec, spark=spark)
    return made


def manifest(place: Place) -> Manifest:
    found = latest(place.folder / "store")
    assert found is not None
    return found


def strategies(work: Pipeline) -> set[str]:
    """What the last commit of a pipeline's session did to its units."""
    return {stratum.strategy for stratum in work.session().stats.strata}


# -- nothing is worked out again


def test_a_second_run_bootstraps_nothing(place: Place, spark: SparkSession) -> None:
    with pipeline.open(place.spec, spark=spark) as work:
        assert set(work.session()["Reach"]) == expected(CHAIN, set())
        assert strategies(work) == set()
        place.write(CHAIN | {(30, 31)}, set())
        outcome = work.run()
        assert strategies(work) == {"update"}
    assert (outcome.reworked, str(outcome.changes["Reach"])) == ("", "31 added, 0 removed")
    assert place.output(spark) == place.added_up(spark) == expected(CHAIN | {(30, 31)}, set())


def test_what_was_asserted_since_is_an_update(place: Place, spark: SparkSession) -> None:
    for number in range(3):
        place.write(CHAIN | {(number, 20)}, {100 + number})
        pipeline.run(place.spec, spark=spark)
    state = manifest(place).state
    assert state is not None
    assert (state.commit, sorted(state.log)) == (0, ["Blocked", "Edge"])
    with pipeline.open(place.spec, spark=spark) as work:
        assert set(work.session()["Reach"]) == place.output(spark)
        assert strategies(work) == {"update"}
        assert set(work.session()["Edge"]) == CHAIN | {(2, 20)}


def test_rules_that_changed_since_are_an_update(place: Place, spark: SparkSession) -> None:
    program = PROGRAM + "Reach(x, x) :- Edge(x, 1).\n"
    (place.folder / "reach.dl").write_text(program)
    pipeline.run(place.spec, spark=spark)
    state = manifest(place).state
    assert state is not None
    assert state.program == PROGRAM
    with pipeline.open(place.spec, spark=spark) as work:
        assert set(work.session()["Reach"]) == expected(CHAIN, set(), program)
        assert strategies(work) == {"update"}
        assert work.session().commit == 2


def test_a_long_history_goes_on_too(place: Place, spark: SparkSession) -> None:
    edges = set(CHAIN)
    told: list[object] = []
    for number in range(9):
        edges ^= {(number, number + 2)}
        place.write(edges, set())
        outcome = pipeline.run(place.spec, spark=spark, progress=told.append)
        assert outcome.reworked == ""
    assert "loading the store" not in told
    assert told.count("resuming") == 9
    assert place.output(spark) == place.added_up(spark) == expected(edges, set())


BOUNDED = """input relation Edge(src: int, dst: int)
input relation Blocked(node: int)
output relation Reach(src: int, dst: int)
Reach(0, 0).
Reach(x + 1, y) :- Reach(x, y), not Blocked(x).
"""


def test_program_and_facts_are_one_commit_each_time(tmp_path: Path, spark: SparkSession) -> None:
    """Without what is blocked the recursion has no end."""
    place = Place(tmp_path, program=BOUNDED)
    place.write({(1, 1)}, {3})
    pipeline.run(place.spec, spark=spark)
    assert place.output(spark) == {(x, 0) for x in range(4)}
    place.write({(1, 2)}, {4})
    assert pipeline.run(place.spec, spark=spark).reworked == ""  # goes on from the state
    assert place.output(spark) == {(x, 0) for x in range(5)}
    for file in (tmp_path / "store" / "states").iterdir():
        file.unlink()
    with pipeline.open(place.spec, spark=spark) as work:  # loads the store
        assert set(work.session()["Reach"]) == {(x, 0) for x in range(5)}


# -- what cannot be gone on from


def missing(file: Path) -> None:
    file.unlink()


def damaged(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize("harm", [missing, damaged, cut_short])
def test_a_harmed_state_is_done_without(
    place: Place, spark: SparkSession, harm: Callable[[Path], None]
) -> None:
    state = manifest(place).state
    assert state is not None
    harm(place.folder / "store" / state.file)
    place.write(CHAIN | {(30, 31)}, set())
    outcome = pipeline.run(place.spec, spark=spark)
    assert "store/states/000000000000" in outcome.reworked
    assert f"  all results were recomputed: {outcome.reworked}" in str(outcome).splitlines()
    assert place.output(spark) == place.added_up(spark) == expected(CHAIN | {(30, 31)}, set())
    after = manifest(place).state
    assert after is not None
    assert after.commit == 1
    place.write(CHAIN, set())
    assert pipeline.run(place.spec, spark=spark).reworked == ""


def test_a_state_of_another_version_is_done_without(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.session.backends.resume.__version__", "99")
    place.write(CHAIN | {(30, 31)}, set())
    with pipeline.open(place.spec, spark=spark) as work:
        outcome = work.run()
        assert "; this is Tidelog 99, Python " in outcome.reworked
        place.write(CHAIN, set())
        assert work.run().reworked == ""  # it is told once
    assert place.output(spark) == place.added_up(spark) == expected(CHAIN, set())


def test_a_state_of_other_python_functions_is_done_without(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the module changes within a second
    module = tmp_path / "functions_of_reopening.py"
    place = Place(
        tmp_path,
        f'functions = ["{module.stem}"]\n{SPEC}',
        PROGRAM + "relation More(x: int)\nMore(more(x)) :- Edge(x, _).\n",
    )
    for run, number in enumerate((1, 1, 2)):
        module.write_text(f"def more(x: int) -> int:\n    return x + {number}\n")
        sys.modules.pop(module.stem, None)
        importlib.invalidate_caches()
        with pipeline.open(place.spec, spark=spark) as work:
            assert set(work.session()["More"]) == (set() if work.store.current is None else {(1 + number,)})
            place.write({(1, run)}, set())
            assert ("functions" in work.run().reworked) == (number == 2)


def test_a_file_that_asks_for_other_code_is_not_followed(place: Place, spark: SparkSession) -> None:
    found = manifest(place)
    assert found.state is not None
    with pipeline.open(place.spec, spark=spark) as work:
        call = b"cos\nsystem\n(S'touch called'\ntR."
        lengths = (0).to_bytes(8, "little") + len(call).to_bytes(8, "little")
        file = place.folder / "store" / found.state.file
        file.write_bytes(lengths + call)
        kept = replace(
            found.state, size=len(lengths + call), digest=hashlib.sha256(lengths + call).hexdigest()
        )
        work.store.current = replace(found, state=kept)
        assert set(work.session()["Reach"]) == expected(CHAIN, set())
        place.write(CHAIN | {(30, 31)}, set())
        assert "is corrupt: not a saved state" in work.run().reworked


# -- histories


@pytest.mark.parametrize("flavour", ["positive", "negated", "full", "typed"])
@pytest.mark.parametrize("seed", range(size(3, 12)))
def test_a_history_of_reopened_pipelines_is_that_of_a_session(
    flavour: str, seed: int, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 3:  # logs become long, and rules change under way
        monkeypatch.setattr("tidelog.store.states.MAX_SHARE", 1e9)
    history = History(tmp_path, spark)
    for step in Generator(seed, flavour).steps():
        if not history.commit(text_of(step), given_of(step)):
            break
    assert "loading the store" not in history.told
    assert not any(history.reworked)
