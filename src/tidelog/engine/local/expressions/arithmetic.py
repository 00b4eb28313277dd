"""The operators on numbers and booleans.

Integers and decimals are both integers of units here, so one rule covers both: compute exactly, then truncate
(integers) or round half to even (decimals), then check the range. In vectors, the bounds of the operands
usually show that nothing can overflow. Otherwise the rows that may overflow are left to the plain form. A
wrapped number is never used, except by the operators that ask for it (see `wrapping`).

An operation on floats or doubles with a NaN or infinite operand follows IEEE 754. With finite operands, a
result that is not finite fails. Single precision is computed in double precision and rounded: for one
operation of + - * / on singles the second rounding changes nothing, since a double has more than twice the
digits.
"""

from __future__ import annotations

import decimal
import math
import operator
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, assert_never

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import EXACT
from tidelog.engine.local.codes.codec import Codes, is_direct
from tidelog.engine.local.expressions.operations import Fast, Operation, Plain, Undefined
from tidelog.engine.local.expressions.vectors import Mask, Numbers, Vector, bounds
from tidelog.engine.local.expressions.wrapping import WRAPPING, wrapping
from tidelog.program.library.catalog import MAX_BIGINT_SHIFT

__all__ = [
    "INTEGER",
    "binary",
    "fast_integers",
    "from_units",
    "half_even",
    "limits",
    "outside",
    "single",
    "singles",
    "to_units",
    "unary",
]

_SAFE: Final = 2**62  # smaller magnitudes, even roughly estimated, cannot overflow 64 bits


# -- units


def limits(type_: Type) -> tuple[int, int]:
    """The smallest and largest code of a bounded integer or a decimal."""
    if isinstance(type_, types.Decimal):
        return 1 - 10**type_.precision, 10**type_.precision - 1
    found = types.int_range(type_)
    assert found is not None
    return found


def to_units(type_: types.Decimal, value: decimal.Decimal) -> int:
    return int(EXACT.scaleb(value, type_.scale))


def from_units(type_: types.Decimal, units: int) -> decimal.Decimal:
    """The decimal of so many units. Raises Undefined if it exceeds the precision."""
    if abs(units) >= 10**type_.precision:
        raise Undefined(f"overflow: the result does not fit {type_}")
    return EXACT.scaleb(decimal.Decimal(units), -type_.scale)


def half_even(number: Any, divisor: Any) -> Any:
    """The quotient by a positive divisor, rounded half to even; of integers or of integer arrays."""
    quotient = number // divisor
    twice = 2 * (number - quotient * divisor)
    return quotient + ((twice > divisor) | ((twice == divisor) & (quotient % 2 == 1)))


def outside(codes: Codes, low: int, high: int) -> Mask | None:
    """Where codes are out of range; None if nowhere."""
    smallest, largest = bounds(codes)
    if low <= smallest and largest <= high:
        return None
    return (codes < low) | (codes > high)


