"""The standard functions: the plain form of each, on Python values.

Arguments are canonical values of the types that `program.library` declares. The caller makes the result
canonical. A function whose meaning depends on its type is built from the type. The fast forms are in
`vector_functions`.
"""

from __future__ import annotations

import decimal
import functools
import hashlib
import math
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final

import re2

from tidelog.data.types import Type
from tidelog.data.values import EXACT, NAN, Value, to_text
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.addresses import ADDRESSES
from tidelog.engine.local.expressions.calendars import CALENDARS, CALENDARS_BY_TYPE
from tidelog.engine.local.expressions.collections import on_collections
from tidelog.engine.local.expressions.comparisons import choice
from tidelog.engine.local.expressions.conversions import nearest
from tidelog.engine.local.expressions.durations import DURATIONS
from tidelog.engine.local.expressions.encodings import ENCODINGS, xxhash64
from tidelog.engine.local.expressions.expectations import expect_length, not_empty, not_negative
from tidelog.engine.local.expressions.json_paths import JSON
from tidelog.engine.local.expressions.numerics import NUMERICS, NUMERICS_BY_TYPE, real
from tidelog.engine.local.expressions.operations import Operation, Plain, Pulse, Undefined
from tidelog.engine.local.expressions.texts import TEXTS
from tidelog.engine.local.expressions.vector_scalars import fast_form
from tidelog.errors import clip, shown
from tidelog.program.library.catalog import NO_NUMBER, NUMBER

__all__ = ["IMPLEMENTED", "concat", "standard"]


def standard(name: str, arguments: tuple[Type, ...], result: Type, codec: Codec, pulse: Pulse) -> Operation:
    """A standard function on arguments of these types; one that may take long beats the pulse."""
    if name in ("min", "max"):
        plain, fast = choice(name, arguments[0], codec)
        return Operation(arguments, result, plain, fast)
    structured = on_collections(name, arguments, result, codec) if arguments else None
    if structured is not None:
        return structured
    key = name, len(arguments)
    if key in _LONG_RUNNING:
        return Operation(arguments, result, functools.partial(_LONG_RUNNING[key], pulse.beat))
    plain = _PLAIN[key] if key in _PLAIN else _BY_TYPE[key](arguments[0])
    return Operation(arguments, result, plain, fast_form(name, arguments))


# -- text


def concat(one: str, other: str) -> str:
    expect_length(len(one) + len(other), one, other)
    return one + other


def _substring(s: str, start: int, count: int) -> str:
    not_negative("start", start)
    not_negative("count", count)
    return s[start : start + count]


def _index_of(s: str, part: str) -> int | None:
    place = s.find(part)
    return place if place >= 0 else None


