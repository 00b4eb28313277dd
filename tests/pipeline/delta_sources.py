"""Run a pipeline from a Delta table that is edited in many ways, and print what each run found.

python delta_sources.py FOLDER JARS
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from pipeline.delta_runs import _session
from tidelog import pipeline

PROGRAM = """input relation Price(item: string, cents: option<int>)
output relation Cheap(item: string, cents: option<int>)
Cheap(i, c) :- Price(i, c).
"""
SCHEMA = "item string, cents long, note string"


class Table:
    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.path = folder / "prices"
        self.name = f"delta.`{self.path}`"
        self.dice = random.Random(7)

    def rows(self) -> Any:
        made = [
            (self.dice.choice("abc"), self.dice.choice([1, 2, None]), str(n))
            for n in range(self.dice.randrange(1, 6))
        ]
        return self.spark.createDataFrame(made, SCHEMA)

    def write(self, mode: str, **options: str) -> None:
        self.rows().write.format("delta").mode(mode).options(**options).save(str(self.path))

    def create(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.spark.sql(
            f"create table {self.name} ({SCHEMA}) using delta "
            "tblproperties ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
        )
        self.write("append")

    def sql(self, text: str) -> None:
        self.spark.sql(text.format(t=self.name))

    def edit(self) -> str:
        edits = [
            "insert into {t} values ('a', 1, 'new'), ('a', 1, 'new')",
            "delete from {t} where note in ('0', '3')",
            "update {t} set cents = 2 where item = 'a'",
            "update {t} set note = concat(note, '!')",
            "optimize {t}",
        ]
        text = self.dice.choice([*edits, "append", "overwrite"])
        if text in ("append", "overwrite"):
            self.write(text)
        else:
            self.sql(text)
        return text


def main(folder: Path, jars: str) -> None:
    warnings.simplefilter("ignore")
    spark = _session(jars)
    (folder / "p.dl").write_text(PROGRAM)
    table = Table(spark, folder)
    source = {"format": "delta", "path": "prices"}
    spec = pipeline.spec_from(
        {"program": "p.dl", "store": "store", "sources": {"Price": source}}, folder=folder
    )

    def run(what: str) -> None:
        outcome = pipeline.run(spec, spark=spark)
        wanted = {
            tuple(r)
            for r in spark.read.format("delta").load(str(table.path)).select("item", "cents").collect()
        }
        shown = set(pipeline.stored_session(spec)["Cheap"])
        report = str(outcome.sources.get("Price", "unchanged"))
        print(json.dumps([what, shown == wanted, report]), flush=True)

    table.create()
    run("created")
    for _ in range(12):
        done = [table.edit() for _ in range(table.dice.randrange(1, 3))]
        run("; ".join(done))
    table.sql("restore table {t} to version as of 2")
    run("restored")
    table.create()
    run("recreated")
    table.sql("alter table {t} set tblproperties ('delta.enableChangeDataFeed' = 'false')")
    table.edit()
    run("feed off")
    table.sql("alter table {t} set tblproperties ('delta.enableChangeDataFeed' = 'true')")
    run("feed on")
    table.sql("update {t} set cents = 9 where true")
    run("updated")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    table.sql("update {t} set cents = 10 where true")
    table.sql("update {t} set cents = 11 where item <> 'z'")
    table.sql("vacuum {t} retain 0 hours")
    run("vacuumed")
    table.write("overwrite", overwriteSchema="true")
    table.sql("alter table {t} add columns (more string)")
    table.sql("insert into {t} values ('d', 5, 'n', 'm')")
    run("a column was added")
    store = spark.sparkContext._jsc.sc()
    store.listenerBus().waitUntilEmpty()
    before = store.statusStore().jobsList(None).size()
    run_jobs = pipeline.run(spec, spark=spark)
    store.listenerBus().waitUntilEmpty()
    print(json.dumps(["unchanged", not run_jobs.is_new, store.statusStore().jobsList(None).size() - before]))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2])
