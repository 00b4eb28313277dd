"""Run a pipeline into Delta tables and print what is in them.

python delta_runs.py FOLDER JARS
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tidelog import pipeline

PROGRAM = """input relation Price(item: string, note: option<string>, cents: double)
output relation Shown(item: string, note: option<string>, cents: double)
output relation Whole(item: string, note: option<string>, cents: double)
Shown(i, n, c) :- Price(i, n, c).
Whole(i, n, c) :- Price(i, n, c).
"""
DAYS: list[list[tuple[Any, ...]]] = [
    [("tea", None, 1.0), ("milk", "fresh", float("nan")), ("salt", "", 3.0)],
    [("tea", None, 2.0), ("milk", "fresh", float("nan")), ("rice", None, 4.0)],
]


class Stopped(BaseException):
    """The process was killed."""


def main(folder: Path, jars: str) -> None:
    warnings.simplefilter("ignore")
    spark = _session(jars)
    (folder / "p.dl").write_text(PROGRAM)
    table = f"delta.`{folder / 'shown'}`"
    spark.sql(
        f"create table {table} (item string comment 'what', note string, cents double) using delta "
        "partitioned by (item) comment 'prices' tblproperties ('made.by' = 'hand')"
    )
    spark.sql(f"insert into {table} values ('old', null, 0)")
    shown, feed = spark.read.format("delta"), str(folder / "feed")
    for day in DAYS:
        _run(spark, folder, day, stops=True)
        _run(spark, folder, day, stops=False)
        rows = [
            sorted(map(repr, map(tuple, frame.select("item", "note", "cents").collect())))
            for frame in (shown.load(str(folder / "shown")), spark.table("whole"))
        ]
        changes = [tuple(row) for row in shown.load(feed).select("item", "sign", "commit").collect()]
        print(json.dumps([sorted(map(repr, day)), *rows, sorted(changes)]), flush=True)
    detail = spark.sql(f"describe detail {table}").first()
    comment = spark.sql(f"describe {table}").first()
    version = spark.sql(f"describe history {table}").count()
    print(json.dumps([detail["properties"], detail["partitionColumns"], comment["comment"], version]))


def _session(jars: str) -> Any:
    from tidelog.engine.spark.runtime.session import local_session

    settings = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    return local_session(conf=settings)


def _run(spark: Any, folder: Path, day: list[tuple[Any, ...]], *, stops: bool) -> None:
    """Run the pipeline; with `stops`, it is stopped once its sinks are written, without knowing it."""
    spark.createDataFrame(day, "item string, note string, cents double").createOrReplaceTempView("prices")
    delta = {"format": "delta"}
    spec = {
        "program": "p.dl",
        "store": "store",
        "sources": {"Price": {"table": "prices"}},
        "outputs": {
            "Shown": {**delta, "path": "shown", "mode": "merge"},
            "Whole": {"table": "whole", "mode": "merge", "key": ["item"], "partition_by": ["item"]},
        },
        "changes": {"Shown": {**delta, "path": "feed", "mode": "append"}},
    }
    from tidelog.store.durable import Store

    mark = Store.mark_shown
    try:
        if stops:
            Store.mark_shown = _stop  # type: ignore[method-assign,assignment]
        pipeline.run(pipeline.spec_from(spec, folder=folder), spark=spark)
    except Stopped:
        pass
    finally:
        Store.mark_shown = mark  # type: ignore[method-assign]


def _stop(_: object) -> None:
    raise Stopped


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2])
