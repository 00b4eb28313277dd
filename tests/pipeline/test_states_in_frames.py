"""A pipeline whose data is in DataFrames and in tasks goes on where it was, in every placement.

Every run has a session of its own. What it holds, what it stores and what it says has changed is compared
with a computation from scratch, and a run that goes on has bootstrapped nothing.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import tidelog
from oracle.generator import Generator
from pipeline.histories import History, given_of, text_of
from pipeline.places import SPEC, Place
from sizes import size
from store.places import bucket
from tidelog import pipeline
from tidelog.engine.spark.frames.checkpoints import Checkpoints
from tidelog.errors import StoreError
from tidelog.session.backends.adaptive import AdaptiveBackend
from tidelog.store.durable import Store, Update, latest
from tidelog.store.manifest import Manifest
from tidelog.store.states import IN_FRAMES, IN_THE_DRIVER, KeptState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline.runner import Pipeline

pytestmark = pytest.mark.spark

# one recursion, which is divided by a column; one more, which is exchanged; then by joins, the least value, a
# group, and no recursion
FEW = """input relation Edge(src: int, dst: int)
input relation Blocked(node: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y), not Blocked(y).
Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(z).
"""
SOME = (
    FEW
    + """output relation Hit(node: int)
Hit(y) :- Edge(0, y).
Hit(y) :- Hit(x), Edge(x, y), not Blocked(y).
"""
)
WAYS = (
    SOME
    + """output relation Pair(a: int, b: int)
Pair(x, y) :- Edge(x, y), Blocked(x).
Pair(x, y) :- Pair(x, a), Pair(y, b), Edge(a, b).
output relation Near(node: int, d: int)
Near(y, d) :- Edge(0, y), var one = 1, var d = one.group_by(y).min().
Near(y, d) :- Near(x, a), Edge(x, y), var d = (a + 1).group_by(y).min().
output relation Fan(src: int, n: int)
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
output relation Two(a: int, b: int)
Two(x, z) :- Edge(x, y), Edge(y, z).
"""
)
CHAIN = {(i, i + 1) for i in range(6)}
Edges = set[tuple[int, int]]


def divided(spark: SparkSession, partitions: int) -> SparkSession:
    """A session with so many partitions."""
    other = spark.newSession()
    other.conf.set("spark.sql.shuffle.partitions", str(partitions))
    return other


class Runs:
    """A pipeline that is opened for each run."""

    def __init__(self, folder: Path, spark: SparkSession, program: str, spec: str = SPEC) -> None:
        self.place = Place(folder, spec, program)
        self.spark = spark
        self.program = program
        self.spec = spec
        self.told: list[object] = []

    def run(
        self, edges: Edges, blocked: set[int], placement: str = "tasks", partitions: int = 2
    ) -> pipeline.Outcome:
        """A run with these facts; what it leaves is compared with a computation from scratch."""
        chosen = f'placement = "{placement}"\n' if placement else ""
        self.place.spec.write_text(chosen + self.spec)
        self.place.write(edges, blocked)
        self.told.clear()
        with pipeline.open(
            self.place.spec, spark=divided(self.spark, partitions), progress=self.told.append
        ) as work:
            outcome = work.run()
            self.expect(work, edges, blocked)
        return outcome

    def expect(self, work: Pipeline, edges: Edges, blocked: set[int]) -> None:
        db = tidelog.open(text=self.program)
        with db.transaction() as tx:
            tx.insert("Edge", sorted(edges))
            tx.insert("Blocked", [(node,) for node in sorted(blocked)])
        for name, relation in work.program.relations.items():
            wanted = set(db[name])
            assert set(work.session()[name]) == wanted, name
            stored = work.store.table(relation)
            assert sorted(map(tuple, (row.values() for row in stored.to_pylist()))) == sorted(wanted), name
        assert self.place.output(self.spark) == self.place.added_up(self.spark) == set(db["Reach"])

    @property
    def went_on(self) -> bool:
        return "loading the store" not in self.told

    @property
    def manifest(self) -> Manifest:
        found = latest(self.place.folder / "store")
        assert found is not None
        return found

    @property
    def state(self) -> KeptState:
        found = self.manifest.state
        assert found is not None
        return found

    @property
    def states(self) -> set[str]:
        """The files of states in the store."""
        return {f"states/{file.name}" for file in (self.place.folder / "store" / "states").iterdir()}


@pytest.fixture
def runs(tmp_path: Path, spark: SparkSession) -> Runs:
    """A pipeline with one recursion, which is divided."""
    return Runs(tmp_path, spark, FEW)


def in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks do what the driver does for few rows."""
    monkeypatch.setattr("tidelog.pipeline.bulk.rows.LARGE", 3)
    monkeypatch.setattr(Checkpoints.__init__, "__defaults__", (3, None))


def strategies(session: tidelog.Session) -> dict[str, str]:
    """What the last commit of a session did to its strata."""
    return {stratum.name: stratum.strategy for stratum in session.stats.strata}


