"""Of a source to which files were only added, these are read; the results are those of all files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from tidelog import pipeline
from tidelog.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAMS = {
    2: """input relation Price(item: string, cents: int)
output relation Cheap(item: string, cents: int)
Cheap(i, c) :- Price(i, c), c < 100.
""",
    1: "input relation Price(line: string)\noutput relation Cheap(line: string)\nCheap(x) :- Price(x).\n",
    3: """input relation Price(s: string, p: string, o: string)
output relation Cheap(s: string, o: string)
Cheap(s, o) :- Price(s, _, o).
""",
}
WIDTHS = {"text": 1, "ntriples": 3}

Rows = list[tuple[str, int]]


class Shop:
    """A folder of files with prices, and a pipeline that reads it."""

    def __init__(self, folder: Path, form: str, spark: SparkSession, **more: object) -> None:
        self.folder = folder
        self.form = form
        self.spark = spark
        (folder / "p.dl").write_text(PROGRAMS[WIDTHS.get(form, 2)])
        source = {"format": form, "path": "in", **more}
        tables = {"program": "p.dl", "store": "store", "quarantine": "bad", "sources": {"Price": source}}
        self.spec = pipeline.spec_from(tables, folder=folder)
        (folder / "in").mkdir()

    def write(self, name: str, rows: Rows) -> None:
        file = self.folder / "in" / name
        table = pa.table({"item": [i for i, _ in rows], "cents": pa.array([c for _, c in rows], pa.int64())})
        match self.form:
            case "parquet":
                parquet.write_table(table, file)
            case "orc":
                orc.write_table(table, file)
            case "csv":
                file.write_text("".join(f"{i},{c}\n" for i, c in [("item", "cents"), *rows]))
            case "json":
                file.write_text("".join(f"{json.dumps({'item': i, 'cents': c})}\n" for i, c in rows))
            case "text":
                file.write_text("".join(f"{i} {c}\n" for i, c in rows))
            case _:
                file.write_text("".join(f'<x:{i}> <x:costs> "{c}" .\n' for i, c in rows))

    def run(self, *, reread: bool = False) -> str:
        """What is told of the source."""
        return str(pipeline.run(self.spec, spark=self.spark, reread=reread).sources.get("Price"))

    def cheap(self) -> int:
        with pipeline.open(self.spec, spark=self.spark) as work:
            return len(work.session()["Cheap"])


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "orc", "text", "ntriples"])
def test_a_file_that_came_is_read_alone(form: str, tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, form, spark)
    shop.write("a", [("tea", 90), ("salt", 40)])
    assert shop.run() == "2 added, 0 removed"
    shop.write("b", [("tea", 90), ("rice", 70), ("rice", 70)])
    assert shop.run() == "1 added, 0 removed, from 1 new file"
    assert shop.cheap() == 3


def test_rows_that_several_files_have_stay_until_the_last_goes(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, "csv", spark)
    shop.write("a", [("tea", 90), ("salt", 40)])
    shop.run()
    shop.write("b", [("tea", 90), ("rice", 70)])
    shop.run()
    shop.write("a", [("salt", 40), ("oats", 60)])  # tea is in the other file still
    shop.write("c", [("milk", 50)])
    assert shop.run() == "2 added, 0 removed, from 2 new files and 1 removed file"
    (tmp_path / "in" / "b").unlink()
    assert shop.run() == "0 added, 2 removed, from 1 removed file"
    assert shop.run(reread=True) == "None"
    assert shop.cheap() == 3


def test_large_files_are_compared_by_spark(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.pipeline.sources.taking.SMALL", 0)
    shop = Shop(tmp_path, "parquet", spark)
    shop.write("a", [("tea", 90), ("salt", 40)])
    shop.run()
    shop.write("b", [("tea", 90), ("rice", 70)])
    assert shop.run() == "1 added, 0 removed, from 1 new file"
    assert shop.cheap() == 3


def test_a_file_that_does_not_go_with_the_others_is_told(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, "csv", spark)
    shop.write("a", [("tea", 90)])
    shop.run()
    (tmp_path / "in" / "b").write_text("name,cents\nrice,70\n")
    with pytest.raises(PipelineError, match=r"sources\.Price: "):
        shop.run()
    shop.write("b", [("rice", 70)])
    assert shop.run() == "1 added, 0 removed, from 1 new file"


def test_bad_rows_of_new_files_are_counted_once(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, "csv", spark, bad_rows="quarantine")
    for number, name in enumerate(("a", "b")):
        (tmp_path / "in" / name).write_text(f"item,cents\ntea,{number}\nsalt,none\n")
        assert shop.run().endswith("; 1 bad row quarantined")
    found = sorted(f.parent.name for f in (tmp_path / "bad" / "Price").glob("commit=*/*.json"))
    assert found == ["commit=0", "commit=1"]
