"""Pipelines defined in Python: they say what a file says, also about mistakes, and take rows as sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars
import pyarrow as pa
import pytest

from pipeline.places import PROGRAM, SPEC, Place, expected, rows
from tidelog import build, pipeline
from tidelog.build import variables
from tidelog.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FULL = """
program = "reach.dl"
store = "state"
quarantine = "bad"
bad_rows = "fail"
program_changes = "refuse"
functions = "helpers"
placement = "tasks"
history = 3

[spark]
"spark.ui.enabled" = true

[sources.Edge]
path = ["a/Edge.tsv.gz", "s3a://bucket/Edge.tsv"]
columns = { src = "from" }
bad_rows = "quarantine"

[sources.Order]
format = "jdbc"
options = { url = "jdbc:x", dbtable = "t" }
watermark = "at"
key = "id"

[sources.Shop]
table = "shop.all"

[streams.Line]
format = "json"
path = "lines"
key = "id"
sequence = ["source.lsn"]
envelope = "debezium"

[outputs.Reach]
path = "out/Reach"
mode = "merge"
partition_by = "src"

[changes.Reach]
format = "jdbc"
options = { url = "jdbc:x", dbtable = "t" }
"""


def full(folder: Path) -> pipeline.Definition:
    return (
        pipeline.define(
            program=Path("reach.dl"),
            store="state",
            folder=folder,
            quarantine="bad",
            bad_rows="fail",
            program_changes="refuse",
            functions="helpers",
            placement="tasks",
            history=3,
            spark_settings={"spark.ui.enabled": True},
        )
        .source(
            "Edge",
            [Path("a/Edge.tsv.gz"), "s3a://bucket/Edge.tsv"],
            columns={"src": "from"},
            bad_rows="quarantine",
        )
        .source("Order", format="jdbc", options={"url": "jdbc:x", "dbtable": "t"}, watermark="at", key="id")
        .source("Shop", table="shop.all")
        .stream_source("Line", "lines", format="json", key="id", sequence=["source.lsn"], envelope="debezium")
        .output("Reach", Path("out/Reach"), mode="merge", partition_by="src")
        .changes("Reach", format="jdbc", options={"url": "jdbc:x", "dbtable": "t"})
    )


def test_a_definition_says_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FULL)
    assert replace(full(tmp_path).spec(), name="") == replace(
        pipeline.read_spec(tmp_path / "p.toml"), name=""
    )


def problems(definition: pipeline.Definition) -> list[str]:
    with pytest.raises(PipelineError) as error:
        definition.spec()
    return str(error.value).splitlines()


def test_mistakes_are_reported_in_the_words_of_a_file(tmp_path: Path) -> None:
    wrong: Any = {"sign": 3}
    definition = (
        pipeline.define(store="s", name="mine", folder=tmp_path)
        .source("Edge", "e.csv", watermark="at", options={"nullValue": "-"})
        .source("Other", sign="op")
        .stream_source("Line", "l.json", **wrong)
        .output("Reach", "out", key="src")
    )
    (tmp_path / "p.toml").write_text(
        """
