"""More standard functions on strings as data: reading values, counting, affixes, distance.

`parse_…` reads what `as` reads, and gives `none` where `as` fails.
"""

from __future__ import annotations

from typing import Final

from tidelog.program.library.signatures import StandardFunction, function

__all__ = ["MAX_DISTANCE_WORK", "TEXTS"]

MAX_DISTANCE_WORK: Final = (
    100_000_000  # the product of the lengths of two strings that `levenshtein` compares
)

_READING = (
    function(
        "parse_int(s: string) -> option<int>",
        "The number that `s as int` gives; `none` where that fails, and for -2**63.",
        {
            'parse_int("-42")': "some(-42)",
            'parse_int("4.0")': "none",
            'parse_int(" 4")': "none",
            'parse_int("9223372036854775808")': "none",
        },
    ),
    function(
        "parse_double(s: string) -> option<double>",
        "The number that `s as double` gives; `none` where that fails.",
        {
            'parse_double("1.5e3")': "some(1500.0)",
            'unwrap(parse_double("NaN"))': '"NaN" as double',
            'parse_double("1,5")': "none",
            'parse_double("1e999")': "none",
        },
    ),
    function(
        "parse_bool(s: string) -> option<bool>",
        "The value of `true` and `false`; `none` for every other string.",
        {'parse_bool("true")': "some(true)", 'parse_bool("True")': "none", 'parse_bool("")': "none"},
    ),
    function(
        "parse_date(s: string) -> option<date>",
        "The date that `s as date` gives; `none` where that fails.",
        {
            'unwrap(parse_date("2024-02-29"))': '"2024-02-29" as date',
            'parse_date("2023-02-29")': "none",
            'parse_date("29.2.2024")': "none",
        },
    ),
    function(
        "parse_timestamp(s: string) -> option<timestamp>",
        "The point in time that `s as timestamp` gives; `none` where that fails.",
        {
            'unwrap(parse_timestamp("2024-02-29T13:14:15Z"))': '"2024-02-29T13:14:15Z" as timestamp',
            'parse_timestamp("2024-02-29T25:00:00Z")': "none",
            'parse_timestamp("noon")': "none",
        },
    ),
    function(
        "is_blank(s: string) -> bool",
        "Whether `s` is empty or only whitespace, as `trim` removes it.",
        {'is_blank("")': "true", 'is_blank(" \\t\\u{3000}")': "true", 'is_blank(" a ")': "false"},
    ),
    function(
        "count_of(s: string, part: string) -> int",
        "How often `part` occurs in `s`, from the start, without overlap. Fails if `part` is empty.",
        {'count_of("banana", "an")': "2", 'count_of("aaa", "aa")': "1", 'count_of("a", "")': None},
    ),
    function(
        "strip_prefix(s: string, prefix: string) -> option<string>",
        "`s` without `prefix` at its start; `none` if it does not start with it.",
        {
            'strip_prefix("tidelog", "tide")': 'some("log")',
            'strip_prefix("tidelog", "log")': "none",
            'strip_prefix("a", "")': 'some("a")',
        },
    ),
    function(
        "strip_suffix(s: string, suffix: string) -> option<string>",
        "`s` without `suffix` at its end; `none` if it does not end with it.",
        {
            'strip_suffix("tidelog", "log")': 'some("tide")',
            'strip_suffix("tidelog", "tide")': "none",
            'strip_suffix("a", "")': 'some("a")',
        },
    ),
    function(
        "levenshtein(a: string, b: string) -> int",
        "The smallest number of code points to insert, delete or replace to turn `a` into `b`. Fails if the "
        "product of their lengths exceeds 100,000,000.",
        {
            'levenshtein("kitten", "sitting")': "3",
            'levenshtein("naïve", "naive")': "1",
            'levenshtein("", "abc")': "3",
            'levenshtein(repeat("a", 20000), repeat("b", 20000))': None,
        },
    ),
)

TEXTS: Final[dict[str, tuple[StandardFunction, ...]]] = {"Reading and comparing text": _READING}