@pytest.mark.parametrize(("placement", "program"), [("tasks", FEW), ("shuffled", WAYS)])
def test_a_second_run_does_what_an_open_session_does(
    tmp_path: Path, spark: SparkSession, placement: str, program: str
) -> None:
    """It bootstraps nothing, unless that is cheaper."""
    runs, now = Runs(tmp_path, spark, program), {*CHAIN, (3, 1)}
    assert runs.run(CHAIN, {99}, placement).reworked == ""
    assert runs.state.place == IN_FRAMES
    assert runs.state.parts
    runs.place.write(now, {99})
    with pipeline.open(runs.place.spec, spark=divided(spark, 2), progress=runs.told.append) as work:
        runs.expect(work, CHAIN, {99})
        assert not work.session().stats.strata
        outcome = work.run()
        runs.expect(work, now, {99})
        assert strategies(work.session()) == strategies(stayed_open(runs, placement))
    assert (outcome.reworked, dict(outcome.partly)) == ("", {})
    assert runs.went_on
    told = pipeline.status(pipeline.read_spec(runs.place.spec)).splitlines()[-1]
    assert told.startswith("  saved state: as of commit ")


def stayed_open(runs: Runs, placement: str) -> tidelog.Session:
    """A session after the same two commits."""
    db = tidelog.open(text="", spark=divided(runs.spark, 2), placement=placement)
    with db.transaction() as tx:
        tx.load(runs.program)
        tx.insert("Edge", sorted(CHAIN))
        tx.insert("Blocked", [(99,)])
    with db.transaction() as tx:
        tx.insert("Edge", [(3, 1)])
    return db


WAYS_ON = [("tasks", 2), ("shuffled", 3), ("tasks", 2), ("shuffled", 2), ("tasks", 5), ("shuffled", 1)]


