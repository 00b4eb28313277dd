"""Renders rows as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from tidelog.data.display import display
from tidelog.data.values import Row
from tidelog.program.declared import Relation

__all__ = ["LISTED", "SHOWN", "cells", "clip", "counted", "html_table", "text_table"]

SHOWN: Final = 10
LISTED: Final = 50  # relations, strata or rules on a page
_WIDEST: Final = 40
_CAPTION: Final = 300


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def cells(relation: Relation, row: Row) -> list[str]:
    """A row's values as text, truncated if they are long."""
    names = relation.names
    texts = (names.in_cell(display(t, v)) for t, v in zip(relation.types, row, strict=True))
    return [clip(t) for t in texts]


def clip(text: str, widest: int = _WIDEST) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"


def text_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, indent: str = "  ") -> str:
    """Columns aligned to the left, under their headers."""
    lines = [list(headers), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))).rstrip()
        for line in lines
    )


def html_table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]], more: int = 0) -> str:
    """A table; `more` is how many rows it leaves out."""
    head = "".join(f"<th>{escape(h)}</th>" for h in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in rows)
    foot = f'<tfoot><tr><td colspan="{len(headers)}">… and {more:,} more</td></tr></tfoot>' if more else ""
    return (
        f'<table style="text-align:left"><caption style="text-align:left;white-space:nowrap">'
        f"{escape(clip(caption, _CAPTION))}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}</table>"
    )
