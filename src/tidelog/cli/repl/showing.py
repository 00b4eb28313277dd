"""What statements and commits say, as lines with a style."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

import click

from tidelog.data.values import Row
from tidelog.errors import clip
from tidelog.program.declared import Relation
from tidelog.proofs.wording import value_text
from tidelog.session.changes import Changes
from tidelog.session.facts import Facts
from tidelog.session.rendering import cells, counted, text_table
from tidelog.syntax.quoting import written_relation

__all__ = [
    "ADDED",
    "NOTE",
    "PLAIN",
    "REMOVED",
    "ChangedRows",
    "Line",
    "answers",
    "changed",
    "changed_rows",
    "fact_text",
    "say_coloured",
]

PLAIN: Final = ""
ADDED: Final = "added"
REMOVED: Final = "removed"
NOTE: Final = "note"
WARNING: Final = "warning"
SHOWN: Final = 20  # rows of a relation
_COLOURS: Final = {ADDED: "green", REMOVED: "red", NOTE: "bright_black", WARNING: "yellow"}
_ANSWERS: Final = 100
_SORTED: Final = 1000  # rows up to which they are shown in order
_WIDEST: Final = 120  # characters of a value


@dataclass(frozen=True, slots=True)
class Line:
    """One or more lines of text; `style` is one of the constants."""

    text: str
    style: str = PLAIN


def say_coloured(line: Line) -> None:
    """Print a line, in colours if the output is a terminal."""
    click.secho(line.text, fg=_COLOURS.get(line.style))


class ChangedRows(Protocol):
    """Rows with their signs or weights, which are read when they are iterated."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[Row, int]]: ...


def fact_text(relation: Relation, row: Row) -> str:
    names, types = relation.names, relation.types
    values = (clip(names.in_text(value_text(t, v)), _WIDEST) for t, v in zip(types, row, strict=True))
    return f"{written_relation(relation.name)}({', '.join(values)})"


def changed(changes: Changes) -> Iterator[Line]:
    """The rows that a commit added and removed, some of each relation."""
    if not len(changes):
        yield Line("no changes", NOTE)
    for change in changes.values():
        yield from changed_rows(change.relation, change, change.summary())


def changed_rows(relation: Relation, change: ChangedRows, summary: str) -> Iterator[Line]:
    """Some of the rows of a relation that were added and removed, with their signs or weights."""
    for row, weight in _some(change):
        text = fact_text(relation, row)
        times = f"  ({abs(weight):,} times)" if abs(weight) > 1 else ""
        yield Line(f"{'+' if weight > 0 else '-'} {text}{times}", ADDED if weight > 0 else REMOVED)
    if len(change) > SHOWN:
        yield Line(f"  … and {len(change) - SHOWN:,} more rows; {summary}", NOTE)


def _some(change: ChangedRows) -> list[tuple[Row, int]]:
    if len(change) > _SORTED:
        return list(islice(change, SHOWN))
    return sorted(change, key=lambda pair: (pair[1] < 0, repr(pair[0])))[:SHOWN]


def answers(found: Facts) -> Iterator[Line]:
    """The answers to a query as a table; yes or no if it has no variables."""
    if not found.columns:
        yield Line("yes" if len(found) else "no")
        return
    if not len(found):
        yield Line("no answers", NOTE)
        return
    rows = list(found.first(_ANSWERS)) if len(found) > _SORTED else sorted(found, key=repr)[:_ANSWERS]
    yield Line(text_table(found.columns, [cells(found.relation, row) for row in rows]))
    more = f", {len(rows)} of them shown" if len(found) > len(rows) else ""
    yield Line(f"{counted(len(found), 'answer')}{more}", NOTE)
