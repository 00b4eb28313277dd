"""More standard functions on numbers as data: whole numbers, logarithms, trigonometry."""

from __future__ import annotations

from typing import Final

from tidelog.program.library.signatures import Kind, StandardFunction, function

__all__ = ["NUMERICS"]

_WHOLE = (
    function(
        "div_floor(a: T, b: T) -> T",
        "The quotient rounded down, toward minus infinity. Fails if `b` is 0 or the result does not fit.",
        {
            "div_floor(7, 2)": "3",
            "div_floor(-7, 2)": "-4",
            "div_floor(1, 0)": None,
            "div_floor(-9223372036854775807 - 1, -1)": None,
        },
        Kind.INTEGER,
    ),
    function(
        "mod_floor(a: T, b: T) -> T",
        "The remainder of `div_floor`, `a - b * div_floor(a, b)`: it is never negative if `b` is positive, "
        "and never positive if `b` is negative. Fails if `b` is 0.",
        {"mod_floor(-7, 3)": "2", "mod_floor(7, -3)": "-2", "mod_floor(1, 0)": None},
        Kind.INTEGER,
    ),
    function(
        "gcd(a: T, b: T) -> T",
        "The greatest common divisor, never negative; 0 if both are 0. Fails if it does not fit.",
        {
            "gcd(12, -18)": "6",
            "gcd(0, 5)": "5",
            "gcd(0, 0)": "0",
            "gcd(-9223372036854775807 - 1, 0)": None,
        },
        Kind.INTEGER,
    ),
    function(
        "lcm(a: T, b: T) -> T",
        "The least common multiple, never negative; 0 if either is 0. Fails if it does not fit.",
        {"lcm(4, -6)": "12", "lcm(0, 5)": "0", "lcm(9223372036854775807, 2)": None},
        Kind.INTEGER,
    ),
    function(
        "bit_count(x: T) -> int",
        "The number of one bits; of a negative number those in two's complement of its type's width. Fails "
        "for a negative bigint.",
        {"bit_count(7)": "3", "bit_count(-1)": "64", "bit_count(-1 as bigint)": None},
        Kind.INTEGER,
    ),
    function(
        "clamp(x: T, low: T, high: T) -> T",
        "`x`, or `low` if `x` is smaller, or `high` if `x` is larger. Fails if `low` is larger than `high`.",
        {
            "clamp(7, 0, 5)": "5",
            "clamp(-7, 0, 5)": "0",
            'clamp("m", "a", "z")': '"m"',
            'clamp("NaN" as double, 0.0, 1.0)': "1.0",
            "clamp(1, 2, 0)": None,
        },
    ),
    function(
        "trunc(x: T) -> T",
        "`x` without the digits after the decimal point.",
        {"trunc(2.7)": "2.0", "trunc(-2.7)": "-2.0", "trunc(-2.7 as decimal(3, 1))": "-2.0 as decimal(3, 1)"},
        Kind.FRACTIONAL,
    ),
    function(
        "is_nan(x: T) -> bool",
        "Whether `x` is NaN.",
        {'is_nan("NaN" as double)': "true", "is_nan(1.0)": "false"},
        Kind.FLOATING,
    ),
    function(
        "is_finite(x: T) -> bool",
        "Whether `x` is neither NaN nor infinite.",
        {
            "is_finite(1.0)": "true",
            'is_finite("NaN" as double)': "false",
            'is_finite("-Infinity" as float)': "false",
        },
        Kind.FLOATING,
    ),
)

