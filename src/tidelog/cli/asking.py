"""`query` and `why`: questions about the results of a program."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

import tidelog
from tidelog.cli.inputs import (
    FACTS,
    FUNCTIONS,
    PROGRAM,
    SEARCH,
    STRATEGY,
    expect_facts,
    functions_of,
    insert_folder,
    read_program,
    standard_input,
)
from tidelog.cli.messages import is_watched, loading
from tidelog.cli.rows import print_rows
from tidelog.errors import SessionError
from tidelog.formats.files import read_facts
from tidelog.progress import Line
from tidelog.session.explaining import explain, explain_absence, in_a_form
from tidelog.session.rendering import cells, text_table

if TYPE_CHECKING:
    from tidelog.session import Session, Transaction

__all__ = ["evaluated", "over_facts", "query", "why", "why_not"]

_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,999})")
_FRACTION: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_QUOTED: Final = re.compile(r'"[^"]*"', re.DOTALL)
F = TypeVar("F", bound=Callable[..., object])

_OPTIONS = (
    FACTS,
    click.option(
        "-i",
        "--input",
        "files",
        multiple=True,
        metavar="RELATION=FILE",
        help="Read facts of RELATION from FILE; - is CSV from standard input.",
    ),
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
    parameters = dict(_pair(p, "--param NAME=VALUE") for p in params)
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
    row matches, this says why not, as `why-not` does.
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
    single = dict(_pair(f, "--input RELATION=FILE") for f in files)
    if str(file) == "-" and "-" in single.values():
        raise click.UsageError("standard input can be the program or facts, not both")
    text, name = read_program(file)
    line = Line(sys.stderr) if is_watched() else None
    db = tidelog.open(
        functions=functions_of(modules), strategy=strategy, search=search, progress=line or False
    )
    with db.transaction() as tx:
        with loading(name, line):
            tx.load(text, name)
        for relation, path in single.items():
            _insert_file(tx, relation, path, header=not no_header)
        others = [r for r in tx.relations.values() if r.name not in single]
        expect_facts(others, facts, allow_missing)
        if facts is not None:
            insert_folder(tx, facts, allow_missing or bool(single), header=not no_header)
    return db


def _insert_file(tx: Transaction, relation: str, path: str, *, header: bool) -> None:
    declared = tx.relations.get(relation)
    if declared is None:
        raise SessionError(f"the program has no relation `{relation}`, which --input names")
    if path != "-":
        tx.insert(relation, read_facts(declared, path, header=header))
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"
        copy.write_bytes(standard_input())
        tx.insert(relation, read_facts(declared, copy, header=header))


def _pair(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"`{text}` is not {what}")
    return name, value


def _value(text: str) -> object:
    """The value that a parameter has in the query. What begins with zeros, like some codes, is no number."""
    if text in ("true", "false"):
        return text == "true"
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) else text
