"""Arithmetic with durations and timestamps, in whole microseconds.

- `timestamp - timestamp` is a duration; `timestamp + duration` and `timestamp - duration` are timestamps;
- durations add and subtract; a duration times or divided by an integer is a duration, truncated toward zero;
- a result outside the range of its type is a failure.

The standard functions on durations are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final

from tidelog.data.values import Value
from tidelog.reference.convert import Undefined

__all__ = ["DURATIONS", "duration", "duration_arithmetic", "is_temporal", "microseconds"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def is_temporal(value: Value) -> bool:
    return isinstance(value, datetime | timedelta)


def duration_arithmetic(op: str, left: Value, right: Value) -> datetime | timedelta:
    """The result of an operation in which an operand is a timestamp or a duration."""
    a, b = microseconds(left), microseconds(right)
    match op:
        case "+":
            amount = a + b
        case "-":
            amount = a - b
        case "*":
            amount = a * b
        case "/" if b == 0:
            raise Undefined("division by zero")
        case "/":
            amount = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case _:
            raise AssertionError(op)
    moments = isinstance(left, datetime) + isinstance(right, datetime)
    return _moment(amount) if moments == 1 else duration(amount)


def microseconds(value: Value) -> int:
    """The count that a value stands for: of a timestamp from 1970 on, of a duration its length."""
    match value:
        case datetime():
            return (value - _EPOCH) // _MICROSECOND
        case timedelta():
            return value // _MICROSECOND
        case int():
            return value
        case _:
            raise AssertionError(value)


def duration(amount: int) -> timedelta:
    if abs(amount) >= 2**63:
        raise Undefined("overflow: the result does not fit a duration")
    return timedelta(microseconds=amount)


def _moment(amount: int) -> datetime:
    try:
        return _EPOCH + amount * _MICROSECOND
    except OverflowError:
        raise Undefined("the timestamp is outside the years 1 to 9999") from None


# -- standard functions


def _bucket(t: datetime, width: timedelta) -> datetime:
    size = microseconds(width)
    if size <= 0:
        raise Undefined("the width of a bucket is not positive")
    return _moment(microseconds(t) // size * size)


def _of_unit(size: int) -> Callable[[int], timedelta]:
    return lambda n: duration(n * size)


DURATIONS: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("bucket", 2): _bucket,
    ("total_seconds", 1): lambda d: float(Fraction(microseconds(d), 1_000_000)),
    ("weeks", 1): _of_unit(7 * 24 * 3_600_000_000),
    ("days", 1): _of_unit(24 * 3_600_000_000),
    ("hours", 1): _of_unit(3_600_000_000),
    ("minutes", 1): _of_unit(60_000_000),
    ("seconds", 1): _of_unit(1_000_000),
    ("milliseconds", 1): _of_unit(1_000),
    ("microseconds", 1): _of_unit(1),
}
