"""`tidelog pipeline`: run a pipeline, follow its streams, tell how it stands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tidelog import pipeline
from tidelog.pipeline.spec import read_spec
from tidelog.progress import Line, end

__all__ = ["commands"]

_SPEC = click.argument("spec", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.group("pipeline")
def commands() -> None:
    """Data pipelines on Spark: from tables through a program to tables, a difference at a time.

    SPEC is a file of TOML that says which program, where its facts are, and where its results go.
    """


@commands.command()
@_SPEC
@click.option("--reread", is_flag=True, help="Read sources even if their files seem to be as they were.")
def run(spec: Path, reread: bool) -> None:
    """Apply what has changed in the sources since the last run.

    Stopped at any point, it has happened or it has not; running it again finishes the job.
    """
    with _watched() as line:
        outcome = pipeline.run(spec, progress=line, reread=reread)
    click.echo(outcome)


@commands.command()
@_SPEC
@click.option("--once", is_flag=True, help="Take what is there, and end.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="The least between batches.",
)
def stream(spec: Path, once: bool, interval: float) -> None:
    """Follow the streams until interrupted; every batch of changes is a commit.

    Stopped at any point and started again, it goes on where it was: every batch is applied exactly once.
    """
    with _watched() as line:

        def tell(outcome: object) -> None:
            end(line)
            click.echo(outcome)

        try:
            pipeline.stream(spec, progress=line, once=once, interval=interval, report=tell)
        except KeyboardInterrupt:
            end(line)
            click.echo("stopped", err=True)


@commands.command()
@_SPEC
def status(spec: Path) -> None:
    """Tell what the store holds, without starting Spark."""
    click.echo(pipeline.status(read_spec(spec)))


@contextmanager
def _watched() -> Iterator[Line | None]:
    """The line that tells what is going on, if a person watches."""
    line = Line(sys.stderr) if sys.stderr.isatty() else None
    try:
        yield line
    finally:
        end(line)
