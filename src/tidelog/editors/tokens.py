"""A text in pieces, each with its kind for highlighting. Joined, the pieces are the text.

The pieces are the tokens of the parser's own lexer, so what is highlighted as a string or a comment is one.
Words that are keywords only in their place (`syntax.quoting.CONTEXTUAL`) are recognised by the tokens around
them, as the parser does. Strings are split further, into escape sequences and the code in `${…}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from tidelog.errors import Diagnostic, Source
from tidelog.program.elaborate.definitions import TYPE_NAMES
from tidelog.syntax import tree
from tidelog.syntax.constants import UNITS
from tidelog.syntax.lexer import Token, hole_end, tokenize
from tidelog.syntax.quoting import CONTEXTUAL

__all__ = ["Kind", "Piece", "pieces"]


class Kind(Enum):
    BLANK = "blank"
    COMMENT = "comment"
    ERROR = "error"
    ESCAPE = "escape"
    FUNCTION = "function"
    KEYWORD = "keyword"
    NUMBER = "number"
    OPERATOR = "operator"
    PUNCTUATION = "punctuation"
    RELATION = "relation"  # or a constructor: a capitalised or namespaced name
    STRING = "string"
    TYPE = "type"
    VARIABLE = "variable"  # or a column, a field, a module


Piece = tuple[int, int, Kind]  # from, up to

_LITERALS: Final = {
    "bytes": Kind.STRING,
    "fraction": Kind.NUMBER,
    "int": Kind.NUMBER,
    "keyword": Kind.KEYWORD,
    "Name": Kind.RELATION,
    "prime": Kind.OPERATOR,
    "raw": Kind.STRING,
    "width": Kind.NUMBER,
}
_NAMES: Final = ("name", "Name", "quoted")
_PUNCTUATION: Final = frozenset("( ) [ ] { } , ; . : #[".split())
_ESCAPE: Final = re.compile(r"\\(?:u\{[0-9A-Fa-f]*\}|.)|\$\{")
_DEEPEST: Final = 20  # strings in the code of strings; what is deeper is shown as a string
_NOTHING: Final = Token("end", "", -1, -1)


def pieces(source: Source, start: int = 0, end: int | None = None, depth: int = 0) -> Iterator[Piece]:
    """The pieces of a range, in order, without gaps. `depth` counts the strings around it."""
    stop = len(source.text) if end is None else end
    tokens, comments, problems = tokenize(source, start, stop)
    place = start
    for first, last, kind in sorted(_marked(source, tokens, comments, depth), key=lambda p: p[:2]):
        if first < place:
            continue
        yield from _gap(problems, place, first)
        yield first, last, kind
        place = last
    yield from _gap(problems, place, stop)


def _gap(problems: Sequence[Diagnostic], start: int, end: int) -> Iterator[Piece]:
    """What no token covers: blanks, or text that is not a token."""
    if start < end:
        is_error = any(p.span.start < end and start < max(p.span.end, p.span.start + 1) for p in problems)
        yield start, end, Kind.ERROR if is_error else Kind.BLANK


def _marked(
    source: Source, tokens: Sequence[Token], comments: Sequence[tree.Comment], depth: int
) -> Iterator[Piece]:
    yield from ((c.span.start, c.span.end, Kind.COMMENT) for c in comments)
    padded = [_NOTHING, *tokens, _NOTHING]
    for before, token, after in zip(padded, tokens, padded[2:], strict=False):
        if token.kind == "string":
            yield from _string(source, token, depth)
        elif token.kind == "prefix":
            word = token.start + len(token.text.split(maxsplit=1)[0])
            yield from ((token.start, word, Kind.KEYWORD), (word, token.end, Kind.STRING))
        elif token.kind != "end":
            yield token.start, token.end, _kind(before, token, after)


def _kind(before: Token, token: Token, after: Token) -> Kind:
    is_field = before.text == "." and before.end == token.start  # a full stop has a blank after it
    if is_field and token.kind in ("name", "keyword"):
        return Kind.FUNCTION if after.text == "(" else Kind.VARIABLE
    if token.kind == "op":
        return Kind.PUNCTUATION if token.text in _PUNCTUATION else Kind.OPERATOR
    if token.kind == "name":
        return _word(before, token, after)
    if token.kind == "quoted":
        return Kind.RELATION if after.text == "(" or "::" in token.text else Kind.VARIABLE
    return _LITERALS[token.kind]


def _word(before: Token, token: Token, after: Token) -> Kind:
    if token.text in CONTEXTUAL and _is_keyword(before, token, after):
        return Kind.KEYWORD
    if token.text in UNITS and before.kind in ("int", "fraction") and after.text != "(":
        return Kind.NUMBER
    if token.text in TYPE_NAMES and (after.text != "(" or token.text == "decimal"):
        return Kind.TYPE
    return Kind.FUNCTION if after.text == "(" else Kind.VARIABLE


def _is_keyword(before: Token, token: Token, after: Token) -> bool:
    """Whether a word is a keyword in its place."""
    match token.text:
        case "aggregate" | "import" | "module" | "index" | "multiset" | "stream":
            return after.kind in _NAMES
        case "on":
            return before.text == ")" and after.kind in _NAMES
        case "insert" | "delete":
            return after.text == "{"
        case "for" | "match":
            return after.text == "("
        case "in":
            return before.kind not in ("op", "keyword", "end") or before.text in (")", "]", "}", "_")
        case "break" | "continue":
            return after.text == ";"
        case _:  # return
            return before.text in ("{", ";", "}") and after.text not in (")", ",", ".")


def _string(source: Source, token: Token, depth: int) -> Iterator[Piece]:
    """A string, with its escape sequences and the pieces of the code in it."""
    is_closed = token.text != '"'
    is_split = is_closed and depth < _DEEPEST
    place = token.start
    while is_split and (found := _ESCAPE.search(source.text, place + (place == token.start), token.end - 1)):
        if place < found.start():
            yield place, found.start(), Kind.STRING
        place = found.end()
        yield found.start(), place, Kind.ESCAPE
        if found[0] == "${":
            end = hole_end(source.text, place)
            yield from pieces(source, place, end - 1, depth + 1)
            yield end - 1, end, Kind.ESCAPE
            place = end
    if place < token.end:
        yield place, token.end, Kind.STRING if is_closed else Kind.ERROR
