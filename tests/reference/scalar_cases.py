"""Calls of standard functions on text, numbers, the calendar and the web, and what they give."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, canonical
from tidelog.program.library.catalog import Applied, Closure, ParamType, TypeVariable, lookup
from tidelog.program.typed import Call, Constant
from tidelog.reference.evaluate import Failure

FAILS = Failure("for any reason")
FIRST, LAST = date.min, date.max
DAWN = datetime.min.replace(tzinfo=UTC)
DUSK = datetime.max.replace(tzinfo=UTC)
MOMENT = datetime(1969, 12, 31, 23, 59, 58, 999_999, tzinfo=UTC)
MOST = timedelta(microseconds=2**63 - 1)
LONG = "x" * 100_000
DNS = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

TEXTS: list[tuple[str, tuple[object, ...], object]] = [
    ("parse_int", ("",), None),
    ("parse_int", ("+7",), 7),
    ("parse_int", ("1_000",), None),
    ("parse_int", ("٣",), None),
    ("parse_int", (str(-(2**63)),), None),
    ("parse_int", (str(1 - 2**63),), 1 - 2**63),
    ("parse_int", ("9" * 10_000,), None),
    ("parse_double", ("Infinity",), math.inf),
    ("parse_double", ("inf",), None),
    ("parse_double", ("-0",), 0.0),
    ("parse_double", (LONG,), None),
    ("parse_bool", ("false",), False),
    ("parse_bool", ("1",), None),
    ("parse_date", ("0001-01-01",), FIRST),
    ("parse_date", ("9999-12-31",), LAST),
    ("parse_date", ("10000-01-01",), None),
    ("parse_date", ("2024-W01-1",), None),
    ("parse_timestamp", ("9999-12-31T23:59:59.999999Z",), DUSK),
    ("parse_timestamp", ("0001-01-01T00:00:00+01:00",), None),
    ("parse_timestamp", ("",), None),
    ("is_blank", ("\u2003\n",), True),
    ("is_blank", ("\u200b",), False),
    ("count_of", ("", "a"), 0),
    ("count_of", (LONG, "xx"), 50_000),
    ("count_of", ("", ""), FAILS),
    ("strip_prefix", ("", ""), ""),
    ("strip_prefix", ("a", "ab"), None),
    ("strip_prefix", ("aaa", "a"), "aa"),
    ("strip_suffix", ("a", "ba"), None),
    ("strip_suffix", ("aaa", "a"), "aa"),
    ("levenshtein", ("", ""), 0),
    ("levenshtein", (LONG, ""), 100_000),
    ("levenshtein", ("abc", "cba"), 2),
    ("levenshtein", ("\U0001f600", "a"), 1),
    ("levenshtein", (LONG, LONG), FAILS),
]

NUMBERS: list[tuple[str, tuple[object, ...], object]] = [
    ("div_floor", (-7, -2), 3),
    ("div_floor", (-(2**63), -1), FAILS),
    ("div_floor", (0, 0), FAILS),
    ("mod_floor", (-(2**63), -1), 0),
    ("mod_floor", (-(2**63), 2**63 - 1), 2**63 - 2),
    ("mod_floor", (5, 0), FAILS),
    ("gcd", (-4, -6), 2),
    ("gcd", (-(2**63), -(2**63)), FAILS),
    ("lcm", (0, 0), 0),
    ("lcm", (2**62, 3), FAILS),
    ("bit_count", (0,), 0),
    ("bit_count", (-(2**63),), 1),
    ("clamp", ("b", "c", "d"), "c"),
    ("clamp", (math.nan, 0.0, math.nan), NAN),
    ("clamp", (1.0, math.nan, 2.0), FAILS),
    ("trunc", (-0.5,), 0.0),
    ("trunc", (math.inf,), math.inf),
    ("trunc", (Decimal("-1.99"),), Decimal("-1.00")),
    ("is_nan", (math.inf,), False),
    ("is_nan", (math.nan,), True),
    ("is_finite", (-math.inf,), False),
    ("is_finite", (1e308,), True),
    ("log10", (1e-5,), -5.0),
    ("log10", (math.nan,), NAN),
    ("log2", (5e-324,), -1074.0),
    ("log2", (math.inf,), math.inf),
    ("log", (math.inf, math.inf), NAN),
    ("log", (8.0, 0.5), -3.0),
    ("log", (1.0, 1.0), FAILS),
    ("log", (1.0, 0.0), FAILS),
    ("log", (2.0, -2.0), FAILS),
    ("cbrt", (5e-324,), 1.7031839360032603e-108),
    ("cbrt", (-(2.0**999),), -(2.0**333)),
    ("cbrt", (math.inf,), math.inf),
    ("cbrt", (math.nan,), NAN),
    ("pi", (), math.pi),
    ("radians", (-360.0,), -2 * math.pi),
    ("degrees", (math.inf,), math.inf),
    ("degrees", (1e308,), FAILS),
    ("sin", (-0.0,), 0.0),
    ("sin", (-math.inf,), FAILS),
    ("cos", (math.nan,), NAN),
    ("tan", (math.inf,), FAILS),
    ("asin", (-1.0,), -math.pi / 2),
    ("asin", (math.inf,), FAILS),
    ("acos", (2.0,), FAILS),
    ("atan", (-math.inf,), -math.pi / 2),
    ("atan2", (-0.0, -1.0), math.pi),
    ("atan2", (math.inf, math.inf), math.pi / 4),
    ("sinh", (-1000.0,), FAILS),
    ("cosh", (-1000.0,), FAILS),
    ("tanh", (1000.0,), 1.0),
]

CALENDAR: list[tuple[str, tuple[object, ...], object]] = [
    ("quarter", (LAST,), 4),
    ("quarter", (DAWN,), 1),
    ("week", (FIRST,), 1),
    ("week", (LAST,), 52),
    ("week", (MOMENT,), 1),
    ("week_year", (MOMENT,), 1970),
    ("week_year", (FIRST,), 1),
    ("week_year", (LAST,), 9999),
    ("day_of_year", (LAST,), 365),
    ("day_of_year", (date(2000, 12, 31),), 366),
    ("last_day", (date(1900, 2, 1),), date(1900, 2, 28)),
    ("last_day", (FIRST,), date(1, 1, 31)),
    ("date_trunc", (FIRST, "week"), FIRST),
    ("date_trunc", (DAWN, "week"), DAWN),
    ("date_trunc", (DUSK, "quarter"), datetime(9999, 10, 1, tzinfo=UTC)),
    ("date_trunc", (MOMENT, "second"), MOMENT.replace(microsecond=0)),
    ("date_trunc", (MOMENT, "day"), datetime(1969, 12, 31, tzinfo=UTC)),
    ("date_trunc", (LAST, "day"), LAST),
    ("date_trunc", (LAST, "second"), FAILS),
    ("date_trunc", (MOMENT, ""), FAILS),
    ("format_date", (FIRST, "%G-W%V-%u"), "0001-W01-1"),
    ("format_date", (LAST, "%a %A %b %B %j"), "Fri Friday Dec December 365"),
    ("format_date", (MOMENT, "%%%f%%"), "%999999%"),
    ("format_date", (MOMENT, "%%Y"), "%Y"),
    ("format_date", (MOMENT, ""), ""),
    ("format_date", (MOMENT, "ï\n"), "ï\n"),
    ("format_date", (MOMENT, "%\n"), FAILS),
    ("format_date", (MOMENT, "%%%"), FAILS),
    ("format_date", (MOMENT, "%f" * 3_000_000), FAILS),
    ("make_timestamp", (9999, 12, 31, 23, 59, 59), DUSK.replace(microsecond=0)),
    ("make_timestamp", (2024, 1, 1, 0, 0, 60), FAILS),
    ("make_timestamp", (2**40, 1, 1, 0, 0, 0), FAILS),
    ("make_timestamp", (2024, 1, 1, -1, 0, 0), FAILS),
    ("epoch_seconds", (DAWN,), -62_135_596_800),
    ("epoch_seconds", (MOMENT,), -2),
    ("from_epoch_seconds", (-62_135_596_800,), DAWN),
    ("from_epoch_seconds", (-62_135_596_801,), FAILS),
    ("from_epoch_seconds", (253_402_300_799,), DUSK.replace(microsecond=0)),
    ("from_epoch_seconds", (2**63 - 1,), FAILS),
]

DURATIONS: list[tuple[str, tuple[object, ...], object]] = [
    ("bucket", (MOMENT, timedelta(microseconds=1)), MOMENT),
    ("bucket", (MOMENT, timedelta(seconds=7)), datetime(1969, 12, 31, 23, 59, 53, tzinfo=UTC)),
    ("bucket", (DUSK, timedelta(days=36_500_000)), datetime(1970, 1, 1, tzinfo=UTC)),
    ("bucket", (DAWN, timedelta(days=1)), DAWN),
    ("bucket", (DAWN, timedelta(weeks=1)), FAILS),
    ("bucket", (MOMENT, MOST), FAILS),
    ("bucket", (MOMENT, timedelta()), FAILS),
    ("bucket", (MOMENT, timedelta(microseconds=-1)), FAILS),
    ("total_seconds", (timedelta(),), 0.0),
    ("total_seconds", (timedelta(microseconds=-1),), -1e-06),
    ("total_seconds", (MOST,), 9223372036854.775807),
    ("weeks", (-2,), timedelta(days=-14)),
    ("weeks", (15_250_284,), timedelta(weeks=15_250_284)),
    ("weeks", (15_250_285,), FAILS),
    ("days", (2**62,), FAILS),
    ("hours", (-2_562_047_789,), FAILS),
    ("minutes", (0,), timedelta()),
    ("seconds", (9_223_372_036_854,), timedelta(seconds=9_223_372_036_854)),
    ("seconds", (9_223_372_036_855,), FAILS),
    ("milliseconds", (1 - 2**63,), FAILS),
    ("microseconds", (2**63 - 1,), MOST),
    ("microseconds", (1 - 2**63,), -MOST),
]

ENCODINGS: list[tuple[str, tuple[object, ...], object]] = [
    ("sha256", (b"abc",), bytes.fromhex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")),
    ("sha1", ("abc",), bytes.fromhex("a9993e364706816aba3e25717850c26c9cd0d89d")),
    ("md5", ("abc",), bytes.fromhex("900150983cd24fb0d6963f7d28e17f72")),
    ("crc32", ("",), 0),
    ("crc32", (b"123456789",), 0xCBF43926),
    ("xxhash64", (b"",), 0xEF46DB3751D8E999),
    ("xxhash64", ("a",), 0xD24EC4F1A98C6E5B),
    ("base64_encode", (b"f",), "Zg=="),
    ("base64_encode", ("foobar",), "Zm9vYmFy"),
    ("base64_encode", (b"x" * 13_000_000,), FAILS),
    ("base64_decode", ("Zm9v",), b"foo"),
    ("base64_decode", ("Zg==",), b"f"),
    ("base64_decode", ("Zh==",), FAILS),
    ("base64_decode", ("Zg=",), FAILS),
    ("base64_decode", ("Zm9v\n",), FAILS),
    ("base64_decode", ("====",), FAILS),
    ("base64_decode", ("Zm9ï",), FAILS),
    ("base64_decode", ("-_8=",), FAILS),
    ("base64url_encode", (b"\xfb\xff\xfe",), "-__-"),
    ("base64url_decode", ("Zg",), b"f"),
    ("base64url_decode", ("Zg==",), b"f"),
    ("base64url_decode", ("Zg=",), FAILS),
    ("base64url_decode", ("Z",), FAILS),
    ("base64url_decode", ("Zh",), FAILS),
    ("base64url_decode", ("",), b""),
    ("url_encode", ("",), ""),
    ("url_encode", ("\U0001f600%+",), "%F0%9F%98%80%25%2B"),
    ("url_encode", (" " * 6_000_000,), FAILS),
    ("url_decode", ("%F0%9F%98%80ï",), "\U0001f600ï"),
    ("url_decode", ("%",), FAILS),
    ("url_decode", ("%zz",), FAILS),
    ("url_decode", ("%٣٣",), FAILS),
    ("url_decode", ("%C3",), FAILS),
    ("is_uuid", ("",), False),
    ("is_uuid", (DNS + "\n",), False),
    ("is_uuid", (DNS.upper(),), True),
    ("uuid5", (DNS.upper(), "python.org"), "886313e1-3b8a-5372-9b90-0c9aee199e5d"),
    ("uuid5", ("{" + DNS + "}", "a"), FAILS),
]

ADDRESSES: list[tuple[str, tuple[object, ...], object]] = [
    ("url_scheme", ("",), None),
    ("url_scheme", ("a:",), "a"),
    ("url_scheme", ("1a:",), None),
    ("url_scheme", ("é:x",), None),
    ("url_scheme", ("a:\\",), None),
    ("url_scheme", ("a:\x00",), None),
    ("url_host", ("http://a@b@C:1/",), "c"),
    ("url_host", ("http://É.example/",), "É.example"),
    ("url_host", ("http://[::1/",), None),
    ("url_host", ("http://[1.2.3.4]/",), None),
    ("url_host", ("http://[::1]x/",), None),
    ("url_host", ("http://a[b]/",), None),
    ("url_host", ("http://?",), None),
    ("url_host", ("mailto:a@b",), None),
    ("url_port", ("http://a:/",), None),
    ("url_port", ("http://a:0/",), 0),
    ("url_port", ("http://a:" + "0" * 9_999 + "80",), 80),
    ("url_port", ("http://a:" + "9" * 9_999,), None),
    ("url_port", ("http://a:٣/",), None),
    ("url_port", ("http://[::1]:65535",), 65535),
    ("url_path", ("a:" + LONG,), LONG),
    ("url_path", ("a:////b",), "//b"),
    ("url_path", ("a://b:c/d",), None),
    ("url_query", ("a:?b?c#d?e",), "b?c"),
    ("url_query", ("?b",), None),
    ("url_fragment", ("a:#b#c",), "b#c"),
    ("url_fragment", ("#b",), None),
    ("url_param", ("a:?&&b=1", ""), None),
    ("url_param", ("a:?=1", ""), "1"),
    ("url_param", ("a:?%71=%zz%C3", "q"), "%zz\ufffd"),
    ("url_param", ("a:?q=1=2&q=3", "q"), "1=2"),
    ("url_param", ("nothing", "q"), None),
    ("ip_is_valid", ("",), False),
    ("ip_is_valid", ("1.2.3.256",), False),
    ("ip_is_valid", ("1.2.3.٤",), False),
    ("ip_is_valid", (" 1.2.3.4",), False),
    ("ip_is_valid", ("1::2::3",), False),
    ("ip_is_valid", ("1:2:3:4:5:6:7:8:9",), False),
    ("ip_is_valid", ("1:2:3:4:5:6:7::",), True),
    ("ip_is_valid", (LONG,), False),
    ("ip_version", ("::",), 6),
    ("ip_version", ("1.2.3",), FAILS),
    ("ipv4_to_int", ("255.255.255.255",), 2**32 - 1),
    ("ipv4_to_int", ("1.2.3.4/8",), FAILS),
    ("ipv4_from_int", (2**32 - 1,), "255.255.255.255"),
    ("ipv6_to_int", ("FFFF:ffff:ffff:ffff:ffff:ffff:255.255.255.255",), 2**128 - 1),
    ("ipv6_to_int", ("::1%1",), FAILS),
    ("ipv6_from_int", (0xFFFF01020304,), "::ffff:102:304"),
    ("ipv6_from_int", (1 << 112,), "1::"),
    ("ip_in_subnet", ("1.2.3.4", "9.9.9.9/0"), True),
    ("ip_in_subnet", ("1.2.3.4", "1.2.3.5/31"), True),
    ("ip_in_subnet", ("1.2.3.4", "1.2.3.6/31"), False),
    ("ip_in_subnet", ("::ffff:10.0.0.1", "10.0.0.0/8"), False),
    ("ip_in_subnet", ("fe80::1", "fe80::/128"), False),
    ("ip_in_subnet", ("1.2.3.4", "1.2.3.4/+8"), FAILS),
    ("ip_in_subnet", ("1.2.3.4", "1.2.3.4/08"), FAILS),
    ("ip_in_subnet", ("1.2.3.4", "1.2.3.4/255.0.0.0"), FAILS),
    ("ip_in_subnet", ("", "1.2.3.4/8"), FAILS),
    ("ip_is_private", ("172.32.0.0",), False),
    ("ip_is_private", ("fe80::1",), False),
    ("ip_is_private", ("",), FAILS),
]

SCALAR_CASES = TEXTS + NUMBERS + CALENDAR + DURATIONS + ENCODINGS + ADDRESSES


def case_id(part: object) -> str | None:
    """A short name of a part of a case for test ids; None for the usual one."""
    return repr(part)[:40] if isinstance(part, tuple) else None


def call(name: str, *arguments: object) -> Call:
    """A call with constants. The type variable is that of the Python value; a decimal's is decimal(4, 2)."""
    (function,) = lookup(name)
    pairs = list(zip(function.parameters, arguments, strict=True))
    generic = next((_type(a) for p, a in pairs if isinstance(p.type, TypeVariable)), types.INT)
    constants = []
    for parameter, argument in pairs:
        type_ = _with(generic, parameter.type)
        constants.append(Constant(canonical(type_, argument), type_))
    return Call(name, tuple(constants), _with(generic, function.result))


def _with(generic: Type, type_: ParamType) -> Type:
    assert not isinstance(type_, Closure)
    if isinstance(type_, Applied):
        args = [_with(generic, arg) for arg in type_.args]
        return types.Vec(*args) if type_.name == "vec" else types.Map(*args)
    return generic if isinstance(type_, TypeVariable) else type_


def _type(value: object) -> Type:
    match value:
        case int():
            return types.INT
        case float():
            return types.DOUBLE
        case Decimal():
            return types.Decimal(4, 2)
        case str():
            return types.STRING
        case bytes():
            return types.BYTES
        case datetime():
            return types.TIMESTAMP
        case date():
            return types.DATE
        case _:
            raise AssertionError(value)
