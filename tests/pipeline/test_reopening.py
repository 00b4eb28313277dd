"""A pipeline that is opened again goes on where it was, without working out again what it knew."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

import tidelog
from oracle.generator import Generator, Step
from oracle.schema import INPUTS, TYPED_INPUTS
from pipeline.places import PROGRAM, SPEC, Place, expected
from sizes import size
from tidelog import pipeline
from tidelog.errors import EngineError
from tidelog.program.text import print_relation
from tidelog.program.typed import Role
from tidelog.store.durable import latest
from tidelog.store.manifest import Manifest
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline.runner import Pipeline

pytestmark = pytest.mark.spark

GIVEN = {**INPUTS, **TYPED_INPUTS}
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


def test_where_the_data_is_in_frames_nothing_is_saved(tmp_path: Path, spark: SparkSession) -> None:
    place = Place(tmp_path)
    for edges, placement in (({(1, 2)}, "driver"), ({(1, 2), (2, 3)}, "shuffled")):
        place.spec.write_text(f'placement = "{placement}"\n{SPEC}')
        place.write(edges, {9})
        assert pipeline.run(place.spec, spark=spark).reworked == ""
        assert place.output(spark) == place.added_up(spark) == expected(edges, {9})
        assert (manifest(place).state is None) == (placement == "shuffled")
        told = pipeline.status(pipeline.read_spec(place.spec)).splitlines()[-1]
        assert told.startswith(
            "  saved state: as of commit 0, " if placement == "driver" else "  no saved state: "
        )


# -- histories


def text_of(step: Step) -> str:
    """A step's program; relations that are no inputs are outputs."""
    roles = {name: Role.INPUT if name in GIVEN else Role.OUTPUT for name in step.program.relations}
    relations = [replace(relation, role=roles[name]) for name, relation in step.program.relations.items()]
    return "\n".join([*map(print_relation, relations), *step.program.rules])


def given_of(step: Step) -> dict[str, tuple[list[Any], list[Any]]]:
    """The facts that a step asserts, and those that it retracts."""
    return {
        name: (
            [row for row, sign in rows.items() if sign > 0],
            [row for row, sign in rows.items() if sign < 0],
        )
        for name, rows in step.facts.items()
        if name in GIVEN
    }


class History:
    """A pipeline that is opened for each commit, beside a session that stays open."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.spark = spark
        self.db: tidelog.Session = tidelog.open(text="")
        self.before: dict[str, Any] = {}
        self.told: list[object] = []

    def commit(self, text: str, given: Mapping[str, tuple[list[Any], list[Any]]]) -> bool:
        """Commit to both, and compare what they hold and what they say has changed; false if both refuse."""
        try:
            with self.db.transaction() as tx:
                tx.replace_program(text)
                for name, (inserted, deleted) in given.items():
                    tx.insert(name, inserted)
                    tx.delete(name, deleted)
        except EngineError:
            with pytest.raises(EngineError):
                self._run(text, given)
            return False
        self._run(text, given)
        return True

    def _run(self, text: str, given: Mapping[str, tuple[list[Any], list[Any]]]) -> None:
        from tidelog.pipeline.sources.intake import Found

        (self.folder / "program.dl").write_text(text)
        spec = {
            "program": str(self.folder / "program.dl"),
            "store": str(self.folder / "store"),
            "sources": {name: {"table": name} for name in GIVEN},
        }
        with pipeline.open(spec, spark=self.spark, progress=self.told.append) as work:
            found = Found()
            for name, (inserted, deleted) in given.items():
                relation = work.program.relations[name]
                found.inserted[name], found.deleted[name] = (
                    to_table(relation, inserted),
                    to_table(relation, deleted),
                )
            assert work.commit(found).reworked == ""
            self._compare(work)

    def _compare(self, work: Pipeline) -> None:
        for name, relation in work.program.relations.items():
            now = self.db[name].to_arrow()
            assert not difference(work.store.table(relation), now).num_rows, name
            changes = difference(self.before.get(name, now[:0]), now)
            files = work.store.paths(work.store.changes_segments(name))
            if not files:
                assert not changes.num_rows, name
            else:
                told = parquet.read_table(*files)
                assert told.num_rows == changes.num_rows, name
                assert rows_of(told) == rows_of(changes), name
            self.before[name] = now


def rows_of(table: Any) -> list[str]:
    """Rows in order, with NaN equal to itself."""
    names = [*(n for n in table.column_names if n != SIGN), SIGN]
    return sorted(repr(row) for row in table.select(names).to_pylist())


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
