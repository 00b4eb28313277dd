"""A file of CSV means the same in a pipeline as in a session, however Spark cuts it up."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog import pipeline
from tidelog.errors import DataError, PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """input relation R(a: string, b: option<string>)
output relation Q(a: string, b: option<string>)
Q(a, b) :- R(a, b).
"""
PLAIN = ["x", "", '""', "é", '5"', "C:\\", '"C:\\"', '"a ""b"""', '"x,y"']
PIECES = [*PLAIN, '"l\nm"', '"l\r\n\r\nm"', '"' + "long " * 60 + '\n"']
BLOCK = "700"


@pytest.fixture(params=["small", "large"])
def bound(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Any:
    """Sources are looked at in this process, or by tasks that have parts of files."""
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, BLOCK)
    if request.param == "large":
        monkeypatch.setattr("tidelog.pipeline.sources.taking.SMALL", 0)
        monkeypatch.setattr("tidelog.pipeline.bulk.rows.LARGE", 0)
    yield
    spark.conf.set(name, before or "")


def in_session(folder: Path) -> list[tuple[Any, ...]] | str:
    db = tidelog.open(folder / "p.dl")
    try:
        with db.transaction() as tx:
            tx.insert_folder(folder / "facts")
    except DataError as error:
        return error.problem
    return sorted(db["R"], key=repr)


def in_pipeline(folder: Path, spark: SparkSession, number: int) -> tuple[list[tuple[Any, ...]], list[str]]:
    tables = {
        "program": "p.dl",
        "store": f"store{number}",
        "quarantine": f"bad{number}",
        "sources": {"R": {"path": "facts/R.csv"}},
    }
    with pipeline.open(pipeline.spec_from(tables, folder=folder), spark=spark) as work:
        outcome = work.run()
        found = sorted(work.session()["R"], key=repr)
    if not outcome.sources["R"].bad:
        return found, []
    kept = spark.read.json(f"{folder}/bad{number}/R").orderBy("row").collect()
    return found, [row["problem"] for row in kept]


def test_the_same_rows_and_the_same_bad_rows(tmp_path: Path, spark: SparkSession, bound: None) -> None:
    dice = random.Random(7)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "facts").mkdir()
    for number in range(6):
        rows = [",".join([f"{n}{dice.choice(PLAIN[0:2])}", dice.choice(PIECES)]) for n in range(120)]
        if number in (2, 5):
            rows[60] = "too,many,cells"
        content = "".join(row + dice.choice(["\n", "\r\n", "\n\n"]) for row in ["a,b", *rows]).encode()
        if number == 3:
            content = content.replace(b"a,b", b"\xef\xbb\xbfb,a", 1)
        if number in (4, 5):
            content = content.replace("é".encode(), b"\xe9", 1)
        (tmp_path / "facts" / "R.csv").write_bytes(content)
        session = in_session(tmp_path)
        found, bad = in_pipeline(tmp_path, spark, number)
        if isinstance(session, str):
            assert bad[0] == session
            assert len(found) == 120 - len(bad)
        else:
            assert (found, bad) == (session, [])


@pytest.mark.usefixtures("bound")
@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_lines_may_end_in_any_way(tmp_path: Path, spark: SparkSession, end: str) -> None:
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "facts").mkdir()
    lines = ["a,b", "x,1", "y,", "z", 'w,""']
    (tmp_path / "facts" / "R.csv").write_bytes("".join(line + end for line in lines).encode())
    found, bad = in_pipeline(tmp_path, spark, 0)
    assert found == sorted([("x", "1"), ("y", None), ("w", "")], key=repr)
    assert bad == ["1 cell; expected 2: a, b"]
    (row,) = spark.read.json(f"{tmp_path}/bad0/R").collect()
    assert (row["row"], row["raw"]) == (3, "z")


def run(folder: Path, spark: SparkSession, source: dict[str, Any]) -> list[tuple[Any, ...]]:
    (folder / "p.dl").write_text(PROGRAM)
    tables = {"program": "p.dl", "store": "store", "sources": {"R": source}}
    with pipeline.open(pipeline.spec_from(tables, folder=folder), spark=spark) as work:
        work.run()
        return sorted(work.session()["R"], key=repr)


def test_tab_separated_files_have_neither_header_nor_quotes(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "R.tsv").write_text('a\tb\n"x"\t\n')
    assert run(tmp_path, spark, {"path": "R.tsv"}) == [('"x"', None), ("a", "b")]


@pytest.mark.usefixtures("bound")
def test_files_of_a_source_have_one_header(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "1.csv").write_text("a,b\n" + "x,y\n" * 500)
    (tmp_path / "many" / "2.csv").write_text("b,a\ny,x\n")
    source = {"path": "many", "format": "csv"}
    with pytest.raises(PipelineError, match=r"many/[12].csv: the first line has .*the same header"):
        run(tmp_path, spark, source)
    (tmp_path / "many" / "2.csv").write_text("a,b\nz,y\n")
    (tmp_path / "many" / "3.csv").write_text("")
    assert run(tmp_path, spark, source) == [("x", "y"), ("z", "y")]


def test_a_first_line_that_is_no_header_is_an_error_that_says_what_to_do(
    tmp_path: Path, spark: SparkSession
) -> None:
    (tmp_path / "R.csv").write_text("x,y\nz,\n")
    with pytest.raises(PipelineError, match=r"the first line has x, y; .*options = \{ header = false \}"):
        run(tmp_path, spark, {"path": "R.csv"})
    assert run(tmp_path, spark, {"path": "R.csv", "options": {"header": False}}) == [("x", "y"), ("z", None)]


def test_lines_that_are_not_utf_8_are_bad_rows(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "p.dl").write_text(
        "input relation T(s: string, p: string, o: string)\n"
        "input relation W(w: string)\ninput relation J(j: string)\n"
    )
    (tmp_path / "t.nt").write_bytes(b'<a> <b> "\xe9" .\n<a> <b> <c> .\n')
    (tmp_path / "w.txt").write_bytes(b"\xe9\nw\n")
    (tmp_path / "j.json").write_bytes(b'{"j": "\xe9"}\n{"j": "a"}\n')
    sources = {"T": {"path": "t.nt"}, "W": {"path": "w.txt"}, "J": {"path": "j.json"}}
    tables = {"program": "p.dl", "store": "store", "quarantine": "bad", "sources": sources}
    with pipeline.open(pipeline.spec_from(tables, folder=tmp_path), spark=spark) as work:
        outcome = work.run()
        assert [len(work.session()[n]) for n in "TWJ"] == [1, 1, 1]
    assert [(row.row, "not UTF-8" in row.problem) for row in outcome.bad_rows] == [(1, True)] * 3
    assert json.loads(next((tmp_path / "bad" / "W").rglob("*.json")).read_text())["raw"] == "\\xe9"


@pytest.mark.parametrize("path", ["no.csv", "no.parquet", "no.json", "no/*.nt"])
def test_a_path_at_which_nothing_is_is_named(tmp_path: Path, spark: SparkSession, path: str) -> None:
    (tmp_path / "p.dl").write_text("input relation R(s: string, p: string, o: string)\n")
    tables = {"program": "p.dl", "store": "store", "sources": {"R": {"path": path}}}
    with pytest.raises(PipelineError, match=rf"^sources.R: Path does not exist: .*{path[:3]}"):
        pipeline.run(pipeline.spec_from(tables, folder=tmp_path), spark=spark)
