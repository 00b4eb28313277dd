"""Short names for IRIs, as people write and read them: `rdf:type`, `:Person`.

A program that declares prefixes is about RDF: its strings are terms in N-Triples syntax, such as
`<http://example.org/Person>`. They are shown by the longest namespace that has a prefix; data stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

__all__ = ["NO_NAMES", "WELL_KNOWN", "ShortNames"]

WELL_KNOWN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "owl": "http://www.w3.org/2002/07/owl#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
    }
)
_LOCAL: Final = re.compile(r"[A-Za-z_][\w-]*")
_NUMBERS: Final = ("integer", "decimal", "boolean")
_TYPED: Final = re.compile(r'("(?:[^"\\]|\\.)*")\^\^<([^>]*)>')
_TERM: Final = re.compile(r'<[^<>"\s]*>|_:\w+|"(?:[^"\\]|\\.)*"(?:@[\w-]+|\^\^<[^>]*>)?')
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True)
class ShortNames:
    """`prefixes` are those of a program, with their namespaces; a program without any shows nothing short."""

    prefixes: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.prefixes)

    def term(self, term: str) -> str:
        """A term for people. Numbers are shown without their datatype."""
        if term.startswith("<"):
            return self._short(term[1:-1]) or term
        typed = _TYPED.fullmatch(term)
        if typed is None:
            return term
        value, datatype = typed.groups()
        if datatype.removeprefix(WELL_KNOWN["xsd"]) in _NUMBERS:
            return value[1:-1]
        return f"{value}^^{self._short(datatype) or f'<{datatype}>'}"

    def in_cell(self, text: str) -> str:
        """The text of a value in a table, where a string has no quotes around it."""
        if not self.prefixes:
            return text
        return self.term(text) if _TERM.fullmatch(text) else self.in_text(text)

    def in_text(self, text: str) -> str:
        """A text in which strings are quoted, such as a fact: those that are terms are shown as terms."""
        return _QUOTED.sub(self._quoted, text) if self.prefixes else text

    def _quoted(self, found: re.Match[str]) -> str:
        try:
            content = json.loads(found[0])
        except ValueError:
            return found[0]
        return self.term(content) if _TERM.fullmatch(content) else found[0]

    def _short(self, iri: str) -> str | None:
        fitting = [(len(n), p) for p, n in self.prefixes.items() if n and iri.startswith(n)]
        for length, prefix in sorted(fitting, reverse=True):
            if _LOCAL.fullmatch(iri[length:]):
                return f"{prefix}:{iri[length:]}"
        return None


NO_NAMES: Final = ShortNames()
