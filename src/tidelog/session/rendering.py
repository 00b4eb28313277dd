"""Renders rows as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from tidelog.data.display import display
from tidelog.data.values import Row
from tidelog.program.typed import Relation

__all__ = ["SHOWN", "cells", "counted", "html_table", "text_table"]

SHOWN: Final = 10
_WIDEST: Final = 40


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def cells(relation: Relation, row: Row) -> list[str]:
    """A row's values as text, truncated if they are long."""
    texts = (display(t, v) for t, v in zip(relation.types, row, strict=True))
    return [t if len(t) <= _WIDEST else t[: _WIDEST - 1] + "…" for t in texts]


def text_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, indent: str = "  ") -> str:
    """Columns aligned to the left, under their headers."""
    lines = [list(headers), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))).rstrip()
        for line in lines
    )


def html_table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
