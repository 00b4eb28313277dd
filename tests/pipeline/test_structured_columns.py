"""Columns of random structured types in pipelines: read from every format, joined, stored, and written."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import tidelog
from oracle.language.checking import shown
from oracle.language.frames import rows_of, table_of
from oracle.language.structures import Structures
from oracle.language.values import EVERY_TYPE, SMALL, Values
from sizes import size
from tidelog import pipeline
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row, to_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Parquet has no durations: a file from Arrow has numbers, which Spark reads as such
STORED = tuple(t for t in EVERY_TYPE if types.present(t) != types.DURATION)
SPEC = """program = "program.dl"
store = "store"
[sources.A]
path = "A.parquet"
[sources.B]
path = "B.json"
[sources.C]
path = "C.csv"
[outputs.All]
path = "out/All"
"""


def _program(structures: Structures, columns: list[Type]) -> str:
    listed = ", ".join(["n: int", *(f"c{i}: {t}" for i, t in enumerate(columns))])
    names = ", ".join(["n", *(f"x{i}" for i in range(len(columns)))])
    relations = [*(f"input relation {r}({listed})" for r in "ABC"), f"output relation All({listed})"]
    relations.append("output relation Same(k: int, a: int, b: int)")
    rules = [f"All({names}) :- {r}({names})." for r in "ABC"]
    rules += [f"Same({i}, a, b) :- A(.n = a, .c{i} = x), C(.n = b, .c{i} = x)." for i in range(len(columns))]
    return "\n".join([*structures.texts, *relations, *rules])


def _write(folder: Path, random: Random, columns: tuple[Type, ...], rows: list[Row]) -> None:
    names = ["n", *(f"c{i}" for i in range(len(columns) - 1))]
    pq.write_table(table_of(random, names, columns, rows[::3]), folder / "A.parquet")
    lines = []
    for row in rows[1::3]:
        texts = [
            str(row[0]),
            *("null" if v is None else to_text(t, v) for t, v in zip(columns[1:], row[1:], strict=True)),
        ]
        lines.append("{" + ", ".join(f'"{n}": {text}' for n, text in zip(names, texts, strict=True)) + "}\n")
    (folder / "B.json").write_text("".join(lines))
    with (folder / "C.csv").open("w", newline="") as file:
        cells = csv.writer(file)
        cells.writerow(names)
        for row in rows[2::3]:
            cells.writerow(["" if v is None else to_text(t, v) for t, v in zip(columns, row, strict=True)])


@pytest.mark.parametrize("seed", range(size(1, 60)))
def test_structured_columns_go_through_a_pipeline(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(f"pipeline:{seed}")
    drawn = [types.present(t) for t in random.sample(SMALL if seed % 2 else STORED, 4)]
    values, structures = Values(random, edgy=seed % 3 == 1), Structures(random, drawn)
    columns = structures.columns(4)
    text = _program(structures, columns)
    (tmp_path / "program.dl").write_text(text)
    (tmp_path / "pipeline.toml").write_text(SPEC)
    kinds = tidelog.open(text=text).program.relations["All"].types
    rows: list[Row] = [(n, *(values.value(t) for t in columns)) for n in range(12)]
    for taken in (rows[:9], rows[3:]):
        _write(tmp_path, random, kinds, taken)
        outcome = pipeline.run(tmp_path / "pipeline.toml", spark=spark)
        found = spark.read.parquet(str(tmp_path / "out" / "All" / "current")).toArrow()
        db = tidelog.open(text=text)
        with db.transaction() as tx:
            for place, name in enumerate("ABC"):
                tx.insert(name, taken[place::3])
        assert shown(rows_of(kinds, found)) == shown(db["All"]), text
        assert outcome.sizes["Same"] == len(db["Same"])
