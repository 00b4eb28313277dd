"""`repl`: the command."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import click

import tidelog
from tidelog.cli.inputs import (
    FACTS,
    FUNCTIONS,
    PROGRAM,
    SEARCH,
    STRATEGY,
    functions_of,
    insert_folder,
    read_program,
)
from tidelog.cli.messages import loading
from tidelog.cli.repl.commands import execute
from tidelog.cli.repl.console import Console
from tidelog.cli.repl.scripts import run_script
from tidelog.cli.repl.showing import say_coloured
from tidelog.errors import SessionError
from tidelog.progress import Line as Progress
from tidelog.session import Session

__all__ = ["repl"]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@FACTS
@click.option("--no-header", is_flag=True, help="CSV files have no header; match columns by position.")
@click.option(
    "-f",
    "--script",
    type=PROGRAM,
    metavar="FILE",
    help="Execute the statements of FILE, without prompts, and end; - is standard input.",
)
@STRATEGY
@FUNCTIONS
@SEARCH
def repl(
    file: Path | None,
    facts: Path | None,
    no_header: bool,
    script: Path | None,
    strategy: str,
    modules: tuple[str, ...],
    search: tuple[Path, ...],
) -> None:
    """Change facts and rules interactively, and see what each change does.

    Type declarations and rules as in a program; `+Edge("a", "b").` and `-Edge("a", "b").` to assert and
    retract facts; `?- Reach("a", x).` to ask; `:help` for the other commands. Statements are read from
    standard input if it is no terminal.
    """
    is_terminal = script is None and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    line = Progress(sys.stderr) if is_terminal else None
    db = tidelog.open(
        functions=functions_of(modules), strategy=strategy, search=search, progress=line or False
    )
    _load(db, file, facts, line, header=not no_header)
    if is_terminal:  # its library takes long to import
        import_module("tidelog.cli.repl.terminal").run(db)
        return
    console = Console(db, say_coloured, execute)
    lines, name = _lines(script)
    run_script(console, lines, name)


def _load(db: Session, file: Path | None, facts: Path | None, line: Progress | None, *, header: bool) -> None:
    if file is None and facts is None:
        return
    with db.transaction() as tx:
        if file is not None:
            text, name = read_program(file)
            with loading(name, line):
                tx.load(text, name)
        if facts is not None:
            insert_folder(tx, facts, True, header=header)


def _lines(script: Path | None) -> tuple[Iterable[str], str]:
    """The lines of a file or of standard input, and what messages call it."""
    if script is not None and str(script) != "-":
        text, name = read_program(script)
        return [text], name
    if sys.stdin is None:
        raise SessionError("standard input is closed")
    return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", newline=""), "<stdin>"
