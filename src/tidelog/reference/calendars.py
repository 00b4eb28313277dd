"""Standard functions on dates and times, in plain Python.

They count days from the first of January of year 1, a Monday, and do not use what Python knows of weeks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Value
from tidelog.errors import shown
from tidelog.program.library.catalog import MAX_TEXT
from tidelog.reference.convert import Undefined

__all__ = ["CALENDARS", "CALENDARS_BY_TYPE"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK: Final = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}  # microseconds
_WEEKDAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS: Final = (
    "January February March April May June July August September October November December"
).split()


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _new_year(year: int) -> int:
    """The number of the first day of a year; it is 0 in year 1."""
    before = year - 1
    return 365 * before + before // 4 - before // 100 + before // 400


def _number(d: date) -> int:
    return _new_year(d.year) + _day_of_year(d) - 1


def _day_of_year(d: date) -> int:
    return sum(_length(d.year, month) for month in range(1, d.month)) + d.day


def _length(year: int, month: int) -> int:
    if month == 2:
        return 29 if _is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _week(d: date) -> tuple[int, int]:
    """The year and the week of ISO 8601: those of the Thursday of the week."""
    thursday = _number(d) // 7 * 7 + 3
    year = max(y for y in (d.year - 1, d.year, d.year + 1) if _new_year(y) <= thursday)
    return year, (thursday - _new_year(year)) // 7 + 1


def _last_day(d: date) -> date:
    return date(d.year, d.month, _length(d.year, d.month))


def _make_timestamp(*fields: int) -> datetime:
    try:
        return datetime(*fields, tzinfo=UTC)  # type: ignore[arg-type, misc]
    except (ValueError, OverflowError):
        year, month, day, hour, minute, second = fields
        text = f"{year}-{month}-{day}T{hour}:{minute}:{second}"
        raise Undefined(f"{text} is not a valid timestamp") from None


def _from_epoch_seconds(seconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise Undefined(f"{seconds} seconds after 1970 is outside the years 1 to 9999") from None


def _epoch_seconds(t: datetime) -> int:
    since = t - _EPOCH
    return since.days * 86_400 + since.seconds


def _date_trunc(type_: Type, d: date, unit: str) -> date:
    match unit:
        case "year":
            start = date(d.year, 1, 1)
        case "quarter":
            start = date(d.year, (1, 4, 7, 10)[(d.month - 1) // 3], 1)
        case "month":
            start = date(d.year, d.month, 1)
        case "week":
            start = date.fromordinal(_number(d) // 7 * 7 + 1)
        case "day":
            start = date(d.year, d.month, d.day)
        case "hour" | "minute" | "second" if isinstance(d, datetime):
            since = (d - _EPOCH) // timedelta(microseconds=1)
            return _EPOCH + timedelta(microseconds=since - since % _CLOCK[unit])
        case _:
            raise Undefined(f"{shown(unit)} is not a unit of a {type_}")
    return (
        start if isinstance(type_, types.Date) else datetime(start.year, start.month, start.day, tzinfo=UTC)
    )


def _format_date(d: date, pattern: str) -> str:
    def field(match: re.Match[str]) -> str:
        code = match[1]
        if code not in known:
            raise Undefined(f"{shown(pattern)} has an unknown code {shown(match[0])}")
        return known[code]

    known = _fields(d)
    text = re.sub("%(.?)", field, pattern, flags=re.DOTALL)
    if len(text) > max(MAX_TEXT, len(pattern)):
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")
    return text


def _fields(d: date) -> dict[str, str]:
    t = d if isinstance(d, datetime) else datetime(d.year, d.month, d.day, tzinfo=UTC)
    year, week = _week(d)
    weekday = _number(d) % 7
    return {
        "Y": str(d.year).rjust(4, "0"),
        "G": str(year).rjust(4, "0"),
        "m": str(d.month).rjust(2, "0"),
        "d": str(d.day).rjust(2, "0"),
        "H": str(t.hour).rjust(2, "0"),
        "M": str(t.minute).rjust(2, "0"),
        "S": str(t.second).rjust(2, "0"),
        "f": str(t.microsecond).rjust(6, "0"),
        "V": str(week).rjust(2, "0"),
        "j": str(_day_of_year(d)).rjust(3, "0"),
        "u": str(weekday + 1),
        "a": _WEEKDAYS[weekday][:3],
        "A": _WEEKDAYS[weekday],
        "b": _MONTHS[d.month - 1][:3],
        "B": _MONTHS[d.month - 1],
        "%": "%",
    }


CALENDARS: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("quarter", 1): lambda d: 1 + (d.month > 3) + (d.month > 6) + (d.month > 9),
    ("week", 1): lambda d: _week(d)[1],
    ("week_year", 1): lambda d: _week(d)[0],
    ("day_of_year", 1): _day_of_year,
    ("last_day", 1): _last_day,
    ("format_date", 2): _format_date,
    ("make_timestamp", 6): _make_timestamp,
    ("epoch_seconds", 1): _epoch_seconds,
    ("from_epoch_seconds", 1): _from_epoch_seconds,
}

CALENDARS_BY_TYPE: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {("date_trunc", 2): _date_trunc}
