"""Explanations as trees of lines: text for terminals, JSON, HTML and SVG."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from tidelog.data.short_names import NO_NAMES, ShortNames

__all__ = ["Drawing", "Line"]

_SHOWN: Final = 300  # lines in a notebook
_LETTERS: Final = 500  # of each
_MARGIN: Final = 12
_LINE: Final = 20  # pixels of a line in SVG


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and what is below it."""

    text: str
    kind: str
    below: tuple[Line, ...] = ()


class Drawing(ABC):
    names: ShortNames = NO_NAMES  # by which people see terms of RDF

    @abstractmethod
    def check(self) -> None:
        """Verify each step against the rows of the commit that it is about; SessionError if one fails."""

    @abstractmethod
    def lines(self) -> Line:
        """The explanation as a tree of lines; what occurs again is the same object."""

    def shown(self) -> Line:
        """The lines with short names."""
        return _with_names(self.lines(), self.names)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data."""

    def __str__(self) -> str:
        return "\n".join(_text(self.shown()))

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_html(self) -> str:
        """A page with steps that fold; a step that occurs again is shown folded."""
        return "".join(_html(self.shown()))

    def _repr_html_(self) -> str:
        """The first lines, for notebooks; `to_html` has all."""
        return "".join(_html(self.shown(), _SHOWN))

    def to_svg(self) -> str:
        lines = list(_text(self.shown()))
        width = 2 * _MARGIN + 8 * max(map(len, lines))
        rows = "".join(
            f'<text x="{_MARGIN}" y="{_LINE * (i + 1)}" xml:space="preserve">{escape(line)}</text>'
            for i, line in enumerate(lines)
        )
        size = f'width="{width}" height="{_LINE * (len(lines) + 1)}"'
        font = 'font-family="monospace" font-size="13"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{rows}</svg>'


def _with_names(root: Line, names: ShortNames) -> Line:
    """A tree with short names; what occurs again stays one object."""
    if not names:
        return root
    listed = [root]
    for line in listed:  # grows during the loop
        listed += line.below
    made: dict[int, Line] = {}
    for line in reversed(listed):
        if id(line) not in made:
            below = tuple(made[id(each)] for each in line.below)
            made[id(line)] = Line(names.in_text(line.text), line.kind, below)
    return made[id(root)]


def _text(root: Line) -> Iterator[str]:
    """The lines of a tree, drawn for a terminal. What was shown before is not repeated."""
    seen: set[int] = set()
    waiting: list[tuple[Line, str, str]] = [(root, "", "")]
    while waiting:
        line, first, rest = waiting.pop()
        if line.below and id(line) in seen:
            yield f"{first}{line.text.partition('  by ')[0]}  (see above)"
            continue
        seen.add(id(line))
        yield first + line.text
        last = len(line.below) - 1
        for number, below in reversed(tuple(enumerate(line.below))):
            branch, bar = ("└─ ", "   ") if number == last else ("├─ ", "│  ")
            waiting.append((below, rest + branch, rest + bar))


def _html(root: Line, most: float = math.inf) -> Iterator[str]:
    """The lines of a tree as HTML; those after the first `most` are only counted, and long ones are cut."""
    seen: set[int] = set()
    number = 0
    waiting: list[Line | str] = [root]
    while waiting:
        line = waiting.pop()
        if isinstance(line, str):
            yield line
            continue
        number += 1
        if number > most:
            continue
        text = line.text if most == math.inf or len(line.text) <= _LETTERS else line.text[:_LETTERS] + "…"
        text = f"<code>{escape(text)}</code>"
        if not line.below or id(line) in seen:
            yield f'<div style="margin-left:1.5em">{text}</div>'
            continue
        seen.add(id(line))
        yield f'<details open style="margin-left:1.5em"><summary>{text}</summary>'
        waiting.append("</details>")
        waiting.extend(reversed(line.below))
    if number > most:
        yield f"<p>… and {number - most:,.0f} more lines: print the explanation, or use to_html()</p>"
