"""Streams of changes: every batch is committed once, whatever happens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.places import Place, expected
from tidelog import pipeline
from tidelog.errors import PipelineError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SPEC = """program = "reach.dl"
store = "store"

[streams.Edge]
format = "csv"
path = "edges"
sign = "sign"
options = { maxFilesPerTrigger = 1 }

[sources.Blocked]
path = "Blocked.json"

[outputs.Reach]
path = "out/Reach"

[changes.Reach]
path = "out/changes"
"""


class Stopped(BaseException):
    """The process was killed."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, SPEC)
    (tmp_path / "edges").mkdir()
    (tmp_path / "Blocked.json").write_text("")
    return place


def arrive(place: Place, name: str, *lines: str) -> None:
    """A file of changes appears, whole, as streams of files want it."""
    text = "".join(f"{line}\n" for line in ("sign,src,dst", *lines))
    (place.folder / f"{name}.tmp").write_text(text)
    (place.folder / f"{name}.tmp").rename(place.folder / "edges" / f"{name}.csv")


def follow(place: Place, spark: SparkSession) -> list[pipeline.Outcome]:
    """Take what is there; the commits."""
    told: list[pipeline.Outcome] = []
    pipeline.stream(place.spec, spark=spark, once=True, report=told.append)
    return told


def agrees(place: Place, spark: SparkSession, *edges: tuple[int, int]) -> bool:
    wanted = expected(edges, set())
    return place.output(spark) == place.added_up(spark) == wanted


def test_each_batch_is_a_commit(place: Place, spark: SparkSession) -> None:
    arrive(place, "a", "+,1,2", "+,2,3")
    assert [o.commit for o in follow(place, spark)] == [0, 1]  # the sources, and the first file
    assert agrees(place, spark, (1, 2), (2, 3))
    arrive(place, "b", "-,2,3", "+,2,4", "-,7,7")
    arrive(place, "c", "1,4,5", "1,4,5", "+,8,9", "-1,8,9")
    told = follow(place, spark)
    assert [str(o.sources["Edge"]) for o in told] == ["1 added, 1 removed", "1 added, 0 removed"]
    assert agrees(place, spark, (1, 2), (2, 4), (4, 5))
    assert follow(place, spark) == []
    assert "streams.Edge: batch 2" in pipeline.status(pipeline.read_spec(place.spec))


