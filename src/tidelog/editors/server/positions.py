"""Positions of the protocol: a line from 0, and a column in the units that client and server agreed on.

Lines end with a line feed, a carriage return, or both, as in `errors.Source`. A position beyond the end of
its line or of the text is the end.
"""

from __future__ import annotations

from lsprotocol.types import Position, PositionEncodingKind, Range

from tidelog.errors import Source, Span

__all__ = ["Units", "offset_at", "position_at", "range_of", "span_range"]

Units = PositionEncodingKind | str


def offset_at(source: Source, position: Position, units: Units) -> int:
    """The offset of a position."""
    if position.line >= source.lines:
        return len(source.text)
    line = source.line(position.line + source.first)
    start = source.offset(position.line + source.first)
    if line.isascii() or units == PositionEncodingKind.Utf32:
        return start + min(position.character, len(line))
    count = 0
    for column, char in enumerate(line):
        if count >= position.character:
            return start + column
        count += _width(char, units)
    return start + len(line)


def position_at(source: Source, offset: int, units: Units) -> Position:
    """The position of an offset."""
    line, column = source.position(offset)
    before = source.text[offset - column + 1 : offset]
    if not before.isascii() and units != PositionEncodingKind.Utf32:
        return Position(line - source.first, sum(_width(char, units) for char in before))
    return Position(line - source.first, len(before))


def range_of(source: Source, start: int, end: int, units: Units) -> Range:
    return Range(position_at(source, start, units), position_at(source, end, units))


def span_range(span: Span, units: Units) -> Range:
    return range_of(span.source, span.start, span.end, units)


def _width(char: str, units: Units) -> int:
    if units == PositionEncodingKind.Utf8:
        return len(char.encode("utf-8", "surrogatepass"))
    return 2 if ord(char) > 0xFFFF else 1
