"""Every kind of source and sink."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelog
from tidelog import pipeline
from tidelog.data import types
from tidelog.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """input relation Price(item: string, cents: int)
output relation Cheap(item: string, cents: int)
Cheap(i, c) :- Price(i, c), c < 100.
"""
PRICES = [("tea", 90), ("milk", 120), ("salt", 40)]
CHEAP = {("tea", 90), ("salt", 40)}


@pytest.fixture
def run(tmp_path: Path, spark: SparkSession) -> Callable[..., pipeline.Outcome]:
    def go(source: object, sinks: dict[str, object], program: str = PROGRAM) -> pipeline.Outcome:
        (tmp_path / "p.dl").write_text(program)
        tables = {"program": "p.dl", "store": "store", "sources": {"Price": source}, **sinks}
        return pipeline.run(pipeline.spec_from(tables, folder=tmp_path), spark=spark)

    return go


def cheap(frame: DataFrame) -> set[tuple[object, ...]]:
    return {(row["item"], row["cents"]) for row in frame.collect()}


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "orc"])
def test_files_go_in_and_come_out(
    form: str, tmp_path: Path, spark: SparkSession, run: Callable[..., pipeline.Outcome]
) -> None:
    frame = spark.createDataFrame(PRICES, "name string, cents int")
    folder = str(tmp_path / "in")
    frame.write.format(form).options(**({"header": "true"} if form == "csv" else {})).save(folder)
    source = {"format": form, "path": "in", "columns": {"item": "name"}}
    sink = {"format": form, "path": "out"}
    outcome = run(source, {"outputs": {"Cheap": sink}, "changes": {"Cheap": {**sink, "path": "feed"}}})
    assert outcome.places["outputs.Cheap"] == str(tmp_path / "out" / "current")
    reader = spark.read.format(form).options(header="true", inferSchema="true")
    assert cheap(reader.load(str(tmp_path / "out" / "current"))) == CHEAP
    feed = reader.load(str(tmp_path / "feed"))
    assert cheap(feed) == CHEAP
    assert {(row["sign"], row["commit"]) for row in feed.collect()} == {(1, 0)}


def test_a_file_without_a_header_is_read_by_place(
    tmp_path: Path, spark: SparkSession, run: Callable[..., pipeline.Outcome]
) -> None:
    (tmp_path / "in.csv").write_text("tea;90\nmilk;120\nsalt;40\n")
    run({"path": "in.csv", "options": {"header": False, "sep": ";"}}, {"outputs": {"Cheap": {"path": "out"}}})
    assert cheap(spark.read.parquet(str(tmp_path / "out" / "current"))) == CHEAP
    (tmp_path / "in.csv").write_text("x;tea;90\n")
    with pytest.raises(PipelineError, match="3 columns and no header; the relation has item, cents"):
        run({"path": "in.csv", "options": {"header": False, "sep": ";"}}, {})


def test_tables_go_in_and_come_out(spark: SparkSession, run: Callable[..., pipeline.Outcome]) -> None:
    spark.createDataFrame(PRICES, "item string, cents bigint").createOrReplaceTempView("prices")
    sinks = {"outputs": {"Cheap": {"table": "cheap"}}, "changes": {"Cheap": {"table": "cheap_changes"}}}
    try:
        run({"table": "prices"}, sinks)
        assert cheap(spark.table("cheap")) == CHEAP
        spark.createDataFrame([("tea", 95)], "item string, cents bigint").createOrReplaceTempView("prices")
        run({"table": "prices"}, sinks)
        assert cheap(spark.table("cheap")) == {("tea", 95)}
        feed = {tuple(row) for row in spark.table("cheap_changes").collect()}
        assert {r[:3] for r in feed if r[3] == 1} == {("tea", 95, 1), ("tea", 90, -1), ("salt", 40, -1)}
        assert not run({"table": "prices"}, sinks).is_new
    finally:
        for name in ("cheap", "cheap_changes"):
            spark.sql(f"drop table if exists {name}")


def test_jdbc_goes_in_and_comes_out(
    tmp_path: Path, spark: SparkSession, run: Callable[..., pipeline.Outcome]
) -> None:
    assert spark._jvm is not None
    spark._jvm.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    url = f"jdbc:derby:{tmp_path / 'db'};create=true"  # the database that comes with Spark
    frame = spark.createDataFrame(PRICES, "item string, cents bigint")
    frame.write.format("jdbc").options(url=url, dbtable="prices").save()
    shared = {"format": "jdbc", "options": {"url": url}}
    sinks = {
        "outputs": {"Cheap": {**shared, "options": {"url": url, "dbtable": "cheap"}}},
        "changes": {"Cheap": {**shared, "options": {"url": url, "dbtable": "feed"}}},
    }
    run({"format": "jdbc", "options": {"url": url, "dbtable": "prices"}}, sinks)
    read = spark.read.format("jdbc")
    assert cheap(read.options(url=url, dbtable="cheap").load()) == CHEAP
    assert read.options(url=url, dbtable="feed").load().count() == 2


def test_lines_of_text_and_triples_go_in(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "words.txt").write_text("b\na\nb\n")
    (tmp_path / "t.nt").write_text('<a> <knows> <b> .\n# nobody\n<b> <name> "B"@en .\n')
    (tmp_path / "p.dl").write_text(
        "input relation Word(w: string)\ninput relation T(s: string, p: string, o: string)\n"
        "output relation Both(w: string, o: string)\nBoth(w, o) :- Word(w), T(_, _, o).\n"
    )
    sources = {"Word": {"path": "words.txt"}, "T": {"path": "t.nt"}}
    spec = {"program": "p.dl", "store": "store", "sources": sources}
    with pipeline.open(pipeline.spec_from(spec, folder=tmp_path), spark=spark) as work:
        work.run()
        found = set(work.session()["Both"])
    assert found == {(w, o) for w in "ab" for o in ("<b>", '"B"@en')}


def test_values_of_every_type_pass_through(tmp_path: Path, spark: SparkSession) -> None:
    scalars = "bool int bigint bit<8> bit<33> bit<64> bit<100> signed<16> float double decimal(9,2) string"
    names = [*scalars.split(), "bytes", "date", "timestamp", "option<int>"]
    columns = ", ".join(f"c{i}: {name}" for i, name in enumerate(names))
    variables = ", ".join(f"x{i}" for i in range(len(names)))
    declared = f"input relation In({columns})\noutput relation Out({columns})\n"
    program = f"{declared}Out({variables}) :- In({variables}).\n"
    (tmp_path / "p.dl").write_text(program)
    texts = "true,-5,99999999999999999999,255,8589934591,18446744073709551615,1000000000000000000000"
    texts += ",-32768,1.5,0.1,1234567.89,é,00ff,2024-02-29,2024-02-29T12:30:00.000001Z,"
    (tmp_path / "In.csv").write_text(",".join(f"c{i}" for i in range(len(names))) + f"\n{texts}\n")
    tables = {
        "program": "p.dl",
        "store": "store",
        "sources": {"In": {"path": "In.csv"}},
        "outputs": {"Out": {"path": "out"}},
    }
    pipeline.run(pipeline.spec_from(tables, folder=tmp_path), spark=spark)
    frame = spark.read.parquet(str(tmp_path / "out" / "current"))
    db = tidelog.open(text=program)
    with db.transaction() as tx:
        tx.insert("In", frame)
    again = {
        "program": "p.dl",
        "store": "again",
        "sources": {"In": {"format": "parquet", "path": "out/current"}},
    }
    with pipeline.open(pipeline.spec_from(again, folder=tmp_path), spark=spark) as work:
        work.run()
        assert list(work.session()["Out"]) == list(db["Out"])
    assert types.is_integer(db.program.relations["Out"].columns[1].type)
    assert next(iter(db["Out"]))[5] == 2**64 - 1


def test_columns_may_be_named_like_those_of_changes(tmp_path: Path, spark: SparkSession) -> None:
    columns = "sign: int, sign_: int, commit: int"
    (tmp_path / "p.dl").write_text(
        f"input relation P({columns})\noutput relation Q({columns})\nQ(x, y, z) :- P(x, y, z).\n"
    )
    (tmp_path / "P.csv").write_text("sign,sign_,commit\n7,8,9\n")
    tables = {
        "program": "p.dl",
        "store": "store",
        "sources": {"P": {"path": "P.csv"}},
        "changes": {"Q": {"path": "feed"}},
    }
    pipeline.run(pipeline.spec_from(tables, folder=tmp_path), spark=spark)
    (row,) = spark.read.parquet(str(tmp_path / "feed")).collect()
    assert row.asDict() == {"sign": 7, "sign_": 8, "commit": 9, "sign__": 1, "commit_": 0}
