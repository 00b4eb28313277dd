"""A path means one file, whoever looks at it: Spark, the fingerprint of a source, or Python.

The default file system of these tests is a view (`viewfs`) whose folder `/data` is another folder of this
machine, so that a path without a scheme is not the file of that name on the disk.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.places import PROGRAM, SPEC, Place, expected
from tidelog import pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def elsewhere(tmp_path: Path, spark: SparkSession) -> tuple[SparkSession, Path]:
    """A session with another default file system, and the folder that is `/data` there."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    session = spark.newSession()
    table = f"tide{os.getpid()}{abs(hash(str(tmp_path))) % 10**6}"
    session.conf.set("fs.defaultFS", f"viewfs://{table}/")
    session.conf.set(f"fs.viewfs.mounttable.{table}.link./data", f"file://{folder}")
    return session, folder


TABLES: dict[str, Any] = {
    "program": "reach.dl",
    "store": "store",
    "sources": {
        "Edge": {"path": "/data/Edge.csv"},
        "Blocked": {"format": "json", "path": "/data/{Blocked,Other}.json"},
    },
    "changes": {"Reach": {"path": "/data/changes"}},
}


def test_a_source_on_the_default_file_system_is_read_when_it_changes(
    tmp_path: Path, elsewhere: tuple[SparkSession, Path]
) -> None:
    session, cluster = elsewhere
    (tmp_path / "reach.dl").write_text(PROGRAM)
    tables = {**TABLES, "outputs": {"Reach": {"path": "/data/out"}, "Fan": {"path": f"file:{tmp_path}/fan"}}}
    spec = pipeline.spec_from(tables, folder=tmp_path)
    (cluster / "Blocked.json").write_text('{"node": 9}\n')
    for number, edges in enumerate([{(1, 2), (2, 3)}, {(1, 2), (2, 4)}, {(1, 2), (2, 4), (4, 9)}]):
        (cluster / "Edge.csv").write_text("src,dst\n" + "".join(f"{a},{b}\n" for a, b in sorted(edges)))
        outcome = pipeline.run(spec, spark=session)
        assert (outcome.commit, outcome.is_new, outcome.sources["Edge"].is_read) == (number, True, True)
        assert outcome.sources["Blocked"].is_read == (number == 0)
        assert not pipeline.run(spec, spark=session).is_new
        written = session.read.parquet(outcome.places["outputs.Reach"])
        assert {tuple(row) for row in written.collect()} == expected(edges, {9})
    assert outcome.places["outputs.Reach"].startswith("viewfs://")
    assert outcome.places["outputs.Fan"] == str(tmp_path / "fan" / "current")
    (cluster / "Blocked.json").write_text('{"node": 2}\n')
    assert pipeline.run(spec, spark=session).sources["Blocked"].is_read
    assert sorted(f.name for f in (cluster / "changes").iterdir()) == [f"commit={n}" for n in (0, 1, 3)]


def test_relative_paths_do_not_depend_on_the_working_directory_of_java(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a[1] b"
    folder.mkdir()
    place = Place(folder, SPEC + '[outputs.Fan]\ntable = "fan_here"\n[changes.Fan]\ntable = "fan_feed"\n')
    monkeypatch.chdir(folder)
    try:
        for edges in ({(1, 2), (2, 3)}, {(1, 2), (2, 4)}):
            place.write(edges, set())
            outcome = pipeline.run("pipeline.toml", spark=spark)
            assert outcome.is_new
            assert outcome.places["outputs.Reach"] == "out/Reach/current"
            assert not pipeline.run("pipeline.toml", spark=spark).is_new
        assert {tuple(row) for row in spark.table("fan_here").collect()} == {(1, 2), (2, 1)}
        assert spark.table("fan_feed").where("commit = 0").count() == 2
    finally:
        for name in ("fan_here", "fan_feed"):
            spark.sql(f"drop table if exists {name}")
