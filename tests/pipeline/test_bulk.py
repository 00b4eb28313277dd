"""Many rows stay in frames from sources to sinks, and give what few rows give.

With a threshold of no rows, everything that can be in frames is. The law is that of all pipelines: after
every run, outputs, the sums of changes and the store equal a computation from scratch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tidelog
from pipeline.days import added_up, fans, output
from pipeline.places import MERGED_FAN, SPEC, Place, Rows, expected
from pipeline.test_file_lists import Shop
from sizes import size
from tidelog import pipeline
from tidelog.errors import PipelineError
from tidelog.pipeline.sink_modes import Sink
from tidelog.store.durable import Store, latest
from tidelog.store.manifest import SEGMENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KEPT = 20_000  # rows up to which sessions in frames compute in the driver


@pytest.fixture
def in_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rows are few."""
    monkeypatch.setattr("tidelog.pipeline.bulk.rows.LARGE", 0)
    monkeypatch.setattr("tidelog.pipeline.sources.taking.SMALL", 0)


@pytest.mark.usefixtures("in_frames")
@pytest.mark.parametrize("seed", range(size(1, 12)))
def test_any_edits_of_files_give_what_all_files_give(seed: int, tmp_path: Path, spark: SparkSession) -> None:
    dice = random.Random(seed)
    shop = Shop(tmp_path, spark, dice.choice(["csv", "parquet"]))
    shop.spec = replace(shop.spec, placement=["shuffled", None, "tasks"][seed % 3])

    def rows() -> list[tuple[str, int | None]]:
        return [(dice.choice("abcd"), dice.choice([1, 2, None])) for _ in range(dice.randrange(1, 6))]

    shop.write("day=07/first", rows())
    for step in range(size(2, 15)):
        for _ in range(dice.randrange(3)):
            names = sorted(shop.files)
            if len(names) > 1 and dice.random() < 0.4:
                shop.remove(dice.choice(names))
            else:
                shop.write(f"day={dice.choice('78')}/{step}-{dice.randrange(9)}", rows())
        reread = dice.random() < 0.2
        assert "in full" not in str(shop.run(reread=reread))
        shop.expect_right()
    expect_no_orphans(shop.folder / "store")


@pytest.mark.usefixtures("in_frames")
@pytest.mark.parametrize("placement", ["tasks", "shuffled", "driver"][: size(1, 3)])
def test_results_follow_the_sources_run_by_run(placement: str, tmp_path: Path, spark: SparkSession) -> None:
    dice = random.Random(placement)
    place = Place(tmp_path, spec=f'placement = "{placement}"\n{SPEC}{MERGED_FAN}')
    edges: Rows = {(i, i + 1) for i in range(4)}
    blocked: set[int] = set()
    for _ in range(size(2, 15)):
        place.write(edges, blocked)
        pipeline.run(place.spec, spark=spark)
        assert output(tmp_path) == added_up(tmp_path) == expected(edges, blocked)
        assert fans(tmp_path) == expected(edges, blocked, relation="Fan")
        edges ^= {(dice.randrange(6), dice.randrange(6)) for _ in range(dice.randrange(3))}
        blocked ^= {dice.randrange(6)} if dice.random() < 0.5 else set()
    expect_no_orphans(tmp_path / "store")


def expect_no_orphans(store: Path) -> None:
    """All files of the store are needed by its last two commits or by explanations of earlier ones."""
    with Store(store) as opened:
        assert opened.current is not None
        assert {f"{SEGMENTS}/{name}" for name in opened.current.files} <= set(opened.at.list(SEGMENTS))
        assert not opened._obsolete(1 << 62).is_anything


# -- crashes


class Stopped(BaseException):
    """The process was killed."""


