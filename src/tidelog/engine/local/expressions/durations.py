"""Arithmetic with durations and timestamps, whose codes are microseconds.

The difference of timestamps is a duration, and a timestamp plus or minus a duration is a timestamp. Durations
add and subtract, and are multiplied and divided by integers; a quotient is truncated toward zero.
The plain forms of the standard functions on durations are here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from tidelog.data import types
from tidelog.data.durations import UNITS
from tidelog.data.types import Type, present
from tidelog.data.values import Value
from tidelog.engine.local.codes.direct import direct_code, direct_value
from tidelog.engine.local.expressions.arithmetic import INTEGER, fast_integers
from tidelog.engine.local.expressions.conversions import MOMENTS
from tidelog.engine.local.expressions.operations import Operation, Plain, Undefined
from tidelog.engine.local.expressions.vectors import Vector

__all__ = ["DURATIONS", "UNIT_NAMES", "is_temporal", "negated", "temporal"]

UNIT_NAMES: Final = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
_SPANS: Final = 1 - 2**63, 2**63 - 1  # the smallest number is the code of `none`


def is_temporal(op: str, *operands: Type) -> bool:
    """Whether an operation is arithmetic with durations or timestamps."""
    return op in INTEGER and any(isinstance(t, types.Duration | types.Timestamp) for t in operands)


def temporal(op: str, left: Type, right: Type, result: Type) -> Operation:
    """`+ - * / %` with a duration or timestamp on one side at least."""
    low, high = MOMENTS if isinstance(result, types.Timestamp) else _SPANS

    def plain(a: Value, b: Value) -> Value:
        amount = INTEGER[op](direct_code(present(left), a), direct_code(present(right), b))
        if not low <= amount <= high:
            raise Undefined(_reason(result))
        return direct_value(present(result), amount)

    return Operation((left, right), result, plain, fast_integers(op, low, high))


def negated() -> Operation:
    """The opposite of a duration, which always is one."""
    return Operation((types.DURATION,), types.DURATION, lambda a: -a, lambda a: (Vector(-a.codes), None))


def _reason(result: Type) -> str:
    if isinstance(result, types.Timestamp):
        return "the timestamp is outside the years 1 to 9999"
    return f"overflow: the result does not fit a {result}"


# -- standard functions


def _bucket(t: datetime, width: timedelta) -> Value:
    if width <= timedelta(0):
        raise Undefined("the width of a bucket is not positive")
    code, size = direct_code(types.TIMESTAMP, t), direct_code(types.DURATION, width)
    start = code - code % size
    if start < MOMENTS[0]:
        raise Undefined(_reason(types.TIMESTAMP))
    return direct_value(types.TIMESTAMP, start)


def _of_unit(unit: str, n: int) -> Value:
    amount = n * UNITS[unit]
    if not _SPANS[0] <= amount <= _SPANS[1]:
        raise Undefined(_reason(types.DURATION))
    return direct_value(types.DURATION, amount)


DURATIONS: Final[Mapping[tuple[str, int], Plain]] = {
    ("bucket", 2): _bucket,
    ("total_seconds", 1): timedelta.total_seconds,
    **{(unit, 1): partial(_of_unit, unit) for unit in UNIT_NAMES},
}
