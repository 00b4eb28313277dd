"""Terms as values: what SPARQL computes with. A term is a string in N-Triples syntax."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, TypeAlias

from pyoxigraph import Literal as Oxigraph
from pyoxigraph import NamedNode

__all__ = ["XSD", "Failure", "Number", "Term", "boolean", "number_term", "read_term", "string"]

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_TERM: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_INTEGERS: Final = frozenset(
    f"{XSD}{name}"
    for name in """integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger
    negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte""".split()
)
_INTEGER: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_DOUBLE: Final = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|INF)|NaN")
_RANK: Final = {"integer": 0, "decimal": 1, "float": 2, "double": 3}


class Failure(Exception):
    """An expression has no value: what SPARQL calls an error."""


@dataclass(frozen=True, slots=True)
class Number:
    """`kind` is integer, decimal, float or double."""

    kind: str
    value: int | Decimal | float

    @property
    def rank(self) -> int:
        return _RANK[self.kind]


@dataclass(frozen=True, slots=True)
class Term:
    """`kind` is iri, blank or literal; `text` is the IRI, the label or the lexical form."""

    kind: str
    text: str
    language: str = ""
    datatype: str = ""

    @property
    def is_plain(self) -> bool:
        return self.kind == "literal" and self.datatype == f"{XSD}string"

    @property
    def number(self) -> Number | None:
        """The value of a numeric literal that is well-formed."""
        return _number(self.datatype, self.text.strip(" \t\r\n")) if self.kind == "literal" else None

    @property
    def boolean(self) -> bool | None:
        if self.datatype != f"{XSD}boolean":
            return None
        return {"true": True, "1": True, "false": False, "0": False}.get(self.text)


Found: TypeAlias = Number | None


@lru_cache(100_000)
def read_term(text: str) -> Term:
    """The term of a text; `Failure` for one that is unbound."""
    if text.startswith("<"):
        return Term("iri", text[1:-1])
    if text.startswith("_:"):
        return Term("blank", text)
    found = _TERM.fullmatch(text)
    if found is None:
        raise Failure
    value, language, datatype = found.groups()
    plain = _ESCAPE.sub(
        lambda e: chr(int(e[1] or e[2], 16)) if e[3] is None else _PLAIN.get(e[3], e[3]), value
    )
    if language:
        datatype = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
    return Term("literal", plain, (language or "").lower(), datatype or f"{XSD}string")


def _number(datatype: str, text: str) -> Found:
    try:
        if datatype in _INTEGERS:
            return Number("integer", int(text)) if _INTEGER.fullmatch(text) else None
        if datatype == f"{XSD}decimal":
            return Number("decimal", Decimal(text)) if _DECIMAL.fullmatch(text) else None
    except (InvalidOperation, ValueError):
        return None
    if datatype in (f"{XSD}double", f"{XSD}float") and _DOUBLE.fullmatch(text):
        return Number(datatype.removeprefix(XSD), float(text.replace("INF", "inf")))
    return None


# -- back to text


def string(text: str, language: str = "", datatype: str = "") -> str:
    """A literal in N-Triples syntax."""
    if language:
        return str(Oxigraph(text, language=language))
    return str(Oxigraph(text, datatype=NamedNode(datatype)) if datatype else Oxigraph(text))


def boolean(value: bool) -> str:
    return string("true" if value else "false", datatype=f"{XSD}boolean")


def number_term(number: Number) -> str:
    return string(_number_text(number), datatype=f"{XSD}{number.kind}")


def _number_text(number: Number) -> str:
    value = number.value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") or "0" if "." in text else text
    if math.isnan(value):
        return "NaN"
    return repr(value).replace("inf", "INF")
