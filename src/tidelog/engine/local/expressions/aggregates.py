"""Aggregates over groups of rows, where each row stands for `weight` instances.

A group is never empty, and the order of its rows never matters. Sums and means are computed exactly, and
rounded or range-checked once, at the end. Integers and decimals are summed as units in 64 bits if their
bounds show that this is enough, otherwise in two halves of 32 bits each. Groups whose sum does not fit, and
types that are not direct, are left to plain Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Value
from tidelog.engine.local.codes.codec import Codec, Codes, is_direct
from tidelog.engine.local.codes.pools import lengths_to_starts
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.expressions.arithmetic import half_even, limits, outside, to_units
from tidelog.engine.local.expressions.comparisons import keys
from tidelog.engine.local.expressions.conversions import EXACT_DOUBLE, nearest
from tidelog.engine.local.expressions.operations import Ledger, Plain, Pulse, Undefined
from tidelog.engine.local.expressions.statistics import STATISTICS
from tidelog.engine.local.expressions.vectors import Outcome, Reasons, Vector, bounds, distinct
from tidelog.errors import shown

__all__ = ["aggregate", "exact_sum", "exact_sums"]

_SAFE: Final = 2**62
_LOW_HALF: Final = np.int64(2**32 - 1)
_LARGEST: Final = np.int64(2**63 - 1)
_FEW: Final = 2.0**30  # fewer instances cannot overflow a sum of 32-bit halves
_MANY: Final = 4
_NEUTRAL: Final = {np.add: 0, np.minimum: 2**63 - 1, np.maximum: -(2**63)}
_FINEST: Final = 2**1074  # every double is an integer multiple of 1 / 2**1074


@dataclass(frozen=True, slots=True)
class _Groups:
    """The rows of an aggregate: the number of their group, their arguments and their weight."""

    count: int
    numbers: Codes
    args: tuple[Codes, ...]
    types: tuple[Type, ...]
    weights: Codes
    result: Type
    ledger: Ledger

    def reduce(self, function: Any, values: npt.NDArray[Any]) -> Any:
        """Reduce the values of each group by `add`, `minimum` or `maximum`."""
        made = np.full(self.count, _NEUTRAL[function], values.dtype)
        function.at(made, self.numbers, values)
        return made

    def in_order(self) -> _Groups:
        """The same rows, sorted by group."""
        if (self.numbers[1:] >= self.numbers[:-1]).all():
            return self
        order = np.argsort(self.numbers, kind="stable")
        args = tuple(a[order] for a in self.args)
        return replace(self, numbers=self.numbers[order], args=args, weights=self.weights[order])

    def each(self, *columns: list[Any]) -> Iterator[tuple[list[Any], ...]]:
        """Split columns of sorted rows into groups."""
        starts = np.searchsorted(self.numbers, np.arange(self.count + 1))
        for start, end in pairwise(starts.tolist()):
            yield tuple(column[start:end] for column in columns)


def aggregate(
    function: str,
    groups: npt.NDArray[np.int64],
    args: Sequence[Codes],
    types: Sequence[Type],
    result: Type,
    weights: npt.NDArray[np.int64],
    distinct: bool,
    n_groups: int,
    codec: Codec,
    reasons: Reasons | None = None,
    check: Callable[[], None] = lambda: None,
) -> Outcome:
    """Compute one value, or the reason of a failure, for each group from 0 to `n_groups` - 1.

    `groups` holds the group of each row. With `distinct`, rows of a group that agree in all of `args` count
    once. `check` is called regularly.
    """
    ledger = Ledger(codec, Reasons() if reasons is None else reasons, Pulse(check))
    if n_groups == 0:
        return Outcome(np.empty(0, np.int64), None, ledger.reasons)
    kept = list(args[:1]) if function == "count_distinct" else list(args)
    if distinct or function == "count_distinct":
        rows = _once(groups, kept)
        groups, kept, weights = groups[rows], [a[rows] for a in kept], np.ones(len(rows), np.int64)
    rows_by_group = _Groups(n_groups, groups, tuple(kept), tuple(types), weights, result, ledger)
    return _AGGREGATES[function](rows_by_group).outcome(n_groups, ledger.reasons)


def _once(groups: Codes, args: Sequence[Codes]) -> Codes:
    return distinct([groups, *args])[0]


# -- counting and choosing


def _count(groups: _Groups) -> Vector:
    return Vector(groups.reduce(np.add, groups.weights))


def _count_if(groups: _Groups) -> Vector:
    return Vector(groups.reduce(np.add, groups.weights * groups.args[0]))


def _any(groups: _Groups) -> Vector:
    return Vector(groups.reduce(np.maximum, groups.args[0]))


def _all(groups: _Groups) -> Vector:
    return Vector(groups.reduce(np.minimum, groups.args[0]))


def _best(groups: _Groups, best: np.ufunc) -> Vector:
    (places,), codes = keys(groups.ledger.codec, groups.types[0], groups.args[:1])
    chosen = groups.reduce(best, places)
    return Vector(chosen if codes is None else codes[chosen])


def _arg_best(groups: _Groups, best: np.ufunc) -> Vector:
    """The value where the second column is best; the smallest one if several are."""
    codec = groups.ledger.codec
    (by,), _ = keys(codec, groups.types[1], groups.args[1:2])
    tied = by == groups.reduce(best, by)[groups.numbers]
    (places,), codes = keys(codec, groups.types[0], groups.args[:1])
    # rows that do not tie must not win
    chosen = groups.reduce(np.minimum, np.where(tied, places, _LARGEST))
    return Vector(chosen if codes is None else codes[chosen])


def _concat(groups: _Groups) -> Vector:
    return _by_group(groups, _concat_group)


def _statistic(name: str, groups: _Groups) -> Vector:
    return _by_group(groups, STATISTICS[name](groups.types, groups.result))


def _by_group(groups: _Groups, of_group: Plain) -> Vector:
    """Apply a function of the weights and the columns of values to each group."""
    groups = groups.in_order()
    columns = [groups.ledger.values(t, a) for t, a in zip(groups.types, groups.args, strict=True)]
    rows = groups.each(groups.weights.tolist(), *columns)
    return groups.ledger.tabulate(of_group, rows, groups.result)


def _concat_group(weights: list[int], values: list[str], separators: Sequence[str] = ("",)) -> str:
    if len(set(separators)) > 1:
        raise Undefined("concat: one group has several separators")
    weighted = sorted(zip(values, weights, strict=True))
    return separators[0].join(v for v, weight in weighted for _ in range(weight))


# -- sums and means of integers and decimals


def _short_sums(groups: _Groups) -> Codes | None:
    """The exact sums in units, if the bounds of values and weights show that they fit into 64 bits."""
    largest = max(map(abs, bounds(groups.args[0])))
    if largest * int(_count(groups).codes.max()) >= _SAFE:
        return None
    sums: Codes = groups.reduce(np.add, groups.args[0] * groups.weights)
    return sums


def exact_sums(
    type_: Type, codes: Codes, numbers: Codes, weights: Codes, count: int, ledger: Ledger
) -> Codes | list[int]:
    """The sums of integers of this type by group, of any size."""
    groups = _Groups(count, numbers, (codes,), (type_,), weights, type_, ledger)
    short = _short_sums(groups) if is_direct(type_) else None
    return _long_sums(groups) if short is None else short


def _long_sums(groups: _Groups) -> list[int]:
    """The exact sums in units, of any size."""
    type_ = groups.types[0]
    if is_direct(type_):
        return _sums_of_halves(groups)
    groups = groups.in_order()
    values: list[Any] = groups.ledger.values(type_, groups.args[0])
    if isinstance(type_, types.Decimal):
        values = [to_units(type_, v) for v in values]
    products = [v * w for v, w in zip(values, groups.weights.tolist(), strict=True)]
    return [sum(mine) for (mine,) in groups.each(products)]


def _sums_of_halves(groups: _Groups) -> list[int]:
    """Sum upper and lower 32 bits separately; with very many instances, in Python integers."""
    codes, few = groups.args[0], groups.weights.sum(dtype=np.float64) < _FEW
    weights: Any = groups.weights if few else groups.weights.astype(object)
    upper = groups.reduce(np.add, (codes >> 32) * weights)
    lower = groups.reduce(np.add, (codes & _LOW_HALF) * weights)
    return [(u << 32) + rest for u, rest in zip(upper.tolist(), lower.tolist(), strict=True)]


def _sum(groups: _Groups) -> Vector:
    type_ = groups.types[0]
    if types.is_float(type_):
        return _float_results(groups, _float_sum)
    short = _short_sums(groups) if is_direct(type_) else None
    if short is not None and outside(short, *limits(type_)) is None:
        return Vector(short)
    ratios = ((units, _denominator(type_)) for units in _long_sums(groups))
    return groups.ledger.tabulate(partial(nearest, groups.result), ratios, groups.result)


def _avg(groups: _Groups) -> Vector:
    type_ = groups.types[0]
    if types.is_float(type_):
        return _float_results(groups, _float_mean)
    counts = _count(groups).codes
    short = _short_sums(groups) if is_direct(type_) else None
    if short is not None and isinstance(type_, types.Decimal):
        return Vector(half_even(short, counts))  # a mean is never outside the limits of its values
    if short is not None and max(*map(abs, bounds(short)), *bounds(counts)) <= EXACT_DOUBLE:
        return Vector.of_numbers(short.astype(np.float64) / counts)
    denominators = (count * _denominator(type_) for count in counts.tolist())
    ratios = zip(_long_sums(groups), denominators, strict=True)
    return groups.ledger.tabulate(partial(nearest, groups.result), ratios, groups.result)


def _denominator(type_: Type) -> int:
    return 10**type_.scale if isinstance(type_, types.Decimal) else 1


# -- sums and means of floats and doubles


def _float_results(groups: _Groups, of_group: Callable[[list[Any], list[int]], float]) -> Vector:
    groups = groups.in_order()
    values = groups.ledger.values(groups.types[0], groups.args[0])
    rows = groups.each(values, groups.weights.tolist())
    return groups.ledger.tabulate(of_group, rows, groups.result)


def _float_sum(values: list[float], weights: list[int]) -> float:
    if not all(map(math.isfinite, values)):
        return _not_finite(values)
    if max(weights) == 1:
        try:
            return math.fsum(values)
        except OverflowError:  # an intermediate sum overflowed; the exact sum may still fit
            pass
    return _ratio(_exact(values, weights), _FINEST)


def _float_mean(values: list[float], weights: list[int]) -> float:
    if not all(map(math.isfinite, values)):
        return _not_finite(values)
    return _ratio(_exact(values, weights), _FINEST * sum(weights))


def _not_finite(values: list[float]) -> float:
    """The sum by IEEE 754 if a value is NaN or infinite; the order does not matter."""
    return sum(v for v in values if not math.isfinite(v))


def _exact(values: list[float], weights: list[int]) -> int:
    """The exact sum, in units of the smallest double."""
    if max(weights) == 1:
        values = _few(values)
        weights = [1] * len(values)
    total = 0
    for value, weight in zip(values, weights, strict=True):
        numerator, denominator = value.as_integer_ratio()  # the denominator is a power of two
        total += weight * numerator * (_FINEST // denominator)
    return total


def _few(values: list[float]) -> list[float]:
    """Reduce to a few doubles, usually two or three, with the same exact sum; each is a rounded remainder."""
    if len(values) < _MANY:
        return values
    left = list(values)
    parts: list[float] = []
    try:
        while rest := math.fsum(left):
            parts.append(rest)
            left.append(-rest)
    except OverflowError:
        return values
    return parts


def _ratio(numerator: int, denominator: int) -> float:
    found = nearest(types.DOUBLE, numerator, denominator)
    assert isinstance(found, float)
    return found


def exact_sum(type_: Type, values: Sequence[Any]) -> Value:
    """The exact sum of values of a type, rounded once."""
    if isinstance(type_, types.Decimal):
        return nearest(type_, sum(to_units(type_, v) for v in values), _denominator(type_))
    if not types.is_float(type_):
        return int(sum(values))
    if not all(map(math.isfinite, values)):
        return _not_finite(list(values))
    return nearest(type_, _exact(list(values), [1] * len(values)), _FINEST) if values else 0.0


# -- collections


def _collect_vec(groups: _Groups) -> Vector:
    """The values in their order, or in the order of the second column and then their own."""
    ranks = [_places(groups, i) for i in range(len(groups.args))]
    order = np.lexsort((ranks[0], *ranks[1:], groups.numbers))
    copies = np.repeat(order, groups.weights[order])
    lengths = np.bincount(groups.numbers[copies], minlength=groups.count).astype(np.int64)
    rows = Rows(groups.args[0][copies], lengths_to_starts(lengths))
    return Vector(groups.ledger.codec.pool(groups.result).from_items(rows))


def _top(groups: _Groups) -> Vector:
    """The first values in descending order of the third column and then their own order, or of their own."""
    (given,) = groups.ledger.values(groups.types[1], groups.args[1][:1])
    assert isinstance(given, int)
    n = min(given, int(_LARGEST))
    values = _places(groups, 0)
    by = (values, ~_places(groups, 2)) if len(groups.args) > 2 else (~values,)  # `~` reverses the order
    order = np.lexsort((*by, groups.numbers))
    numbers, weights = groups.numbers[order], groups.weights[order]
    ends = np.cumsum(weights)
    starts = np.searchsorted(numbers, np.arange(groups.count))
    before = ends - weights - (ends - weights)[starts][numbers]  # instances of the group that come first
    taken: Codes = np.clip(n - before, 0, weights)  # the two are not negative, so nothing overflows
    lengths = np.zeros(groups.count, np.int64)
    np.add.at(lengths, numbers, taken)
    rows = Rows(groups.args[0][np.repeat(order, taken)], lengths_to_starts(lengths))
    return Vector(groups.ledger.codec.pool(groups.result).from_items(rows))


def _places(groups: _Groups, column: int) -> Codes:
    (places,), _ = keys(groups.ledger.codec, groups.types[column], groups.args[column : column + 1])
    return places


def _collect_set(groups: _Groups) -> Vector:
    groups = groups.in_order()
    lengths = np.bincount(groups.numbers, minlength=groups.count).astype(np.int64)
    rows = Rows(np.ascontiguousarray(groups.args[0]), lengths_to_starts(lengths))
    return Vector(groups.ledger.codec.pool(groups.result).from_items(rows))


def _collect_map(groups: _Groups) -> Vector:
    """Keys with their values; a group in which a key has two values fails."""
    rows = _once(groups.numbers, groups.args)
    numbers, pairs = groups.numbers[rows], [arg[rows] for arg in groups.args]
    order = np.lexsort((pairs[1], pairs[0], numbers))
    numbers, pairs = numbers[order], [column[order] for column in pairs]
    again = np.flatnonzero((numbers[1:] == numbers[:-1]) & (pairs[0][1:] == pairs[0][:-1]))
    lengths = np.bincount(numbers, minlength=groups.count).astype(np.int64)
    content = np.stack(pairs, axis=1).reshape(-1)
    codes = groups.ledger.codec.pool(groups.result).from_items(Rows(content, lengths_to_starts(2 * lengths)))
    if not len(again):
        return Vector(codes)
    failures = np.zeros(groups.count, np.int32)
    for place in again[::-1].tolist():
        (key,) = groups.ledger.values(groups.types[0], pairs[0][place : place + 1])
        reason = f"collect_map: the key {shown(key)} has two different values"
        failures[numbers[place]] = groups.ledger.reasons.number(reason)
    return Vector(codes, failures)


_AGGREGATES: Final[Mapping[str, Callable[[_Groups], Vector]]] = {
    "count": _count,
    "count_distinct": _count,
    "sum": _sum,
    "avg": _avg,
    "min": lambda groups: _best(groups, np.minimum),
    "max": lambda groups: _best(groups, np.maximum),
    "arg_min": lambda groups: _arg_best(groups, np.minimum),
    "arg_max": lambda groups: _arg_best(groups, np.maximum),
    "top": _top,
    "any": _any,
    "all": _all,
    "concat": _concat,
    "collect_vec": _collect_vec,
    "collect_set": _collect_set,
    "collect_map": _collect_map,
    "count_if": _count_if,
    **{name: partial(_statistic, name) for name in STATISTICS},
}
