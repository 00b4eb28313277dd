"""Commands about the text of programs: `check`, `show` and `fmt`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

import tidelog
from tidelog.cli.inputs import FUNCTIONS, PROGRAM, SEARCH, STRATEGY, functions_of, insert_folder, read_program
from tidelog.cli.messages import show_problems
from tidelog.errors import ProgramError, Severity
from tidelog.maintain.describe import describe_scripts
from tidelog.maintain.strategy import STRATEGIES
from tidelog.plan.describe import describe_indexes, describe_plan
from tidelog.plan.flatten import flatten
from tidelog.program.describe import describe_program, describe_strata
from tidelog.program.draft import check as check_program
from tidelog.program.draft import load
from tidelog.program.model import Program
from tidelog.program.weighting import without_kinds
from tidelog.syntax.outline import outline
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

__all__ = ["check", "fmt", "show"]

_STAGES: dict[str, Callable[[Program], str]] = {
    "program": describe_program,
    "strata": describe_strata,
    "plan": lambda program: describe_plan(flatten(without_kinds(program))),
    "indexes": lambda program: describe_indexes(flatten(without_kinds(program))),
}


@click.command()
@click.argument("files", nargs=-1, required=True, type=PROGRAM, metavar="FILE...")
@FUNCTIONS
@SEARCH
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def check(files: tuple[Path, ...], modules: tuple[str, ...], search: tuple[Path, ...], strict: bool) -> None:
    """Check programs and report all errors and warnings.

    Use - as FILE to read from standard input.
    """
    functions = functions_of(modules)
    found = [d for file in files for d in check_program(*read_program(file), functions, search=search)]
    show_problems(found)
    errors = sum(d.severity is Severity.ERROR for d in found)
    warnings = len(found) - errors
    click.echo(_summary(len(files), errors, warnings), err=bool(found))
    sys.exit(1 if errors or (strict and warnings) else 0)


def _summary(files: int, errors: int, warnings: int) -> str:
    checked = f"{files} file{'s' * (files != 1)} checked"
    if not errors and not warnings:
        return f"{checked}: no problems found"
    counts = [(errors, "error"), (warnings, "warning")]
    return f"{checked}: " + ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts if n)


@click.command()
@click.argument("what", type=click.Choice(["tree", *_STAGES, "script"]))
@click.argument("file", type=PROGRAM)
@click.option(
    "-F",
    "--facts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="With plan: run the program over the facts in FOLDER, and show estimated and found instances.",
)
@STRATEGY
@FUNCTIONS
@SEARCH
def show(
    what: str,
    file: Path,
    facts: Path | None,
    strategy: str,
    modules: tuple[str, ...],
    search: tuple[Path, ...],
) -> None:
    """Print a program at one of its stages.

    tree: the syntax tree. program: relations, functions and rules with names and types resolved. strata: the
    strata in evaluation order, with recursive ones marked. plan: the join orders of each rule; with facts,
    those at their sizes. indexes: the columns that relations are looked up by. script: the steps of a commit
    under a strategy.
    """
    text, name = read_program(file)
    if facts is not None:
        if what != "plan":
            raise click.UsageError(f"--facts applies to show plan, not to show {what}")
        db = tidelog.open(functions=functions_of(modules), strategy=strategy, search=search)
        with db.transaction() as tx:
            tx.load(text, name)
            insert_folder(tx, facts, allow_missing=False, header=True)
        click.echo(db.plan())
        return
    if what == "tree":
        click.echo(outline(parse(text, name)))
        return
    program = load(text, name, functions_of(modules), search=search)
    if what == "script":
        click.echo(describe_scripts(flatten(without_kinds(program)), STRATEGIES[strategy]))
    else:
        click.echo(_STAGES[what](program))


@click.command()
@click.argument("files", nargs=-1, required=True, type=PROGRAM, metavar="FILE...")
@click.option(
    "--check", "only_check", is_flag=True, help="Do not write files; exit with 1 if a file would change."
)
def fmt(files: tuple[Path, ...], only_check: bool) -> None:
    """Format programs in the standard layout, with their comments.

    Files are rewritten in place. Use - as FILE to read from standard input and write to standard output. A
    file with syntax errors is left unchanged.
    """
    failed = changed = False
    for file in files:
        text, name = read_program(file)
        try:
            formatted = print_program(parse(text, name))
        except ProgramError as error:
            show_problems(error.diagnostics)
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
