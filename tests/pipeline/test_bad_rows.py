"""Rows that do not fit are told with source, row and reason; they fail the run, or are set aside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.places import SPEC, Place
from tidelog import pipeline
from tidelog.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BAD_EDGES = "src,dst\n1,2\n2,three\n2,3\n,4\n5\n"
BAD_NODES = '{"node": 7}\n\n{"node": "8"}\n{"nod'


@pytest.fixture(params=["small", "large"])
def bound(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sources are looked at in this process, or by Spark."""
    if request.param == "large":
        monkeypatch.setattr("tidelog.pipeline.sources.taking.SMALL", 0)
        monkeypatch.setattr("tidelog.pipeline.bulk.rows.LARGE", 0)
    name: str = request.param
    return name


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.write({(1, 2)}, set())
    return place


@pytest.mark.usefixtures("bound")
def test_a_bad_row_fails_the_run_and_is_told(place: Place, spark: SparkSession) -> None:
    pipeline.run(place.spec, spark=spark)
    (place.folder / "Edge.csv").write_text(BAD_EDGES)
    with pytest.raises(PipelineError) as error:
        pipeline.run(place.spec, spark=spark)
    file = place.folder / "Edge.csv"
    lines = str(error.value).splitlines()
    assert lines[0] == "sources.Edge: 3 rows do not match the schema; no changes applied"
    assert lines[1].startswith(f"  sources.Edge: {file}, row 2: column dst: 'three' is not a number")
    assert lines[2].startswith(f"  sources.Edge: {file}, row 4: column src: an empty cell is not of type int")
    assert lines[3].startswith(f"  sources.Edge: {file}, row 5: 1 cell; expected 2: src, dst")
    assert place.output(spark) == {(1, 2)}


def test_bad_rows_can_be_set_aside(place: Place, spark: SparkSession) -> None:
    place.spec.write_text('quarantine = "bad"\n' + SPEC)
    (place.folder / "Edge.csv").write_text(BAD_EDGES)
    (place.folder / "Blocked.json").write_text(BAD_NODES)
    outcome = pipeline.run(place.spec, spark=spark)
    assert (outcome.sources["Edge"].bad, outcome.sources["Blocked"].bad) == (3, 2)
    assert str(outcome.sources["Edge"]) == "2 added, 0 removed; 3 bad rows quarantined"
    assert "5 bad rows written to" in str(outcome)
    assert [(r.source, r.row) for r in outcome.bad_rows] == [
        ("sources.Edge", 2),
        ("sources.Edge", 4),
        ("sources.Edge", 5),
        ("sources.Blocked", 3),
        ("sources.Blocked", 4),
    ]
    assert place.output(spark) == {(1, 2), (2, 3), (1, 3)}
    kept = spark.read.json(str(place.folder / "bad" / "Edge")).orderBy("row").collect()
    assert [(r["row"], r["raw"], r["commit"]) for r in kept] == [
        (2, "2,three", 0),
        (4, ",4", 0),
        (5, "5", 0),
    ]
    (place.folder / "Edge.csv").write_text("src,dst\n1,2\n")
    assert pipeline.run(place.spec, spark=spark).sources["Edge"].bad == 0
    assert not (place.folder / "bad" / "Edge" / "commit=1").exists()


def test_one_source_may_be_strict_where_others_are_not(place: Place, spark: SparkSession) -> None:
    place.spec.write_text('quarantine = "bad"\n' + SPEC.replace('Edge.csv"', 'Edge.csv"\nbad_rows = "fail"'))
    (place.folder / "Blocked.json").write_text(BAD_NODES)
    assert pipeline.run(place.spec, spark=spark).sources["Blocked"].bad == 2
    (place.folder / "Edge.csv").write_text(BAD_EDGES)
    with pytest.raises(PipelineError, match="3 rows do not match the schema"):
        pipeline.run(place.spec, spark=spark)


@pytest.mark.usefixtures("bound")
def test_rows_are_counted_in_each_file_however_it_is_split(place: Place, spark: SparkSession) -> None:
    lines = [json.dumps({"node": n}) for n in range(400)]
    lines[123], lines[390] = "not", "json"
    many = place.folder / "many"
    many.mkdir()
    (many / "a.json").write_text("\n".join(lines[:300]) + "\n")
    (many / "b.json").write_text("\n".join(lines[300:]) + "\n")
    place.spec.write_text(SPEC.replace('path = "Blocked.json"', 'format = "json"\npath = "many"'))
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, "700")
    try:
        with pytest.raises(PipelineError) as error:
            pipeline.run(place.spec, spark=spark)
    finally:
        spark.conf.set(name, before or "")
    told = [line for line in str(error.value).splitlines() if ", row " in line]
    assert [line.split(": ")[1] for line in told] == [
        f"{many / 'a.json'}, row 124",
        f"{many / 'b.json'}, row 91",
    ]
