"""Standard functions on whole numbers, limits, logarithms and angles, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, Value, order_key
from tidelog.reference.convert import Undefined, number_at

__all__ = ["NUMERICS", "NUMERICS_BY_TYPE", "real"]

_UNITS: Final = 1200  # a cube root is first found in units of 2**-1200, finer than any double


def real(name: str, function: Callable[..., float]) -> Callable[..., float]:
    """A function of `math` that fails if it has no finite value for finite arguments, or none at all."""

    def apply(*x: float) -> float:
        try:
            value = function(*x)
        except (ValueError, OverflowError, ZeroDivisionError):
            raise Undefined(f"{name}({', '.join(map(repr, x))}) has no finite value") from None
        if value in (math.inf, -math.inf) and all(math.isfinite(v) for v in x):
            raise Undefined(f"{name}({', '.join(map(repr, x))}) has no finite value")
        return value

    return apply


def _log(x: float, base: float) -> float:
    match base:
        case 2.0:
            return math.log2(x)
        case 10.0:
            return math.log10(x)
        case _:
            return math.log(x) / math.log(base)


def _cbrt(x: float) -> Value:
    if not math.isfinite(x) or not x:
        return x
    units = Fraction(abs(x)) * 8**_UNITS
    low, high = 0, 1 << units.numerator.bit_length() // 3 + 2
    while high - low > 1:  # low**3 <= units < high**3
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= units else (low, middle)
    # a half unit stands for the rest: it cannot lie on the other side of a midpoint of doubles
    root = Fraction(2 * low + (low**3 != units), 2 ** (_UNITS + 1))
    return number_at(types.DOUBLE, root if x > 0 else -root)


# -- whole numbers


def _div_floor(a: int, b: int) -> int:
    if not b:
        raise Undefined("division by zero")
    return math.floor(Fraction(a, b))


def _mod_floor(a: int, b: int) -> int:
    return a - b * _div_floor(a, b)


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def _lcm(a: int, b: int) -> int:
    return abs(a * b) // _gcd(a, b) if a and b else 0


def _bit_count(type_: Type, x: int) -> int:
    bounds = types.int_range(type_)
    if bounds is not None:
        return bin(x % (bounds[1] - bounds[0] + 1)).count("1")
    if x < 0:
        raise Undefined("a negative bigint has no number of one bits")
    return bin(x).count("1")


def _clamp(type_: Type, x: Value, low: Value, high: Value) -> Value:
    if order_key(type_, low) > order_key(type_, high):
        raise Undefined("clamp: the lower limit exceeds the upper one")
    return sorted((low, x, high), key=lambda v: order_key(type_, v))[1]


NUMERICS: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("div_floor", 2): _div_floor,
    ("mod_floor", 2): _mod_floor,
    ("gcd", 2): _gcd,
    ("lcm", 2): _lcm,
    ("is_nan", 1): lambda x: x is NAN,
    ("is_finite", 1): lambda x: x is not NAN and abs(x) != math.inf,
    ("pi", 0): lambda: math.pi,
    ("log10", 1): real("log10", math.log10),
    ("log2", 1): real("log2", math.log2),
    ("log", 2): real("log", _log),
    ("cbrt", 1): _cbrt,
    ("radians", 1): real("radians", math.radians),
    ("degrees", 1): real("degrees", math.degrees),
    ("sin", 1): real("sin", math.sin),
    ("cos", 1): real("cos", math.cos),
    ("tan", 1): real("tan", math.tan),
    ("asin", 1): real("asin", math.asin),
    ("acos", 1): real("acos", math.acos),
    ("atan", 1): real("atan", math.atan),
    ("atan2", 2): real("atan2", math.atan2),
    ("sinh", 1): real("sinh", math.sinh),
    ("cosh", 1): real("cosh", math.cosh),
    ("tanh", 1): real("tanh", math.tanh),
}

NUMERICS_BY_TYPE: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("bit_count", 1): _bit_count,
    ("clamp", 3): _clamp,
}
