"""Which recursions make values strictly better, whatever the data."""

from __future__ import annotations

import pytest

from tidelog.plan.flatten import flatten
from tidelog.plan.strictness import is_strict
from tidelog.program.draft import load

DECLARED = """
input relation E(a: int, b: int, w: int)
input relation F(a: int, b: int, w: double)
input relation M(a: int, b: int, w: decimal(10, 2))
"""


def _is_strict(types: str, rules: str) -> bool:
    program = flatten(load(f"{DECLARED}\nrelation D({types})\n{rules}"))
    return is_strict(next(s for s in program.strata if s.best))


INTS = "a: int, b: int, d: int"
FIRST = "D(x, y, d) :- E(x, y, w), var d = w.group_by(x, y).min().\n"


@pytest.mark.parametrize("value", ["a + w", "w + a", "a - w", "a", "a + 2 * w", "a + max(w, 3)", "a + b"])
def test_exact_sums_differences_and_copies_are_strict(value: str) -> None:
    second = "D(y, z, b)" if value == "a + b" else "E(y, z, w)"
    rule = f"D(x, z, d) :- D(x, y, a), {second}, var d = ({value}).group_by(x, z).min()."
    assert _is_strict(INTS, FIRST + rule)


@pytest.mark.parametrize("value", ["max(a, w)", "min(a, 5)", "w", "a * 2", "if w > 3 then a else a + 1"])
def test_other_values_may_stay_the_same(value: str) -> None:
    value = value.replace("if w > 3 then a else a + 1", "if (w > 3) a else a + 1")
    rule = f"D(x, z, d) :- D(x, y, a), E(y, z, w), var d = ({value}).group_by(x, z).min()."
    assert not _is_strict(INTS, FIRST + rule)


def test_a_value_of_the_recursion_that_is_not_used_makes_a_rule_not_strict() -> None:
    rule = "D(x, z, d) :- D(x, y, a), D(y, z, _), var d = (a + 1).group_by(x, z).min()."
    assert not _is_strict(INTS, FIRST + rule)


def test_a_set_beside_best_values_is_not_strict() -> None:
    text = """
    relation Near(a: int)
    D(x, z, d) :- D(x, y, a), Near(y), E(y, z, w), var d = (a + w).group_by(x, z).min().
    Near(y) :- D(0, y, d), d <= 3.
    """
    assert not _is_strict(INTS, FIRST + text)


def test_sums_of_decimals_are_exact_and_those_of_doubles_are_rounded() -> None:
    for relation, type_, expected in (("M", "decimal(10, 2)", True), ("F", "double", False)):
        first = f"D(x, y, d) :- {relation}(x, y, w), var d = w.group_by(x, y).min().\n"
        rule = f"D(x, z, d) :- D(x, y, a), {relation}(y, z, w), var d = (a + w).group_by(x, z).min()."
        assert _is_strict(f"a: int, b: int, d: {type_}", first + rule) is expected
