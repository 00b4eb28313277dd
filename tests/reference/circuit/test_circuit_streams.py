"""The laws of streams: what delay, sums and differences over time, and lifting promise."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tidelog.data.zset import ZSet
from tidelog.reference.circuit.incremental import incremental
from tidelog.reference.circuit.operators.delay import Delay
from tidelog.reference.circuit.operators.delta0 import Delta0
from tidelog.reference.circuit.operators.differentiate import Differentiate
from tidelog.reference.circuit.operators.eliminate import eliminate
from tidelog.reference.circuit.operators.integrate import Integrate
from tidelog.reference.circuit.operators.lift import Lift, LiftOperator
from tidelog.reference.circuit.stream import Group, run, run_binary, streams, zsets

Numbers = ZSet[int]

GROUP: Group[Numbers] = zsets()
LENGTH = 4
NESTED: Group[list[Numbers]] = streams(GROUP, LENGTH)

numbers = st.dictionaries(st.integers(0, 4), st.integers(-3, 3), max_size=4).map(ZSet[int])
flat = st.lists(numbers, max_size=6)
inner = st.lists(numbers, min_size=LENGTH, max_size=LENGTH)
nested = st.lists(inner, max_size=4)


def halves(x: Numbers) -> Numbers:
    return x.map(lambda n: n // 2)


def plus(xs: list[Numbers], ys: list[Numbers]) -> list[Numbers]:
    return [x + y for x, y in zip(xs, ys, strict=True)]


@given(flat)
def test_differences_undo_sums(xs: list[Numbers]) -> None:
    assert run(Differentiate(GROUP), run(Integrate(GROUP), xs)) == xs


@given(flat)
def test_sums_undo_differences(xs: list[Numbers]) -> None:
    assert run(Integrate(GROUP), run(Differentiate(GROUP), xs)) == xs


@given(nested)
def test_both_hold_for_streams_of_streams(xs: list[list[Numbers]]) -> None:
    assert run(Differentiate(NESTED), run(Integrate(NESTED), xs)) == xs
    assert run(Integrate(NESTED), run(Differentiate(NESTED), xs)) == xs


@given(flat)
def test_delay_starts_with_zero_and_gives_everything_one_tick_later(xs: list[Numbers]) -> None:
    assert run(Delay(GROUP), xs) == [ZSet(), *xs][: len(xs)]


@given(flat)
def test_a_sum_is_the_input_plus_its_own_delay(xs: list[Numbers]) -> None:
    sums = run(Integrate(GROUP), xs)
    assert sums == plus(xs, run(Delay(GROUP), sums))


@given(flat)
def test_feeding_back_through_a_delay_solves_the_equation(xs: list[Numbers]) -> None:
    """y = x + z⁻¹(y), solved with `output` before `step`, is the sum over time."""
    delay, ys = Delay(GROUP), []
    for x in xs:
        ys.append(x + delay.output)
        delay.step(ys[-1])
    assert ys == run(Integrate(GROUP), xs)


@given(st.lists(st.tuples(numbers, numbers), max_size=6))
def test_delay_sum_difference_and_lifted_linear_functions_are_linear(
    pairs: list[tuple[Numbers, Numbers]],
) -> None:
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    makers = (
        partial(Delay, GROUP),
        partial(Integrate, GROUP),
        partial(Differentiate, GROUP),
        partial(Lift, halves),
    )
    for make in makers:
        assert run(make(), plus(xs, ys)) == plus(run(make(), xs), run(make(), ys))


@given(flat)
def test_a_lifted_linear_function_is_its_own_incremental_version(xs: list[Numbers]) -> None:
    assert incremental(halves, xs) == run(Lift(halves), xs)


@given(flat)
def test_lifting_takes_as_many_streams_as_the_function_has_arguments(xs: list[Numbers]) -> None:
    def add(x: Numbers, y: Numbers) -> Numbers:
        return x + y

    assert run_binary(Lift(add), xs, xs) == [x * 2 for x in xs]


@given(nested)
def test_a_lifted_operator_starts_anew_in_every_outer_tick(xs: list[list[Numbers]]) -> None:
    lifted: LiftOperator[Numbers, Numbers] = LiftOperator(lambda: Integrate(GROUP))
    assert run(lifted, xs) == [run(Integrate(GROUP), x) for x in xs]


@given(nested)
def test_sums_over_the_two_clocks_commute(xs: list[list[Numbers]]) -> None:
    lifted: LiftOperator[Numbers, Numbers] = LiftOperator(lambda: Integrate(GROUP))
    assert run(lifted, run(Integrate(NESTED), xs)) == run(Integrate(NESTED), run(lifted, xs))


@given(numbers)
def test_introduction_carries_the_value_at_tick_zero_only(x: Numbers) -> None:
    source = Delta0(GROUP, x)
    introduced = [source.step() for _ in range(LENGTH)]
    assert introduced == [x] + [ZSet()] * (LENGTH - 1)
    assert run(Integrate(GROUP), introduced) == [x] * LENGTH
    assert eliminate(GROUP, introduced) == x


@given(inner)
def test_elimination_is_the_last_sum(xs: list[Numbers]) -> None:
    assert eliminate(GROUP, xs) == run(Integrate(GROUP), xs)[-1]
