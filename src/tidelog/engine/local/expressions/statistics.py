"""Aggregates of one group that need all its values: quantiles, variance, the most frequent value, bits.

A group is given as the values of its rows and the number of instances that each stands for. Results are exact
and rounded once, at the end, so they do not depend on the order of the rows.
"""

from __future__ import annotations

import functools
import math
import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, order_key, to_text
from tidelog.engine.local.expressions.conversions import nearest
from tidelog.engine.local.expressions.operations import Plain, Undefined

__all__ = ["STATISTICS"]

_DIGITS: Final = 130  # binary digits of a square before its root is taken: more than twice those of a double


# -- quantiles


def _median(columns: tuple[Type, ...], result: Type) -> Plain:
    return lambda weights, values: _at(Fraction(1, 2), columns[0], result, weights, values)


def _quantile(columns: tuple[Type, ...], result: Type) -> Plain:
    def apply(weights: Sequence[int], values: Sequence[Any], fractions: Sequence[float]) -> Value:
        if len(set(fractions)) > 1 or not 0 <= fractions[0] <= 1:
            raise Undefined("quantile: the fraction is not one number from 0.0 to 1.0")
        fraction = Fraction(to_text(columns[1], fractions[0]))
        return _at(fraction, columns[0], result, weights, values)

    return apply


def _at(
    fraction: Fraction, type_: Type, result: Type, weights: Sequence[int], values: Sequence[Any]
) -> Value:
    """The value at a fraction of the way from the first instance to the last, in their order."""
    order = sorted(range(len(values)), key=lambda i: order_key(type_, values[i]))
    ends = list(accumulate(weights[i] for i in order))
    place = fraction * (ends[-1] - 1)
    below = math.floor(place)
    rest = place - below
    low: Any = values[order[bisect_right(ends, below)]]
    high: Any = values[order[bisect_right(ends, below + 1)]] if rest else low
    if isinstance(low, float) and not (math.isfinite(low) and math.isfinite(high)):
        return float(low + high)
    exact = Fraction(low) * (1 - rest) + Fraction(high) * rest
    return nearest(result, exact.numerator, exact.denominator)


# -- variance


def _spread(finish: Callable[[int, int], Value]) -> Callable[[tuple[Type, ...], Type], Plain]:
    """An aggregate of the variance, given as a ratio."""

    def apply(weights: Sequence[int], values: Sequence[Any]) -> Value:
        count = sum(weights)
        if count == 1:
            return None
        if not all(map(math.isfinite, values)):
            return NAN
        ratios = [v.as_integer_ratio() for v in values]
        unit = math.lcm(*{denominator for _, denominator in ratios})
        units = [numerator * (unit // denominator) for numerator, denominator in ratios]
        total = sum(u * w for u, w in zip(units, weights, strict=True))
        squares = sum(u * u * w for u, w in zip(units, weights, strict=True))
        return finish(count * squares - total * total, count * (count - 1) * unit * unit)

    return lambda _columns, _result: apply


def _root(numerator: int, denominator: int) -> Value:
    """The double nearest to the square root of a ratio."""
    shift = max(0, _DIGITS - numerator.bit_length() + denominator.bit_length())
    shift += shift % 2
    square, rest = divmod(numerator << shift, denominator)
    root = math.isqrt(square)
    # one more digit says whether something is left, so that rounding goes to the right side
    root = 2 * root + (rest > 0 or root * root < square)
    return nearest(types.DOUBLE, root, 1 << shift // 2 + 1)


# -- choosing and combining


def _mode(columns: tuple[Type, ...], _result: Type) -> Plain:
    def apply(weights: Sequence[int], values: Sequence[Any]) -> Value:
        counts: Counter[Any] = Counter()
        for value, weight in zip(values, weights, strict=True):
            counts[value] += weight
        most = max(counts.values())
        found: Value = min(
            (v for v, count in counts.items() if count == most), key=lambda v: order_key(columns[0], v)
        )
        return found

    return apply


def _bits(combine: Callable[[int, int], int]) -> Callable[[tuple[Type, ...], Type], Plain]:
    return lambda _columns, _result: lambda _weights, values: functools.reduce(combine, values)


# from the types of the columns and of the result: a function of the weights and of the columns of a group
STATISTICS: Final[Mapping[str, Callable[[tuple[Type, ...], Type], Plain]]] = {
    "median": _median,
    "quantile": _quantile,
    "variance": _spread(lambda numerator, denominator: nearest(types.DOUBLE, numerator, denominator)),
    "stddev": _spread(_root),
    "mode": _mode,
    "bit_and": _bits(operator.and_),
    "bit_or": _bits(operator.or_),
}
