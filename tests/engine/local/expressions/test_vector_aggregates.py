"""Aggregates on columns give, group by group, what the reference gives on rows repeated by their weight."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.local.expressions.vector_cases import SCALARS, TYPES, value
from tidelog.data import types
from tidelog.data.types import BOOL, DOUBLE, INT, STRING, Type
from tidelog.data.values import Row, Value, canonical
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.aggregates import aggregate
from tidelog.program.library.catalog import AGGREGATE_NAMES, aggregate_result
from tidelog.reference import aggregates as reference
from tidelog.reference.evaluate import Failure

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
TWO = (STRING, STRING)


def over(
    function: str,
    groups: Sequence[int],
    rows: Sequence[Row],
    types_: tuple[Type, ...],
    weights: Sequence[int],
    distinct: bool = False,
) -> list[Value | Failure]:
    codec = Codec()
    result = INT if not types_ else aggregate_result(function, types_[0])
    assert result is not None
    args = [codec.encode_column(t, [row[i] for row in rows]) for i, t in enumerate(types_)]
    count = len(set(groups))
    numbers, multiplicities = np.array(groups, np.int64), np.array(weights, np.int64)
    outcome = aggregate(function, numbers, args, types_, result, multiplicities, distinct, count, codec)
    assert len(outcome.codes) == count
    failures = [0] * count if outcome.failures is None else outcome.failures.tolist()
    return [
        Failure(outcome.reason(f)) if f else codec.decode(result, c)
        for c, f in zip(outcome.codes.tolist(), failures, strict=True)
    ]


def one(function: str, type_: Type, *values: object, weights: Sequence[int] | None = None) -> Value | Failure:
    rows = [(canonical(type_, v),) for v in values]
    (found,) = over(function, [0] * len(rows), rows, (type_,), weights or [1] * len(rows))
    return found


def agrees(found: Value | Failure, wanted: Value | Failure) -> bool:
    return found is wanted or (found == wanted and type(found) is type(wanted))


# -- against the reference

CASES = [(name, t) for name in AGGREGATE_NAMES for t in TYPES if aggregate_result(name, t) is not None]


@settings(max_examples=400)
@given(st.integers(0, 2**64), st.sampled_from(CASES), st.booleans(), st.integers(1, 5), st.integers(0, 30))
def test_any_aggregate_is_that_of_the_repeated_rows(
    seed: int, case: tuple[str, Type], distinct: bool, count: int, more: int
) -> None:
    rng = random.Random(seed)
    function, type_ = case
    types_: tuple[Type, ...] = (type_,)
    if function.startswith("arg_"):
        types_ = (type_, rng.choice(SCALARS))
    if function == "concat" and rng.random() < 0.7:
        types_ = TWO
    if function == "quantile":
        types_ = (type_, DOUBLE)
    if function == "top":
        types_ = (type_, INT, rng.choice(SCALARS)) if rng.random() < 0.5 else (type_, INT)
    groups = [*range(count), *(rng.randrange(count) for _ in range(more))]
    rng.shuffle(groups)
    separators = ("; ",) if rng.random() < 0.8 else (", ", "; ")
    rows = [tuple(value(rng, t) for t in types_) for _ in groups]
    if function == "concat" and len(types_) > 1:
        rows = [(row[0], rng.choice(separators)) for row in rows]
    if function == "quantile":
        fraction = rng.choice([0.0, 0.1, 1 / 3, 0.5, 0.99, 1.0, -0.5, math.nan])
        rows = [(row[0], canonical(DOUBLE, fraction)) for row in rows]
    if function == "top":
        size = rng.choice([1, 2, 3, 10, LARGEST])
        rows = [(row[0], size, *row[2:]) for row in rows]
    weights = [rng.choice([1, 1, 2, 5]) for _ in groups] if rng.random() < 0.6 else [1] * len(groups)
    found = over(function, groups, rows, types_, weights, distinct)
    result = aggregate_result(function, type_)
    assert result is not None
    for group in range(count):
        mine = [row for g, row, w in zip(groups, rows, weights, strict=True) if g == group for _ in range(w)]
        wanted = reference.aggregate(function, mine, types_, result, distinct=distinct)
        assert agrees(found[group], wanted), (group, mine, found[group], wanted)


# -- what is easily got wrong


def test_count_takes_no_argument_and_counts_instances() -> None:
    assert over("count", [0, 1, 0], [(), (), ()], (), [2, 1, 3]) == [5, 1]
    assert over("count", [0, 1, 0], [(), (), ()], (), [2, 1, 3], distinct=True) == [1, 1]


def test_rows_that_agree_in_the_arguments_are_distinct_once() -> None:
    rows: list[Row] = [(1,), (1,), (2,), (1,)]
    assert over("count", [0, 0, 0, 1], rows, (INT,), [1, 4, 1, 1], distinct=True) == [2, 1]
    assert over("count_distinct", [0, 0, 0, 1], rows, (INT,), [1, 4, 1, 1]) == [2, 1]
    assert over("sum", [0, 0, 0, 1], rows, (INT,), [1, 4, 1, 1], distinct=True) == [3, 1]


def test_a_sum_may_pass_through_what_does_not_fit() -> None:
    assert one("sum", INT, LARGEST, LARGEST, SMALLEST, SMALLEST, 7) == 5
    assert one("sum", INT, LARGEST, SMALLEST, weights=[2**40, 2**40]) == -(2**40)
    assert isinstance(one("sum", INT, LARGEST, 1), Failure)
    assert isinstance(one("sum", types.Bit(8), 5, weights=[60]), Failure)


def test_a_sum_that_fails_leaves_other_groups_alone() -> None:
    rows: list[Row] = [(LARGEST,), (5,), (LARGEST,)]
    first, second = over("sum", [0, 1, 0], rows, (INT,), [1, 3, 1])
    assert isinstance(first, Failure)
    assert "does not fit int" in first.reason
    assert second == 15


def test_a_mean_is_rounded_once() -> None:
    assert one("avg", INT, 1, 2, weights=[1, 2]) == 5 / 3
    assert one("avg", INT, LARGEST, weights=[2**40]) == float(2**63)
    assert one("avg", DOUBLE, 1e308, weights=[1000]) == 1e308


@pytest.mark.parametrize(
    ("values", "weights", "result"),
    [
        ((1e308, 1e308, -1e308), (1, 1, 1), 1e308),
        ((1e308, -1e308, 1.0), (10, 10, 3), 3.0),
        ((0.1,), (10,), 1.0),
        ((1e16, 1.0, -1e16), (1, 1, 1), 1.0),
        ((math.inf, -math.inf), (1, 1), math.nan),
        ((math.inf, 1.0), (3, 1), math.inf),
    ],
)
def test_a_sum_of_doubles_is_rounded_once(
    values: tuple[float, ...], weights: tuple[int, ...], result: float
) -> None:
    assert str(one("sum", DOUBLE, *values, weights=weights)) == str(result)


def test_any_and_all() -> None:
    rows: list[Row] = [(True,), (False,), (True,)]
    assert over("any", [0, 0, 1], rows, (BOOL,), [1, 1, 1]) == [True, True]
    assert over("all", [0, 0, 1], rows, (BOOL,), [1, 1, 1]) == [False, True]


def test_concat_repeats_and_sorts() -> None:
    rows: list[Row] = [("b", ", "), ("\U0001f600", ", "), ("￿", ", "), ("a", ", ")]
    assert over("concat", [0] * 4, rows, TWO, [2, 1, 1, 1]) == ["a, b, b, ￿, \U0001f600"]
    assert over("concat", [0] * 4, rows, TWO, [2, 1, 1, 1], distinct=True) == ["a, b, ￿, \U0001f600"]


def test_no_groups_have_no_values() -> None:
    empty = np.empty(0, np.int64)
    outcome = aggregate("sum", empty, [empty], [INT], INT, empty, False, 0, Codec())
    assert len(outcome.codes) == 0
    assert outcome.failures is None


@given(st.lists(st.tuples(st.integers(SMALLEST, LARGEST), st.integers(1, 2**40)), min_size=1, max_size=50))
def test_whole_sums_are_exact_in_every_size(pairs: list[tuple[int, int]]) -> None:
    found = one("sum", types.Signed(64), *(v for v, _ in pairs), weights=[w for _, w in pairs])
    exact = sum(v * w for v, w in pairs)
    assert found == exact if SMALLEST <= exact <= LARGEST else isinstance(found, Failure)
