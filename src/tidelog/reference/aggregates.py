"""The aggregates over a group, in plain Python.

A group consists of the argument tuples of all its instances. It is never empty, and its order does not
matter. Sums and means are exact: they are fractions, rounded or checked once at the end.

A nested body may have no instances. Then some aggregates have a value all the same, and the others do not
hold (`over_nothing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from tidelog.data.structs import FrozenMap
from tidelog.data.types import Type
from tidelog.data.values import BadValue, Row, Value, order_key, to_text
from tidelog.reference import statistics
from tidelog.reference.convert import Undefined, checked, exact, exact_sum, number_at
from tidelog.reference.evaluate import Failure

__all__ = ["aggregate", "over_nothing"]


def aggregate(
    function: str, rows: Sequence[Row], types: tuple[Type, ...], result: Type, *, distinct: bool = False
) -> Value | Failure:
    """The aggregate of canonical rows with columns of these types; with `distinct`, equal rows count once."""
    assert rows, "a group is never empty"
    try:
        return checked(result, _aggregate(function, list(set(rows)) if distinct else rows, types, result))
    except (Undefined, BadValue) as problem:
        return Failure(str(problem))


def over_nothing(function: str, result: Type) -> list[Value | Failure]:
    """The value of an aggregate over no instances, or no value."""
    match function:
        case "count" | "count_distinct" | "count_if" | "sum":
            return [number_at(result, Fraction(0))]
        case "any" | "all":
            return [function == "all"]
        case "concat":
            return [""]
        case "collect_vec" | "collect_set" | "collect_map":
            return [checked(result, ())]
        case "min" | "max" | "avg" | "arg_min" | "arg_max" | "top":
            return []
        case "median" | "quantile" | "variance" | "stddev" | "mode" | "bit_and" | "bit_or":
            return []
        case _:
            raise AssertionError(function)


def _aggregate(function: str, rows: Sequence[Row], types: tuple[Type, ...], result: Type) -> Value:
    if function == "count":
        return len(rows)
    values = [row[0] for row in rows]
    match function:
        case "count_distinct":
            return len(set(values))
        case "sum":
            return exact_sum(result, values)
        case "avg":
            return _avg(values, result)
        case "min":
            return min(values, key=lambda v: order_key(types[0], v))
        case "max":
            return max(values, key=lambda v: order_key(types[0], v))
        case "arg_min" | "arg_max":
            return _arg_best(1 if function == "arg_min" else -1, rows, types)
        case "top":
            return _top(rows, types)
        case "any":
            return any(values)
        case "all":
            return all(values)
        case "concat":
            return _concat(rows)
        case "collect_vec":
            return _collect_vec(rows, types)
        case "collect_set":
            return frozenset(values)
        case "collect_map":
            return _collect_map(rows, types)
        case "count_if":
            return sum(1 for v in values if v is True)
        case "median":
            return statistics.quantile(Fraction(1, 2), values, types[0], result)
        case "quantile":
            return statistics.quantile(statistics.fraction_of(rows, types[1]), values, types[0], result)
        case "variance":
            return statistics.variance(values)
        case "stddev":
            return statistics.stddev(values)
        case "mode":
            return statistics.mode(values, types[0])
        case "bit_and" | "bit_or":
            return statistics.bits(values, all_of=function == "bit_and")
        case _:
            raise AssertionError(function)


def _avg(values: Sequence[Value], result: Type) -> Value:
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        return exact_sum(result, values)
    return number_at(result, sum(map(exact, values), Fraction(0)) / len(values))


def _arg_best(direction: int, rows: Sequence[Row], types: tuple[Type, ...]) -> Value:
    """The value whose second column is smallest (1) or largest (-1); the smallest such value if tied."""
    keys = [order_key(types[1], row[1]) for row in rows]
    best = min(keys) if direction > 0 else max(keys)
    tied = [row[0] for row, key in zip(rows, keys, strict=True) if key == best]
    return min(tied, key=lambda v: order_key(types[0], v))


def _top(rows: Sequence[Row], types: tuple[Type, ...]) -> tuple[Value, ...]:
    """The first values, from the largest, or from the one where the third column is largest."""
    by_value = sorted(rows, key=lambda row: order_key(types[0], row[0]), reverse=len(types) == 2)
    in_order = by_value
    if len(types) > 2:
        in_order = sorted(by_value, key=lambda row: order_key(types[2], row[2]), reverse=True)
    (n,) = {row[1] for row in rows}
    assert isinstance(n, int)
    return tuple(row[0] for row in in_order[:n])


def _concat(rows: Sequence[Row]) -> str:
    separators = {str(row[1]) for row in rows if len(row) > 1} or {""}
    if len(separators) > 1:
        raise Undefined("concat: one group has several separators")
    return separators.pop().join(sorted(str(row[0]) for row in rows))


def _collect_vec(rows: Sequence[Row], types: tuple[Type, ...]) -> tuple[Value, ...]:
    """The values in the order of the second column, if there is one, and then in their own."""
    in_order = sorted(rows, key=lambda row: [order_key(t, v) for t, v in zip(types, row, strict=True)][::-1])
    return tuple(row[0] for row in in_order)


def _collect_map(rows: Sequence[Row], types: tuple[Type, ...]) -> FrozenMap:
    collected: dict[Value, Value] = {}
    for key, value in rows:
        if (collected.get(key, value),) != (value,):  # in a tuple NaN equals itself
            raise Undefined(f"collect_map: the key {to_text(types[0], key)} has several values")
        collected[key] = value
    return FrozenMap(collected)