store = "s"
[sources.Edge]
path = "e.csv"
watermark = "at"
options = { nullValue = "-" }
[sources.Other]
sign = "op"
[streams.Line]
path = "l.json"
sign = 3
[outputs.Reach]
path = "out"
key = "src"
"""
    )
    with pytest.raises(PipelineError) as error:
        pipeline.read_spec(tmp_path / "p.toml")
    of_the_file = [line.removeprefix(f"{tmp_path / 'p.toml'}") for line in str(error.value).splitlines()]
    assert [line.removeprefix("mine") for line in problems(definition)] == of_the_file
    assert len(of_the_file) == 8
    assert of_the_file[0] == ': program: is missing; write program = "FILE.dl"'
    (said,) = problems(definition.source("Edge", "f.csv"))
    assert said == "mine: sources.Edge: is given twice; remove one of them"


def test_a_program_may_be_built() -> None:
    x = variables("x")
    given, made = build.input("P", x=int), build.output("Q", x=int)
    built = build.program(made[x] <= given[x])
    assert pipeline.define(text=built, store="s").spec().text == str(built)


def test_a_definition_is_a_value() -> None:
    base = pipeline.define(text=PROGRAM, store="s")
    assert base.source("Edge", "a.csv").spec().sources.keys() == {"Edge"}
    assert not base.spec().sources


def test_rows_are_only_given_in_place_of_a_path(tmp_path: Path) -> None:
    table = pa.table({"node": [1]})
    base = pipeline.define(text=PROGRAM, store="s", name="mine")
    watched = base.source("Blocked", table, watermark="node")
    assert problems(watched) == [
        "mine: sources.Blocked.watermark: is for databases, tables of Spark and DataFrames: remove it"
    ]
    assert problems(base.source("Blocked", table, format="csv", options={"sep": ";"})) == [
        "mine: sources.Blocked.frame: cannot be combined with path, table or format; remove them",
        "mine: sources.Blocked.options: are those of a reader, and a DataFrame has been read; remove them",
    ]
    (told,) = problems(base.stream_source("Blocked", table))
    assert told.startswith("mine: streams.Blocked.frame: is not a stream of Spark; read it with spark.read")
    said = (
        "mine: sources.Blocked.frame: is 7; give a DataFrame or an Arrow table in Python, or write path = …"
    )
    assert said in problems(base.source("Blocked", 7))
    (tmp_path / "p.toml").write_text('text = "x"\nprogram = "p.dl"\nstore = "s"')
    with pytest.raises(PipelineError, match="text: cannot be combined with program; remove one of them"):
        pipeline.read_spec(tmp_path / "p.toml")


@pytest.mark.spark
def test_frames_of_the_users_session_are_sources(tmp_path: Path, spark: SparkSession) -> None:
    def outcome(edges: set[tuple[int, int]], blocked: list[int]) -> pipeline.Outcome:
        frame = spark.createDataFrame(sorted(edges), "a int, b long, other string")
        given = polars.DataFrame(
            {"node": blocked, "note": ["x"] * len(blocked)}, schema_overrides={"node": polars.UInt8}
        )
        return (
            pipeline.define(text=PROGRAM, store="store", folder=tmp_path)
            .source("Edge", frame, columns={"src": "a", "dst": "b"})
            .source("Blocked", given)
            .output("Reach", "out")
            .run()
        )

    def said(edges: set[tuple[int, int]]) -> set[tuple[int, int, str]]:
        return {(a, b, "x") for a, b in edges}

    def reached() -> set[tuple[int, ...]]:
        return rows(spark.read.parquet(str(tmp_path / "out" / "current")))

    first = {(1, 2), (2, 3)}
    assert outcome(said(first), []).is_new  # type: ignore[arg-type]
    assert reached() == expected(first, [])
    second = {(1, 2), (2, 4), (4, 5)}
    told = outcome(said(second), [5])  # type: ignore[arg-type]
    assert str(told.sources["Edge"]) == "2 added, 1 removed"
    assert reached() == expected(second, [5])
    assert not outcome(said(second), [5]).is_new  # type: ignore[arg-type]


@pytest.mark.spark
def test_bad_rows_and_sessions_of_frames_are_reported(tmp_path: Path, spark: SparkSession) -> None:
    base = pipeline.define(text=PROGRAM, store="store", folder=tmp_path, name="mine").source(
        "Blocked", pa.table({"node": [1]})
    )
    edges = spark.createDataFrame([(1, 2)], "src long, dst long")
    odd = pipeline.define(text=PROGRAM, store="store", folder=tmp_path).source("Edge", edges)
    odd = odd.source("Blocked", pa.table({"node": [1, None]}))
    with pytest.raises(PipelineError, match=r"sources\.Blocked, row 2, column node: a missing value"):
        odd.run()
    wrong = spark.sql("select 1L as src, cast(null as long) as dst")
    with pytest.raises(PipelineError, match=r"sources\.Edge: 1 row does not match the schema"):
        base.source("Edge", wrong).run(spark=spark)
    with pytest.raises(PipelineError, match=r"mine: sources\.Edge\.frame: is of another Spark session"):
        base.source("Edge", wrong).run(spark=spark.newSession())
    with pytest.raises(PipelineError, match=r"sources\.Edge: missing column dst; the source has src"):
        base.source("Edge", wrong.drop("dst")).run()


@pytest.mark.spark
def test_a_streaming_frame_is_a_stream(tmp_path: Path, spark: SparkSession) -> None:
    place = Place(tmp_path, SPEC)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"a": 1, "b": 2}\n{"a": 2, "b": 3}\n')
    arriving = spark.readStream.schema("a long, b long").json(str(tmp_path / "in"))
    defined = (
        pipeline.define(program="reach.dl", store="store", folder=tmp_path)
        .source("Blocked", pa.table({"node": [9]}))
        .stream_source("Edge", arriving.selectExpr("a as src", "b as dst"))
        .output("Reach", "out/Reach")
    )
    told: list[pipeline.Outcome] = []
    defined.stream(once=True, report=told.append)
    (tmp_path / "in" / "b.json").write_text('{"a": 3, "b": 4}\n')
    defined.stream(once=True, report=told.append)
    assert [o.commit for o in told] == [0, 1, 2]
    assert place.output(spark) == expected({(1, 2), (2, 3), (3, 4)}, {9})
    with pytest.raises(PipelineError, match=r"sources\.Edge\.frame: is a stream of Spark; write \[streams"):
        pipeline.define(program="reach.dl", store="s").source("Edge", arriving).spec()
