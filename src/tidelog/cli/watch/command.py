"""`watch`: the command."""

from __future__ import annotations

import time
from pathlib import Path

import click

import tidelog
from tidelog.cli.inputs import FACTS, FORMATS, FUNCTIONS, SEARCH, STRATEGY, functions_of
from tidelog.cli.messages import show_error
from tidelog.cli.repl.showing import say_coloured
from tidelog.cli.watch.outputs import Folder
from tidelog.cli.watch.watcher import Paths, Watcher
from tidelog.session import Session

__all__ = ["watch"]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@FACTS
@click.option(
    "-D",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep one file per output relation in FOLDER.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="csv", help="Output format.")
@click.option("--allow-missing", is_flag=True, help="Treat a relation without a file as empty.")
@click.option("--no-header", is_flag=True, help="CSV files have no header; match columns by position.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.01),
    default=0.2,
    show_default=True,
    metavar="SECONDS",
    help="Look at the files every SECONDS.",
)
@click.option("--timeout", type=float, metavar="SECONDS", help="Abort an update after SECONDS.")
@STRATEGY
@FUNCTIONS
@SEARCH
def watch(
    file: Path,
    facts: Path | None,
    output: Path | None,
    form: str,
    allow_missing: bool,
    no_header: bool,
    interval: float,
    timeout: float | None,
    strategy: str,
    modules: tuple[str, ...],
    search: tuple[Path, ...],
) -> None:
    """Keep outputs current while the program and its facts are edited.

    Whenever the program, one of its modules or a file of facts changes, the changes of the output relations
    are printed, and with -D their files are written. If the program or the facts have an error, it is
    printed, and everything stays as it was. Ctrl-C ends.
    """
    functions = functions_of(modules)

    def opened() -> Session:
        return tidelog.open(functions=functions, strategy=strategy, search=search, timeout=timeout)

    paths = Paths(file, facts, search, allow_missing, header=not no_header)
    folder = None if output is None else Folder(output, form)
    watcher = Watcher(paths, opened, say_coloured, show_error, folder)
    try:
        while True:
            watcher.step()
            time.sleep(interval)
    except KeyboardInterrupt:
        return
