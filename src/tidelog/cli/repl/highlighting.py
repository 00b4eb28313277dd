"""Text of the REPL in pieces with a style, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from tidelog.errors import Source
from tidelog.program.elaborate.definitions import TYPE_NAMES
from tidelog.syntax.lexer import Token, tokenize

__all__ = ["STYLES", "Pieces", "highlighted"]

Pieces: TypeAlias = list[tuple[str, str]]  # styles and texts

_KINDS: Final = {
    "Name": "relation",
    "bytes": "string",
    "fraction": "number",
    "int": "number",
    "keyword": "keyword",
    "raw": "string",
    "string": "string",
    "width": "number",
}
STYLES: Final = {
    "command": "ansimagenta",
    "comment": "ansibrightblack",
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
    for style, piece in _pieces(text):
        first, *others = piece.split("\n")
        lines[-1].append((style, first))
        for part in others:
            lines.append([(style, part)])
    return lines


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    command = _COMMAND.match(text)
    if command:
        place = command.end()
        yield "command", text[:place]
        if ":" in command[0]:
            yield "", text[place:]
            return
    tokens, comments, _ = tokenize(Source("", text), place)
    styled = [(t.start, t.end, _style(t)) for t in tokens if t.kind != "end"]
    styled += [(c.span.start, c.span.end, "comment") for c in comments]
    for start, end, style in sorted(styled):
        if start < place:
            continue
        yield "", text[place:start]
        yield style, text[start:end]
        place = end
    yield "", text[place:]


def _style(token: Token) -> str:
    if token.kind == "name" and token.text in TYPE_NAMES:
        return "type"
    return _KINDS.get(token.kind, "")
