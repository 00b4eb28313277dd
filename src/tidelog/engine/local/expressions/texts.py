"""Standard functions that read and compare text: the plain form of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from tidelog.data import types
from tidelog.data.values import BadValue, Value, canonical, from_text
from tidelog.engine.local.expressions.expectations import not_empty
from tidelog.engine.local.expressions.operations import Plain, Undefined
from tidelog.program.library.catalog import MAX_DISTANCE_WORK

__all__ = ["TEXTS"]


def _parse(type_: types.Scalar) -> Callable[[str], Value]:
    """Reads a value, `none` if there is none; the result fits an option."""
    option = types.Option(type_)

    def apply(text: str) -> Value:
        try:
            return canonical(option, from_text(type_, text))
        except BadValue:
            return None

    return apply


def _count_of(s: str, part: str) -> int:
    not_empty("text to count", part)
    return s.count(part)


def _strip_prefix(s: str, prefix: str) -> str | None:
    return s.removeprefix(prefix) if s.startswith(prefix) else None


def _strip_suffix(s: str, suffix: str) -> str | None:
    return s.removesuffix(suffix) if s.endswith(suffix) else None


# -- distance


def _levenshtein(a: str, b: str) -> int:
    """The edit distance, by the bit-parallel algorithm of Myers as simplified by Hyyrö.

    The table of distances between prefixes is computed column by column, one for each code point of the
    shorter string. Neighbours in a column differ by -1, 0 or 1, so two bit sets represent it: the places in
    the longer string where the distance rises, and where it falls.
    """
    if len(a) * len(b) > MAX_DISTANCE_WORK:
        raise Undefined(f"the product of the lengths of the strings exceeds {MAX_DISTANCE_WORK}")
    short, long = sorted((a, b), key=len)
    if not short:
        return len(long)
    places = _places(long, set(short))
    everywhere, last = (1 << len(long)) - 1, 1 << (len(long) - 1)
    rises, falls, distance = everywhere, 0, len(long)
    for point in short:
        equal = places[point]
        diagonal = ((((equal & rises) + rises) ^ rises) | equal | falls) & everywhere
        right_rises = falls | (everywhere & ~(diagonal | rises))
        right_falls = diagonal & rises
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises = (right_rises << 1 | 1) & everywhere
        rises = (right_falls << 1 & everywhere) | (everywhere & ~(diagonal | right_rises))
        falls = right_rises & diagonal
    return distance


def _places(text: str, points: set[str]) -> dict[str, int]:
    """The bit set of the places of each code point in a text."""
    numbers = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return {
        point: int.from_bytes(np.packbits(numbers == ord(point), bitorder="little").tobytes(), "little")
        for point in points
    }


TEXTS: Final[Mapping[tuple[str, int], Plain]] = {
    ("parse_int", 1): _parse(types.INT),
    ("parse_double", 1): _parse(types.DOUBLE),
    ("parse_bool", 1): _parse(types.BOOL),
    ("parse_date", 1): _parse(types.DATE),
    ("parse_timestamp", 1): _parse(types.TIMESTAMP),
    ("is_blank", 1): lambda s: not s.strip(),
    ("count_of", 2): _count_of,
    ("strip_prefix", 2): _strip_prefix,
    ("strip_suffix", 2): _strip_suffix,
    ("levenshtein", 2): _levenshtein,
}
