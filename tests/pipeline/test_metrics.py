"""Metrics: a line of JSON for each run, each batch and each failure."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.places import SPEC, Place
from tidelog import pipeline
from tidelog.errors import PipelineError
from tidelog.pipeline.metrics import MetricsFile
from tidelog.pipeline.observing import observed
from tidelog.pipeline.report import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = """program = "reach.dl"
store = "store"
metrics = "m.jsonl"

[streams.Edge]
format = "json"
path = "edges"
sign = "sign"
options = { maxFilesPerTrigger = 1 }

[sources.Blocked]
path = "Blocked.json"

[outputs.Reach]
path = "out/Reach"
"""


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]


def test_an_observer_that_fails_does_not_break_a_run(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    there = MetricsFile(tmp_path / "m.jsonl", {"pipeline": "p"})
    nowhere = MetricsFile(tmp_path / "no" / "such" / "m.jsonl", {})
    with caplog.at_level(logging.WARNING, "tidelog"):
        assert observed([nowhere, there], lambda: Outcome(3, is_new=False)).commit == 3
        with pytest.raises(ValueError, match="7"):
            observed([nowhere, there], lambda: Outcome(int("x7"), is_new=True))
    assert [line["event"] for line in lines(tmp_path)] == ["unchanged", "failed"]
    assert lines(tmp_path)[1]["error"].startswith("ValueError: invalid literal")
    assert [r.getMessage()[:30] for r in caplog.records] == ["MetricsFile: FileNotFoundError"] * 2


def test_metrics_go_to_a_local_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('metrics = "s3://bucket/m"\n' + SPEC)
    with pytest.raises(PipelineError, match="metrics: is 's3://bucket/m'; write the path of a local file"):
        pipeline.read_spec(tmp_path / "p.toml")


@pytest.mark.spark
def test_a_line_for_each_run(tmp_path: Path, spark: SparkSession) -> None:
    place = Place(tmp_path, f'metrics = "m.jsonl"\n{SPEC}')
    place.write({(1, 2), (2, 3)}, {9})
    pipeline.run(place.spec, spark=spark)
    pipeline.run(place.spec, spark=spark)
    (tmp_path / "Edge.csv").write_text("src,dst\n1,x\n")
    with pytest.raises(PipelineError):
        pipeline.run(place.spec, spark=spark)
    first, second, third = lines(tmp_path)
    assert (first["event"], first["commit"], first["pipeline"]) == ("commit", 0, str(place.spec))
    assert first["sources"]["Edge"] == {
        "is_read": True,
        "rows": 2,
        "added": 2,
        "removed": 0,
        "bad": 0,
        "new_files": 0,
        "removed_files": 0,
        "note": "",
    }
    assert first["relations"]["Reach"] == {"rows": 3, "added": 3, "removed": 0}
    phases = ["migrating", "reading", "evaluating", "writing", "storing", "showing", "total"]
    assert list(first["seconds"]) == phases
    assert sum(first["seconds"][name] for name in phases[:-1]) <= first["seconds"]["total"]
    segments = [f.stat().st_size for f in (tmp_path / "store" / "segments").rglob("*.parquet")]
    states = [f.stat().st_size for f in (tmp_path / "store" / "states").iterdir()]
    assert first["stored_bytes"] == sum(segments) + sum(states)
    assert all(stratum["placed"].startswith("driver") for stratum in first["strata"])
    assert (second["event"], second["commit"], second["stored_bytes"]) == ("unchanged", 0, 0)
    assert third["event"] == "failed"
    assert "sources.Edge: 1 row does not match the schema" in third["error"]


@pytest.mark.spark
def test_a_line_for_each_batch_and_what_spark_measures(tmp_path: Path, spark: SparkSession) -> None:
    place = Place(tmp_path, STREAM)
    (tmp_path / "Blocked.json").write_text("")
    (tmp_path / "edges").mkdir()
    for number in range(2):
        row = json.dumps({"sign": "+", "src": number, "dst": number + 1})
        (tmp_path / "edges" / f"{number}.json").write_text(row)
    pipeline.stream(place.spec, spark=spark, once=True)
    found = lines(tmp_path)
    commits = [line for line in found if line["event"] == "commit"]
    assert [(line["commit"], line["batches"]) for line in commits] == [
        (0, {}),
        (1, {"Edge": 0}),
        (2, {"Edge": 1}),
    ]
    assert [line["sources"]["Edge"]["rows"] for line in commits[1:]] == [1, 1]
    progress = [line for line in found if line["event"] == "progress"]
    assert [(p["stream"], p["batch"], p["input_rows"]) for p in progress] == [
        ("streams.Edge", 0, 1),
        ("streams.Edge", 1, 1),
    ]
    assert all(p["milliseconds"]["triggerExecution"] > 0 for p in progress)


@pytest.mark.spark
def test_sources_may_be_taken_with_each_batch(tmp_path: Path, spark: SparkSession) -> None:
    """Changes of a stream and of sources are one commit."""
    place = Place(tmp_path, STREAM)
    (tmp_path / "Blocked.json").write_text("")
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "0.json").write_text('{"sign": "+", "src": 1, "dst": 2}')

    def report(outcome: pipeline.Outcome) -> None:
        if outcome.commit == 0:  # after the sources were read, and before the batch
            (tmp_path / "Blocked.json").write_text('{"node": 2}\n{"node": 3}')

    pipeline.stream(place.spec, spark=spark, once=True, with_sources=True, report=report)
    last = [line for line in lines(tmp_path) if line["event"] == "commit"][-1]
    assert (last["commit"], last["batches"]) == (1, {"Edge": 0})
    assert {name: source["added"] for name, source in last["sources"].items()} == {"Edge": 1, "Blocked": 2}
    assert place.output(spark) == set()