def single(value: float) -> float:
    """Round to single precision. Raises Undefined on overflow."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise Undefined("overflow: the result does not fit a float") from None
    return rounded


def singles(numbers: Numbers) -> Numbers:
    """Round to single precision; overflow gives infinity."""
    with np.errstate(over="ignore", under="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


# -- operators by type


def unary(op: str, type_: Type) -> Operation:
    if op == "not":
        return Operation((type_,), type_, operator.not_, lambda a: (Vector(a.codes ^ 1), None))
    if op == "~":
        return Operation((type_,), type_, _complement(type_), _fast_complement(type_))
    if types.is_float(type_):
        return Operation((type_,), type_, operator.neg, lambda a: (Vector.of_numbers(-a.numbers), None))
    minus = binary("-", type_)
    zero = decimal.Decimal(0) if isinstance(type_, types.Decimal) else 0
    fast = minus.fast
    return Operation(
        (type_,),
        type_,
        lambda a: minus.plain(zero, a),
        None if fast is None else lambda a: fast(_ZERO, a),
    )


_ZERO: Final = Vector(np.zeros(1, np.int64))


def binary(op: str, type_: Type) -> Operation:
    """`+ - * / %`, `+% -% *%`, `& | ^` or `<< >>` on a type. Comparisons and `++` are not handled here."""
    if op in WRAPPING:
        return wrapping(op, type_)
    if op in ("<<", ">>"):
        fast = _fast_shift(op, type_) if is_direct(type_) else None
        return Operation((type_, types.INT), type_, _shift(op, type_), fast)
    if op in _BITWISE:
        return Operation((type_, type_), type_, _BITWISE[op], _fast_bitwise(op) if is_direct(type_) else None)
    if types.is_float(type_):
        return Operation((type_, type_), type_, _float(op, type_), _fast_float(op, type_))
    plain = _decimal(op, type_) if isinstance(type_, types.Decimal) else INTEGER[op]
    return Operation((type_, type_), type_, plain, _fast_whole(op, type_) if is_direct(type_) else None)


# -- integers and decimals, plain


def _cut(number: int, divisor: int) -> int:
    if divisor == 0:
        raise Undefined("division by zero")
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


def _rest(number: int, divisor: int) -> int:
    return number - divisor * _cut(number, divisor)


INTEGER: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _cut,
    "%": _rest,
}


def _decimal(op: str, type_: types.Decimal) -> Plain:
    whole = 10**type_.scale

    def on_units(a: int, b: int) -> int:
        if op == "*":
            return int(half_even(a * b, whole))
        if op != "/":
            return INTEGER[op](a, b)
        if b == 0:
            raise Undefined("division by zero")
        return int(half_even(a * whole if b > 0 else -a * whole, abs(b)))

    return lambda a, b: from_units(type_, on_units(to_units(type_, a), to_units(type_, b)))


# -- integers and decimals, fast


def _fast_whole(op: str, type_: Type) -> Fast:
    low, high = limits(type_)
    unit = 10**type_.scale if isinstance(type_, types.Decimal) else 1
    if op == "/" and isinstance(type_, types.Decimal):
        return lambda a, b: _decimal_quotient(a.codes, b.codes, unit, low, high)
    return fast_integers(op, low, high, unit)


def fast_integers(op: str, low: int, high: int, unit: int = 1) -> Fast:
    """`+ - * / %` on codes that are numbers, with results between two bounds; a product is in units."""
    match op:
        case "+":
            return lambda a, b: _sum(a.codes, b.codes, low, high)
        case "-":
            return lambda a, b: _difference(a.codes, b.codes, low, high)
        case "*":
            return lambda a, b: _product(a.codes, b.codes, unit, low, high)
        case "%":
            return lambda a, b: _remainder(a.codes, b.codes)
        case "/":
            return lambda a, b: _quotient(a.codes, b.codes, low)
        case _:
            raise AssertionError(op)


def _sum(a: Codes, b: Codes, low: int, high: int) -> tuple[Vector, Mask | None]:
    (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
    found = a + b
    if low <= a_low + b_low and a_high + b_high <= high:
        return Vector(found), None
    return Vector(found), (((a ^ found) & (b ^ found)) < 0) | (found < low) | (found > high)


def _difference(a: Codes, b: Codes, low: int, high: int) -> tuple[Vector, Mask | None]:
    (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
    found = a - b
    if low <= a_low - b_high and a_high - b_low <= high:
        return Vector(found), None
    return Vector(found), (((a ^ b) & (a ^ found)) < 0) | (found < low) | (found > high)


def _product(a: Codes, b: Codes, unit: int, low: int, high: int) -> tuple[Vector, Mask | None]:
    raw = a * b
    wrapped = _may_wrap(a, b)
    found = raw if unit == 1 else half_even(raw, np.int64(unit))
    return Vector(found), _either(wrapped, outside(found, low, high))


def _may_wrap(a: Codes, b: Codes) -> Mask | None:
    """Where a product may not fit 64 bits; None if nowhere."""
    if max(map(abs, bounds(a))) * max(map(abs, bounds(b))) < _SAFE:
        return None
    return np.abs(a.astype(np.float64) * b.astype(np.float64)) >= _SAFE


def _either(first: Mask | None, second: Mask | None) -> Mask | None:
    if first is None or second is None:
        return second if first is None else first
    return first | second


def _quotient(a: Codes, b: Codes, low: int) -> tuple[Vector, Mask | None]:
    bad: Mask = (b == 0) | ((b == -1) & (a == low))
    divisor = np.where(bad, 1, b) if bad.any() else b
    quotient = a // divisor
    cut = (quotient * divisor != a) & ((a ^ divisor) < 0)  # NumPy rounds down; truncation rounds toward zero
    return Vector(quotient + cut), bad


def _remainder(a: Codes, b: Codes) -> tuple[Vector, Mask | None]:
    bad = b == 0
    # the smallest integer % -1 traps in the processor
    divisor = np.where(bad | (b == -1), 1, b)
    found = np.fmod(a, divisor)
    return Vector(found), np.broadcast_to(bad, found.shape)


def _decimal_quotient(a: Codes, b: Codes, unit: int, low: int, high: int) -> tuple[Vector, Mask | None]:
    bad = b == 0
    divisor = np.where(bad, 1, np.abs(b))
    wrapped = _may_wrap(a, np.array([unit], np.int64))
    found = half_even(np.where(b < 0, -a, a) * np.int64(unit), divisor)
    bad = np.broadcast_to(bad, found.shape)
    return Vector(found), _either(bad, _either(wrapped, outside(found, low, high)))


# -- bits


def _shift_limit(type_: Type) -> int:
    match type_:
        case types.Bit(width) | types.Signed(width):
            return width - 1
        case types.BigInt():
            return MAX_BIGINT_SHIFT
        case (
            types.Bool()
            | types.Int()
            | types.Float()
            | types.Double()
            | types.Decimal()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
            | types.Duration()
            | types.Option()
            | types.Tuple()
            | types.Vec()
            | types.Set()
            | types.Map()
            | types.Named()
        ):
            return 63
        case _:
            assert_never(type_)


def _lowest_bits(type_: Type) -> int | None:
    """The mask of bits that a `bit<N>` keeps; None for other integers, which are range-checked instead."""
    return (1 << type_.width) - 1 if isinstance(type_, types.Bit) else None


def _shift(op: str, type_: Type) -> Plain:
    limit, kept = _shift_limit(type_), _lowest_bits(type_)

    def shift(number: int, amount: int) -> int:
        if not 0 <= amount <= limit:
            raise Undefined(f"{type_} can be shifted by 0 to {limit} bits, not by {amount}")
        if op == ">>":
            return number >> amount
        return number << amount if kept is None else (number << amount) & kept

    return shift


def _fast_shift(op: str, type_: Type) -> Fast:
    limit, kept = _shift_limit(type_), _lowest_bits(type_)
    low, high = limits(type_)

    def shift(a: Vector, b: Vector) -> tuple[Vector, Mask | None]:
        number, amount = a.codes, b.codes
        bad = outside(amount, 0, limit)
        if bad is not None:
            amount = np.where(bad, 0, amount)
        found = number >> amount if op == ">>" else number << amount
        if bad is not None:
            bad = np.broadcast_to(bad, found.shape)
        if op == ">>":
            return Vector(found), bad
        if kept is not None:
            return Vector(found & np.int64(kept)), bad
        lost = (found >> amount) != number
        return Vector(found), _either(bad, _either(lost, outside(found, low, high)))

    return shift


def _complement(type_: Type) -> Plain:
    kept = _lowest_bits(type_)
    return operator.invert if kept is None else lambda a: ~a & kept


def _fast_complement(type_: Type) -> Fast | None:
    if not is_direct(type_):
        return None
    kept = np.int64(-1 if not isinstance(type_, types.Bit) else (1 << type_.width) - 1)
    return lambda a: (Vector(~a.codes & kept), None)


_BITWISE: Final[Mapping[str, Callable[..., Any]]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def _fast_bitwise(op: str) -> Fast:
    return lambda a, b: (Vector(_BITWISE[op](a.codes, b.codes)), None)


# -- float and double


def _fmod(a: float, b: float) -> float:
    return math.fmod(a, b) if math.isfinite(a) else math.nan


_FLOAT: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": _fmod,
}


def _float(op: str, type_: Type) -> Plain:
    def apply(a: float, b: float) -> float:
        if op in "/%" and b == 0:
            raise Undefined("division by zero")
        found = _FLOAT[op](a, b)
        if math.isinf(found) and math.isfinite(a) and math.isfinite(b):
            raise Undefined(f"overflow: the result does not fit a {type_}")
        return single(found) if isinstance(type_, types.Float) else found

    return apply


_FAST_FLOAT: Final[Mapping[str, Callable[[Numbers, Numbers], Numbers]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}


def _fast_float(op: str, type_: Type) -> Fast:
    def apply(a: Vector, b: Vector) -> tuple[Vector, Mask | None]:
        with np.errstate(all="ignore"):
            found = _FAST_FLOAT[op](a.numbers, b.numbers)
        if isinstance(type_, types.Float):
            found = singles(found)
        bad = ~np.isfinite(found)
        if bad.any():
            bad &= np.isfinite(a.numbers) & np.isfinite(b.numbers)
        if op in "/%":
            bad |= b.numbers == 0
        return Vector.of_numbers(found), bad

    return apply