def _fill(s: str, width: int, fill: str) -> str:
    not_empty("fill", fill)
    if width <= len(s):
        return ""
    expect_length(width)
    missing = width - len(s)
    return (fill * -(-missing // len(fill)))[:missing]


def _replace(s: str, old: str, new: str) -> str:
    not_empty("text to replace", old)
    if len(new) > len(old):
        expect_length(len(s) + s.count(old) * (len(new) - len(old)), s)
    return s.replace(old, new)


def _repeat(s: str, count: int) -> str:
    not_negative("count", count)
    expect_length(len(s) * count)
    return s * count


def _split_part(s: str, separator: str, index: int) -> str:
    not_empty("separator", separator)
    not_negative("index", index)
    parts = s.split(separator)
    return parts[index] if index < len(parts) else ""


_HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


def _unhex(s: str) -> bytes:
    if len(s) % 2 or not _HEX_DIGITS.issuperset(s):
        raise Undefined(f"{shown(s)} is not a string of hexadecimal digit pairs")
    return bytes.fromhex(s)


# -- regular expressions


@functools.lru_cache(maxsize=256)
def _regex(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise Undefined(f"{shown(pattern)} is not a valid regular expression: {clip(text, 200)}") from None


def _regex_match(s: str, pattern: str) -> bool:
    return _regex(pattern).search(s) is not None


def _group(regex: Any, group: int) -> None:
    if not 0 <= group <= regex.groups:
        raise Undefined(f"{shown(regex.pattern)} has no group {group}")


def _regex_extract(s: str, pattern: str, group: int) -> str | None:
    regex = _regex(pattern)
    _group(regex, group)
    found = regex.search(s)
    return found[group] if found is not None else None


def _regex_replace(beat: Callable[[], None], s: str, pattern: str, replacement: str) -> str:
    # expanded here because re2's own expansion mishandles text outside ASCII
    regex = _regex(pattern)
    pieces = _pieces(replacement)
    for piece in pieces:
        if isinstance(piece, int):
            _group(regex, piece)

    length = 0

    def expand(match: Any) -> str:
        nonlocal length
        beat()
        expanded = "".join(p if isinstance(p, str) else match[p] or "" for p in pieces)
        length += len(expanded)
        expect_length(length, s)
        return expanded

    replaced = str(regex.sub(expand, s))
    expect_length(len(replaced), s)
    return replaced


@functools.lru_cache(maxsize=256)
def _pieces(replacement: str) -> tuple[str | int, ...]:
    """A replacement as texts and group numbers."""
    first, *escapes = replacement.split("\\")
    pieces: list[str | int] = [first]
    while escapes:
        escaped = escapes.pop(0)
        if escaped[:1] in tuple("0123456789"):
            pieces += [int(escaped[0]), escaped[1:]]
        elif not escaped and escapes:  # two backslashes in a row
            pieces += ["\\", escapes.pop(0)]
        else:
            raise Undefined(f"{shown(replacement)} has a backslash that no digit or backslash follows")
    return tuple(pieces)


# -- numbers


def _absolute(x: Any) -> Any:
    # abs would round a decimal to the precision of the context
    return x.copy_abs() if isinstance(x, decimal.Decimal) else abs(x)


def _number(x: float) -> float:
    if x is NAN:
        raise Undefined(NO_NUMBER)
    return x


def _sign(x: Any) -> int:
    if x is NAN:
        raise Undefined("NaN has no sign")
    return int(x > 0) - int(x < 0)


_LONG: Final = EXACT.copy()
_LONG.prec = 1000
_DIGITS: Final = 400  # more than any number has on either side of the decimal point


def _whole(to_whole: Callable[[Any], int]) -> Callable[[Type], Plain]:
    """A function to whole numbers, on the values of a type; NaN and infinities are returned unchanged."""

    def on(type_: Type) -> Plain:
        return lambda x: nearest(type_, to_whole(x), 1) if _is_finite(x) else x

    return on


def _is_finite(x: object) -> bool:
    return not isinstance(x, float) or math.isfinite(x)


def _round(type_: Type) -> Plain:
    """Rounds the number as written in decimal, halves away from zero."""

    def apply(x: Value, digits: int = 0) -> Value:
        if not _is_finite(x):
            return x
        unit = decimal.Decimal((0, (1,), -max(-_DIGITS, min(_DIGITS, digits))))
        written = decimal.Decimal(to_text(type_, x), EXACT)
        rounded = written.quantize(unit, decimal.ROUND_HALF_UP, _LONG)
        return nearest(type_, *rounded.as_integer_ratio())

    return apply


# -- any type, options, calendar


def _hash(type_: Type) -> Plain:
    def apply(x: Value) -> int:
        digest = hashlib.blake2b(to_text(type_, x).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    return apply


def _unwrap(option: Value) -> Value:
    if option is None:
        raise Undefined("unwrap of none")
    return option


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


_PLAIN: Final[Mapping[tuple[str, int], Plain]] = {
    ("length", 1): len,
    ("substring", 3): _substring,
    ("contains", 2): lambda s, part: part in s,
    ("starts_with", 2): lambda s, part: s.startswith(part),
    ("ends_with", 2): lambda s, part: s.endswith(part),
    ("index_of", 2): _index_of,
    ("upper", 1): str.upper,
    ("lower", 1): str.lower,
    ("trim", 1): str.strip,
    ("trim_start", 1): str.lstrip,
    ("trim_end", 1): str.rstrip,
    ("pad_start", 3): lambda s, width, fill: _fill(s, width, fill) + s,
    ("pad_end", 3): lambda s, width, fill: s + _fill(s, width, fill),
    ("replace", 3): _replace,
    ("repeat", 2): _repeat,
    ("reverse", 1): lambda s: s[::-1],
    ("split_part", 3): _split_part,
    ("hex", 1): bytes.hex,
    ("unhex", 1): _unhex,
    ("regex_match", 2): _regex_match,
    ("regex_extract", 3): _regex_extract,
    ("abs", 1): _absolute,
    (NUMBER, 1): _number,
    ("sign", 1): _sign,
    ("sqrt", 1): real("sqrt", math.sqrt),
    ("exp", 1): real("exp", math.exp),
    ("ln", 1): real("ln", math.log),
    ("pow", 2): real("pow", math.pow),
    ("some", 1): lambda x: x,
    ("is_none", 1): lambda option: option is None,
    ("is_some", 1): lambda option: option is not None,
    ("unwrap", 1): _unwrap,
    ("unwrap_or", 2): lambda option, otherwise: otherwise if option is None else option,
    ("year", 1): lambda d: d.year,
    ("month", 1): lambda d: d.month,
    ("day", 1): lambda d: d.day,
    ("weekday", 1): lambda d: d.isoweekday(),
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

_BY_TYPE: Final[Mapping[tuple[str, int], Callable[[Type], Plain]]] = {
    ("hash", 1): _hash,
    ("round", 1): _round,
    ("round", 2): _round,
    ("floor", 1): _whole(math.floor),
    ("ceil", 1): _whole(math.ceil),
    ("trunc", 1): _whole(math.trunc),
    **NUMERICS_BY_TYPE,
    **CALENDARS_BY_TYPE,
}

# these take a function to call regularly as their first argument
_LONG_RUNNING: Final[Mapping[tuple[str, int], Plain]] = {
    ("regex_replace", 3): _regex_replace,
    ("xxhash64", 1): xxhash64,
}

_CHOSEN: Final = frozenset([("min", 2), ("max", 2), *_LONG_RUNNING])
IMPLEMENTED: Final = (frozenset(_PLAIN) | frozenset(_BY_TYPE) | _CHOSEN) - {(NUMBER, 1)}
