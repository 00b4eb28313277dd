"""More standard functions on dates and times as data. All are in UTC and the Gregorian calendar."""

from __future__ import annotations

from typing import Final

from tidelog.program.library.signatures import Kind, StandardFunction, function

__all__ = ["CALENDARS"]

_CALENDAR = (
    function(
        "quarter(d: T) -> int",
        "The quarter of the year, 1 to 4, in UTC.",
        {'quarter("2024-03-31" as date)': "1", 'quarter("2024-12-31T23:59:59Z" as timestamp)': "4"},
        Kind.CALENDAR,
    ),
    function(
        "week(d: T) -> int",
        "The week of ISO 8601, 1 to 53, in UTC. Weeks start on Monday; week 1 has the first Thursday of its "
        "`week_year`.",
        {
            'week("2024-01-01" as date)': "1",
            'week("2023-01-01" as date)': "52",
            'week("2020-12-31" as date)': "53",
        },
        Kind.CALENDAR,
    ),
    function(
        "week_year(d: T) -> int",
        "The year that the week of ISO 8601 belongs to, in UTC. It differs from `year` on some days around "
        "New Year.",
        {'week_year("2023-01-01" as date)': "2022", 'week_year("2024-12-30" as date)': "2025"},
        Kind.CALENDAR,
    ),
    function(
        "day_of_year(d: T) -> int",
        "The day of the year, 1 to 366, in UTC.",
        {'day_of_year("2024-12-31" as date)': "366", 'day_of_year("2023-03-01" as date)': "60"},
        Kind.CALENDAR,
    ),
    function(
        "last_day(d: date) -> date",
        "The last day of the month.",
        {
            'last_day("2024-02-01" as date)': '"2024-02-29" as date',
            'last_day("9999-12-31" as date)': '"9999-12-31" as date',
        },
    ),
    function(
        "date_trunc(d: T, unit: string) -> T",
        "The start of the `year`, `quarter`, `month`, `week` (Monday) or `day` of `d`, in UTC; of a "
        "timestamp also of the `hour`, `minute` or `second`. Fails for any other unit.",
        {
            'date_trunc("2024-02-29" as date, "month")': '"2024-02-01" as date',
            'date_trunc("2024-02-29" as date, "week")': '"2024-02-26" as date',
            'date_trunc("2024-02-29T13:14:15Z" as timestamp, "hour")': '"2024-02-29T13:00:00Z" as timestamp',
            'date_trunc("2024-02-29" as date, "hour")': None,
            'date_trunc("2024-02-29" as date, "Month")': None,
        },
        Kind.CALENDAR,
    ),
    function(
        "format_date(d: T, pattern: string) -> string",
        "`pattern` with its codes replaced: `%Y` year and `%G` week year (4 digits), `%m` month, `%d` day, "
        "`%H` hour, `%M` minute, `%S` second, `%V` week (2 digits), `%j` day of the year (3 digits), `%f` "
        "microsecond (6 digits), `%u` weekday (1 to 7), `%a` and `%A` name of the weekday, `%b` and `%B` "
        "name of the month (in English, short and full), `%%` a percent sign. Fails for any other code, and "
        "if the result is longer than `pattern` and exceeds 16,777,216 code points.",
        {
            'format_date("2024-02-29" as date, "%d %b %Y")': '"29 Feb 2024"',
            'format_date("0001-01-01" as date, "%Y/%j, %A %H:%M")': '"0001/001, Monday 00:00"',
            'format_date("2024-02-29T13:14:15.5Z" as timestamp, "%H:%M:%S.%f")': '"13:14:15.500000"',
            'format_date("2024-02-29" as date, "100%%")': '"100%"',
            'format_date("2024-02-29" as date, "%x")': None,
            'format_date("2024-02-29" as date, "%")': None,
        },
        Kind.CALENDAR,
    ),
    function(
        "make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: int) -> timestamp",
        "The point in time, in UTC. Fails if it does not exist or is outside the years 1 to 9999.",
        {
            "make_timestamp(2024, 2, 29, 13, 14, 15)": '"2024-02-29T13:14:15Z" as timestamp',
            "make_timestamp(2024, 2, 29, 24, 0, 0)": None,
            "make_timestamp(2023, 2, 29, 0, 0, 0)": None,
        },
    ),
    function(
        "epoch_seconds(t: timestamp) -> int",
        "The seconds since 1970-01-01T00:00:00Z, rounded down.",
        {
            'epoch_seconds("2024-02-29T13:14:15.9Z" as timestamp)': "1709212455",
            "epoch_seconds((-1) as timestamp)": "-1",
        },
    ),
    function(
        "from_epoch_seconds(seconds: int) -> timestamp",
        "The point in time so many seconds after 1970-01-01T00:00:00Z. Fails outside the years 1 to 9999.",
        {
            "from_epoch_seconds(1709212455)": '"2024-02-29T13:14:15Z" as timestamp',
            "from_epoch_seconds(-1)": '"1969-12-31T23:59:59Z" as timestamp',
            "from_epoch_seconds(253402300800)": None,
        },
    ),
)


def _of_unit(unit: str) -> StandardFunction:
    return function(
        f"{unit}(n: int) -> duration",
        f"A duration of `n` {unit}. Fails if it does not fit.",
        {f"{unit}(3)": f"3 {unit}", f"{unit}(-1)": f"-1 {unit}"},
    )


_DURATIONS = (
    function(
        "bucket(t: timestamp, width: duration) -> timestamp",
        "The start of the bucket that `t` is in: buckets of this width follow each other, and one starts at "
        "1970-01-01T00:00:00Z. Fails if `width` is not positive or the start is before the year 1.",
        {
            'bucket("2024-02-29T13:14:15Z" as timestamp, 15 minutes)': '"2024-02-29T13:00:00Z" as timestamp',
            'bucket("1969-12-31T23:59:59Z" as timestamp, 1 day)': '"1969-12-31T00:00:00Z" as timestamp',
            'bucket("2024-02-29T13:14:15Z" as timestamp, 0 s)': None,
        },
    ),
    function(
        "total_seconds(d: duration) -> double",
        "The length in seconds, rounded once; negative if `d` is.",
        {"total_seconds(90 minutes)": "5400.0", "total_seconds(-1 ms)": "-0.001"},
    ),
    *map(_of_unit, ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds")),
)

CALENDARS: Final[dict[str, tuple[StandardFunction, ...]]] = {"Calendar": _CALENDAR, "Durations": _DURATIONS}
