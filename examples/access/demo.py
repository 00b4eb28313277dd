"""Who can reach what: the first load of a pipeline, a day's changes, a new rule; on Spark in local mode.

The demo works on a copy of this folder in out/access, so that it can change the files as another system or
their author would. Run it with `make demo`.
"""

from __future__ import annotations

import csv
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from textwrap import indent

import click
from pyspark.sql import SparkSession

from tidelog import pipeline
from tidelog.engine.spark.runtime.session import local_session
from tidelog.proofs.change import Arrival, Departure
from tidelog.proofs.drawing import Drawing
from tidelog.session import Changes

HERE = Path(__file__).parent
OUT = Path("out") / "access"
SPEC = OUT / "access.toml"
SHOWN = 6


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(
        HERE,
        OUT,
        ignore=shutil.ignore_patterns("*.py", "README.md", "day2", "rule.dl", "expected", "__pycache__"),
    )
    start = time.perf_counter()
    spark = local_session("who can reach what")
    click.echo(f"Spark {spark.version} started in local mode after {time.perf_counter() - start:.1f} s")

    title(f"First load: {OUT / 'facts'}/*.csv, described by {SPEC}")
    run(spark)

    title("Next day: the files have changed")
    for path in sorted((HERE / "day2").glob("*.csv")):
        export(OUT / "facts" / path.name, path)
    run(spark)

    rule = (HERE / "rule.dl").read_text()
    title(f"New rule in {OUT / 'access.dl'}: {rule.splitlines()[-1]}")
    with (OUT / "access.dl").open("a") as program:
        program.write(f"\n{rule}")
    run(spark)

    title("The results")
    for name in ("CanReach", "Audience", "Unanswered"):
        click.echo(f"  {OUT / 'results' / name / 'current'}/")
    click.echo(f"  {OUT / 'changes' / 'CanReach'}/  the rows added and removed, by commit")
    click.echo("\nEdit the facts or the program, and run the pipeline again:")
    click.echo(f"  .venv/bin/tidelog pipeline run {SPEC}")
    spark.stop()


def run(spark: SparkSession) -> None:
    """Run the pipeline, and show what changed and why."""
    start = time.perf_counter()
    with pipeline.open(SPEC, spark=spark) as work:
        outcome = work.run()
        seconds = time.perf_counter() - start
        read = ", ".join(
            f"{name} {report.difference}" for name, report in outcome.sources.items() if report.difference
        )
        click.echo(f"  commit {outcome.commit}, {seconds:.1f} s; changed facts: {read or 'none'}")
        for name, count in outcome.changes.items():
            rows = outcome.sizes[name]
            click.echo(f"  {name:<12}{rows:>4} {'row ' if rows == 1 else 'rows'}  ({count})")
        if outcome.commit:
            assert work.changes is not None
            tell(spark, work.changes, outcome.commit)


def tell(spark: SparkSession, done: Changes, commit: int) -> None:
    """Show the changes of a commit, read from the sink: a few with their causes, the last with its proof."""
    explained = None
    for name in ("CanReach", "Unanswered"):
        changes = spark.read.parquet(str(OUT / "changes" / name)).where(f"commit = {commit}")
        rows = sorted((first, second, sign) for first, second, sign, _ in changes.collect())
        for first, second, sign in spread(rows):
            mark, colour = ("+", "green") if sign > 0 else ("-", "red")
            click.secho(f"    {mark} {name}({first}, {second})", fg=colour, nl=False)
            explained = done.why(name, (first, second))
            click.echo(f"  {', '.join(causes(explained))}")
        if len(rows) > SHOWN:
            click.echo(f"    … and {len(rows) - SHOWN} more")
    if explained is not None:
        click.echo(indent(str(explained), "      "))


def spread(rows: list[tuple[str, str, int]]) -> Iterable[tuple[str, str, int]]:
    """A few rows, spread over the whole list."""
    step = max(1, len(rows) // SHOWN)
    return rows[::step][:SHOWN]


def causes(explained: Drawing) -> tuple[str, ...]:
    """What a change rests on, in words, after checking it: the facts that are new or gone."""
    explained.check()
    assert isinstance(explained, Arrival | Departure)
    return explained.causes


def export(file: Path, changes: Path) -> None:
    """Rewrite a file of facts with the changes applied, as the exporting system would."""
    with file.open(newline="") as old, changes.open(newline="") as new:
        header, *rows = csv.reader(old)
        kept = dict.fromkeys(map(tuple, rows))
        for sign, *row in list(csv.reader(new))[1:]:
            if sign == "+":
                kept[tuple(row)] = None
            else:
                del kept[tuple(row)]
    with file.open("w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([header, *kept])


def title(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


if __name__ == "__main__":
    main()
