"""The standard functions as data: signature, meaning, examples, by group.

This is the only specification of the functions. Every engine implements them, and each example is a test that
all engines must pass; the examples include the edge cases that are easiest to get wrong. Overloads of a name
differ in their number of parameters, so a call alone identifies the overload.
"""

from __future__ import annotations

from typing import Final

from tidelog.program.library.signatures import Kind, StandardFunction, function

__all__ = ["GROUPS"]

_TEXT = (
    function(
        "length(s: T) -> int",
        "The number of code points in a string, or the number of bytes.",
        {'length("naïve")': "5", 'length("")': "0", 'length("\\u{1F600}")': "1", 'length(x"00ff")': "2"},
        Kind.TEXT,
    ),
    function(
        "substring(s: string, start: int, count: int) -> string",
        "Up to `count` code points, starting at position `start`. Fails if either is negative.",
        {
            'substring("naïve", 2, 2)': '"ïv"',
            'substring("abc", 2, 5)': '"c"',
            'substring("abc", 3, 1)': '""',
            'substring("abc", -1, 1)': None,
        },
    ),
    function(
        "contains(s: string, part: string) -> bool",
        "Whether `part` occurs in `s`.",
        {'contains("tidelog", "log")': "true", 'contains("a", "b")': "false", 'contains("a", "")': "true"},
    ),
    function(
        "starts_with(s: string, part: string) -> bool",
        "Whether `s` begins with `part`.",
        {'starts_with("tidelog", "tide")': "true", 'starts_with("", "a")': "false"},
    ),
    function(
        "ends_with(s: string, part: string) -> bool",
        "Whether `s` ends with `part`.",
        {'ends_with("tidelog", "log")': "true", 'ends_with("", "a")': "false"},
    ),
    function(
        "index_of(s: string, part: string) -> option<int>",
        "The position of the first occurrence of `part`, from 0; `none` if there is no occurrence.",
        {'index_of("naïve", "v")': "some(3)", 'index_of("abc", "z")': "none", 'index_of("", "")': "some(0)"},
    ),
    function(
        "upper(s: string) -> string",
        "`s` in upper case, by the full Unicode case mapping.",
        {'upper("naïve")': '"NAÏVE"', 'upper("ß")': '"SS"'},
    ),
    function(
        "lower(s: string) -> string",
        "`s` in lower case, by the full Unicode case mapping.",
        {'lower("NAÏVE")': '"naïve"', 'lower("")': '""'},
    ),
    function(
        "trim(s: string) -> string",
        "`s` without whitespace at both ends: spaces, tabs, line breaks and other Unicode whitespace.",
        {'trim("  a b\\n")': '"a b"', 'trim("\\u{3000}")': '""'},
    ),
    function(
        "trim_start(s: string) -> string",
        "`s` without whitespace at the start.",
        {'trim_start("  a ")': '"a "', 'trim_start("")': '""'},
    ),
    function(
        "trim_end(s: string) -> string",
        "`s` without whitespace at the end.",
        {'trim_end("  a ")': '"  a"', 'trim_end("\\t")': '""'},
    ),
    function(
        "pad_start(s: string, width: int, fill: string) -> string",
        "`s` padded at the start to `width` code points; never truncated. Fails if `fill` is empty.",
        {
            'pad_start("7", 3, "0")': '"007"',
            'pad_start("12345", 3, "0")': '"12345"',
            'pad_start("a", 4, "xy")': '"xyxa"',
            'pad_start("a", 4, "")': None,
        },
    ),
    function(
        "pad_end(s: string, width: int, fill: string) -> string",
        "`s` padded at the end to `width` code points; never truncated. Fails if `fill` is empty.",
        {'pad_end("7", 3, ".")': '"7.."', 'pad_end("a", 0, ".")': '"a"', 'pad_end("a", 4, "xy")': '"axyx"'},
    ),
    function(
        "replace(s: string, old: string, new: string) -> string",
        "`s` with every `old` replaced by `new`, from the start, without overlap. Fails if `old` is empty, "
        "or if the result is longer than `s` and exceeds 16,777,216 code points.",
        {'replace("banana", "ana", "-")': '"b-na"', 'replace("a", "", "-")': None},
    ),
    function(
        "repeat(s: string, count: int) -> string",
        "`s` repeated `count` times. Fails if `count` is negative or the result exceeds 16,777,216 "
        "code points.",
        {'repeat("ab", 3)': '"ababab"', 'repeat("ab", 0)': '""', 'repeat("ab", -1)': None},
    ),
    function(
        "reverse(s: string) -> string",
        "The code points of `s` in reverse order.",
        {'reverse("abc")': '"cba"', 'reverse("")': '""'},
    ),
    function(
        "split_part(s: string, separator: string, index: int) -> string",
        'The part at `index`, from 0; `""` after the last. Fails if `index` is negative or `separator` is '
        "empty.",
        {
            'split_part("a,b,,c", ",", 1)': '"b"',
            'split_part("a,b", ",", 2)': '""',
            'split_part("a,b", ",", -1)': None,
            'split_part("a,b", "", 0)': None,
        },
    ),
    function(
        "hex(b: bytes) -> string",
        "Two hexadecimal digits for each byte.",
        {'hex(x"00ff")': '"00ff"', 'hex(x"")': '""'},
    ),
    function(
        "unhex(s: string) -> bytes",
        "The bytes that pairs of hexadecimal digits denote. Fails for any other string.",
        {'unhex("00fF")': 'x"00ff"', 'unhex("0")': None, 'unhex("00 ff")': None},
    ),
)

