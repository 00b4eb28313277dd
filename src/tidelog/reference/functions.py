"""The standard functions in plain Python, by name and number of arguments.

Arguments are canonical values of the types that `program.library.catalog` declares. A call returns the
result, which the caller makes canonical, or raises `Undefined` or `BadValue` where the catalog says so.
Functions that depend on the type variable get its type as their first argument. Those on collections are in
`collections`; a name that also has an overload there is implemented there for all its types.
"""

from __future__ import annotations

import decimal
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

import re2

from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, order_key, to_text
from tidelog.errors import clip, shown
from tidelog.program.library.catalog import MAX_TEXT, NO_NUMBER, NUMBER
from tidelog.reference.addresses import ADDRESSES
from tidelog.reference.calendars import CALENDARS, CALENDARS_BY_TYPE
from tidelog.reference.collections import COLLECTIONS
from tidelog.reference.convert import Undefined, exact, number_at
from tidelog.reference.durations import DURATIONS
from tidelog.reference.encodings import ENCODINGS
from tidelog.reference.json_paths import JSON
from tidelog.reference.numerics import NUMERICS, NUMERICS_BY_TYPE, real
from tidelog.reference.texts import TEXTS

__all__ = ["IMPLEMENTED", "call_standard", "joined"]


def call_standard(
    name: str,
    arguments: tuple[Value, ...],
    argument_types: tuple[Type, ...],
    closures: tuple[Callable[..., Value], ...] = (),
) -> object:
    """The result, which is not yet canonical."""
    key = name, len(arguments) + len(closures)
    if key in COLLECTIONS:
        return COLLECTIONS[key](argument_types, *arguments, *closures)
    if key in _PLAIN:
        return _PLAIN[key](*arguments)
    return _BY_TYPE[key](argument_types[0], *arguments)


def _not_negative(what: str, number: int) -> None:
    if number < 0:
        raise Undefined(f"{what} {number} is negative")


def _not_empty(what: str, text: str) -> None:
    if not text:
        raise Undefined(f"the {what} is empty")


# -- text


def _substring(s: str, start: int, count: int) -> str:
    _not_negative("start", start)
    _not_negative("count", count)
    return s[start : start + count]


def _index_of(s: str, part: str) -> int | None:
    position = s.find(part)
    return None if position < 0 else position


