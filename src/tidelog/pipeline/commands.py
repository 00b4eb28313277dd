"""`tidelog pipeline`: run a pipeline, follow its streams, tell how it stands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from tidelog import pipeline
from tidelog.pipeline.spec import read_spec

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
    click.echo(pipeline.run(spec, progress=_progress(), reread=reread))


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
    try:
        pipeline.stream(spec, progress=_progress(), once=once, interval=interval, report=click.echo)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)


@commands.command()
@_SPEC
def status(spec: Path) -> None:
    """Tell what the store holds, without starting Spark."""
    click.echo(pipeline.status(read_spec(spec)))


def _progress() -> Callable[[str], None] | None:
    """What is being done, for a person who watches."""
    if not sys.stderr.isatty():
        return None
    return lambda text: click.secho(f"{text} …", dim=True, err=True)
