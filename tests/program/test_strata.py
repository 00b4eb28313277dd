"""Strata in an order of evaluation, and which recursions through `min` and `max` have one answer."""

from __future__ import annotations

import pytest

from tidelog.errors import Diagnostic, Severity
from tidelog.program.draft import check, load
from tidelog.program.typed import Best

ROADS = """
input relation Road(from: string, to: string, km: int)
input relation Closed(km: int)
output relation Distance(to: string, km: int)
Distance("home", 0).
"""


def step(value: str, *more: str) -> str:
    """A recursive rule for the shortest distance, with this value and these literals besides."""
    literals = ", ".join(["Distance(y, a)", "Road(y, z, b)", *more])
    return f"{ROADS}Distance(z, d) :- {literals}, var d = ({value}).group_by(z).min()."


def errors(text: str) -> list[Diagnostic]:
    return [d for d in check(text) if d.severity is Severity.ERROR]


# -- order


def test_a_stratum_comes_behind_all_that_it_reads() -> None:
    program = load(
        """
        output relation Top(x: int)
        relation Middle(x: int)
        input relation Bottom(x: int)
        Top(x) :- Bottom(x), not Middle(x).
        Middle(x) :- Bottom(x), x > 1.
        """
    )
    assert [set(s.relations) for s in program.strata] == [{"Bottom"}, {"Middle"}, {"Top"}]
    assert not any(s.recursive for s in program.strata)


def test_relations_that_need_each_other_are_one_stratum() -> None:
    program = load(
        """
        input relation Next(a: int, b: int)
        output relation Even(n: int)
        output relation Odd(n: int)
        Even(0).
        Odd(b) :- Even(a), Next(a, b).
        Even(b) :- Odd(a), Next(a, b).
        """
    )
    recursive = [s for s in program.strata if s.recursive]
    assert [s.relations for s in recursive] == [frozenset(["Even", "Odd"])]
    assert len(recursive[0].rules) == 3


def test_a_rule_with_two_heads_derives_in_both_strata() -> None:
    program = load(
        "input relation A(x: int)\noutput relation B(x: int)\noutput relation C(x: int)\nB(x), C(x) :- A(x)."
    )
    deriving = [s for s in program.strata if s.rules]
    assert [set(s.relations) for s in deriving] in ([{"B"}, {"C"}], [{"C"}, {"B"}])


def test_a_cycle_through_not_is_told_rule_by_rule() -> None:
    text = """input relation A(x: int)
output relation B(x: int)
output relation C(x: int)
output relation D(x: int)
B(x) :- A(x), not C(x).
C(x) :- D(x).
D(x) :- B(x).
"""
    (found,) = errors(text)
    assert found.code == "E501"
    assert found.note == (
        "the cycle is: `B` is derived from `C` through `not` (<text>:5:1); "
        "`C` is derived from `D` (<text>:6:1); `D` is derived from `B` (<text>:7:1)"
    )


# -- min and max in recursion


def test_a_shortest_path_keeps_the_best_value_per_key() -> None:
    (stratum,) = (s for s in load(step("a + b")).strata if s.recursive)
    assert stratum.best == (("Distance", Best(1, "min")),)


@pytest.mark.parametrize(
    "text",
    [
        step("a + b"),
        step("b + a * 2"),
        step("max(a, b)"),
        step("min(a, b) + 1"),
        step("a - b"),
        step("a / 2"),
        step("-(b - a)"),
        step("if (b > 3) a else a + b"),
        step("{ var c = a + 1; c + b }"),
        step("(a as double + 0.5).floor() as int"),
        step("a + b", "a < 100"),
        step("a + b", "not (a >= b * 10)"),
        step("c + b", "var c = a + 1"),
        step("b"),
        step("a + b", "not Closed(b)"),
        step("a + b") + "\nDistance(z, d) :- Road(_, z, b), var d = b.group_by(z).min().",
    ],
)
def test_a_value_may_be_used_where_a_better_one_leads_to_no_worse_result(text: str) -> None:
    assert errors(text) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (step("b - a"), "`-` reverses the order of values"),
        (step("a * -1"), "`*` reverses the order of values"),
        (step("-a + b"), "`-` reverses the order of values"),
        (step("a * b"), "`*` does not preserve the order"),
        (step("b / a"), "`/` does not preserve the order"),
        (step("a % 7"), "`%` does not preserve the order"),
        (step("a & b"), "`&` does not preserve the order"),
        (step("~a"), "`~` does not preserve the order"),
        (step("abs(a)"), "`abs` does not preserve the order"),
        (step("a - a"), "`-` combines a rising and a falling value"),
        (step("if (a > 3) a else b"), "`if` on the value does not preserve the order"),
        (step('"${a}".length()'), "`length` does not preserve the order"),
        (step("round(2.5, a) as int"), "the digits of `round` depend on a value"),
        (step("a + b", "a > 3"), "a condition becomes false"),
        (step("a + b", "a == b"), "`==` does not preserve the order"),
        (step("a + b", "not Closed(a)"), "`a` must equal another value"),
        (step("a + b", "not Closed(a + 1)"), "a value is looked up in `Closed` under `not`"),
        (step("a + b", "var c = a + 1", "not Closed(c)"), "a value is looked up in `Closed` under `not`"),
        (step("a + b", "Closed(a)"), "`a` must equal another value"),
        (step("b", "Distance(z, 3)"), "the value of `Distance` must equal a constant"),
    ],
)
def test_a_use_that_could_make_a_result_worse_is_refused_and_named(text: str, what: str) -> None:
    (found,) = errors(text)
    assert found.code == "E504"
    assert what in found.message