def _padding(s: str, width: int, fill: str) -> str:
    _not_empty("fill", fill)
    missing = max(0, width - len(s))
    if missing and width > MAX_TEXT:
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")
    return (fill * (missing // len(fill) + 1))[:missing]


def _replace(s: str, old: str, new: str) -> str:
    _not_empty("text to replace", old)
    return joined(new, s.split(old), s)


def joined(separator: str, parts: Sequence[str], *given: str) -> str:
    """The parts joined by a separator. Raises Undefined if the result exceeds the limit and every input."""
    length = sum(map(len, parts)) + len(separator) * (len(parts) - 1)
    if length > max(MAX_TEXT, *map(len, given)):
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")
    return separator.join(parts)


def _repeat(s: str, count: int) -> str:
    _not_negative("count", count)
    if len(s) * count > MAX_TEXT:
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")
    return s * count


def _split_part(s: str, separator: str, index: int) -> str:
    _not_empty("separator", separator)
    _not_negative("index", index)
    parts = s.split(separator)
    return parts[index] if index < len(parts) else ""


def _unhex(s: str) -> bytes:
    if not all(c in "0123456789abcdefABCDEF" for c in s) or len(s) % 2:
        raise Undefined(f"{shown(s)} is not a string of hexadecimal digit pairs")
    return bytes.fromhex(s)


# -- regular expressions


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise Undefined(f"{shown(pattern)} is not a valid regular expression: {clip(text, 200)}") from None


def _regex_match(s: str, pattern: str) -> bool:
    return _compiled(pattern).search(s) is not None


def _regex_extract(s: str, pattern: str, group: int) -> str | None:
    regex = _compiled(pattern)
    _has_group(regex, group)
    found = regex.search(s)
    return None if found is None else found.group(group)


def _has_group(regex: Any, group: int) -> None:
    if not 0 <= group <= regex.groups:
        raise Undefined(f"{shown(regex.pattern)} has no group {group}")


def _regex_replace(s: str, pattern: str, replacement: str) -> str:
    # re2 could expand the replacement, but mishandles non-ASCII text
    regex = _compiled(pattern)
    pieces = list(_pieces(replacement))
    for piece in pieces:
        if isinstance(piece, int):
            _has_group(regex, piece)
    parts: list[str] = []
    end = 0
    for m in regex.finditer(s):
        parts += [s[end : m.start()], *(p if isinstance(p, str) else m[p] or "" for p in pieces)]
        end = m.end()
    return joined("", [*parts, s[end:]], s)


def _pieces(replacement: str) -> Iterator[str | int]:
    """A replacement split into texts and group numbers."""
    characters = iter(replacement)
    for c in characters:
        if c != "\\":
            yield c
            continue
        escaped = next(characters, "")
        if escaped != "\\" and escaped not in tuple("0123456789"):
            raise Undefined(f"{shown(replacement)} has a backslash that no digit or backslash follows")
        yield escaped if escaped == "\\" else int(escaped)


# -- numbers


def _number(x: float) -> float:
    if math.isnan(x):
        raise Undefined(NO_NUMBER)
    return x


def _sign(x: int | float | decimal.Decimal) -> int:
    if x is NAN:
        raise Undefined("NaN has no sign")
    return (x > 0) - (x < 0)


def _whole(to_whole: Callable[[Fraction], int]) -> Callable[[Type, Value], Value]:
    """A rounding function lifted to the values of a type; NaN and infinity are unchanged."""

    def apply(type_: Type, x: Value) -> Value:
        if isinstance(x, float) and not math.isfinite(x):
            return x
        return number_at(type_, Fraction(to_whole(exact(x))))

    return apply


def _round(type_: Type, x: Value, digits: int = 0) -> Value:
    if isinstance(x, float) and not math.isfinite(x):
        return x
    # more digits than any number has make no difference
    unit = Fraction(10) ** -max(-400, min(400, digits))
    return number_at(type_, _away(Fraction(to_text(type_, x)) / unit) * unit)


def _away(x: Fraction) -> int:
    """The nearest integer, half away from zero."""
    return math.floor(abs(x) + Fraction(1, 2)) * (1 if x >= 0 else -1)


# -- any type


def _min(type_: Type, a: Value, b: Value) -> Value:
    return min(a, b, key=lambda v: order_key(type_, v))


def _max(type_: Type, a: Value, b: Value) -> Value:
    return max(a, b, key=lambda v: order_key(type_, v))


def _hash(type_: Type, x: Value) -> int:
    digest = hashlib.blake2b(to_text(type_, x).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# -- dates and times


def _make_date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        raise Undefined(f"{year}-{month}-{day} is not a valid date") from None


def _add_days(d: date, days: int) -> date:
    try:
        return d + timedelta(days=days)
    except OverflowError:
        raise Undefined(f"{d} plus {days} days is outside the years 1 to 9999") from None


def _weekday(d: date | datetime) -> int:
    return d.isoweekday()


_PLAIN: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("length", 1): len,
    ("substring", 3): _substring,
    ("starts_with", 2): str.startswith,
    ("ends_with", 2): str.endswith,
    ("index_of", 2): _index_of,
    ("upper", 1): str.upper,
    ("lower", 1): str.lower,
    ("trim", 1): str.strip,
    ("trim_start", 1): str.lstrip,
    ("trim_end", 1): str.rstrip,
    ("pad_start", 3): lambda s, width, fill: _padding(s, width, fill) + s,
    ("pad_end", 3): lambda s, width, fill: s + _padding(s, width, fill),
    ("replace", 3): _replace,
    ("repeat", 2): _repeat,
    ("split_part", 3): _split_part,
    ("hex", 1): bytes.hex,
    ("unhex", 1): _unhex,
    ("regex_match", 2): _regex_match,
    ("regex_extract", 3): _regex_extract,
    ("regex_replace", 3): _regex_replace,
    (NUMBER, 1): _number,
    ("abs", 1): lambda x: x.copy_abs() if isinstance(x, decimal.Decimal) else abs(x),
    ("sign", 1): _sign,
    ("sqrt", 1): real("sqrt", math.sqrt),
    ("exp", 1): real("exp", math.exp),
    ("ln", 1): real("ln", math.log),
    ("pow", 2): real("pow", math.pow),
    ("some", 1): lambda x: x,
    ("is_none", 1): lambda option: option is None,
    ("is_some", 1): lambda option: option is not None,
    ("unwrap_or", 2): lambda option, otherwise: otherwise if option is None else option,
    ("year", 1): lambda d: d.year,
    ("month", 1): lambda d: d.month,
    ("day", 1): lambda d: d.day,
    ("weekday", 1): _weekday,
    ("hour", 1): lambda t: t.hour,
    ("minute", 1): lambda t: t.minute,
    ("second", 1): lambda t: t.second,
    ("make_date", 3): _make_date,
    ("add_days", 2): _add_days,
    ("days_between", 2): lambda start, end: (end - start).days,
    **TEXTS,
    **NUMERICS,
    **CALENDARS,
    **DURATIONS,
    **ENCODINGS,
    **ADDRESSES,
    **JSON,
}

_BY_TYPE: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("min", 2): _min,
    ("max", 2): _max,
    ("hash", 1): _hash,
    ("round", 1): _round,
    ("round", 2): _round,
    ("floor", 1): _whole(math.floor),
    ("ceil", 1): _whole(math.ceil),
    ("trunc", 1): _whole(math.trunc),
    **NUMERICS_BY_TYPE,
    **CALENDARS_BY_TYPE,
}

IMPLEMENTED: Final = (frozenset(_PLAIN) | frozenset(_BY_TYPE) | frozenset(COLLECTIONS)) - {(NUMBER, 1)}
