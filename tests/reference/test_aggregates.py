"""Aggregates: exact, whatever the order of the instances."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, canonical
from tidelog.program.library.catalog import aggregate_result
from tidelog.reference.aggregates import aggregate
from tidelog.reference.evaluate import Failure

MONEY = types.Decimal(5, 2)


def over(function: str, type_: Type, *values: object, distinct: bool = False) -> Value | Failure:
    result = aggregate_result(function, type_)
    assert result is not None
    rows = [(canonical(type_, v),) for v in values]
    return aggregate(function, rows, (type_,), result, distinct=distinct)


def by(function: str, *rows: tuple[str, float]) -> Value | Failure:
    canonical_rows = [(value, canonical(types.DOUBLE, key)) for value, key in rows]
    return aggregate(function, canonical_rows, (types.STRING, types.DOUBLE), types.STRING)


def money(*texts: str) -> list[decimal.Decimal]:
    return [decimal.Decimal(t) for t in texts]


# -- types


@pytest.mark.parametrize(
    ("function", "type_", "result"),
    [
        ("count", types.Option(types.STRING), types.INT),
        ("count_distinct", types.STRING, types.INT),
        ("count_distinct", types.Option(types.STRING), None),
        ("sum", types.Bit(8), types.Bit(8)),
        ("sum", types.FLOAT, types.DOUBLE),
        ("sum", MONEY, MONEY),
        ("sum", types.STRING, None),
        ("sum", types.Option(types.INT), None),
        ("avg", types.INT, types.DOUBLE),
        ("avg", MONEY, MONEY),
        ("min", types.DATE, types.DATE),
        ("arg_max", types.BYTES, types.BYTES),
        ("any", types.BOOL, types.BOOL),
        ("all", types.INT, None),
        ("concat", types.STRING, types.STRING),
        ("concat", types.INT, None),
        ("middle", types.INT, None),
    ],
)
def test_the_type_of_an_aggregate_follows_from_its_values(
    function: str, type_: Type, result: Type | None
) -> None:
    assert aggregate_result(function, type_) == result


# -- counting and choosing


def test_count_counts_instances_and_distinct_counts_values() -> None:
    assert over("count", types.INT, 7, 7, 8) == 3
    assert over("count", types.INT, 7, 7, 8, distinct=True) == 2
    assert over("count", types.Option(types.INT), None, None, 1) == 3
    assert over("count_distinct", types.DOUBLE, math.nan, math.nan, 0.0, -0.0) == 2


def test_count_needs_no_argument() -> None:
    assert aggregate("count", [(), ()], (), types.INT) == 2


def test_min_and_max_follow_the_order_of_the_type() -> None:
    assert over("min", types.STRING, "b", "B", "é") == "B"
    assert over("max", types.STRING, "b", "\U0001f600", "\uffff") == "\U0001f600"
    assert over("min", types.DOUBLE, math.nan, math.inf) == math.inf
    assert over("max", types.DOUBLE, math.nan, math.inf) is NAN


def test_the_best_by_a_key_is_the_smallest_of_those_that_tie() -> None:
    rows = [("b", 1.0), ("a", 1.0), ("d", 2.0), ("c", 2.0)]
    assert by("arg_min", *rows) == by("arg_min", *reversed(rows)) == "a"
    assert by("arg_max", *rows) == by("arg_max", *reversed(rows)) == "c"
    assert by("arg_max", ("a", math.inf), ("b", math.nan), ("c", math.nan)) == "b"


def test_any_and_all() -> None:
    assert over("any", types.BOOL, False, True) is True
    assert over("all", types.BOOL, False, True) is False
    assert over("any", types.BOOL, False) is False
    assert over("all", types.BOOL, True) is True


def test_concat_sorts_by_code_point_and_keeps_duplicates() -> None:
    rows = [("b", ", "), ("a", ", "), ("b", ", "), ("Z", ", ")]
    two = (types.STRING, types.STRING)
    assert aggregate("concat", rows, two, types.STRING) == "Z, a, b, b"
    assert aggregate("concat", rows, two, types.STRING, distinct=True) == "Z, a, b"
    assert over("concat", types.STRING, "b", "a") == "ab"


def test_concat_with_several_separators_fails() -> None:
    rows = [("a", ","), ("b", ";")]
    assert isinstance(aggregate("concat", rows, (types.STRING, types.STRING), types.STRING), Failure)


# -- sums and means


def test_an_integer_sum_is_checked_at_its_end_only() -> None:
    assert over("sum", types.INT, 2**63 - 1, 1, -1) == 2**63 - 1
    assert isinstance(over("sum", types.INT, 2**63 - 1, 1), Failure)
    assert isinstance(over("sum", types.Bit(8), 200, 56), Failure)
    assert over("sum", types.BIGINT, 2**63 - 1, 1) == 2**63


def test_a_decimal_sum_is_exact_and_checked() -> None:
    assert over("sum", MONEY, *money("0.10", "0.20", "-0.05")) == decimal.Decimal("0.25")
    assert isinstance(over("sum", MONEY, *money("999.99", "0.01")), Failure)


def test_a_decimal_mean_is_rounded_half_to_even() -> None:
    assert over("avg", MONEY, *money("0.01", "0.02")) == decimal.Decimal("0.02")
    assert over("avg", MONEY, *money("0.02", "0.03")) == decimal.Decimal("0.02")


def test_a_mean_of_integers_is_rounded_once() -> None:
    assert over("avg", types.INT, 1, 2) == 1.5
    assert over("avg", types.INT, 2**63 - 1, 2**63 - 1) == float(2**63)
    # the sum itself, 3 * 2**53 + 2, has no double
    assert over("avg", types.INT, 2**53, 2**53, 2**53 + 2) == (3 * 2**53 + 2) / 3


@pytest.mark.parametrize(
    ("values", "result"),
    [
        ((1e308, 1e308, -1e308), 1e308),
        ((1e16, 1.0, -1e16), 1.0),
        ((0.1,) * 10, 1.0),
        ((math.inf, 1.0), math.inf),
        ((math.inf, -math.inf), math.nan),
        ((1.0, math.nan), math.nan),
        ((-0.0,), 0.0),
    ],
)
def test_a_sum_of_doubles_is_rounded_once_in_any_order(values: tuple[float, ...], result: float) -> None:
    for order in (values, values[::-1]):
        assert str(over("sum", types.DOUBLE, *order)) == str(result)


def test_a_sum_of_doubles_that_overflows_fails_but_its_mean_does_not() -> None:
    assert isinstance(over("sum", types.DOUBLE, 1e308, 1e308), Failure)
    assert over("avg", types.DOUBLE, 1e308, 1e308) == 1e308


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), min_size=1)
)
def test_sum_and_mean_of_doubles_are_the_nearest_to_the_exact_ones(values: list[float]) -> None:
    assert over("sum", types.DOUBLE, *values) == math.fsum(values)
    total = sum(map(Fraction, values), Fraction(0))
    assert over("avg", types.DOUBLE, *values) == float(total / len(values))


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_a_sum_of_floats_is_that_of_the_same_doubles(values: list[float]) -> None:
    assert over("sum", types.FLOAT, *values) == over("sum", types.DOUBLE, *values)


@given(st.data())
def test_every_aggregate_of_numbers_ignores_their_order(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.floats(), min_size=1, max_size=6))
    shuffled = data.draw(st.permutations(values))
    for function in ("count", "count_distinct", "sum", "avg", "min", "max"):
        first, second = over(function, types.DOUBLE, *values), over(function, types.DOUBLE, *shuffled)
        assert first is second or first == second
