"""Aggregates that need all values of a group, against Python's `statistics` and by example."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.data import types
from tidelog.data.types import DOUBLE, INT, Type
from tidelog.data.values import NAN, Value, canonical
from tidelog.program.library.catalog import aggregate_result
from tidelog.reference.aggregates import aggregate
from tidelog.reference.evaluate import Failure

MONEY = types.Decimal(5, 2)
FINITE = st.floats(-1e100, 1e100)


def over(function: str, type_: Type, *values: object, q: float | None = None) -> Value | Failure:
    result = aggregate_result(function, type_)
    assert result is not None
    if q is None:
        return aggregate(function, [(canonical(type_, v),) for v in values], (type_,), result)
    return aggregate(function, [(canonical(type_, v), q) for v in values], (type_, DOUBLE), result)


@given(st.lists(FINITE, min_size=2, max_size=9))
def test_median_variance_and_deviation_are_those_of_python(values: list[float]) -> None:
    exact = [Fraction(v) for v in values]
    assert over("median", DOUBLE, *values) == float(statistics.median(exact)) + 0.0
    assert over("variance", DOUBLE, *values) == float(statistics.variance(exact))
    deviation = over("stddev", DOUBLE, *values)
    assert isinstance(deviation, float)
    assert math.isclose(deviation, float(statistics.variance(exact)) ** 0.5, rel_tol=1e-15, abs_tol=1e-160)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_mode_is_the_smallest_of_the_most_frequent(values: list[int]) -> None:
    assert over("mode", INT, *values) == min(statistics.multimode(values))


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=9), st.integers(1, 9))
def test_quantiles_are_those_of_python_with_both_ends_included(values: list[int], tenth: int) -> None:
    expected = statistics.quantiles([Fraction(v) for v in values], n=10, method="inclusive")[tenth - 1]
    assert over("quantile", INT, *values, q=tenth / 10) == float(expected)


@pytest.mark.parametrize(
    ("function", "type_", "values", "result"),
    [
        ("median", INT, (1, 2), 1.5),
        ("median", INT, (2**63 - 1, 2**63 - 1), float(2**63)),
        ("median", MONEY, (Decimal("0.01"), Decimal("0.02")), Decimal("0.02")),
        ("median", DOUBLE, (1.0, math.nan), NAN),
        ("median", DOUBLE, (-math.inf, math.inf), NAN),
        ("median", DOUBLE, (1.0, 2.0, math.nan), 2.0),
        ("median", DOUBLE, (1.7e308, 1.7e308), 1.7e308),
        ("variance", INT, (5,), None),
        ("stddev", DOUBLE, (math.nan,), None),
        ("variance", DOUBLE, (1.0, math.inf), NAN),
        ("variance", MONEY, (Decimal("0.10"), Decimal("0.30")), 0.02),
        ("stddev", DOUBLE, (-1e300, 1e300), 2**0.5 * 1e300),
        ("stddev", INT, (3, 3, 3), 0.0),
        ("mode", types.STRING, ("b", "a", "b", "a"), "a"),
        ("mode", DOUBLE, (math.nan, 1.0, math.nan), NAN),
        ("bit_and", types.Bit(8), (12, 10), 8),
        ("bit_or", INT, (-2, 1), -1),
        ("count_if", types.BOOL, (True, False, True), 2),
    ],
)
def test_examples(function: str, type_: Type, values: tuple[object, ...], result: object) -> None:
    found = over(function, type_, *values)
    assert found is result or (found == result and type(found) is type(result))


def test_a_quantile_takes_its_fraction_as_written() -> None:
    assert over("quantile", INT, *range(-1, 10), q=0.1) == 0.0
    assert over("quantile", INT, 7, q=0.3) == 7.0
    assert over("quantile", INT, 1, 5, q=1.0) == 5.0


def test_what_does_not_fit_a_double_fails() -> None:
    assert isinstance(over("variance", DOUBLE, -1e300, 1e300), Failure)
    assert isinstance(over("stddev", DOUBLE, -1.7e308, 1.7e308), Failure)
    assert isinstance(over("quantile", INT, 1, q=1.5), Failure)
