"""Events of OpenLineage: what a run read and wrote, where columns come from; no event breaks a run."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.places import PROGRAM, Place
from tidelog import pipeline
from tidelog.errors import PipelineError
from tidelog.pipeline.lineage.columns import column_origins
from tidelog.pipeline.lineage.datasets import Named, datasets_of, sink_dataset
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.source_spec import Source
from tidelog.program.draft import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = """program = "reach.dl"
store = "store"

[lineage]
namespace = "test"
job = "reach"
transport = { type = "file", log_file_path = "LOG", append = true }

[sources.Edge]
path = "Edge.csv"
columns = { src = "from" }

[sources.Blocked]
path = "Blocked.json"

[outputs.Reach]
path = "out/Reach"

[changes.Fan]
path = "out/changes"
"""


# -- columns


@pytest.mark.parametrize(
    ("rules", "origins"),
    [
        ("R(x, y) :- A(x, y), B(y).", {"p": {"A.x"}, "q": {"A.y", "B.z"}}),
        ("R(x, y) :- A(x, y), not B(y), x > 3.", {"p": {"A.x"}, "q": {"A.y"}}),
        ("R(x, 7) :- A(x, _). R(x, y) :- A(y, x).", {"p": {"A.x", "A.y"}, "q": {"A.x"}}),
        ("R(x, n) :- A(x, y), var n = y.group_by(x).sum().", {"p": {"A.x"}, "q": {"A.y"}}),
        ("R(x, n) :- A(x, y), var k = 2 * y + x, var n = k + 1.", {"p": {"A.x"}, "q": {"A.x", "A.y"}}),
        ("R(x, y) :- A(x, y). R(x, z) :- R(x, y), A(y, z).", {"p": {"A.x"}, "q": {"A.y"}}),
        (
            "relation H(a: int, b: int) H(x, y) :- A(y, x). R(x, y) :- H(x, y).",
            {"p": {"A.y"}, "q": {"A.x"}},
        ),
        (
            "R(x, x) :- B(x). R(x, m) :- B(x), var m = min(y) { A(x, y) }.",
            {"p": {"B.z", "A.x"}, "q": {"B.z", "A.y"}},
        ),
    ],
)
def test_columns_come_from_those_that_bind_their_variables(rules: str, origins: dict[str, set[str]]) -> None:
    text = (
        f"input relation A(x: int, y: int) input relation B(z: int) output relation R(p: int, q: int) {rules}"
    )
    found = column_origins(load(text), ["R"])["R"]
    assert {c: {f"{r}.{n}" for r, n in places} for c, places in found.items()} == origins


def test_an_input_is_its_own_origin() -> None:
    assert column_origins(load("input relation A(x: int)"), ["A"]) == {"A": {"x": [("A", "x")]}}


# -- names


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (Source("R", "csv", ("file:///a/b.csv",)), ("file", "/a/b.csv")),
        (Source("R", "csv", ("s3a://bucket/a/b",)), ("s3://bucket", "a/b")),
        (Source("R", "csv", ("hdfs://node:8020/a",)), ("hdfs://node:8020", "/a")),
        (
            Source("R", "delta", ("abfss://box@x.dfs.core.windows.net/a/",)),
            ("abfss://box@x.dfs.core.windows.net", "/a"),
        ),
        (Source("R", "", table="shop.orders"), ("ns", "shop.orders")),
        (
            Source(
                "R",
                "jdbc",
                options={"url": "jdbc:postgresql://h:5432/db?user=a&password=b", "dbtable": "s.t"},
            ),
            ("postgres://h:5432", "db.s.t"),
        ),
        (
            Source("R", "jdbc", options={"url": "jdbc:mysql://u:p@h/db", "dbtable": "t"}),
            ("mysql://h", "db.t"),
        ),
        (Source("R", "jdbc", options={"url": "jdbc:derby:x;create=true"}), ("ns", "query")),
        (
            Source("R", "kafka", options={"kafka.bootstrap.servers": "b:9092,c:9092", "subscribe": "t"}),
            ("kafka://b:9092", "t"),
        ),
        (Source("R", "dataframe"), ("ns", "job.R")),
    ],
)
def test_datasets_have_the_names_of_other_systems(source: Source, named: tuple[str, str]) -> None:
    assert list(datasets_of(source, "ns", "job")) == [Named(*named)]
    sink = Sink("outputs", "R", source.format, next(iter(source.paths), None), source.table, source.options)
    if source.format not in ("kafka", "dataframe"):
        assert sink_dataset(sink, "ns", "job") == Named(*named)


# -- events


def test_passwords_need_not_be_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transport = '{ type = "http", timeout = 5, auth = { type = "api_key", apiKey = "${KEY}" } }'
    spec = f'text = "x"\nstore = "s"\n[lineage]\ntransport = {transport}\n'
    (tmp_path / "p.toml").write_text(spec)
    with pytest.raises(
        PipelineError, match=r"lineage\.transport\.auth\.apiKey: environment variable not set: KEY"
    ):
        pipeline.read_spec(tmp_path / "p.toml")
    monkeypatch.setenv("KEY", "secret")
    lineage = pipeline.read_spec(tmp_path / "p.toml").lineage
    assert lineage is not None
    assert lineage.transport["auth"]["apiKey"] == "secret"
    assert lineage.transport["timeout"] == 5


class Case:
    def __init__(self, folder: Path, spec: str = SPEC) -> None:
        self.log = folder / "events.json"
        self.place = Place(folder, spec.replace("LOG", str(self.log)), PROGRAM)
        self.write({(1, 2), (2, 3)})

    def write(self, edges: set[tuple[int, int]]) -> None:
        self.place.write(edges, {9})
        file = self.place.folder / "Edge.csv"
        file.write_text(file.read_text().replace("src", "from"))

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.mark.spark
def test_a_run_tells_what_it_read_and_wrote(tmp_path: Path, spark: SparkSession) -> None:
    case = Case(tmp_path)
    pipeline.run(case.place.spec, spark=spark)
    start, complete = case.events()
    assert [start["eventType"], complete["eventType"]] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert (start["job"]["namespace"], start["job"]["name"]) == ("test", "reach")
    assert [d["name"] for d in start["inputs"]] == [f"{tmp_path}/Edge.csv", f"{tmp_path}/Blocked.json"]
    edge, blocked = complete["inputs"]
    assert [(f["name"], f["type"]) for f in edge["facets"]["schema"]["fields"]] == [
        ("from", "int"),
        ("dst", "int"),
    ]
    assert [d["inputFacets"]["inputStatistics"]["rowCount"] for d in (edge, blocked)] == [2, 1]
    reach, fan = complete["outputs"]
    assert (reach["namespace"], reach["name"], fan["name"]) == (
        "file",
        f"{tmp_path}/out/Reach",
        f"{tmp_path}/out/changes",
    )
    assert [d["outputFacets"]["outputStatistics"]["rowCount"] for d in (reach, fan)] == [3, 2]
    lineage = reach["facets"]["columnLineage"]["fields"]["src"]["inputFields"]
    assert [(f["name"], f["field"]) for f in lineage] == [(f"{tmp_path}/Edge.csv", "from")]
    pipeline.run(case.place.spec, spark=spark)  # nothing has changed
    assert [event["eventType"] for event in case.events()[2:]] == ["START", "COMPLETE"]
    assert "outputStatistics" not in case.events()[-1]["outputs"][0]["outputFacets"]
    (tmp_path / "Edge.csv").write_text("from,dst\n1,x\n")
    with pytest.raises(PipelineError):
        pipeline.run(case.place.spec, spark=spark)
    failed = case.events()[-1]
    assert failed["eventType"] == "FAIL"
    assert "sources.Edge: 1 row does not match" in failed["run"]["facets"]["errorMessage"]["message"]


@pytest.mark.spark
def test_no_event_breaks_a_run(tmp_path: Path, spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    spec = SPEC.replace(
        'type = "file", log_file_path = "LOG", append = true',
        'type = "http", url = "http://127.0.0.1:1", retry = { total = 0 }',
    )
    case = Case(tmp_path, spec)
    with caplog.at_level(logging.WARNING, "tidelog"):
        assert pipeline.run(case.place.spec, spark=spark).is_new
    assert [r.getMessage().split(":")[0] for r in caplog.records if r.name == "tidelog"] == [
        "LineageEvents"
    ] * 2


@pytest.mark.spark
def test_what_is_wrong_with_the_client_is_reported_before_the_run(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(tmp_path, SPEC.replace('type = "file"', 'type = "no.such.Transport"'))
    with pytest.raises(PipelineError, match=r"pipeline\.toml: lineage\.transport: .*no\.such"):
        pipeline.run(case.place.spec, spark=spark)
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    with pytest.raises(PipelineError, match=r"lineage: needs OpenLineage's client; run pip install"):
        pipeline.run(case.place.spec, spark=spark)
    case.place.spec.write_text(SPEC.replace("job", "jobb"))
    with pytest.raises(PipelineError, match=r"lineage\.jobb: unknown key; did you mean `job`\?"):
        pipeline.read_spec(case.place.spec)
