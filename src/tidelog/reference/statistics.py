"""Aggregates of a group that need all its values, in plain Python, on exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Row, Value, order_key, to_text
from tidelog.reference.convert import Undefined, exact, number_at

__all__ = ["bits", "fraction_of", "mode", "quantile", "stddev", "variance"]


def quantile(fraction: Fraction, values: Sequence[Value], type_: Type, result: Type) -> Value:
    """Linear interpolation between the neighbours of a place among the sorted values."""
    ordered = sorted(values, key=lambda v: order_key(type_, v))
    place = fraction * (len(ordered) - 1)
    around = {ordered[math.floor(place)]: math.floor(place) + 1 - place}
    if place != math.floor(place):
        above = ordered[math.ceil(place)]
        around[above] = around.get(above, Fraction(0)) + place - math.floor(place)
    special = [v for v in around if isinstance(v, float) and not math.isfinite(v)]
    if special:
        return NAN if NAN in special or len(special) == 2 else special[0]
    return number_at(result, sum((exact(v) * share for v, share in around.items()), Fraction(0)))


def fraction_of(rows: Sequence[Row], type_: Type) -> Fraction:
    """The second argument of `quantile`, which must be the same in all rows."""
    given = {row[1] for row in rows}
    (fraction,) = given if len(given) == 1 else (NAN,)
    if not (isinstance(fraction, float) and 0 <= fraction <= 1):
        raise Undefined("quantile: the fraction is not one number from 0.0 to 1.0")
    return Fraction(to_text(type_, fraction))


def variance(values: Sequence[Value]) -> Value:
    spread = _spread(values)
    return number_at(types.DOUBLE, spread) if isinstance(spread, Fraction) else spread


def stddev(values: Sequence[Value]) -> Value:
    """The root of the exact variance: the double for which neighbouring midpoints lie on either side."""
    spread = _spread(values)
    if not isinstance(spread, Fraction) or not spread:
        return 0.0 if isinstance(spread, Fraction) else spread
    scale = (spread.numerator.bit_length() - spread.denominator.bit_length()) // 2
    near = spread / Fraction(4) ** scale  # between 1/2 and 8
    root = math.sqrt(near)
    while (Fraction(root) + Fraction(math.nextafter(root, 9.0))) ** 2 < 4 * near:
        root = math.nextafter(root, 9.0)
    while (Fraction(root) + Fraction(math.nextafter(root, 0.0))) ** 2 > 4 * near:
        root = math.nextafter(root, 0.0)
    return number_at(types.DOUBLE, Fraction(root) * Fraction(2) ** scale)


def _spread(values: Sequence[Value]) -> Fraction | float | None:
    """The sum of the squared distances from the mean, divided by one less than their number."""
    if len(values) < 2:
        return None
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        return NAN
    numbers = [exact(v) for v in values]
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return sum(((x - mean) ** 2 for x in numbers), Fraction(0)) / (len(numbers) - 1)


def mode(values: Sequence[Value], type_: Type) -> Value:
    """The first of the longest runs of equal values in order."""
    ordered = sorted(values, key=lambda v: order_key(type_, v))
    best, most, run = ordered[0], 1, 1
    for before, value in pairwise(ordered):
        run = run + 1 if value is before or value == before else 1
        if run > most:
            best, most = value, run
    return best


def bits(values: Sequence[Value], *, all_of: bool) -> int:
    found = -1 if all_of else 0
    for value in values:
        assert isinstance(value, int)
        found = found & value if all_of else found | value
    return found
