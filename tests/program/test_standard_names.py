"""A program may replace most standard functions by its own, but never under what already calls them."""

from __future__ import annotations

import pytest

from tidelog import load
from tidelog.errors import ProgramError
from tidelog.program.draft import Draft

RULES = """
    input relation A(x: int)
    output relation B(x: int)
    B(clamp(x, 0, 9)) :- A(x).
"""
OWN = "function clamp(x: int, low: int, high: int): int { x }"


def clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def test_a_program_may_declare_a_function_with_the_name_of_a_standard_one() -> None:
    assert "clamp" in load(OWN + RULES).functions
    assert "clamp" in load(RULES, functions=[clamp]).functions


@pytest.mark.parametrize("name", ["length", "to_map", "to_set"])
def test_some_functions_of_the_library_cannot_be_replaced(name: str) -> None:
    with pytest.raises(ProgramError, match="E112"):
        load(f"function {name}(s: string): int {{ 0 }}")


def test_a_program_may_declare_a_generic_function_with_the_name_of_a_standard_one() -> None:
    own = "function clamp<T>(x: T, low: T, high: T): T { x }"
    assert "clamp" in load(own + RULES).templates
    with pytest.raises(ProgramError, match="already calls"):
        Draft(load(RULES)).load(own)


def test_a_standard_function_in_use_cannot_be_replaced() -> None:
    draft = Draft(load(RULES))
    with pytest.raises(ProgramError, match="already calls"):
        draft.load(OWN)
    with pytest.raises(ProgramError, match="already calls"):
        draft.register(clamp)
    draft.load("function week(x: int): int { x }")
    draft.remove_rule("B(clamp(x, 0, 9)) :- A(x).")
    after = Draft(draft.finish())
    after.load(OWN)
    assert set(after.finish().functions) == {"week", "clamp"}


def test_a_standard_function_that_a_function_calls_cannot_be_replaced() -> None:
    draft = Draft(load("function limited(x: int): int { clamp(x, 0, 9) }"))
    with pytest.raises(ProgramError, match="already calls"):
        draft.load(OWN)


@pytest.mark.parametrize(
    "text",
    [
        "function limited<T>(x: T, low: T): T { clamp(x, low, low) }",
        "function each(v: vec<int>, f: |int|: bool): vec<int> { filter(v, |x| f(clamp(x, 0, 9))) }",
        "B(n) :- var n = count { A(x), clamp(x, 0, 9) > 1 }.",
        "B(n) :- var n = sum(clamp(x, 0, 9)) { A(x) }.",
        "B(x) :- A(x), not (A(y), clamp(y, 0, 9) > x).",
    ],
)
def test_uses_in_generic_functions_and_nested_bodies_count(text: str) -> None:
    draft = Draft(load("input relation A(x: int) output relation B(x: int) " + text))
    with pytest.raises(ProgramError, match="already calls"):
        draft.load(OWN)


def test_a_function_that_a_generic_one_passes_on_cannot_be_replaced() -> None:
    draft = Draft(load("function seconds_of<T>(x: T, v: vec<int>): vec<duration> { map(v, seconds) }"))
    with pytest.raises(ProgramError, match="already calls"):
        draft.load("function seconds(n: int): duration { 1 s }")
    draft.load("function v(n: int): int { n }")
