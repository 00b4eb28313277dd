"""Who can reach what: a first load, a day's changes, a changed rule; on Spark in local mode.

Spark reads the facts and writes the results; the consequences are worked out in this process by the
reference reasoner, which is slow and right. Run it with `make demo`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from pyspark.sql import SparkSession

from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.spark.session import local_session
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program
from tidelog.program.typed import Relation, Role
from tidelog.reference.chibi import Chibi

HERE = Path(__file__).parent
OUT = Path("out") / "access"
COLUMN_TYPES = {"string": "STRING", "int": "BIGINT"}
SHOWN = 8


def main() -> None:
    start = time.perf_counter()
    spark = local_session("who can reach what")
    click.echo(f"Spark {spark.version} is up, in local mode, after {time.perf_counter() - start:.1f} s")

    program = load((HERE / "access.dl").read_text(), "access.dl")
    reasoner = Chibi()

    title("First load: facts/*.csv")
    changes = reasoner.commit(program, read_all(spark, program, HERE / "facts"))
    for name, change in outputs(program, changes):
        click.echo(f"  {name:<12} {len(change):>4} rows")

    title("The next day: day2/*.csv")
    tell(program, reasoner.commit(program, read_all(spark, program, HERE / "day2")))

    rule = (HERE / "rule.dl").read_text()
    title("A rule is added: " + rule.splitlines()[-1])
    draft = Draft(program)
    draft.load(rule, "rule.dl")
    program = draft.finish()
    changes = reasoner.commit(program)
    tell(program, changes)

    title("Results")
    for relation in (r for r in program.relations.values() if r.role is Role.OUTPUT):
        path = OUT / relation.name
        write(spark, relation, reasoner.contents.get(relation.name, frozenset()), path)
        click.echo(f"  {path}/  ({spark.read.parquet(str(path)).count()} rows)")
    spark.stop()


def title(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


# -- in and out, by Spark


def schema(relation: Relation, signed: bool) -> str:
    columns = [f"`{c.name}` {COLUMN_TYPES[str(c.type)]} NOT NULL" for c in relation.columns]
    return ", ".join((["sign STRING"] if signed else []) + columns)


def read_all(spark: SparkSession, program: Program, folder: Path) -> dict[str, ZSet[Row]]:
    """The facts of a folder, one CSV file a relation; a leading column `sign` makes them changes."""
    return {
        name: ZSet(read(spark, relation, folder / f"{name}.csv"))
        for name, relation in program.relations.items()
        if (folder / f"{name}.csv").exists()
    }


def read(spark: SparkSession, relation: Relation, path: Path) -> Iterator[tuple[Row, int]]:
    signed = path.read_text().startswith("sign,")
    frame = spark.read.csv(str(path), schema=schema(relation, signed), header=True, mode="FAILFAST")
    for row in frame.toLocalIterator():
        values = tuple(row)
        yield (values[1:], -1 if values[0] == "-" else 1) if signed else (values, 1)


def write(spark: SparkSession, relation: Relation, rows: frozenset[Row], path: Path) -> None:
    frame = spark.createDataFrame(sorted(rows, key=repr), schema(relation, signed=False))
    frame.coalesce(1).write.parquet(str(path), mode="overwrite")


# -- telling what changed


def outputs(program: Program, changes: Mapping[str, ZSet[Row]]) -> Iterator[tuple[str, ZSet[Row]]]:
    for name, relation in program.relations.items():
        if relation.role is Role.OUTPUT and name in changes:
            yield name, changes[name]


def tell(program: Program, changes: Mapping[str, ZSet[Row]]) -> None:
    for name, change in outputs(program, changes):
        come = sum(w > 0 for _, w in change.items())
        click.echo(f"  {name}: {come} rows came, {len(change) - come} went")
        for row, weight in sorted(change.items(), key=repr)[:SHOWN]:
            sign, colour = ("+", "green") if weight > 0 else ("-", "red")
            click.secho(f"    {sign} {name}({', '.join(map(str, row))})", fg=colour)
        if len(change) > SHOWN:
            click.echo(f"    … and {len(change) - SHOWN} more")


if __name__ == "__main__":
    main()
