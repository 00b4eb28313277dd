"""The command line.

Exit codes: 0 if all is well, 1 if a program has errors (or, with `fmt --check`, would be changed), 2 if the
command itself was misused. Diagnostics go to standard error, what was asked for to standard output.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from tidelog import __version__
from tidelog.errors import Diagnostic, ProgramError, Severity, render
from tidelog.program.describe import describe_program, describe_strata
from tidelog.program.draft import check as check_program
from tidelog.program.draft import load
from tidelog.syntax.outline import outline
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

__all__ = ["main"]

_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_FUNCTIONS = click.option(
    "--functions",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="A Python module whose annotated functions the program may call.",
)


class _Commands(click.Group):
    """Shows what is wrong with a program in place of a traceback, whichever command found it."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ProgramError as error:
            _show(error.diagnostics)
            sys.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tidelog")
def main() -> None:
    """Tidelog: Datalog whose facts and rules change while it runs."""


@main.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@_FUNCTIONS
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def check(files: tuple[Path, ...], modules: tuple[str, ...], strict: bool) -> None:
    """Report everything that is wrong with programs, all at once.

    A FILE of - is standard input.
    """
    functions = _functions(modules)
    found = [d for file in files for d in check_program(*_read(file), functions)]
    _show(found)
    errors = sum(d.severity is Severity.ERROR for d in found)
    warnings = len(found) - errors
    click.echo(_summary(len(files), errors, warnings), err=bool(found))
    sys.exit(1 if errors or (strict and warnings) else 0)


@main.command()
@click.argument("what", type=click.Choice(["tree", "program", "strata"]))
@click.argument("file", type=_FILE)
@_FUNCTIONS
def show(what: str, file: Path, modules: tuple[str, ...]) -> None:
    """Print a program at one of its stages.

    tree: how the text was read. program: relations, functions and rules with names and types resolved.
    strata: what is computed after what, and what depends on itself.
    """
    text, name = _read(file)
    if what == "tree":
        click.echo(outline(parse(text, name)))
    else:
        program = load(text, name, _functions(modules))
        click.echo(describe_program(program) if what == "program" else describe_strata(program))


@main.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option(
    "--check", "only_check", is_flag=True, help="Change nothing; exit with 1 if a file would change."
)
def fmt(files: tuple[Path, ...], only_check: bool) -> None:
    """Lay out programs in the one standard way, keeping comments.

    Files are rewritten in place; a FILE of - is read from standard input and written to standard output. A
    file that cannot be read is left as it is.
    """
    failed = changed = False
    for file in files:
        text, name = _read(file)
        try:
            formatted = print_program(parse(text, name))
        except ProgramError as error:
            _show(error.diagnostics)
            failed = True
            continue
        changed |= formatted != text
        if str(file) == "-":
            click.echo(formatted, nl=False)
        elif formatted != text:
            _rewrite(file, formatted, only_check)
    sys.exit(1 if failed or (only_check and changed) else 0)


def _rewrite(file: Path, text: str, only_check: bool) -> None:
    if not only_check:
        file.write_text(text, encoding="utf-8", newline="")
    click.echo(f"{'would change' if only_check else 'changed'} {file}", err=True)


# -- reading and showing


def _read(file: Path) -> tuple[str, str]:
    """A file's text and the name users know it by."""
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read().decode(), "<stdin>"
        return file.read_bytes().decode(), str(file)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not UTF-8 text (at byte {error.start})") from None
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from None


def _functions(modules: Iterable[str]) -> list[Callable[..., object]]:
    """The annotated public functions that the named modules define."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the working directory, as `python -m` finds them
    found: list[Callable[..., object]] = []
    for name in modules:
        try:
            module = importlib.import_module(name)
        except Exception as error:  # whatever the module raises, it is the user's
            raise click.ClickException(f"the module {name} cannot be imported: {error}") from None
        for member, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not member.startswith("_"):
                found.append(function)
    return found


def _show(diagnostics: Iterable[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        first, *rest = render(diagnostic).split("\n")
        colour = "red" if diagnostic.severity is Severity.ERROR else "yellow"
        tag = f"{diagnostic.severity.value}[{diagnostic.code}]"
        click.echo(first.replace(tag, click.style(tag, fg=colour, bold=True), 1), err=True)
        for line in rest:
            is_caret = line.rstrip("^").endswith(" ") and line.endswith("^")
            click.echo(click.style(line, fg=colour) if is_caret else line, err=True)
        click.echo(err=True)


def _summary(files: int, errors: int, warnings: int) -> str:
    checked = f"{files} file{'s' * (files != 1)} checked"
    if not errors and not warnings:
        return f"{checked}: all is well"
    counts = [(errors, "error"), (warnings, "warning")]
    return f"{checked}: " + ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts if n)
