"""The aggregates over a group, in plain Python.

A group consists of the argument tuples of all its instances. It is never empty, and its order does not
matter. Sums and means are exact: they are fractions, rounded or checked once at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from tidelog.data.types import Type
from tidelog.data.values import BadValue, Row, Value, order_key
from tidelog.reference.convert import Undefined, checked, exact, number_at
from tidelog.reference.evaluate import Failure

__all__ = ["aggregate"]


def aggregate(
    function: str, rows: Sequence[Row], types: tuple[Type, ...], result: Type, *, distinct: bool = False
) -> Value | Failure:
    """The aggregate of canonical rows with columns of these types; with `distinct`, equal rows count once."""
    assert rows, "a group is never empty"
    try:
        return checked(result, _aggregate(function, list(set(rows)) if distinct else rows, types, result))
    except (Undefined, BadValue) as problem:
        return Failure(str(problem))


def _aggregate(function: str, rows: Sequence[Row], types: tuple[Type, ...], result: Type) -> Value:
    if function == "count":
        return len(rows)
    values = [row[0] for row in rows]
    match function:
        case "count_distinct":
            return len(set(values))
        case "sum":
            return _sum(values, result)
        case "avg":
            return _avg(values, result)
        case "min":
            return min(values, key=lambda v: order_key(types[0], v))
        case "max":
            return max(values, key=lambda v: order_key(types[0], v))
        case "arg_min" | "arg_max":
            return _arg_best(1 if function == "arg_min" else -1, rows, types)
        case "any":
            return any(values)
        case "all":
            return all(values)
        case "concat":
            return _concat(rows)
        case _:
            raise AssertionError(function)


def _sum(values: Sequence[Value], result: Type) -> Value:
    special = _not_finite(values)
    return number_at(result, sum(map(exact, values), Fraction(0))) if special is None else special


def _avg(values: Sequence[Value], result: Type) -> Value:
    special = _not_finite(values)
    if special is not None:
        return special
    return number_at(result, sum(map(exact, values), Fraction(0)) / len(values))


def _not_finite(values: Sequence[Value]) -> float | None:
    """The IEEE 754 sum if a value is NaN or infinite; None if all values are finite."""
    special = [v for v in values if isinstance(v, float) and not math.isfinite(v)]
    return sum(special) if special else None


def _arg_best(direction: int, rows: Sequence[Row], types: tuple[Type, ...]) -> Value:
    """The value whose second column is smallest (1) or largest (-1); the smallest such value if tied."""
    keys = [order_key(types[1], row[1]) for row in rows]
    best = min(keys) if direction > 0 else max(keys)
    tied = [row[0] for row, key in zip(rows, keys, strict=True) if key == best]
    return min(tied, key=lambda v: order_key(types[0], v))


def _concat(rows: Sequence[Row]) -> str:
    separators = {str(row[1]) for row in rows if len(row) > 1} or {""}
    if len(separators) > 1:
        raise Undefined("concat: one group has several separators")
    return separators.pop().join(sorted(str(row[0]) for row in rows))