_REAL = (
    function(
        "log10(x: double) -> double",
        "The logarithm to base 10. Fails for zero and negative numbers.",
        {"log10(1000.0)": "3.0", "log10(1.0)": "0.0", "log10(0.0)": None},
    ),
    function(
        "log2(x: double) -> double",
        "The logarithm to base 2. Fails for zero and negative numbers.",
        {"log2(8.0)": "3.0", "log2(0.5)": "-1.0", "log2(-1.0)": None},
    ),
    function(
        "log(x: double, base: double) -> double",
        "The logarithm to a base: `log10(x)` or `log2(x)` if the base is 10 or 2, otherwise "
        "`ln(x) / ln(base)`. Fails unless both are positive, and if the base is 1.",
        {
            "log(1000.0, 10.0)": "3.0",
            "log(8.0, 2.0)": "3.0",
            "log(1.0, 3.0)": "0.0",
            "log(2.0, 1.0)": None,
            "log(0.0, 3.0)": None,
        },
    ),
    function(
        "cbrt(x: double) -> double",
        "The cube root, correctly rounded.",
        {"cbrt(27.0)": "3.0", "cbrt(-8.0)": "-2.0", "cbrt(0.0)": "0.0"},
    ),
    function(
        "pi() -> double",
        "The ratio of a circle's circumference to its diameter.",
        {
            "pi()": "3.141592653589793",
            "round(pi(), 2)": "3.14",
        },
    ),
    function(
        "radians(degrees: double) -> double",
        "An angle in radians.",
        {"radians(180.0)": "3.141592653589793", "radians(0.0)": "0.0"},
    ),
    function(
        "degrees(radians: double) -> double",
        "An angle in degrees. Fails if the result is not finite.",
        {"degrees(pi())": "180.0", "degrees(0.0)": "0.0", "degrees(1e308)": None},
    ),
    function(
        "sin(x: double) -> double",
        "The sine of an angle in radians. Fails for infinities.",
        {"sin(0.0)": "0.0", "round(sin(pi() / 6.0), 15)": "0.5", 'sin("Infinity" as double)': None},
    ),
    function(
        "cos(x: double) -> double",
        "The cosine of an angle in radians. Fails for infinities.",
        {"cos(0.0)": "1.0", "round(cos(pi() / 3.0), 15)": "0.5", 'cos("Infinity" as double)': None},
    ),
    function(
        "tan(x: double) -> double",
        "The tangent of an angle in radians. Fails for infinities.",
        {"tan(0.0)": "0.0", "round(tan(pi() / 4.0), 15)": "1.0", 'tan("Infinity" as double)': None},
    ),
    function(
        "asin(x: double) -> double",
        "The angle from -π/2 to π/2 whose sine is `x`. Fails outside -1 to 1.",
        {"asin(0.0)": "0.0", "asin(1.0)": "1.5707963267948966", "asin(1.1)": None},
    ),
    function(
        "acos(x: double) -> double",
        "The angle from 0 to π whose cosine is `x`. Fails outside -1 to 1.",
        {"acos(1.0)": "0.0", "acos(-1.0)": "3.141592653589793", "acos(-1.1)": None},
    ),
    function(
        "atan(x: double) -> double",
        "The angle from -π/2 to π/2 whose tangent is `x`.",
        {"atan(0.0)": "0.0", 'atan("Infinity" as double)': "1.5707963267948966"},
    ),
    function(
        "atan2(y: double, x: double) -> double",
        "The angle from -π to π of the point (`x`, `y`), seen from the origin; 0 for the origin.",
        {
            "atan2(0.0, 1.0)": "0.0",
            "atan2(1.0, 0.0)": "1.5707963267948966",
            "atan2(0.0, -1.0)": "3.141592653589793",
            "atan2(0.0, 0.0)": "0.0",
        },
    ),
    function(
        "sinh(x: double) -> double",
        "The hyperbolic sine. Fails if the result is not finite.",
        {"sinh(0.0)": "0.0", 'sinh("Infinity" as double)': '"Infinity" as double', "sinh(1000.0)": None},
    ),
    function(
        "cosh(x: double) -> double",
        "The hyperbolic cosine. Fails if the result is not finite.",
        {"cosh(0.0)": "1.0", 'cosh("-Infinity" as double)': '"Infinity" as double', "cosh(1000.0)": None},
    ),
    function(
        "tanh(x: double) -> double",
        "The hyperbolic tangent.",
        {"tanh(0.0)": "0.0", 'tanh("-Infinity" as double)': "-1.0"},
    ),
)

NUMERICS: Final[dict[str, tuple[StandardFunction, ...]]] = {
    "Whole numbers and limits": _WHOLE,
    "Logarithms and angles": _REAL,
}
