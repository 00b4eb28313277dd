"""Who can reach what: a first load, a day's changes, a changed rule; on Spark in local mode.

Spark reads the facts and writes the results, as Arrow tables; the consequences are kept up to date by a
session in this process. Run it with `make demo`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

import tidelog
from tidelog.engine.spark.session import local_session

HERE = Path(__file__).parent
OUT = Path("out") / "access"
RESULTS = ["In", "CanReach", "Audience", "Unanswered"]
SHOWN = 8


def main() -> None:
    start = time.perf_counter()
    spark = local_session("who can reach what")
    click.echo(f"Spark {spark.version} is up, in local mode, after {time.perf_counter() - start:.1f} s")
    db = tidelog.open(HERE / "access.dl")

    title("First load: facts/*.csv")
    with db.transaction() as tx:
        for path in sorted((HERE / "facts").glob("*.csv")):
            tx.insert(path.stem, read(spark, path))
    for name in RESULTS:
        click.echo(f"  {name:<12} {len(db[name]):>4} rows")

    title("The next day: day2/*.csv")
    with db.transaction() as tx:
        for path in sorted((HERE / "day2").glob("*.csv")):
            table = read(spark, path)
            signs, facts = table["sign"], table.drop_columns(["sign"])
            tx.delete(path.stem, facts.filter(pc.equal(signs, "-")))
            tx.insert(path.stem, facts.filter(pc.equal(signs, "+")))
    tell(tx.changes)

    rule = (HERE / "rule.dl").read_text()
    title("A rule is added: " + rule.splitlines()[-1])
    with db.transaction() as tx:
        tx.load(rule, "rule.dl")
    tell(tx.changes)

    title("Results")
    for name in RESULTS:
        path = OUT / name
        frame = spark.createDataFrame(db[name].to_arrow())
        frame.coalesce(1).write.parquet(str(path), mode="overwrite")
        click.echo(f"  {path}/  ({spark.read.parquet(str(path)).count()} rows)")
    spark.stop()


def read(spark: SparkSession, path: Path) -> pa.Table:
    """A CSV file with a header, as text columns."""
    return spark.read.csv(str(path), header=True, mode="FAILFAST").toArrow()


def title(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


def tell(changes: Any) -> None:
    """What came and went in the results, the first few rows of each."""
    for name in RESULTS:
        change = changes[name]
        came, went = len(change.inserted), len(change.deleted)
        if not came and not went:
            continue
        click.echo(f"  {name}: {came} came, {went} went")
        for row, sign in sorted(change)[:SHOWN]:
            mark, colour = ("+", "green") if sign > 0 else ("-", "red")
            click.secho(f"    {mark} {name}({', '.join(map(str, row))})", fg=colour)
        if came + went > SHOWN:
            click.echo(f"    … and {came + went - SHOWN} more")


if __name__ == "__main__":
    main()
