"""Prefixes, and the short names in a text: `prefix ex: <http://example.org/>`, then `ex:Person`.

A short name is three tokens that touch each other. They become one of the kind `short`, whose text is the IRI
in angle brackets. This happens only in texts for which prefixes are known, so that other programs may write
`x:int` as they like; with prefixes, a name before a colon is one only where a value can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tidelog.data.short_names import WELL_KNOWN
from tidelog.errors import Diagnostic, Source, Span
from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.lexer import Token

__all__ = ["declared_prefixes", "prefix", "with_short_names"]

_PARTS: Final = re.compile(r"@?\w+\s+([\w-]*):\s*<([^>]*)>")
_BEFORE: Final = frozenset(
    ["(", ",", "[", "{", "=", "==", "!=", ":-", "->", "in", "and", "or", "not", "else"]
)
_NAMED: Final = ("name", "Name", "keyword")
_DECLARING: Final = frozenset(["relation", "function", "typedef", "multiset", "stream", "index", "aggregate"])
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


def prefix(c: Cursor) -> tree.Prefix:
    """`prefix ex: <http://example.org/>`"""
    token = c.advance()
    return tree.Prefix(*_parts(token), c.span(token))


def _parts(token: Token) -> tuple[str, str]:
    found = _PARTS.match(token.text)
    assert found is not None
    return found[1], found[2]


def declared_prefixes(tokens: Sequence[Token]) -> dict[str, str]:
    return dict(_parts(token) for token in tokens if token.kind == "prefix")


def with_short_names(source: Source, tokens: list[Token], problems: list[Diagnostic]) -> list[Token]:
    """The tokens with short names as one token each."""
    declared = declared_prefixes(tokens)
    if not declared and not source.prefixes:
        return tokens
    known = {**WELL_KNOWN, **source.prefixes, **declared}
    made: list[Token] = []
    place = 0
    for first, colon in _names(tokens):
        local = tokens[colon + 1]
        name = tokens[first].text if first < colon else ""
        if name not in known:
            problems.append(_unknown(Span(source, tokens[first].start, local.end), name))
        iri = f"<{known.get(name, '')}{local.text}>"
        made += [*tokens[place:first], Token("short", iri, tokens[first].start, local.end)]
        place = colon + 2
    return [*made, *tokens[place:]]


def _unknown(span: Span, name: str) -> Diagnostic:
    hint = f"declare it: `prefix {name}: <http://…>`"
    return Diagnostic("E135", span, f"unknown prefix `{name}:`", hint=hint)


def _names(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The short names: the number of the first token of each, and that of its colon."""
    opened: list[str] = []
    is_declaration = False
    for number, token in enumerate(tokens):
        before = tokens[number - 1] if number else token
        if token.text in _CLOSING and token.kind == "op":
            opened.append(token.text)
        elif opened and token.text == _CLOSING[opened[-1]]:
            opened.pop()
            is_declaration = is_declaration and bool(opened)
        elif not opened:
            is_declaration = token.text in _DECLARING or (is_declaration and token.text not in (".", ":-"))
        if token.text != ":" or not _is_local(tokens, number):
            continue
        if before.kind in _NAMED and before.end == token.start and number > 1:
            earlier = tokens[number - 2].text
            is_field = earlier in ("{", ",") and opened[-1:] == ["{"]
            if earlier in _BEFORE and not is_declaration and not is_field:
                yield number - 1, number
        elif before.text in _BEFORE:
            yield number, number


def _is_local(tokens: Sequence[Token], colon: int) -> bool:
    if colon + 1 == len(tokens):
        return False
    local = tokens[colon + 1]
    return local.start == tokens[colon].end and local.kind in _NAMED and "::" not in local.text
