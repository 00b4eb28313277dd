"""A run that is stopped at any point leaves the last complete version, and running again finishes the job.

Every call by which Python changes files raises an event before it does; the machine stops at a given one.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.days import fans
from pipeline.places import MERGED_FAN, SPEC, Place, Rows, expected
from sizes import size
from tidelog import pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CHANGING = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "shutil.rmtree",
    "open",
}
SAMPLES = 8


class Stopped(BaseException):
    """The process was killed."""


class Watch:
    """Counts the changes of files in a folder, and stops at one of them."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.at = -1
        self.events = 0
        self.places: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.folder is None or event not in CHANGING or not str(args[0]).startswith(self.folder):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & 3):  # only read
            return
        self.events += 1
        self.places.append(str(args[0]))
        if self.events > self.at >= 0:
            raise Stopped  # at this event and, since the process is gone, at all after it

    @contextmanager
    def over(self, folder: Path, at: int = -1) -> Iterator[None]:
        self.folder, self.at, self.events, self.places = str(folder), at, 0, []
        try:
            yield
        finally:
            self.folder = None


@pytest.fixture(scope="module")
def watch() -> Watch:
    watch = Watch()
    sys.addaudithook(watch)
    return watch


def consistent(place: Place, spark: SparkSession, *allowed: set[tuple[int, ...]]) -> None:
    """Readers find one whole version."""
    assert place.output(spark) in allowed
    assert place.added_up(spark) in allowed


def test_a_run_stopped_at_any_change_of_files_is_finished_by_the_next(
    tmp_path: Path, spark: SparkSession, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = Place(tmp_path, spec=SPEC + MERGED_FAN)
    monkeypatch.setattr(
        "tidelog.pipeline.merged.layout.MAX_SHARE", 4.0
    )  # so small an output gets changes too
    before: Rows = {(1, 2), (2, 3)}
    after: Rows = {(1, 2), (2, 4), (4, 5)}
    origin.write(before, set())
    pipeline.run(origin.spec, spark=spark)
    old, new = expected(before, set()), expected(after, {9})
    old_fans, new_fans = (expected(edges, {9}, relation="Fan") for edges in (before, after))
    saved = tmp_path.parent / f"{tmp_path.name}-saved"
    origin.write(after, {9})
    shutil.copytree(tmp_path, saved, symlinks=True)
    with watch.over(tmp_path):
        pipeline.run(origin.spec, spark=spark)
    total = watch.events
    states = [number for number, place in enumerate(watch.places) if "/store/states" in place]
    assert total > SAMPLES
    assert any("/out/Fan/v1/changes" in place for place in watch.places)
    links = [number for number, place in enumerate(watch.places) if "/out/Fan/" in place]
    assert len(states) > 1
    for stop in sorted(
        {*states, *links[:: size(12, 1)], *(sample * total // SAMPLES for sample in range(SAMPLES))}
    ):
        shutil.rmtree(tmp_path)
        shutil.copytree(saved, tmp_path, symlinks=True)
        with pytest.raises(Stopped), watch.over(tmp_path, stop):
            pipeline.run(origin.spec, spark=spark)
        consistent(origin, spark, old, new)
        assert fans(tmp_path) in (old_fans, new_fans)
        pipeline.run(origin.spec, spark=spark)
        consistent(origin, spark, new)
        assert fans(tmp_path) == new_fans


def test_what_was_prepared_for_a_commit_that_never_came_is_not_shown(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    place.write({(1, 2)}, set())
    pipeline.run(place.spec, spark=spark)
    place.write({(1, 2), (2, 3)}, set())

    def stop(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("tidelog.store.durable.Store.commit", stop)
        with pytest.raises(Stopped):
            pipeline.run(place.spec, spark=spark)
    assert (tmp_path / "out" / "changes" / "_prepared-1").exists()
    consistent(place, spark, {(1, 2)})
    place.write({(1, 2)}, {9})  # the new edge was a mistake, and is gone again
    pipeline.run(place.spec, spark=spark)
    consistent(place, spark, {(1, 2)})
    assert sorted(f.name for f in (tmp_path / "out" / "changes").iterdir()) == ["commit=0"]


def test_other_sinks_are_written_again_with_the_same_rows(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    place.spec.write_text(
        place.spec.read_text() + '[outputs.Fan]\ntable = "fan"\n[changes.Fan]\ntable = "fan_changes"\n'
    )
    place.write({(1, 2)}, set())
    try:
        pipeline.run(place.spec, spark=spark)
        place.write({(1, 2), (2, 3)}, set())

        def stop(*_: object) -> None:
            raise Stopped

        with monkeypatch.context() as patch:
            patch.setattr("tidelog.store.durable.Store.mark_shown", stop)
            with pytest.raises(Stopped):
                pipeline.run(place.spec, spark=spark)
        place.write({(1, 2)}, set())
        pipeline.run(place.spec, spark=spark)
        assert {tuple(row) for row in spark.table("fan").collect()} == {(1, 1)}
        twice = sorted(tuple(row) for row in spark.table("fan_changes").where("commit = 1").collect())
        once = [(1, 1, -1, 1), (1, 2, 1, 1), (2, 1, 1, 1)]
        assert sorted(set(twice)) == once
    finally:
        for name in ("fan", "fan_changes"):
            spark.sql(f"drop table if exists {name}")
