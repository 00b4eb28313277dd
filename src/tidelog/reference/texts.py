"""Standard functions that read and compare text, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tidelog.data import types
from tidelog.data.values import BadValue, Value, from_text
from tidelog.program.library.catalog import MAX_DISTANCE_WORK
from tidelog.reference.convert import Undefined

__all__ = ["TEXTS"]


def _parse(type_: types.Scalar) -> Callable[[str], Value]:
    def apply(text: str) -> Value:
        try:
            found = from_text(type_, text)
        except BadValue:
            return None
        return None if isinstance(type_, types.Int) and found == -(2**63) else found

    return apply


def _count_of(s: str, part: str) -> int:
    if part == "":
        raise Undefined("the text to count is empty")
    return len(s.split(part)) - 1


def _strip_prefix(s: str, prefix: str) -> str | None:
    return s[len(prefix) :] if s[: len(prefix)] == prefix else None


def _strip_suffix(s: str, suffix: str) -> str | None:
    end = len(s) - len(suffix)
    return s[:end] if end >= 0 and s[end:] == suffix else None


def _levenshtein(a: str, b: str) -> int:
    """By the table of the distances between prefixes, row by row."""
    if len(a) * len(b) > MAX_DISTANCE_WORK:
        raise Undefined(f"the product of the lengths of the strings exceeds {MAX_DISTANCE_WORK}")
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (x != y)))
    return row[-1]


TEXTS: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("parse_int", 1): _parse(types.INT),
    ("parse_double", 1): _parse(types.DOUBLE),
    ("parse_bool", 1): _parse(types.BOOL),
    ("parse_date", 1): _parse(types.DATE),
    ("parse_timestamp", 1): _parse(types.TIMESTAMP),
    ("is_blank", 1): lambda s: all(c.isspace() for c in s),
    ("count_of", 2): _count_of,
    ("strip_prefix", 2): _strip_prefix,
    ("strip_suffix", 2): _strip_suffix,
    ("levenshtein", 2): _levenshtein,
}
