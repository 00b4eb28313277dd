"""Join and distinct: each incremental version against its definition, in small steps and in one big one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from hypothesis import example, given
from hypothesis import strategies as st

from tidelog.data.zset import ZSet
from tidelog.reference.circuit.incremental import Nested, Stream, incremental, nested_incremental
from tidelog.reference.circuit.operators.distinct import IncrementalDistinct, NestedDistinct
from tidelog.reference.circuit.operators.join import IncrementalJoin, NestedJoin, On, join
from tidelog.reference.circuit.stream import run, run_binary

Pair = tuple[int, int]
Pairs = ZSet[Pair]
LENGTH = 4

pairs = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(-2, 2), max_size=3).map(
    ZSet[Pair]
)
flat = st.lists(pairs, max_size=6)
two_flat = st.lists(st.tuples(pairs, pairs), max_size=6)
nested = st.lists(st.lists(pairs, min_size=LENGTH, max_size=LENGTH), max_size=5)
two_nested = st.lists(
    st.lists(st.tuples(pairs, pairs), min_size=LENGTH, max_size=LENGTH), min_size=1, max_size=5
)


def compose(a: Pair, b: Pair) -> Pair | None:
    """One of the pairs that agree on the key is turned down, as unification does."""
    return None if a[0] == b[1] == 2 else (a[0], b[1])


ON: On[Pair, Pair, Pair] = On(lambda a: a[1], lambda b: b[0], compose)


def all_pairs(a: Pairs, b: Pairs) -> Pairs:
    """The join by its definition: every pair is looked at."""
    found = ((compose(x, y), v * w) for x, v in a.items() for y, w in b.items() if x[1] == y[0])
    return ZSet((c, w) for c, w in found if c is not None)


def total(xs: Stream[Pair]) -> Pairs:
    return reduce(lambda x, y: x + y, xs, ZSet())


def distinct(x: Pairs) -> Pairs:
    return x.distinct()


def run_nested_join(inputs: list[list[tuple[Pairs, Pairs]]]) -> Nested[Pair]:
    operator, outputs = NestedJoin(ON), []
    for inner in inputs:
        outputs.append([operator.step(a, b) for a, b in inner])
        operator.tick()
    return outputs


def run_nested_distinct(inputs: Nested[Pair]) -> Nested[Pair]:
    operator: NestedDistinct[Pair] = NestedDistinct()
    outputs = []
    for inner in inputs:
        outputs.append(run(operator, inner))
        operator.tick()
    return outputs


@given(pairs, pairs)
def test_join_pairs_what_agrees_on_the_key(a: Pairs, b: Pairs) -> None:
    assert join(ON, a, b) == all_pairs(a, b)


@given(pairs, pairs, pairs)
def test_join_is_bilinear(a: Pairs, b: Pairs, c: Pairs) -> None:
    assert join(ON, a + b, c) == join(ON, a, c) + join(ON, b, c)
    assert join(ON, a, b + c) == join(ON, a, b) + join(ON, a, c)


@given(two_flat)
def test_incremental_join_is_what_its_definition_says(steps: list[tuple[Pairs, Pairs]]) -> None:
    xs, ys = [a for a, _ in steps], [b for _, b in steps]
    assert run_binary(IncrementalJoin(ON), xs, ys) == incremental(all_pairs, xs, ys)


@given(two_flat)
def test_small_steps_of_a_join_sum_to_one_big_one(steps: list[tuple[Pairs, Pairs]]) -> None:
    xs, ys = [a for a, _ in steps], [b for _, b in steps]
    small = run_binary(IncrementalJoin(ON), xs, ys)
    assert total(small) == IncrementalJoin(ON).step(total(xs), total(ys))


@given(two_nested)
def test_nested_join_is_what_its_definition_says(inputs: list[list[tuple[Pairs, Pairs]]]) -> None:
    xs = [[a for a, _ in inner] for inner in inputs]
    ys = [[b for _, b in inner] for inner in inputs]
    assert run_nested_join(inputs) == nested_incremental(all_pairs, xs, ys)


@given(two_nested)
def test_small_outer_steps_of_a_nested_join_sum_to_one_big_one(
    inputs: list[list[tuple[Pairs, Pairs]]],
) -> None:
    small = run_nested_join(inputs)
    columns = list(zip(*inputs, strict=True))
    big = run_nested_join([[(total([a for a, _ in c]), total([b for _, b in c])) for c in columns]])
    assert [total(list(column)) for column in zip(*small, strict=True)] == big[0]


def test_nested_join_answers_at_ticks_at_which_nothing_comes_in() -> None:
    """A left change in round 0 meets what an earlier commit gave the right side in round 1."""
    none: Pairs = ZSet()
    left, right = ZSet.of([(0, 1)]), ZSet.of([(1, 1)])
    outputs = run_nested_join([[(none, none), (none, right)], [(left, none), (none, none)]])
    assert outputs == [[none, none], [none, ZSet.of([(0, 1)])]]


@given(flat)
def test_incremental_distinct_is_what_its_definition_says(xs: Stream[Pair]) -> None:
    operator: IncrementalDistinct[Pair] = IncrementalDistinct()
    assert run(operator, xs) == incremental(distinct, xs)


@given(flat)
def test_small_steps_of_distinct_sum_to_one_big_one(xs: Stream[Pair]) -> None:
    small: IncrementalDistinct[Pair] = IncrementalDistinct()
    assert total(run(small, xs)) == total(xs).distinct()


@given(nested)
@example([[ZSet(), ZSet(), ZSet.of([(0, 0)]), ZSet()], [ZSet.of([(0, 0)]), ZSet(), ZSet(), ZSet()]])
def test_nested_distinct_is_what_its_definition_says(xs: Nested[Pair]) -> None:
    assert run_nested_distinct(xs) == nested_incremental(distinct, xs)


@given(nested)
def test_nested_distinct_sums_to_the_set_of_everything(xs: Nested[Pair]) -> None:
    changes = [total(inner) for inner in run_nested_distinct(xs)]
    assert total(changes) == total([total(inner) for inner in xs]).distinct()


def test_nested_distinct_withdraws_in_a_later_round_what_came_earlier_this_time() -> None:
    one, none = ZSet.of([(0, 0)]), ZSet[Pair]()
    assert run_nested_distinct([[none, one], [one, none]]) == [[none, one], [one, -one]]


def test_each_element_is_looked_at_only_under_its_key() -> None:
    """A join of n elements with n others under n keys merges n pairs, not n²."""
    merged: list[Pair] = []

    def record(a: Pair, b: Pair) -> Pair:
        merged.append((a[0], b[1]))
        return merged[-1]

    on: On[Pair, Pair, Pair] = On(lambda a: a[1], lambda b: b[0], record)
    diagonal = ZSet.of((n, n) for n in range(50))
    steps: tuple[Callable[[Pairs, Pairs], Pairs], ...] = (
        partial(join, on),
        IncrementalJoin(on).step,
        NestedJoin(on).step,
    )
    for step in steps:
        merged.clear()
        assert step(diagonal, diagonal) == diagonal
        assert len(merged) == 50
