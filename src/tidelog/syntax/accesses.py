"""Parsing what follows a value and holds only numbers: the bits of an integer, the items of a tuple."""

from __future__ import annotations

import re

from tidelog.errors import Span
from tidelog.syntax import tree
from tidelog.syntax.constants import integer
from tidelog.syntax.cursor import Cursor, describe

__all__ = ["bits", "positions"]

_POSITION = re.compile(r"0|[1-9]\d{0,5}")


def bits(c: Cursor, start: int, value: tree.Expr) -> tree.Expr:
    """The rest of `value[high:low]`."""
    bounds: list[int] = []
    for _ in range(2):
        if c.token.kind != "int" or c.peek().text != ("]" if bounds else ":"):
            raise c.unexpected(
                f"expected the bits of a slice, found {describe(c.token)}",
                "write `x[31:24]` for bits, `v.get(i)` for an item",
            )
        bounds.append(integer(c).value)
        c.advance()
    high, low = bounds
    return tree.Slice(value, high, low, c.since(start))


def positions(c: Cursor, start: int, value: tree.Expr) -> tree.Expr:
    """`.0`, or `.0.1`, whose two positions the lexer reads as one number."""
    token = c.token
    parts = token.text.split(".")
    if not all(_POSITION.fullmatch(p) for p in parts):
        raise c.unexpected(f"expected the position of an item, found {describe(token)}", "write `t.0`")
    c.advance()
    end = token.start
    for position in parts:
        place = Span(c.source, end, end + len(position))
        whole = Span(c.source, start, place.end)
        value = tree.FieldAccess(value, int(position), whole, place)
        end = place.end + 1
    if len(parts) > 1:
        c.deepen()
    return value