@pytest.mark.parametrize("when", ["before the commit", "after the commit"])
def test_a_batch_that_comes_again_is_committed_once(
    when: str, place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(place, "a", "+,1,2")
    follow(place, spark)
    arrive(place, "b", "+,2,3", "-,1,2")

    def stop(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        method = "commit" if when == "before the commit" else "mark_shown"
        patch.setattr(f"tidelog.store.durable.Store.{method}", stop)
        with pytest.raises(Stopped):
            follow(place, spark)
    told = follow(place, spark)
    assert [o.commit for o in told] == ([2] if when == "before the commit" else [])
    assert agrees(place, spark, (2, 3))
    arrive(place, "c", "+,3,4")
    assert [o.commit for o in follow(place, spark)] == [3]
    assert agrees(place, spark, (2, 3), (3, 4))


def test_bad_rows_of_a_stream_are_told_or_set_aside(place: Place, spark: SparkSession) -> None:
    arrive(place, "a", "+,1,2", "?,2,3", "+,x,4")
    with pytest.raises(PipelineError) as error:
        follow(place, spark)
    lines = str(error.value).splitlines()
    assert lines[0] == "streams.Edge: 2 rows do not match the schema; no changes applied"
    assert lines[1].startswith(f"  streams.Edge: {place.folder / 'edges' / 'a.csv'}, row 2: the sign is '?'")
    place.spec.write_text('quarantine = "bad"\n' + SPEC)
    assert follow(place, spark)[-1].sources["Edge"].bad == 2
    assert agrees(place, spark, (1, 2))
    assert spark.read.json(str(place.folder / "bad" / "Edge")).count() == 2


def test_a_store_that_has_lost_a_batch_is_told(place: Place, spark: SparkSession) -> None:
    arrive(place, "a", "+,1,2")
    follow(place, spark)
    last = sorted((place.folder / "store" / "manifests").glob("*.json"))[-1]
    last.unlink()
    with pytest.raises(
        StoreError, match=r"is missing: restore it from a backup, or delete .*shown to continue"
    ):
        follow(place, spark)
    (place.folder / "store" / "shown").unlink()
    with pytest.raises(StoreError, match=r"has finished batch 0, which is missing from the store; delete"):
        follow(place, spark)


def test_a_stream_can_be_followed_until_it_is_stopped(tmp_path: Path, spark: SparkSession) -> None:
    program = "input relation Tick(n: int)\noutput relation Even(n: int)\nEven(n) :- Tick(n), n % 2 == 0.\n"
    place = Place(tmp_path, program=program)
    place.spec.write_text(
        'program = "reach.dl"\nstore = "store"\n[streams.Tick]\nformat = "rate"\n'
        'options = { rowsPerSecond = 50 }\ncolumns = { n = "value" }\n'
    )
    told: list[pipeline.Outcome] = []

    def report(outcome: pipeline.Outcome) -> None:
        told.append(outcome)
        if outcome.sizes["Even"] > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline.stream(place.spec, spark=spark, report=report)
    assert [o.commit for o in told] == list(range(len(told)))
    with pipeline.open(place.spec, spark=spark) as work:
        found = sorted(n for (n,) in work.session()["Tick"])
        assert found == list(range(len(found)))


def test_a_pipeline_without_streams_cannot_be_followed(tmp_path: Path, spark: SparkSession) -> None:
    place = Place(tmp_path)
    with pytest.raises(PipelineError, match="streams: is missing"):
        pipeline.stream(place.spec, spark=spark, once=True)


def test_a_batch_may_say_a_thing_any_number_of_times(place: Place, spark: SparkSession) -> None:
    arrive(place, "a", *["+,1,2"] * 300, *["-,1,2"] * 100, "+,2,3")
    (outcome,) = follow(place, spark)[-1:]
    assert place.output(spark) == {(1, 2), (2, 3), (1, 3)}
    assert str(outcome.sources["Edge"]) == "2 added, 0 removed"
    arrive(place, "b", *["-,1,2"] * 300)
    assert str(follow(place, spark)[-1].sources["Edge"]) == "0 added, 1 removed"
    assert place.output(spark) == {(2, 3)}


def test_only_rows_that_change_something_are_counted(place: Place, spark: SparkSession) -> None:
    arrive(place, "a", "+,1,2")
    follow(place, spark)
    arrive(place, "b", "+,1,2", "-,7,7", "+,2,3")
    assert str(follow(place, spark)[-1].sources["Edge"]) == "1 added, 0 removed"


def test_two_streams_take_turns_and_resume_under_any_trigger(place: Place, spark: SparkSession) -> None:
    sources = '[sources.Blocked]\npath = "Blocked.json"'
    streams = '[streams.Blocked]\nformat = "json"\npath = "blocked"'
    place.spec.write_text(SPEC.replace(sources, streams))
    (place.folder / "blocked").mkdir()

    def block(name: str, node: int) -> None:
        (place.folder / f"{name}.tmp").write_text(f'{{"node": {node}}}')
        (place.folder / f"{name}.tmp").rename(place.folder / "blocked" / f"{name}.json")

    taken: set[tuple[str, int]] = set()

    def until_both(outcome: pipeline.Outcome) -> None:
        assert not taken & {*outcome.batches.items()}
        taken.update(outcome.batches.items())
        if {name for name, _ in taken} == {"Edge", "Blocked"}:
            raise KeyboardInterrupt

    arrive(place, "a", "+,1,2", "+,2,3")
    block("a", 3)
    with pytest.raises(KeyboardInterrupt):  # a batch may be committed that Spark does not know as done
        pipeline.stream(place.spec, spark=spark, interval=0.1, report=until_both)
    arrive(place, "b", "+,2,4")
    block("b", 9)
    for told in follow(place, spark):
        assert not taken & {*told.batches.items()}
        taken.update(told.batches.items())
    assert taken == {("Edge", 0), ("Edge", 1), ("Blocked", 0), ("Blocked", 1)}
    assert place.output(spark) == place.added_up(spark) == expected({(1, 2), (2, 3), (2, 4)}, {3, 9})
