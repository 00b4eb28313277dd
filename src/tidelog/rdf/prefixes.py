"""Short names for IRIs: `rdf:type` and `:Person` in programs, and in what is shown.

A program may begin with prefixes, written as in Turtle or SPARQL: `@prefix ex: <http://example.org/> .` or
`PREFIX ex: <…>`. `program` replaces the short names in it with strings in N-Triples syntax, and the prefixes
with blanks, so that the lines of messages stay right. The prefixes rdf, rdfs, owl and xsd are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tidelog.errors import SessionError, Source
from tidelog.rdf.terms import PREFIXES
from tidelog.syntax.lexer import Token, tokenize
from tidelog.syntax.printer import quote

__all__ = ["WELL_KNOWN", "prefixes_in", "program", "shown"]

WELL_KNOWN: Final[Mapping[str, str]] = {prefix: namespace for namespace, prefix in PREFIXES.items()}
_PREFIX: Final = re.compile(
    r"^[ \t]*@?prefix[ \t]+([\w-]*):[ \t]*<([^<>\"{}|^`\\\s]*)>[ \t]*\.?[ \t]*$", re.I | re.M
)
_IN_QUERY: Final = re.compile(r"\bprefix\s+([\w-]*):\s*<([^<>\s]*)>", re.I)
_LOCAL: Final = re.compile(r"[A-Za-z_][\w-]*")
_NUMBERS: Final = ("integer", "decimal", "boolean")
_TYPED: Final = re.compile(r'"([^"\\]*)"\^\^<([^>]*)>')
_BEFORE: Final = frozenset(
    ["(", ",", "[", "{", "=", "==", "!=", ":-", "->", "in", "and", "or", "not", "else"]
)


def program(text: str, prefixes: Mapping[str, str] | None = None) -> str:
    """The text of a program without prefixes and short names. Raises SessionError for an unknown prefix."""
    known = {**WELL_KNOWN, **(prefixes or {}), **dict(_PREFIX.findall(text))}
    plain = _PREFIX.sub(lambda found: " " * len(found[0]), text)
    parts: list[str] = []
    place = 0
    for start, end, iri in _names(plain, known):
        parts += [plain[place:start], quote(f"<{iri}>")]
        place = end
    return "".join([*parts, plain[place:]])


def _names(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """The short names in a program: where each is, and its IRI."""
    source = Source("", text)
    tokens = tokenize(source)[0]
    for number, token in enumerate(tokens):
        following = tokens[number + 1 : number + 2]
        if token.text == ":" and following and _is_local(following[0], token.end):
            prefix = _prefix(tokens, number)
            if prefix is None:
                continue
            start = tokens[number - 1].start if prefix else token.start
            name = f"{prefix}:{following[0].text}"
            if prefix not in known:
                line = source.position(start)[0]
                raise SessionError(
                    f"line {line}: unknown prefix in `{name}`; write `prefix {prefix}: <…>` first"
                )
            yield start, following[0].end, known[prefix] + following[0].text


def _is_local(token: Token, after: int) -> bool:
    return token.start == after and token.kind in ("name", "Name", "keyword") and "::" not in token.text


def _prefix(tokens: Sequence[Token], colon: int) -> str | None:
    """The prefix before a colon; None if the colon stands between a name and its type."""
    before = [tokens[i] for i in (colon - 2, colon - 1) if i >= 0]
    if not before:
        return None
    last = before[-1]
    if last.kind in ("name", "Name", "keyword") and last.end == tokens[colon].start:
        return (
            last.text
            if len(before) == 2 and before[0].text in _BEFORE and _is_argument(tokens, colon)
            else None
        )
    return "" if last.text in _BEFORE else None


def _is_argument(tokens: Sequence[Token], colon: int) -> bool:
    """Whether a name with a colon is in a rule, and not a column with its type."""
    for number in range(colon - 1, -1, -1):
        token = tokens[number]
        if token.kind == "keyword" and token.text in ("relation", "function", "typedef"):
            return False
        if token.text in ("multiset", "stream", "index"):
            return False
        if token.text in (":-", ".") and (token.text == ":-" or tokens[number + 1].start > token.end):
            return True
        if token.text == ")" and tokens[number + 1].kind == "Name":
            return True
    return True


def prefixes_in(query: str) -> dict[str, str]:
    """The prefixes that a query declares."""
    return dict(_IN_QUERY.findall(query))


def shown(term: str, prefixes: Mapping[str, str] | None = None) -> str:
    """A term for people: with the longest namespace that has a prefix, and numbers as they are."""
    known = {**WELL_KNOWN, **(prefixes or {})}
    if term.startswith("<"):
        return _short(term[1:-1], known) or term
    typed = _TYPED.fullmatch(term)
    if typed is None:
        return term
    value, datatype = typed.groups()
    name = datatype.removeprefix(WELL_KNOWN["xsd"])
    if name in _NUMBERS:
        return value
    return f'"{value}"^^{_short(datatype, known) or f"<{datatype}>"}'


def _short(iri: str, known: Mapping[str, str]) -> str | None:
    fitting = [(len(n), p, n) for p, n in known.items() if n and iri.startswith(n)]
    for _, prefix, namespace in sorted(fitting, reverse=True):
        if _LOCAL.fullmatch(iri[len(namespace) :]):
            return f"{prefix}:{iri[len(namespace) :]}"
    return None
