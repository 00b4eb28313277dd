"""Statistical aggregates stay current as facts come and go, and are refused in a recursion."""

from __future__ import annotations

import random
import statistics

import pytest

import tidelog
from tidelog.errors import ProgramError

PROGRAM = """
    input relation Order(id: int, customer: string, amount: int)
    output relation Summary(c: string, middle: double, tenth: double, spread: option<double>, usual: int)
    output relation Flags(c: string, all_bits: int, any_bits: int, large: int)
    Summary(c, m, q, s, u) :- Order(_, c, a),
        var m = a.group_by(c).median(), var q = a.group_by(c).quantile(0.1),
        var s = a.group_by(c).stddev(), var u = a.group_by(c).mode().
    Flags(c, x, y, n) :- Order(_, c, a), var big = a > 5,
        var x = a.group_by(c).bit_and(), var y = a.group_by(c).bit_or(), var n = big.group_by(c).count_if().
"""


def _summary(customer: str, amounts: list[int]) -> tuple[object, ...]:
    tenth = statistics.quantiles(amounts, n=10, method="inclusive")[0] if len(amounts) > 1 else amounts[0]
    spread = statistics.stdev(amounts) if len(amounts) > 1 else None
    return customer, float(statistics.median(amounts)), tenth, spread, min(statistics.multimode(amounts))


def _flags(customer: str, amounts: list[int]) -> tuple[object, ...]:
    every, some = -1, 0
    for amount in amounts:
        every, some = every & amount, some | amount
    return customer, every, some, sum(a > 5 for a in amounts)


def test_results_are_those_of_the_current_facts() -> None:
    rng = random.Random(5)
    db = tidelog.open(text=PROGRAM)
    orders: set[tuple[int, str, int]] = set()
    for start in range(0, 60, 4):
        new = {(start + i, rng.choice("abc"), rng.randrange(12)) for i in range(4)}
        gone = set(rng.sample(sorted(orders), min(len(orders), rng.randrange(5))))
        with db.transaction() as tx:
            tx.insert("Order", sorted(new))
            tx.delete("Order", sorted(gone))
        orders = (orders - gone) | new
        groups = {c: [a for _, mine, a in sorted(orders) if mine == c] for _, c, _ in orders}
        assert [pytest.approx(row) for row in sorted(_summary(c, a) for c, a in groups.items())] == sorted(
            db.query("Summary(c, m, q, s, u)")
        )
        assert sorted(_flags(c, a) for c, a in groups.items()) == sorted(db.query("Flags(c, x, y, n)"))


@pytest.mark.parametrize(
    "function", ["median", "quantile(0.5)", "variance", "stddev", "mode", "bit_and", "bit_or"]
)
def test_a_recursion_through_them_is_refused(function: str) -> None:
    call = function if "(" in function else f"{function}()"
    text = f"""
        input relation Part(whole: int, part: int)
        output relation Size(whole: int, n: int)
        Size(p, 1) :- Part(_, p), not Part(p, _).
        Size(w, n) :- Part(w, p), Size(p, m), var r = m.group_by(w).{call}, var n = length("${{r}}").
    """
    with pytest.raises(ProgramError, match="E502"):
        tidelog.load(text)


@pytest.mark.parametrize("fraction", ["1.5", "x", '"0.5"', "1"])
def test_the_fraction_of_a_quantile_is_a_constant_from_zero_to_one(fraction: str) -> None:
    text = f"""
        input relation A(x: double)
        output relation B(q: double)
        B(q) :- A(x), var q = x.group_by().quantile({fraction}).
    """
    with pytest.raises(ProgramError, match="E407"):
        tidelog.load(text)


def test_a_number_to_compare_by_may_be_any_constant() -> None:
    tidelog.load("""
        input relation A(x: double)
        output relation B(q: double)
        B(q) :- A(x), var q = x.group_by().arg_min(2.5).
    """)


def test_over_an_empty_body_only_the_conditional_count_has_a_value() -> None:
    db = tidelog.open(
        text="""
        input relation Shop(s: int)
        input relation Sale(s: int, amount: int)
        output relation Large(s: int, n: int)
        output relation Middle(s: int, m: double)
        Large(s, n) :- Shop(s), var n = count_if(a > 5) { Sale(s, a) }.
        Middle(s, m) :- Shop(s), var m = quantile(a, 0.5) { Sale(s, a) }.
        """
    )
    with db.transaction() as tx:
        tx.insert("Shop", [(1,), (2,)])
        tx.insert("Sale", [(1, 4), (1, 7)])
    assert sorted(db.query("Large(s, n)")) == [(1, 1), (2, 0)]
    assert sorted(db.query("Middle(s, m)")) == [(1, 5.5)]
