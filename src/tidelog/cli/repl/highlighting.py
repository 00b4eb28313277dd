"""Text of the REPL in pieces with a style, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from tidelog.editors.tokens import Kind, pieces
from tidelog.errors import Source

__all__ = ["STYLES", "Pieces", "highlighted"]

Pieces: TypeAlias = list[tuple[str, str]]  # styles and texts

STYLES: Final = {
    "command": "ansimagenta",
    "comment": "ansibrightblack",
    "escape": "ansicyan",
    "keyword": "ansiblue bold",
    "number": "ansicyan",
    "relation": "ansiyellow",
    "string": "ansigreen",
    "type": "ansicyan",
}
_COMMAND: Final = re.compile(r"\s*(?::\s*[^\s:]*|[?][-]|(?:begin|commit|preview|rollback)\s*$)")


def highlighted(text: str) -> list[Pieces]:
    """The lines of a text; joined, the pieces of a line are the line."""
    lines: list[Pieces] = [[]]
    for style, piece in _styled(text):
        first, *others = piece.split("\n")
        lines[-1].append((style, first))
        for part in others:
            lines.append([(style, part)])
    return lines


def _styled(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    command = _COMMAND.match(text)
    if command:
        place = command.end()
        yield "command", text[:place]
        if ":" in command[0]:
            yield "", text[place:]
            return
    for start, end, kind in pieces(Source("", text), place):
        yield _style(kind), text[start:end]


def _style(kind: Kind) -> str:
    return kind.value if kind.value in STYLES else ""