@pytest.mark.parametrize("share", [1e9, 0.25, 0.0][: size(1, 3)])
def test_other_placements_and_numbers_of_partitions_go_on(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """With logs that become long, now and then a new state, or one with each commit."""
    monkeypatch.setattr("tidelog.store.states.MAX_SHARE", share)
    runs, edges, dice = Runs(tmp_path, spark, [SOME, WAYS][size(0, 1)]), set(CHAIN), Random(1)
    for number, (placement, partitions) in enumerate(WAYS_ON[: size(3, 6)]):
        edges ^= {(dice.randrange(7), dice.randrange(7)) for _ in range(3)}
        assert runs.run(edges, {dice.randrange(7)}, placement, partitions).reworked == ""
        assert runs.went_on or not number
        if share != 0.25:
            assert runs.state.commit == (number if share == 0 else 0)


@pytest.mark.skipif(not size(0, 1), reason="half a minute: in the nightly size")
def test_far_more_partitions_recompute_what_tasks_keep(runs: Runs) -> None:
    runs.run(CHAIN, {99}, "tasks", 1)
    outcome = runs.run(CHAIN | {(3, 1)}, {99}, "tasks", 5)
    assert (outcome.reworked, list(outcome.partly)) == ("", ["Reach"])
    assert "  Reach is recomputed: its state has 1 partitions, and Spark now uses 5" in str(outcome)


@pytest.mark.skipif(not size(0, 1), reason="half a minute: in the nightly size")
def test_a_placement_without_the_same_seeds_recomputes_what_they_are_of(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.run(CHAIN, {99}, "tasks")
    with monkeypatch.context() as patch:
        patch.setattr("tidelog.engine.spark.engine.is_routable", lambda _: False)
        outcome = runs.run(CHAIN | {(3, 1)}, {2}, "shuffled")
        assert (outcome.reworked, outcome.partly) == ("", {"Reach": "its state is of another placement"})
    outcome = runs.run(CHAIN, {99}, "tasks")
    assert (outcome.reworked, list(outcome.partly)) == ("", ["Reach"])


@pytest.mark.skipif(not size(0, 1), reason="half a minute: in the nightly size")
def test_the_driver_and_dataframes_recompute_each_others_results(runs: Runs) -> None:
    edges = set(CHAIN)
    for number, placement in enumerate(["driver", "tasks", "driver", "driver", "shuffled"][: size(3, 5)]):
        edges ^= {(number, 7)}
        outcome = runs.run(edges, {99}, placement)
        said = ["", "is of data in the driver", "is of data in DataFrames", "", "is of data in the driver"]
        assert said[number] in outcome.reworked
        assert bool(outcome.reworked) == bool(said[number])


def test_data_that_outgrew_the_driver_stays_in_dataframes(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    outgrown = partial(AdaptiveBackend, budget=20)  # strata with up to 2 rows stay in the driver
    monkeypatch.setattr("tidelog.session.backends.choose.AdaptiveBackend", outgrown)
    for number, edges in enumerate([{(0, 1)}, CHAIN, {(0, 1), (1, 3)}, {(0, 1), (3, 1)}][: size(3, 4)]):
        assert runs.run(edges, {99}, "").reworked == ""
        assert runs.went_on or not number
        assert runs.state.place == (IN_FRAMES if number else IN_THE_DRIVER)


# -- what cannot be gone on from


def missing(file: Path) -> None:
    file.unlink()


def damaged(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def swapped(file: Path) -> None:
    """Another file of the store, which is intact."""
    file.write_bytes(next(iter((file.parent.parent / "segments").rglob("*.parquet"))).read_bytes())


@pytest.mark.parametrize("seed", range(size(1, 6)))
def test_a_harmed_state_is_done_without(runs: Runs, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whichever file is harmed, and whether the driver or a task reads it."""
    dice, edges = Random(seed), set(CHAIN)
    if seed % 2 == 0:
        in_tasks(monkeypatch)
    runs.run(edges, {99})
    for _ in range(size(2, 5)):
        name = dice.choice(sorted(runs.state.files))
        dice.choice([missing, damaged, cut_short, swapped])(runs.place.folder / "store" / name)
        edges ^= {(dice.randrange(7), dice.randrange(7))}
        outcome = runs.run(edges, {99})
        assert name in outcome.reworked
        assert f"  all results were recomputed: {outcome.reworked}" in str(outcome).splitlines()
        assert runs.state.commit == runs.manifest.commit


class Died(BaseException):
    """The process is gone."""


def test_what_a_killed_run_has_written_is_never_read(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """And at most the states of two commits are kept."""
    monkeypatch.setattr("tidelog.store.states.MAX_SHARE", 0.0)  # a state with each commit
    runs.run(CHAIN, {99})
    named = [runs.state.files]

    def die(*_: object) -> None:
        raise Died

    for number in range(size(1, 3)):
        with monkeypatch.context() as patch:
            patch.setattr("tidelog.store.claiming.LogWriter.append", die)
            with pytest.raises(Died):
                runs.run(CHAIN | {(5, number)}, {99})
        assert runs.state.files == named[-1]
        assert runs.states > frozenset().union(*named[-2:])
        assert runs.run(CHAIN | {(7, number)}, {99}).reworked == ""
        named.append(runs.state.files)
        assert runs.states == frozenset().union(*named[-2:])


def test_a_place_that_takes_no_states_takes_the_commit(runs: Runs) -> None:
    states = runs.place.folder / "store" / "states"
    states.parent.mkdir()
    states.write_text("in the way")
    runs.run(CHAIN, {99})
    assert runs.manifest.state is None
    assert any("the state was not saved" in str(told) for told in runs.told)


# -- object stores


def test_states_in_an_object_store_are_those_of_the_writer_that_won(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bucket() as made:
        listed = "".join(f'{key} = "{value}"\n' for key, value in made("")._options.items())
        spec = SPEC.replace('"store"', f'"s3://tests/{tmp_path.name}"') + f"\n[store_options]\n{listed}"
        runs = Runs(tmp_path, spark, FEW, spec)
        in_tasks(monkeypatch)
        for number in range(2):
            assert runs.run(CHAIN | {(number, 7)}, {99}).reworked == ""
            assert runs.went_on or not number
        for _ in range(size(0, 1)):
            overtaken(runs, monkeypatch)


def overtaken(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is overtaken has written a state, too."""
    monkeypatch.setattr("tidelog.store.states.MAX_SHARE", 0.0)
    commit = Store.commit

    def late(store: Store, update: Update) -> Manifest:
        monkeypatch.setattr(Store, "commit", commit)
        runs.run(CHAIN | {(7, 3)}, {99})
        return commit(store, update)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "commit", late)
        with pytest.raises(StoreError, match="run again"):
            runs.run(CHAIN | {(5, 1)}, {99})
    assert runs.run(CHAIN | {(5, 1)}, {99}).reworked == ""
    assert runs.went_on


# -- histories

FLAVOURS = ["full", "typed", "negated", "positive"]


@pytest.mark.parametrize("flavour", FLAVOURS[: size(1, 4)])
@pytest.mark.parametrize("seed", range(size(1, 3)))
def test_a_history_of_reopened_pipelines_is_that_of_a_session(
    flavour: str, seed: int, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs change, too, and so do placements and numbers of partitions."""
    dice = Random(f"{flavour} {seed}")
    if dice.random() < 0.5:
        monkeypatch.setattr("tidelog.store.states.MAX_SHARE", dice.choice([0.0, 1e9]))
    if dice.random() < 0.5:
        in_tasks(monkeypatch)

    def choose() -> tuple[str, SparkSession]:
        return dice.choice(["tasks", "shuffled"]), divided(spark, dice.choice([1, 2, 3]))

    history = History(tmp_path, spark, choose)
    for step in list(Generator(seed + 100, flavour).steps())[: size(3, 6)]:
        if not history.commit(text_of(step), given_of(step)):
            break
    assert not any(history.reworked)
    assert "loading the store" not in history.told
