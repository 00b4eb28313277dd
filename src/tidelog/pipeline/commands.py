"""`tidelog pipeline`: run a pipeline, follow its streams, show its status, explain its results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from tidelog import pipeline
from tidelog.pipeline.inspection import repeated
from tidelog.pipeline.spec import Spec, read_spec
from tidelog.progress import Line, end
from tidelog.session.explaining import explain, explain_absence, explain_change, in_a_form

__all__ = ["commands"]

_SPEC = click.argument("spec", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_COMMIT = click.option(
    "--commit",
    type=click.IntRange(min=0),
    metavar="N",
    help="Explain an earlier commit, if the store has it.",
)
_METRICS = click.option(
    "--metrics",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append a line of JSON to FILE for each run and each batch: durations, rows, bytes, placement.",
)
_FOLDER = click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))


@click.group("pipeline")
def commands() -> None:
    """Data pipelines on Spark: evaluate a program over tables, incrementally.

    SPEC is a TOML file that names the program, the sources of its facts, and the sinks of its results.
    """


@commands.command()
@_SPEC
@click.option("--reread", is_flag=True, help="Read all sources, even if their files look unchanged.")
@_METRICS
def run(spec: Path, reread: bool, metrics: Path | None) -> None:
    """Apply the changes of the sources since the last run.

    A run is atomic: after an interruption, either all of its changes apply or none. Run it again to finish.
    """
    with _watched() as line:
        outcome = pipeline.run(_measured(spec, metrics), progress=line, reread=reread)
    click.echo(outcome)


@commands.command()
@_SPEC
@click.option("--once", is_flag=True, help="Process the available data, then exit.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Minimum time between batches.",
)
@click.option("--with-sources", is_flag=True, help="With each batch, also take what changed in the sources.")
@_METRICS
def stream(spec: Path, once: bool, interval: float, with_sources: bool, metrics: Path | None) -> None:
    """Follow the streams until interrupted; every batch of changes is a commit.

    After an interruption it resumes where it stopped: every batch is applied exactly once.
    """
    with _watched() as line:

        def tell(outcome: object) -> None:
            end(line)
            click.echo(outcome)

        try:
            pipeline.stream(
                _measured(spec, metrics),
                progress=line,
                once=once,
                interval=interval,
                with_sources=with_sources,
                report=tell,
            )
        except KeyboardInterrupt:
            end(line)
            click.echo("stopped", err=True)


@commands.command()
@_SPEC
def status(spec: Path) -> None:
    """Show what the store holds, without starting Spark."""
    click.echo(pipeline.status(read_spec(spec)))


@commands.command()
@_SPEC
@click.argument("text", metavar="ROW")
@_COMMIT
@in_a_form
def why(spec: Path, text: str, commit: int | None, form: str | None) -> None:
    """Explain why a row is in the results of the last run, without starting Spark.

    ROW is an atom, such as 'CanReach("chen", "audit-log")'. With variables, the first row that matches is
    explained. If no row matches, this explains why not.

    With --commit, explain why that commit inserted or deleted the row. The store has the facts of some
    earlier commits, which `status` lists; `history` in SPEC keeps more.
    """
    described = read_spec(spec)
    if commit is not None:
        with _watched() as line:
            again = repeated(described, commit, line)
        if explain_change(again.changes, again.session.program, again.before, text, form):
            return
        click.echo(f"commit {commit} did not change {text}; this is about the rows after it", err=True)
    with _watched() as line:
        db = pipeline.stored_session(described, line, commit)
    explain(db, text, form)


@commands.command("why-not")
@_SPEC
@click.argument("text", metavar="ROW")
@_COMMIT
@in_a_form
def why_not(spec: Path, text: str, commit: int | None, form: str | None) -> None:
    """Explain why a row is not in the results of the last run, without starting Spark.

    ROW is an atom, such as 'CanReach("chen", "vault")'. A variable, or _, stands for any value. With
    --commit, this is about the results after that commit.
    """
    with _watched() as line:
        db = pipeline.stored_session(read_spec(spec), line, commit)
    explain_absence(db, text, form)


@commands.command()
@_FOLDER
def compact(path: Path) -> None:
    """Make a plain folder of Parquet files of an output into which changes are merged.

    PATH is the folder of the output. The next run with changes merges them into it again.
    """
    click.echo(pipeline.compact(path))


@commands.command()
@_FOLDER
@click.option("--dialect", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True)
def view(path: Path, dialect: str) -> None:
    """Print a query in SQL for the rows of an output into which changes are merged.

    PATH is the folder of the output. The query reads the version that is valid now.
    """
    click.echo(pipeline.view(path, dialect))


def _measured(file: Path, metrics: Path | None) -> Spec:
    spec = read_spec(file)
    return spec if metrics is None else replace(spec, metrics=metrics)


@contextmanager
def _watched() -> Iterator[Line | None]:
    """The progress line, if standard error is a terminal."""
    line = Line(sys.stderr) if sys.stderr.isatty() else None
    try:
        yield line
    finally:
        end(line)
