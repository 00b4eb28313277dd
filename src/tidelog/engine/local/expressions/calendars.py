"""Standard functions on dates and times: the plain form of each.

A timestamp is a `datetime` in UTC, which is also a `date`. Nothing depends on the locale: names are English.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.expressions.expectations import expect_length
from tidelog.engine.local.expressions.operations import Plain, Undefined
from tidelog.errors import shown

__all__ = ["CALENDARS", "CALENDARS_BY_TYPE"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _last_day(d: date) -> date:
    for day in (31, 30, 29):
        try:
            return d.replace(day=day)
        except ValueError:
            continue
    return d.replace(day=28)


def _make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime:
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError):
        text = f"{year}-{month}-{day}T{hour}:{minute}:{second}"
        raise Undefined(f"{text} is not a valid timestamp") from None


def _from_epoch_seconds(seconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise Undefined(f"{seconds} seconds after 1970 is outside the years 1 to 9999") from None


# -- truncation

_STARTS: Final[Mapping[str, Callable[[date], date]]] = {
    "year": lambda d: d.replace(month=1, day=1),
    "quarter": lambda d: d.replace(month=(d.month - 1) // 3 * 3 + 1, day=1),
    "month": lambda d: d.replace(day=1),
    "week": lambda d: d - timedelta(days=d.weekday()),  # the first day of year 1 is a Monday
    "day": lambda d: d,
}
_CLOCK_STARTS: Final[Mapping[str, Callable[[datetime], datetime]]] = {
    "hour": lambda t: t.replace(minute=0, second=0, microsecond=0),
    "minute": lambda t: t.replace(second=0, microsecond=0),
    "second": lambda t: t.replace(microsecond=0),
}


def _date_trunc(type_: Type) -> Plain:
    is_date = isinstance(type_, types.Date)

    def apply(d: date, unit: str) -> date:
        if unit in _STARTS:
            start = _STARTS[unit](d)
            return datetime(start.year, start.month, start.day, tzinfo=UTC) if not is_date else start
        if isinstance(d, datetime) and unit in _CLOCK_STARTS:
            return _CLOCK_STARTS[unit](d)
        raise Undefined(f"{shown(unit)} is not a unit of a {type_}")

    return apply


# -- formatting


def _clock(field: str, digits: int) -> Callable[[date], str]:
    """A field of the time of day, which is zero for a date."""
    return lambda d: f"{getattr(d, field, 0):0{digits}}"


_CODES: Final[Mapping[str, Callable[[date], str]]] = {
    "Y": lambda d: f"{d.year:04}",
    "G": lambda d: f"{d.isocalendar().year:04}",
    "m": lambda d: f"{d.month:02}",
    "d": lambda d: f"{d.day:02}",
    "H": _clock("hour", 2),
    "M": _clock("minute", 2),
    "S": _clock("second", 2),
    "f": _clock("microsecond", 6),
    "V": lambda d: f"{d.isocalendar().week:02}",
    "j": lambda d: f"{d.timetuple().tm_yday:03}",
    "u": lambda d: str(d.isoweekday()),
    "a": lambda d: _WEEKDAYS[d.weekday()][:3],
    "A": lambda d: _WEEKDAYS[d.weekday()],
    "b": lambda d: _MONTHS[d.month - 1][:3],
    "B": lambda d: _MONTHS[d.month - 1],
    "%": lambda _: "%",
}


def _format_date(d: date, pattern: str) -> str:
    first, *coded = pattern.split("%")
    parts = [first]
    pieces = iter(coded)
    for piece in pieces:
        code, rest = (piece[0], piece[1:]) if piece else ("%", next(pieces, None))  # or two percent signs
        if rest is None or code not in _CODES:
            raise Undefined(f"{shown(pattern)} has an unknown code {shown('%' + piece[:1])}")
        parts += [_CODES[code](d), rest]
    expect_length(sum(map(len, parts)), pattern)
    return "".join(parts)


CALENDARS: Final[Mapping[tuple[str, int], Plain]] = {
    ("quarter", 1): lambda d: (d.month + 2) // 3,
    ("week", 1): lambda d: d.isocalendar().week,
    ("week_year", 1): lambda d: d.isocalendar().year,
    ("day_of_year", 1): lambda d: d.timetuple().tm_yday,
    ("last_day", 1): _last_day,
    ("format_date", 2): _format_date,
    ("make_timestamp", 6): _make_timestamp,
    ("epoch_seconds", 1): lambda t: (t - _EPOCH) // timedelta(seconds=1),
    ("from_epoch_seconds", 1): _from_epoch_seconds,
}

CALENDARS_BY_TYPE: Final[Mapping[tuple[str, int], Callable[[Type], Plain]]] = {
    ("date_trunc", 2): _date_trunc,
}