_REGEX = (
    function(
        "regex_match(s: string, pattern: string) -> bool",
        "Whether the pattern matches anywhere in `s`.",
        {
            'regex_match("tide 42", "[0-9]+")': "true",
            'regex_match("tide 42", "^[0-9]+$")': "false",
            'regex_match("a", "(")': None,
        },
    ),
    function(
        "regex_extract(s: string, pattern: string, group: int) -> option<string>",
        "The text of a group in the first match (0 is the whole match); `none` if there is no match or the "
        "group is not part of it.",
        {
            'regex_extract("id=42;", "id=([0-9]+)", 1)': 'some("42")',
            'regex_extract("id=", "id=([0-9]+)", 1)': "none",
            'regex_extract("b", "(a)|b", 1)': "none",
            'regex_extract("b", "b", 1)': None,
        },
    ),
    function(
        "regex_replace(s: string, pattern: string, replacement: string) -> string",
        r"`s` with every match replaced. In the replacement, `\0` to `\9` are groups and `\\` is a backslash."
        " Fails if the result is longer than `s` and exceeds 16,777,216 code points.",
        {
            'regex_replace("ada lovelace", "([a-z]+) ([a-z]+)", "\\\\2, \\\\1")': '"lovelace, ada"',
            'regex_replace("naïve", "[^a-z]", "i")': '"naive"',
            'regex_replace("ab", "x*", "-")': '"-a-b-"',
            'regex_replace("a", "a", "\\\\1")': None,
        },
    ),
)

_NUMBERS = (
    function(
        "abs(x: T) -> T",
        "The absolute value. Overflows for the smallest number of a signed integer type.",
        {"abs(-3)": "3", "abs(-1.5)": "1.5", "abs(-9223372036854775807 - 1)": None},
        Kind.NUMBER,
    ),
    function(
        "sign(x: T) -> int",
        "The sign: -1, 0 or 1. Fails for NaN.",
        {"sign(-2.5)": "-1", "sign(0)": "0", 'sign("NaN" as double)': None},
        Kind.NUMBER,
    ),
    function(
        "round(x: T) -> T",
        "`x` rounded to the nearest whole number, half away from zero.",
        {"round(2.5)": "3.0", "round(-2.5)": "-3.0", "round(2.4)": "2.0"},
        Kind.FRACTIONAL,
    ),
    function(
        "round(x: T, digits: int) -> T",
        "`x`, as written in decimal, rounded to `digits` places after the point (negative: before it), "
        "half away from zero.",
        {
            "round(2.675, 2)": "2.68",
            "round(1250.0, -2)": "1300.0",
            "round(2.345 as decimal(5, 3), 2)": "2.350 as decimal(5, 3)",
            "round(9.99 as decimal(3, 2), 1)": None,
        },
        Kind.FRACTIONAL,
    ),
    function(
        "floor(x: T) -> T",
        "The largest whole number that is not greater than `x`.",
        {"floor(2.7)": "2.0", "floor(-2.1)": "-3.0"},
        Kind.FRACTIONAL,
    ),
    function(
        "ceil(x: T) -> T",
        "The smallest whole number that is not less than `x`.",
        {"ceil(2.1)": "3.0", "ceil(-2.7)": "-2.0", "ceil(9.99 as decimal(3, 2))": None},
        Kind.FRACTIONAL,
    ),
    function(
        "sqrt(x: double) -> double",
        "The square root. Fails for a negative number.",
        {"sqrt(2.0)": "1.4142135623730951", "sqrt(0.0)": "0.0", "sqrt(-1.0)": None},
    ),
    function(
        "exp(x: double) -> double",
        "e to the power of `x`.",
        {"exp(0.0)": "1.0", "exp(1.0)": "2.718281828459045", "exp(1000.0)": None},
    ),
    function(
        "ln(x: double) -> double",
        "The natural logarithm. Fails for zero and negative numbers.",
        {"ln(1.0)": "0.0", "ln(10.0)": "2.302585092994046", "ln(0.0)": None},
    ),
    function(
        "pow(x: double, y: double) -> double",
        "`x` to the power of `y`. Fails if the result is not a number or not finite.",
        {"pow(2.0, 10.0)": "1024.0", "pow(0.0, 0.0)": "1.0", "pow(-8.0, 0.5)": None, "pow(0.0, -1.0)": None},
    ),
)

