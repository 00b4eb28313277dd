"""Statements from a file or a pipe: no prompts and no colours, and the first error ends them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NoReturn

import click

from tidelog.cli.messages import fail, show_problems
from tidelog.cli.repl.console import Console
from tidelog.cli.repl.statements import Reader, Statement
from tidelog.errors import ProgramError, SessionError, TidelogError

__all__ = ["run_script"]


def run_script(console: Console, lines: Iterable[str], name: str) -> None:
    """Execute statements as their lines arrive; the process exits with 1 after an error."""
    for statement in _statements(lines, name, console.prefixes):
        try:
            console.execute(statement)
        except TidelogError as error:
            console.close()
            _fail_at(statement, name, error)
        finally:
            sys.stdout.flush()  # another process may wait for it
        if console.is_over:
            break
    if console.close():
        fail(f"{name}: the input ends in an open transaction, which is rolled back")


def _statements(lines: Iterable[str], name: str, prefixes: Mapping[str, str]) -> Iterator[Statement]:
    reader = Reader(name, prefixes=prefixes)
    try:
        for line in lines:
            yield from reader.feed(line)
        yield from reader.end()
    except UnicodeDecodeError as error:
        raise SessionError(f"{name} is not UTF-8 text (at byte {error.start})") from None


def _fail_at(statement: Statement, name: str, error: TidelogError) -> NoReturn:
    place = f"{name}:{statement.place.line}"
    if not isinstance(error, ProgramError):
        fail(str(error) if str(error).startswith(f"{place}:") else f"{place}: {error}")
    if not any(d.span.source.name == name for d in error.diagnostics):
        click.echo(f"{place}:", err=True)
    show_problems(error.diagnostics)
    sys.exit(1)