def test_the_value_may_not_become_a_key() -> None:
    (found,) = errors(
        """
        input relation Road(from: int, to: int, km: int)
        output relation Distance(to: int, km: int)
        Distance(a, d) :- Distance(y, a), Road(y, _, b), var d = b.group_by(a).min().
        """
    )
    assert (found.code, "`a` is a key of `group_by`" in found.message) == ("E504", True)


def test_smallest_and_largest_do_not_mix() -> None:
    (found,) = errors(
        """
        input relation Road(from: int, to: int, km: int)
        output relation Low(to: int, km: int)
        output relation High(to: int, km: int)
        Low(z, d) :- High(y, a), Road(y, z, _), var d = a.group_by(z).min().
        High(z, d) :- Road(_, z, b), var d = b.group_by(z).max().
        High(z, d) :- High(y, a), Low(y, _), Road(y, z, _), var d = a.group_by(z).max().
        """
    )
    assert (found.code, "a better value for `min` is a worse value" in found.message) == ("E504", True)


SETS = """
input relation Base(x: int, y: int)
output relation Best(x: int, v: int)
output relation Seen(x: int)
Best(x, d) :- Base(x, y), Seen(y), var d = y.group_by(x).min().
"""


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("Seen(d) :- Best(_, d).", "which keeps every row"),
        ("Seen(d) :- Base(x, y), var n = y.group_by(x).count(), Best(n, d).", "which keeps every row"),
        ("Seen(x) :- Base(x, y), var n = y.group_by(x).count(), Best(x, n).", "must equal another value"),
    ],
)
def test_a_value_that_is_replaced_may_not_become_a_row_that_stays(rule: str, what: str) -> None:
    (found,) = errors(SETS + "Best(x, d) :- Best(x, e), Seen(x), var d = e.group_by(x).min().\n" + rule)
    assert (found.code, what in found.message) == ("E504", True)


@pytest.mark.parametrize(
    "other",
    [
        "Distance(z, b) :- Road(_, z, b).",
        "Distance(z, d) :- Road(_, z, b), var d = b.group_by(z).max().",
        "Distance(z, d) :- Road(_, z, b), var d = b.group_by(z).min(), d > 3.",
        "Distance(z, d + 1) :- Road(_, z, b), var d = b.group_by(z).min().",
        "Distance(z, 1) :- Road(_, z, b), var d = b.group_by(z).min(), d > 0.",
    ],
)
def test_every_rule_of_a_best_value_ends_in_its_aggregate(other: str) -> None:
    assert [d.code for d in errors(f"{step('a + b')}\n{other}")] == ["E503"]


@pytest.mark.parametrize("function", ["sum", "count", "avg", "any", "all", "concat", "arg_min"])
def test_other_aggregates_are_not_recursive(function: str) -> None:
    value = {"any": "(a > 0)", "all": "(a > 0)", "concat": "y"}.get(function, "a")
    extra = {"arg_min": "b"}.get(function, "")
    text = f"""
    input relation Road(from: string, to: string, km: int)
    output relation Distance(to: string, km: int)
    Distance(z, 1) :- Distance(y, a), Road(y, z, b), a < b,
        var d = {value}.group_by(z).{function}({extra}), d == d.
    """
    assert [d.code for d in errors(text)] == ["E502"]


TOTALS = """
input relation E(x: int, y: int, w: int)
input relation L(x: int, c: int)
relation A(x: int)
relation B(x: int, n: int)
relation T(x: int, n: int)
T(x, n) :- E(x, _, w), var n = w.group_by(x).sum().
"""


@pytest.mark.parametrize(
    ("rules", "is_threshold"),
    [
        ("A(x) :- T(x, n), n > 5. T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", True),
        ("A(x) :- T(x, n), L(x, c), c <= n. T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", True),
        (
            "A(x) :- T(x, n), x > 1 and n >= 5. T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().",
            True,
        ),
        ("A(x) :- T(x, _). T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", True),
        ("A(x) :- T(x, n), n < 5. T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", False),
        ("A(x) :- T(x, n), n != 5. T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", False),
        ("A(x) :- T(x, 5). T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", False),
        ("A(x) :- T(x, n), L(n, _). T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", False),
        (
            "A(x) :- T(x, n), n > 5, not L(n, _). T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().",
            False,
        ),
        ("A(x) :- T(x, n), T(_, m), n > m. T(y, n) :- A(x), E(x, y, w), var n = w.group_by(y).sum().", False),
        ("B(x, n) :- T(x, n), n > 5. T(y, n) :- B(x, _), E(x, y, w), var n = w.group_by(y).sum().", False),
        ("T(y, n) :- T(x, m), m > 5, E(x, y, w), var n = w.group_by(y).sum().", True),
        ("T(y, n) :- T(x, m), E(x, y, w), var n = (m * w).group_by(y).sum().", False),
    ],
)
def test_the_threshold_form_compares_totals_with_what_they_must_exceed(
    rules: str, is_threshold: bool
) -> None:
    (stratum,) = (s for s in load(TOTALS + rules).strata if s.totals)
    assert stratum.totals is not None
    assert stratum.totals.is_threshold == is_threshold


def test_columns_that_depend_on_totals_do_not_identify_groups() -> None:
    program = load(
        TOTALS
        + "B(x, m) :- T(x, n), var m = n + 1. T(y, n) :- B(x, m), E(x, y, w), var n = w.group_by(y).sum()."
    )
    (totals,) = (s.totals for s in program.strata if s.totals)
    assert dict(totals.aggregated) == {"B": {1}, "T": {1}}