_ANY = (
    function(
        "min(a: T, b: T) -> T",
        "The smaller of two values, in the order of their type (NaN is last).",
        {"min(2, 1)": "1", 'min("b", "B")': '"B"', 'min(1.0, "NaN" as double)': "1.0"},
    ),
    function(
        "max(a: T, b: T) -> T",
        "The larger of two values, in the order of their type (NaN is last).",
        {"max(2, 1)": "2", "max(false, true)": "true", 'max(1.0, "NaN" as double)': '"NaN" as double'},
    ),
    function(
        "hash(x: T) -> int",
        "A stable hash: 8 bytes of BLAKE2b over the value's text in UTF-8, as a signed big-endian number.",
        {
            'hash("")': "-1970711489451281740",
            "hash(1)": "-649571662916077706",
            'hash("naïve")': "-4687569281856353060",
        },
    ),
)

_OPTIONS = (
    function(
        "some(x: T) -> option<T>",
        "The value, as an option.",
        {"unwrap(some(5))": "5", 'is_some(some(""))': "true"},
    ),
    function(
        "is_none(o: option<T>) -> bool",
        "Whether there is no value.",
        {'is_none(index_of("a", "b"))': "true", "is_none(some(0))": "false"},
    ),
    function(
        "is_some(o: option<T>) -> bool",
        "Whether there is a value.",
        {'is_some(index_of("a", "b"))': "false", "is_some(some(0))": "true"},
    ),
    function(
        "unwrap(o: option<T>) -> T",
        "The value. Fails for `none`.",
        {"unwrap(some(5))": "5", 'unwrap(index_of("a", "b"))': None},
    ),
    function(
        "unwrap_or(o: option<T>, otherwise: T) -> T",
        "The value, or `otherwise` if there is none.",
        {"unwrap_or(some(5), 0)": "5", 'unwrap_or(index_of("a", "b"), -1)': "-1"},
    ),
)

_CALENDAR = (
    function(
        "year(d: T) -> int",
        "The year, in UTC.",
        {'year("2024-02-29" as date)': "2024", 'year("1969-12-31T23:59:59Z" as timestamp)': "1969"},
        Kind.CALENDAR,
    ),
    function(
        "month(d: T) -> int",
        "The month, 1 to 12, in UTC.",
        {'month("2024-02-29" as date)': "2", 'month("2024-01-01T00:30:00+01:00" as timestamp)': "12"},
        Kind.CALENDAR,
    ),
    function(
        "day(d: T) -> int",
        "The day of the month, 1 to 31, in UTC.",
        {'day("2024-02-29" as date)': "29", 'day("2024-01-01T00:30:00+01:00" as timestamp)': "31"},
        Kind.CALENDAR,
    ),
    function(
        "weekday(d: T) -> int",
        "The day of the week, from Monday as 1 to Sunday as 7, in UTC.",
        {'weekday("2024-02-26" as date)': "1", 'weekday("2024-03-03" as date)': "7"},
        Kind.CALENDAR,
    ),
    function(
        "hour(t: timestamp) -> int",
        "The hour, 0 to 23, in UTC.",
        {'hour("2024-02-29T13:14:15Z" as timestamp)': "13", 'hour(("2024-02-29" as date) as timestamp)': "0"},
    ),
    function(
        "minute(t: timestamp) -> int",
        "The minute, 0 to 59.",
        {
            'minute("2024-02-29T13:14:15Z" as timestamp)': "14",
            'minute("2024-02-29T05:30:00+05:30" as timestamp)': "0",
        },
    ),
    function(
        "second(t: timestamp) -> int",
        "The second, 0 to 59, without its fraction.",
        {'second("2024-02-29T13:14:15.999Z" as timestamp)': "15", "second((-1) as timestamp)": "59"},
    ),
    function(
        "make_date(year: int, month: int, day: int) -> date",
        "The date. Fails if it does not exist or is outside the years 1 to 9999.",
        {"make_date(2024, 2, 29)": '"2024-02-29" as date', "make_date(2023, 2, 29)": None},
    ),
    function(
        "add_days(d: date, days: int) -> date",
        "The date `days` later, or earlier if negative. Fails if the result is outside the years 1 to 9999.",
        {
            'add_days("2024-02-28" as date, 2)': '"2024-03-01" as date',
            'add_days("2024-03-01" as date, -1)': '"2024-02-29" as date',
            'add_days("9999-12-31" as date, 1)': None,
        },
    ),
    function(
        "days_between(start: date, end: date) -> int",
        "The number of days from `start` to `end`, negative if `end` is before `start`.",
        {
            'days_between("2024-02-28" as date, "2024-03-01" as date)': "2",
            'days_between("2024-03-01" as date, "2024-02-28" as date)': "-2",
        },
    ),
)

GROUPS: Final[dict[str, tuple[StandardFunction, ...]]] = {
    "Text": _TEXT,
    "Regular expressions": _REGEX,
    "Numbers": _NUMBERS,
    "Values of any type": _ANY,
    "Options": _OPTIONS,
    "Dates and times": _CALENDAR,
}
