"""Explanations on standard output: the commands `why` and `why-not`, of programs and of pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from tidelog.errors import ProgramError
from tidelog.session.asking import matching_rows, missing_row

if TYPE_CHECKING:
    from tidelog.program.model import Program
    from tidelog.proofs.drawing import Drawing
    from tidelog.session.changes import Changes
    from tidelog.session.facts import Fact
    from tidelog.session.session import Session

__all__ = ["explain", "explain_absence", "explain_change", "in_a_form"]

F = TypeVar("F", bound=Callable[..., object])

_FORMS = (
    click.option("--json", "form", flag_value="json", help="Print the steps as JSON."),
    click.option("--html", "form", flag_value="html", help="Print HTML with collapsible steps."),
    click.option("--svg", "form", flag_value="svg", help="Print a picture."),
)


def in_a_form(command: F) -> F:
    """The options for the form of an explanation."""
    for option in reversed(_FORMS):
        command = option(command)
    return command


def explain(db: Session, text: str, form: str | None) -> None:
    """Print why the rows of an atom are there, or why not."""
    relation, rows = matching_rows(text, db.query, db.program)
    if not rows:
        explain_absence(db, text, form)
        return
    _warn_of_others(text, rows)
    _print(db.why(relation, rows[0]), form)


def explain_absence(db: Session, text: str, form: str | None) -> None:
    """Print why no row matches an atom."""
    _print(db.why_not(*missing_row(text, db.program)), form)


def explain_change(changes: Changes, after: Program, before: Program, text: str, form: str | None) -> bool:
    """Print why a commit changed a row that matches an atom; returns whether it changed one.

    `after` and `before` are the programs after and before the commit.
    """
    try:
        relation, pattern = missing_row(text, after)
    except ProgramError:
        relation, pattern = missing_row(text, before)  # the commit may have dropped the relation
    rows = sorted((row for row, _ in changes[relation] if _matches(row, pattern)), key=repr)
    if not rows:
        return False
    _warn_of_others(text, rows)
    _print(changes.why(relation, rows[0]), form)
    return True


def _matches(row: Fact, pattern: tuple[object, ...]) -> bool:
    return all(wanted is ... or wanted == value for wanted, value in zip(pattern, row, strict=True))


def _warn_of_others(text: str, rows: list[Fact]) -> None:
    if len(rows) > 1:
        click.echo(f"warning: {text} matches {len(rows):,} rows; this is about the first", err=True)


def _print(drawing: Drawing, form: str | None) -> None:
    shown: dict[str, Callable[[], str]] = {
        "json": drawing.to_json,
        "html": drawing.to_html,
        "svg": drawing.to_svg,
    }
    click.echo(str(drawing) if form is None else shown[form]())
