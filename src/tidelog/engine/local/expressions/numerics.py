"""Standard functions on whole numbers, limits, logarithms and angles: the plain form of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, order_key
from tidelog.engine.local.expressions.operations import Plain, Undefined

__all__ = ["NUMERICS", "NUMERICS_BY_TYPE", "real"]


def real(name: str, function: Callable[..., float]) -> Plain:
    """A function of `math` that fails where it has no value, or only an infinite one for finite arguments."""

    def apply(*x: float) -> float:
        try:
            found = function(*x)
        except (ValueError, ArithmeticError):
            found = None
        if found is None or (math.isinf(found) and all(map(math.isfinite, x))):
            raise Undefined(f"{name}({', '.join(map(repr, x))}) has no finite value")
        return found

    return apply


def _log(x: float, base: float) -> float:
    # by its definition, but exact for powers of the usual bases
    if base in (2.0, 10.0):
        return math.log2(x) if base == 2.0 else math.log10(x)
    return math.log(x) / math.log(base)


def _cbrt(x: float) -> float:
    """The double nearest to the cube root: libraries differ in the last place, so theirs is only a start."""
    if x == 0 or not math.isfinite(x):
        return x
    size, root = Fraction(abs(x)), math.cbrt(abs(x))
    while _between(root, math.nextafter(root, math.inf)) ** 3 < size:
        root = math.nextafter(root, math.inf)
    while _between(root, math.nextafter(root, 0.0)) ** 3 > size:
        root = math.nextafter(root, 0.0)
    return math.copysign(root, x)


def _between(a: float, b: float) -> Fraction:
    return (Fraction(a) + Fraction(b)) / 2


# -- whole numbers


def _div_floor(a: int, b: int) -> int:
    _expect_divisor(b)
    return a // b


def _mod_floor(a: int, b: int) -> int:
    _expect_divisor(b)
    return a % b


def _expect_divisor(b: int) -> None:
    if b == 0:
        raise Undefined("division by zero")


def _bit_count(type_: Type) -> Plain:
    bounds = types.int_range(type_)

    def apply(x: int) -> int:
        if x >= 0:
            return x.bit_count()
        if bounds is None:
            raise Undefined("a negative bigint has no number of one bits")
        return (x - 2 * bounds[0]).bit_count()

    return apply


# -- any type


def _clamp(type_: Type) -> Plain:
    def apply(x: Value, low: Value, high: Value) -> Value:
        key, smallest, largest = (order_key(type_, v) for v in (x, low, high))
        if smallest > largest:
            raise Undefined("clamp: the lower limit exceeds the upper one")
        return low if key < smallest else high if key > largest else x

    return apply


NUMERICS: Final[Mapping[tuple[str, int], Plain]] = {
    ("div_floor", 2): _div_floor,
    ("mod_floor", 2): _mod_floor,
    ("gcd", 2): math.gcd,
    ("lcm", 2): math.lcm,
    ("is_nan", 1): lambda x: x is NAN,
    ("is_finite", 1): math.isfinite,
    ("pi", 0): lambda: math.pi,
    ("cbrt", 1): _cbrt,
    ("log", 2): real("log", _log),
    ("atan2", 2): real("atan2", math.atan2),
    **{
        (function.__name__, 1): real(function.__name__, function)
        for function in (
            *(math.log10, math.log2, math.radians, math.degrees),
            *(math.sin, math.cos, math.tan, math.asin, math.acos, math.atan),
            *(math.sinh, math.cosh, math.tanh),
        )
    },
}

NUMERICS_BY_TYPE: Final[Mapping[tuple[str, int], Callable[[Type], Plain]]] = {
    ("bit_count", 1): _bit_count,
    ("clamp", 3): _clamp,
}
