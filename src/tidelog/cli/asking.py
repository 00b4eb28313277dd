"""`query` and `why`: questions about the results of a program."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

import tidelog
from tidelog.cli.inputs import (
    FACTS_OR_ROWS,
    FILES,
    FUNCTIONS,
    PROGRAM,
    SEARCH,
    STRATEGY,
    functions_of,
    insert_facts,
    pair,
    read_program,
)
from tidelog.cli.messages import is_watched, loading
from tidelog.cli.rows import print_rows
from tidelog.progress import Line
from tidelog.session.explaining import explain, explain_absence, in_a_form
from tidelog.session.rendering import cells, text_table

if TYPE_CHECKING:
    from tidelog.session import Session

__all__ = ["evaluated", "over_facts", "query", "why", "why_not"]

_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,999})")
_FRACTION: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_QUOTED: Final = re.compile(r'"[^"]*"', re.DOTALL)
F = TypeVar("F", bound=Callable[..., object])

_OPTIONS = (
    FACTS_OR_ROWS,
    FILES,
    click.option("--allow-missing", is_flag=True, help="Treat a relation without a file as empty."),
    click.option("--no-header", is_flag=True, help="CSV files have no header; match columns by position."),
    STRATEGY,
    FUNCTIONS,
    SEARCH,
)


def over_facts(command: F) -> F:
    """The options of commands that evaluate a program."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("file", type=PROGRAM)
@click.argument("text", metavar="QUERY")
@click.option("-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="Value of a variable.")
@click.option("--json", "form", flag_value=".jsonl", help="Print JSON lines: an object for each row.")
@click.option("--csv", "form", flag_value=".csv", help="Print CSV; so it is if the output is no terminal.")
@over_facts
def query(file: Path, text: str, params: tuple[str, ...], form: str | None, **options: Any) -> None:
    """Answer a query over the results of a program.

    QUERY is the body of a rule, such as 'Reach("a", x), x != "b"'. The answers have a column for each
    variable. A query without variables prints true or false.

    The VALUE of a parameter is a number, true, false, or a text. In double quotes it is always a text.
    """
    parameters = dict(pair(p, "--param NAME=VALUE") for p in params)
    db = evaluated(file, **options)
    answers = db.query(text, **{name: _value(written) for name, written in parameters.items()})
    if not answers.columns:
        click.echo("true" if len(answers) else "false")
    elif form is None and sys.stdout.isatty():
        rows = [cells(answers.relation, row) for row in answers]
        click.echo(text_table(answers.columns, rows) if rows else "no answers")
    else:
        print_rows(answers, form or ".csv")


@click.command()
@click.argument("file", type=PROGRAM)
@click.argument("text", metavar="ROW")
@in_a_form
@over_facts
def why(file: Path, text: str, form: str | None, **options: Any) -> None:
    """Explain why a row is there: by which rules, from which facts.

    ROW is an atom, such as 'Reach("a", "c")'. With variables, the first row that matches is explained. If no
    row matches, this explains why not.
    """
    explain(evaluated(file, **options), text, form)


@click.command("why-not")
@click.argument("file", type=PROGRAM)
@click.argument("text", metavar="ROW")
@in_a_form
@over_facts
def why_not(file: Path, text: str, form: str | None, **options: Any) -> None:
    """Explain why a row is not there: what fails in each rule, and what would help.

    ROW is an atom, such as 'Reach("a", "z")'. A variable, or _, stands for any value.
    """
    explain_absence(evaluated(file, **options), text, form)


# -- evaluation


def evaluated(
    file: Path,
    *,
    facts: Path | None,
    files: tuple[str, ...],
    allow_missing: bool,
    no_header: bool,
    strategy: str,
    modules: tuple[str, ...],
    search: tuple[Path, ...],
) -> Session:
    """A session with a program and its facts."""
    text, name = read_program(file)
    line = Line(sys.stderr) if is_watched() else None
    db = tidelog.open(
        functions=functions_of(modules), strategy=strategy, search=search, progress=line or False
    )
    with db.transaction() as tx:
        with loading(name, line):
            tx.load(text, name)
        header = not no_header
        insert_facts(tx, file, facts, files, allow_missing=allow_missing, header=header)
    return db


def _value(text: str) -> object:
    """The value that a parameter has in the query. What begins with zeros, like some codes, is no number."""
    if text in ("true", "false"):
        return text == "true"
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) else text
