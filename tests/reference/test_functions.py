"""The standard functions: the table, its implementation and its documentation say the same.

Run as a program, this prints docs/language/functions.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, canonical
from tidelog.program.library import functions
from tidelog.program.library.catalog import (
    AGGREGATES,
    COLLECTIONS,
    GROUPS,
    AggregateFunction,
    Applied,
    Closure,
    Extra,
    Kind,
    StandardFunction,
    TypeVariable,
    allows,
    lookup,
)
from tidelog.program.typed import Call, Constant
from tidelog.reference.evaluate import Failure, evaluate
from tidelog.reference.functions import IMPLEMENTED

DOCUMENT = Path(__file__).parents[2] / "docs" / "language" / "functions.md"
TABLE = [f for groups in (GROUPS, COLLECTIONS) for group in groups.values() for f in group]
FAILS = Failure("any reason")

MONEY = types.Decimal(4, 2)
LEAP_DAY = date(2024, 2, 29)
MOMENT = datetime(1969, 12, 31, 23, 59, 58, 999_999, tzinfo=UTC)


def run(name: str, *arguments: object) -> Value | Failure:
    """A call with constants; a value's type is that of the Python value, a decimal's is decimal(4, 2)."""
    function = next(f for f in lookup(name) if len(f.parameters) == len(arguments))
    constants = [Constant(canonical(_type(a), a), _type(a)) for a in arguments]
    return evaluate(Call(name, tuple(constants), _result(function, constants)), {}, {})


def _result(function: StandardFunction, constants: list[Constant]) -> Type:
    if not isinstance(function.result, TypeVariable):
        assert not isinstance(function.result, Applied | Closure)
        return function.result
    parameters = zip(function.parameters, constants, strict=True)
    generic = next(c.type for p, c in parameters if isinstance(p.type, TypeVariable))
    item = generic.item if isinstance(generic, types.Option) else generic
    assert allows(function.kind, item)
    return types.Option(item) if function.result.optional else item


def _type(value: object) -> Type:
    match value:
        case bool():
            return types.BOOL
        case int():
            return types.INT
        case float():
            return types.DOUBLE
        case Decimal():
            return MONEY
        case str():
            return types.STRING
        case bytes():
            return types.BYTES
        case datetime():
            return types.TIMESTAMP
        case date():
            return types.DATE
        case _:
            return types.Option(types.INT)


CASES: list[tuple[str, tuple[object, ...], object]] = [
    ("length", ("naïve",), 5),
    ("length", ("\U0001f600",), 1),
    ("length", ("\U0001f600".encode(),), 4),
    ("substring", ("naïve", 2, 2), "ïv"),
    ("substring", ("abc", 1, 2**63 - 1), "bc"),
    ("substring", ("abc", 3, 1), ""),
    ("substring", ("abc", 2**63 - 1, 1), ""),
    ("substring", ("abc", -1, 1), FAILS),
    ("substring", ("abc", 0, -1), FAILS),
    ("contains", ("abc", "bc"), True),
    ("contains", ("abc", "C"), False),
    ("starts_with", ("abc", ""), True),
    ("starts_with", ("abc", "b"), False),
    ("ends_with", ("abc", "bc"), True),
    ("index_of", ("naïve", "v"), 3),
    ("index_of", ("abc", "z"), None),
    ("upper", ("straße",), "STRASSE"),
    ("lower", ("ÀB",), "àb"),
    ("trim", (" \t\n a b\u3000",), "a b"),
    ("trim_start", (" a ",), "a "),
    ("trim_end", (" a ",), " a"),
    ("pad_start", ("a", 4, "xy"), "xyxa"),
    ("pad_start", ("abc", 2, "x"), "abc"),
    ("pad_start", ("abc", -1, "x"), "abc"),
    ("pad_start", ("a", 2, ""), FAILS),
    ("pad_start", ("a", 2**62, "x"), FAILS),
    ("pad_end", ("a", 4, "xy"), "axyx"),
    ("replace", ("aaa", "aa", "b"), "ba"),
    ("replace", ("a", "", "b"), FAILS),
    ("repeat", ("ab", 2), "abab"),
    ("repeat", ("", 2**62), ""),
    ("repeat", ("ab", 2**62), FAILS),
    ("repeat", ("ab", -1), FAILS),
    ("reverse", ("naïve",), "evïan"),
    ("split_part", ("a,b,", ",", 2), ""),
    ("split_part", ("a, b", ", ", 1), "b"),
    ("split_part", ("", ",", 0), ""),
    ("split_part", ("a", ",", 2**62), ""),
    ("split_part", ("a", ",", -1), FAILS),
    ("split_part", ("a", "", 0), FAILS),
    ("hex", (b"\x00\xff",), "00ff"),
    ("unhex", ("00Ff",), b"\x00\xff"),
    ("unhex", ("0",), FAILS),
    ("unhex", ("٠٠",), FAILS),
    ("regex_match", ("naïve", "ï.e$"), True),
    ("regex_match", ("a\nb", "^b"), False),
    ("regex_match", ("a", "(?=a)"), FAILS),
    ("regex_extract", ("ñ 42", "([a-z]+)?.*?([0-9]+)", 2), "42"),
    ("regex_extract", ("ñ 42", "([a-z]+)?.*?([0-9]+)", 1), None),
    ("regex_extract", ("ñ 42", "(ñ)", 0), "ñ"),
    ("regex_extract", ("a", "b", 0), None),
    ("regex_extract", ("a", "b", 1), FAILS),
    ("regex_extract", ("a", "b", -1), FAILS),
    ("regex_replace", ("aé", "(a)|(é)", r"<\1ü\2>"), "<aü><üé>"),
    ("regex_replace", ("a", "a", "\\\\"), "\\"),
    ("regex_replace", ("baac", "a*", "-"), "-b--c-"),
    ("regex_replace", ("b", "a", r"\1"), FAILS),
    ("regex_replace", ("b", "a", "\\n"), FAILS),
    ("regex_replace", ("b", "a", "\\"), FAILS),
    ("abs", (-3,), 3),
    ("abs", (-(2**63),), FAILS),
    ("abs", (-math.inf,), math.inf),
    ("abs", (Decimal("-1.5"),), Decimal("1.50")),
    ("sign", (-7,), -1),
    ("sign", (0.0,), 0),
    ("sign", (math.inf,), 1),
    ("sign", (Decimal("0.01"),), 1),
    ("sign", (math.nan,), FAILS),
    ("round", (0.5,), 1.0),
    ("round", (-0.5,), -1.0),
    ("round", (0.49999999999999994,), 0.0),
    ("round", (1e300,), 1e300),
    ("round", (math.inf,), math.inf),
    ("round", (math.nan,), NAN),
    ("round", (Decimal("1.50"),), Decimal("2.00")),
    ("round", (2.675, 2), 2.68),
    ("round", (-2.675, 2), -2.68),
    ("round", (0.1, 2**63 - 1), 0.1),
    ("round", (5e-324, 400), 5e-324),
    ("round", (1e308, -(2**63)), 0.0),
    ("round", (1.7e308, -308), FAILS),
    ("round", (Decimal("99.95"), 1), FAILS),
    ("round", (Decimal("-12.35"), 1), Decimal("-12.40")),
    ("floor", (-0.5,), -1.0),
    ("floor", (Decimal("-99.01"),), FAILS),
    ("floor", (math.nan,), NAN),
    ("ceil", (-0.5,), 0.0),
    ("ceil", (Decimal("1.01"),), Decimal("2.00")),
    ("sqrt", (2.0,), 2**0.5),
    ("sqrt", (-1.0,), FAILS),
    ("sqrt", (math.inf,), math.inf),
    ("exp", (0.0,), 1.0),
    ("exp", (1e9,), FAILS),
    ("exp", (-math.inf,), 0.0),
    ("ln", (1.0,), 0.0),
    ("ln", (0.0,), FAILS),
    ("ln", (-1.0,), FAILS),
    ("ln", (math.nan,), NAN),
    ("pow", (2.0, 0.5), 2**0.5),
    ("pow", (0.0, -1.0), FAILS),
    ("pow", (-8.0, 1 / 3), FAILS),
    ("pow", (10.0, 400.0), FAILS),
    ("pow", (math.nan, 0.0), 1.0),
    ("min", ("b", "B"), "B"),
    ("min", (math.nan, 1.0), 1.0),
    ("max", (1.0, math.nan), NAN),
    ("max", (b"a", b"ab"), b"ab"),
    ("hash", ("",), -1970711489451281740),
    ("some", (5,), 5),
    ("is_none", (None,), True),
    ("is_none", (0,), False),
    ("is_some", (None,), False),
    ("is_some", (0,), True),
    ("unwrap", (5,), 5),
    ("unwrap", (None,), FAILS),
    ("unwrap_or", (None, 7), 7),
    ("unwrap_or", (0, 7), 0),
    ("year", (MOMENT,), 1969),
    ("month", (LEAP_DAY,), 2),
    ("day", (LEAP_DAY,), 29),
    ("weekday", (LEAP_DAY,), 4),
    ("weekday", (MOMENT,), 3),
    ("hour", (MOMENT,), 23),
    ("minute", (MOMENT,), 59),
    ("second", (MOMENT,), 58),
    ("make_date", (2024, 2, 29), LEAP_DAY),
    ("make_date", (2023, 2, 29), FAILS),
    ("make_date", (2**40, 1, 1), FAILS),
    ("add_days", (LEAP_DAY, 366), date(2025, 3, 1)),
    ("add_days", (LEAP_DAY, 2**62), FAILS),
    ("days_between", (LEAP_DAY, date(2024, 1, 1)), -59),
]


@pytest.mark.parametrize(("name", "arguments", "result"), CASES)
def test_a_function_gives_what_is_promised(name: str, arguments: tuple[object, ...], result: object) -> None:
    found = run(name, *arguments)
    if isinstance(result, Failure):
        assert isinstance(found, Failure)
        assert found.reason
    else:
        assert found is result or (found == result and type(found) is type(result))


def test_every_function_has_a_case() -> None:
    first = {f.name for group in functions.GROUPS.values() for f in group}
    assert {name for name, _, _ in CASES} == first  # for the others see test_scalar_functions


def test_table_and_implementation_have_the_same_functions() -> None:
    assert {(f.name, len(f.parameters)) for f in TABLE} == IMPLEMENTED


@pytest.mark.parametrize("function", TABLE, ids=lambda f: f.signature)
def test_every_function_is_explained_and_has_examples_of_its_own_use(function: StandardFunction) -> None:
    assert function.doc.endswith(".")
    assert len(function.examples) >= 2
    assert all(f"{function.name}(" in e.call for e in function.examples)


@given(st.text(), st.integers(0, 5), st.integers(0, 5))
def test_substrings_put_together_are_the_string(text: str, start: int, count: int) -> None:
    parts = [
        run("substring", text, *span) for span in ((0, start), (start, count), (start + count, len(text)))
    ]
    assert "".join(map(str, parts)) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_hash_depends_on_the_text_of_a_value_alone(number: int) -> None:
    assert run("hash", number) == run("hash", str(number))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_is_to_a_neighbour_and_mirrored(x: float) -> None:
    rounded = run("round", x)
    assert isinstance(rounded, float)
    assert rounded in (run("floor", x), run("ceil", x))
    assert run("round", -x) == -rounded


# -- the document


def library_markdown() -> str:
    """The reference of the library, from its table."""
    return "\n".join([*_INTRODUCTION, *_functions(), *_aggregates()]) + "\n"


_INTRODUCTION = (
    "# Functions and aggregates",
    "",
    "Every function gives the same result on every engine, and each example here is tested. A call *fails*",
    "on invalid arguments, or if one of its arguments fails. A failure is an error only if its row satisfies",
    "the rest of the rule's body. Positions in strings count code points, from 0. Regular expressions use",
    "the [RE2 syntax](https://github.com/google/re2/wiki/Syntax). `T` is any type except an option, unless",
    "stated otherwise; in a [collection](structures.md#collections) it may be an option. An argument of type",
    "`|T|: U` is a [closure](structures.md#generic-functions-and-closures).",
    "",
    "A program may declare a function with the name of a standard one, which it then replaces, except those",
    "of the first six sections, `to_map` and `to_set`.",
    "",
    "A *URL* has the generic syntax of RFC 3986 with a scheme:",
    "`scheme:[//[user@]host[:port]]path[?query][#fragment]`. The host is an IPv6 address in brackets, or has",
    "none of the characters `:[]`; the port is a number up to 65535 or nothing. White space and control",
    "characters of ASCII and backslashes are not allowed, characters outside ASCII are.",
    "",
    "A *path* into a JSON text is a sequence of names and positions, `order.lines[0].price`, with or without",
    '`$.` in front. Names with blanks or with the characters `.[]"` are written `["unit price"]`. The empty',
    "path is the whole text. See [JSON without a type](structures.md#json-without-a-type).",
)


def _functions() -> Iterator[str]:
    for title, rows in {**GROUPS, **COLLECTIONS}.items():
        yield from ("", f"## {title}", "", "| function | | examples |", "|---|---|---|")
        for f in rows:
            usual = Kind.EVERY if title in COLLECTIONS else Kind.ANY
            doc = f.doc if f.kind is usual else f"{f.doc} `T` is {f.kind.value}."
            examples = "<br>".join(_example(e.call, e.result) for e in f.examples)
            yield _table_row(f"`{f.signature}`", doc, examples)


def _example(call: str, result: str | None) -> str:
    return f"`{call}` fails" if result is None else f"`{call}` is `{result}`"


def _aggregates() -> Iterator[str]:
    yield from ("", "## Aggregates", "", "| aggregate | over | |", "|---|---|---|")
    for a in AGGREGATES:
        yield _table_row(f"`{_call(a)}`", a.argument.value, a.doc)


def _call(aggregate: AggregateFunction) -> str:
    extra = (_extra(e) for e in aggregate.extra)
    return f"{aggregate.name}({', '.join(extra)})"


def _extra(extra: Extra) -> str:
    if extra.optional:
        return f"[{extra.name}]"
    return extra.name if extra.default is None else f'{extra.name} = "{extra.default}"'


def _table_row(*cells: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def test_the_document_is_that_of_the_table() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == library_markdown(), (
        "renew it: python tests/reference/test_functions.py > docs/language/functions.md"
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(library_markdown().encode())
