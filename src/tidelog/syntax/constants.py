"""Parsing constants: numbers, bytes and strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from tidelog.data.values import EXACT
from tidelog.errors import Span
from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.lexer import Token, hole_end, tokenize

__all__ = ["UNITS", "amount", "bytes_literal", "integer", "is_unit", "string", "width_literal"]

UNITS = frozenset(
    f"{unit}{s}"
    for unit in ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
    for s in ("", "s")
) | frozenset(["us", "ms", "s", "min", "h", "d", "w"])
MAX_DIGITS = 1000
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "$": "$"}
_PIECE = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\(.)|[^\\$]+|\$", re.DOTALL)


def amount(c: Cursor, start: int) -> tree.Expr:
    """A number with the minus sign at `start`, if there is one; and with a unit, if one follows."""
    is_negative = c.accept("-")
    found = number(c)
    if is_negative:
        found = _negative(found, c.since(start))
    if is_unit(c):
        unit = c.advance().text
        return tree.DurationLiteral(found, unit, c.since(start))
    return found


def is_unit(c: Cursor, ahead: int = 0) -> bool:
    """Whether a unit of time comes next. Before a parenthesis it is a function."""
    token = c.peek(ahead)
    return token.kind == "name" and token.text in UNITS and c.peek(ahead + 1).text != "("


def number(c: Cursor) -> tree.IntLiteral | tree.FractionLiteral:
    if c.token.kind == "int":
        return integer(c)
    token = c.advance()
    try:
        return tree.FractionLiteral(Decimal(token.text.replace("_", ""), EXACT), c.span(token))
    except InvalidOperation:
        c.complain("E203", c.span(token), "the exponent of this number is out of range for every type")
        return tree.FractionLiteral(Decimal(0), c.span(token))


def integer(c: Cursor) -> tree.IntLiteral:
    token = c.advance()
    digits = token.text.replace("_", "")
    base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
    if base != 10 and len(digits) == 2:
        c.complain("E003", c.span(token), "this number has no digits")
        return tree.IntLiteral(0, c.span(token))
    if len(digits) > MAX_DIGITS:
        message = f"this number exceeds the limit of {MAX_DIGITS} digits"
        c.complain("E203", c.span(token), message, 'write it as text: `"…" as bigint`')
        return tree.IntLiteral(0, c.span(token))
    return tree.IntLiteral(int(digits, base), c.span(token))


def width_literal(c: Cursor, token: Token) -> tree.WidthLiteral:
    """`32'd15`, `8'hff` or `4'b1010`"""
    width, _, digits = token.text.replace("_", "").partition("'")
    if len(digits) == 1 or len(token.text) > MAX_DIGITS:
        c.complain("E003", c.span(token), "this number has no digits, or too many")
        return tree.WidthLiteral(1, 0, c.span(token))
    base = {"d": 10, "h": 16, "b": 2}[digits[0]]
    return tree.WidthLiteral(int(width), int(digits[1:], base), c.span(token))


def bytes_literal(c: Cursor, token: Token) -> tree.BytesLiteral:
    try:
        value = bytes.fromhex(token.text[2:-1])
    except ValueError:
        c.complain("E004", c.span(token), "invalid bytes literal", 'write two hex digits per byte: `x"00ff"`')
        value = b""
    return tree.BytesLiteral(value, c.span(token))


def string(c: Cursor, token: Token, expression: Callable[[Cursor], tree.Expr]) -> tree.Expr:
    """A string, or an interpolation if it contains `${…}`; `expression` parses what is inside."""
    parts: list[str | tree.Expr] = []
    text = c.source.text
    position, end = token.start + 1, token.end - 1
    is_closed = token.text != '"'
    while is_closed and position < end:
        if text.startswith("${", position):
            value, position = _hole(c, position + 2, end, expression)
            parts.append(value)
        else:
            plain, position = _text(c, position, end)
            parts.append(plain)
    if any(not isinstance(p, str) for p in parts):
        return tree.Interpolation(tuple(parts), c.span(token))
    return tree.StringLiteral("".join(p for p in parts if isinstance(p, str)), c.span(token))


def _text(c: Cursor, position: int, end: int) -> tuple[str, int]:
    """The plain text up to the next `${` or the end, and the position there."""
    out: list[str] = []
    while position < end and not c.source.text.startswith("${", position):
        piece = _PIECE.match(c.source.text, position, end)
        if piece is None:
            c.complain("E004", Span(c.source, position, end), "nothing follows this backslash")
            return "".join(out), end
        code, letter = piece.groups()
        if code is not None:
            out.append(_code_point(c, int(code, 16), Span(c.source, *piece.span())))
        elif letter is not None:
            if letter not in _ESCAPES:
                c.complain(
                    "E004",
                    Span(c.source, *piece.span()),
                    f"unknown escape sequence `\\{letter}`",
                    r"supported escapes are \n \t \r \0 \\ \" \$ and \u{1F600}",
                )
            out.append(_ESCAPES.get(letter, letter))
        else:
            out.append(piece.group())
        position = piece.end()
    return "".join(out), position


def _code_point(c: Cursor, code: int, span: Span) -> str:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        c.complain("E004", span, "invalid Unicode code point")
        return ""
    return chr(code)


def _hole(
    c: Cursor, start: int, end: int, expression: Callable[[Cursor], tree.Expr]
) -> tuple[tree.Expr, int]:
    """The expression of a `${…}` whose content starts at `start`, and the position after its `}`."""
    tokens, comments, problems = tokenize(c.source, start, min(end, hole_end(c.source.text, start)))
    c.problems.extend(problems)
    for comment in comments:
        c.complain("E003", comment.span, "comments are not allowed inside strings")
    inner = Cursor(c.source, tokens, c.problems)
    inner.depth = c.depth
    value = expression(inner)
    return value, inner.expect("}", "to close `${`").end


def _negative(
    number: tree.IntLiteral | tree.FractionLiteral, span: Span
) -> tree.IntLiteral | tree.FractionLiteral:
    if isinstance(number, tree.IntLiteral):
        return tree.IntLiteral(-number.value, span)
    return tree.FractionLiteral(number.value.copy_negate(), span)  # unary `-` would round
