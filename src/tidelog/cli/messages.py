"""Diagnostics, warnings and progress, as the command line shows them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import click

from tidelog.errors import Diagnostic, ProgramError, Severity, TidelogError, render, select
from tidelog.progress import Line, end

__all__ = [
    "counted_rows",
    "fail",
    "is_watched",
    "loading",
    "show_error",
    "show_problem",
    "show_problems",
    "warn",
]


def fail(problem: str) -> NoReturn:
    show_problem(problem)
    sys.exit(1)


def show_problem(problem: str) -> None:
    click.echo(f"{click.style('error', fg='red', bold=True)}: {problem}", err=True)


def show_error(error: TidelogError) -> None:
    """Show the diagnostics of an error, or the error itself."""
    if isinstance(error, ProgramError):
        show_problems(error.diagnostics)
    else:
        show_problem(str(error))


def warn(text: str) -> None:
    click.echo(f"{click.style('warning', fg='yellow', bold=True)}: {text}", err=True)


def show_problems(diagnostics: Sequence[Diagnostic]) -> None:
    shown, others = select(diagnostics)
    for diagnostic in shown:
        first, *rest = render(diagnostic).split("\n")
        colour = "red" if diagnostic.severity is Severity.ERROR else "yellow"
        tag = f"{diagnostic.severity.value}[{diagnostic.code}]"
        click.echo(first.replace(tag, click.style(tag, fg=colour, bold=True), 1), err=True)
        for line in rest:
            is_caret = line.rstrip("^").endswith(" ") and line.endswith("^")
            click.echo(click.style(line, fg=colour) if is_caret else line, err=True)
        click.echo(err=True)
    if others:
        click.echo(f"{others}\n", err=True)


@contextmanager
def loading(name: str, line: Line | None) -> Iterator[None]:
    """Show on the terminal, if there is one, that a program is being loaded."""
    if line is not None:
        line(f"loading {name}")
    try:
        yield
    finally:
        end(line)


def is_watched() -> bool:
    return sys.stderr.isatty()


def counted_rows(number: int) -> str:
    return f"{number:,} row{'s' * (number != 1)}"