@pytest.mark.usefixtures("in_frames")
def test_what_tasks_wrote_counts_only_with_the_manifest(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, spec=f'placement = "shuffled"\n{SPEC}')
    before, after = {(1, 2), (2, 3)}, {(1, 2), (2, 4)}
    place.write(before, set())
    pipeline.run(place.spec, spark=spark)
    place.write(after, set())
    store = tmp_path / "store"
    pieces = set(store.glob("segments/*/*-p*.parquet"))
    assert pieces

    def stop(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("tidelog.store.claiming.LogWriter.append", stop)
        with pytest.raises(Stopped):
            pipeline.run(place.spec, spark=spark)
    orphans = set(store.glob("segments/*/*-p*.parquet")) - pieces
    assert orphans
    assert output(tmp_path) == added_up(tmp_path) == expected(before, set())
    pipeline.run(place.spec, spark=spark)
    assert output(tmp_path) == added_up(tmp_path) == expected(after, set())
    assert not {file for file in orphans if file.exists()}
    expect_no_orphans(store)


def test_an_attempt_that_lost_leaves_nothing(tmp_path: Path, spark: SparkSession) -> None:
    """Of two attempts of a task, one is reported; what the other wrote is removed after the commit."""
    from tidelog.pipeline.bulk.writing import _Task
    from tidelog.store.local import LocalFiles

    with Store(tmp_path):
        files = LocalFiles(tmp_path)
    table = pa.table({"x": pa.array([1, 2], pa.int64())})
    task = _Task(files, f"{SEGMENTS}/Edge/000000000001-changes-1", table.schema)
    [first], [second] = (list(task.run(table.to_batches())) for _ in range(2))
    assert first["file"] != second["file"]
    assert first["rows"].to_pylist() == [2]
    with Store(tmp_path):
        assert not list(files.list(SEGMENTS))


def test_a_disk_that_only_the_tasks_see_is_reported(tmp_path: Path) -> None:
    from tidelog.pipeline.bulk.writing import _expect_there
    from tidelog.store.distributed import Piece
    from tidelog.store.local import LocalFiles

    with pytest.raises(PipelineError, match="which this machine does not see; put the store on a disk that"):
        _expect_there(LocalFiles(tmp_path), Piece("segments/a", 1, 1, ""))


# -- keys


@pytest.mark.skipif(not size(0, 1), reason="half a minute: in the nightly size")
@pytest.mark.usefixtures("in_frames")
def test_keys_and_partitions_are_checked_in_frames_as_in_tables(spark: SparkSession) -> None:
    from tidelog.pipeline.bulk.rows import Bulk
    from tidelog.pipeline.bulk.sessions import changes_of
    from tidelog.pipeline.sinks.keys import expect_key, expect_partitions

    text = "input relation R(k: string, v: option<int>)"
    sink = Sink("outputs", "R", "delta", table="t", mode="merge", key_columns=("k",), partition_by=("k",))
    histories: list[list[list[tuple[str, int | None]]]] = [
        [[("a", 1), ("b", None)], [("a", 1), ("a", 2)], [("", 1)]],
        [[("a", 1)], [("a", None)], [("b", 1), ("c", 1), ("b", 2)]],
    ]
    for history in histories[: size(1, 2)]:
        here, there = tidelog.open(text=text), tidelog.open(text=text, spark=spark, placement="shuffled")
        for rows in history:
            said: list[str] = []
            for db in (here, there):
                with db.transaction() as tx:
                    tx.delete("R", list(db["R"]))
                    tx.insert("R", rows)
                changes = changes_of(tx.changes["R"])
                assert isinstance(changes, Bulk) == (db is there)
                for expect, is_new in product((expect_key, expect_partitions), (False, True)):
                    said.append(refused(lambda: expect(sink, db["R"], changes, is_new=is_new)))  # noqa: B023
            assert said[:4] == said[4:], rows
            assert (said[0] != "") == (len({key for key, _ in rows}) < len(rows))
            assert (said[2] != "") == any(not key for key, _ in rows)


def refused(work: Callable[[], None]) -> str:
    try:
        work()
    except PipelineError as error:
        return str(error)
    return ""


# -- the driver


@contextmanager
def at_most(rows: int, patch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Rows that come to the driver at once, or go from it, are so many at most; lists what was seen."""
    from pyspark.sql.classic.dataframe import DataFrame

    from tidelog.store.reading import StoredVersion

    seen: list[int] = []

    def counting(function: Callable[..., Any], size_of: Callable[[Any], int]) -> Callable[..., Any]:
        def counted(*arguments: Any, **more: Any) -> Any:
            found = function(*arguments, **more)
            seen.append(size_of(found))
            assert seen[-1] <= rows, f"{seen[-1]} rows by {function.__name__}"
            return found

        return counted

    with patch.context() as inner:
        inner.setattr(DataFrame, "toArrow", counting(DataFrame.toArrow, len))
        inner.setattr(DataFrame, "collect", counting(DataFrame.collect, len))
        inner.setattr(StoredVersion, "_read", counting(StoredVersion._read, len))
        yield seen


def test_no_rows_come_to_the_driver(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.pipeline.bulk.rows.LARGE", KEPT)
    monkeypatch.setattr("tidelog.pipeline.sources.taking.SMALL", 1 << 16)
    monkeypatch.setattr("tidelog.pipeline.merged.layout.MAX_SHARE", 4.0)
    count = 3 * KEPT
    (tmp_path / "p.dl").write_text(
        "input relation Sale(item: int, cents: int)\noutput relation Dear(item: int, cents: int)\n"
        "Dear(i, c) :- Sale(i, c), c >= 10.\n"
    )
    tables = {
        "program": "p.dl",
        "store": "store",
        "placement": "shuffled",
        "sources": {"Sale": {"path": "in", "format": "parquet"}},
        "outputs": {"Dear": {"path": "out", "mode": "merge"}},
        "changes": {"Dear": {"path": "changes"}},
    }
    spec = pipeline.spec_from(tables, folder=tmp_path)
    (tmp_path / "in").mkdir()
    cents = np.arange(count, dtype=np.int64) % 100
    for step in range(size(2, 3)):
        items = np.arange(count, dtype=np.int64) + (0, 2 * KEPT, 2 * KEPT)[step]
        name = ("a", "a", "b")[step]  # all rows, most of them others, more of the same
        parquet.write_table(pa.table({"item": items, "cents": cents}), tmp_path / "in" / f"{name}.parquet")
        with at_most(KEPT, monkeypatch) as seen:
            pipeline.run(spec, spark=spark)
        assert seen
        found = pipeline.read(tmp_path / "out")
        wanted = np.stack([items, cents], 1)[cents >= 10]
        rows = np.stack([found["item"].to_numpy(), found["cents"].to_numpy()], 1)
        assert np.array_equal(rows[np.lexsort(rows.T)], wanted[np.lexsort(wanted.T)])
    manifest = latest(tmp_path / "store")
    assert manifest is not None
    assert all("-p" in segment.file for segment in manifest.segments)
