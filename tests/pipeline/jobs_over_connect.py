"""Run as a program by `test_jobs`: a client of Spark Connect that may not change any setting.

Its arguments are the address of the server and a folder. It tells in one line of JSON what it saw.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from pyspark.sql import SparkSession
from pyspark.sql.connect.conf import RuntimeConf

from pipeline.places import PROGRAM, expected
from tidelog import pipeline
from tidelog.errors import PipelineError


def refuse(*_: object) -> NoReturn:
    raise PermissionError("you may not set configurations")


def main(address: str, folder: Path) -> None:
    spark: Any = SparkSession.builder.remote(address).getOrCreate()
    for name in ("set", "unset"):
        setattr(RuntimeConf, name, refuse)
    told: dict[str, Any] = {}
    for placement in ("driver", "tasks"):
        told[placement] = runs(spark, folder / placement, placement)
    base = pipeline.define(text="input relation E(x: int)", store="s", folder=folder)
    try:
        base.stream_source("E", "in", format="json").stream(spark=spark, once=True)
    except PipelineError as error:
        told["stream"] = str(error)
    print(json.dumps(told))


def runs(spark: Any, folder: Path, placement: Any) -> list[Any]:
    folder.mkdir()
    base = pipeline.define(text=PROGRAM, store="store", folder=folder, placement=placement)
    seen: list[Any] = []
    for edges in ({(1, 2), (2, 3)}, {(1, 2), (2, 3)}, {(3, 4)}, set[tuple[int, int]]()):
        frame = spark.createDataFrame(sorted(edges), "src long, dst long")
        blocked = spark.createDataFrame([(9,)], "node long")
        outcome = base.source("Edge", frame).source("Blocked", blocked).output("Reach", "out").run()
        found = pipeline_rows(spark, folder / "out" / "current")
        seen.append([outcome.commit, outcome.is_new, found == expected(edges, {9})])
    return seen


def pipeline_rows(spark: Any, folder: Path) -> set[tuple[int, ...]]:
    return {tuple(row) for row in spark.read.parquet(str(folder)).collect()}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
