"""Long rows of `else if`, `var` and `match` are evaluated or reported; none exhausts the stack."""

from __future__ import annotations

from itertools import product

import pytest

import tidelog
from tidelog.data.types import BOOL, INT
from tidelog.errors import EngineError
from tidelog.program.draft import check
from tidelog.program.elaborate.operators import choice_of
from tidelog.program.elaborate.retyping import depth
from tidelog.program.typed import Binary, Constant, Expr, If, Var
from tidelog.reference.evaluate import evaluate

DECLARED = "input relation In(x: int)\noutput relation Out(x: int)\n"


def chain(length: int) -> str:
    return "".join(f"if (x == {i}) {i + 1} else " for i in range(length)) + "0"


def cases(length: int) -> str:
    return f"match (x) {{ {''.join(f'{i} -> {i + 1}, ' for i in range(length))} _ -> 0 }}"


def steps(length: int) -> str:
    rows = "".join(f"var v{i} = ((v{i - 1} + 1) * 3 - 1) % 1000; " for i in range(1, length))
    return f"var v0 = x; {rows} v{length - 1}"


def in_function(body: str) -> str:
    return f"{DECLARED} function f(x: int): int {{ {body} }} Out(f(x)) :- In(x)."


def results(program: str, *values: int) -> list[int]:
    db = tidelog.open(text=program)
    with db.transaction() as tx:
        tx.insert("In", [(x,) for x in values])
    return sorted(x for (x,) in db["Out"])


@pytest.mark.parametrize("length", [16, 17, 500, 2400])
def test_a_row_of_else_if_takes_the_first_branch_that_holds(length: int) -> None:
    values = (0, 1, length // 2, length - 1)
    wanted = sorted({x + 1 for x in values})
    assert results(in_function(chain(length)), *values) == wanted
    assert results(f"{DECLARED} Out({chain(length)}) :- In(x).", *values, -1) == [0, *wanted]


@pytest.mark.parametrize("length", [16, 17, 1000])
def test_a_match_takes_the_first_case_that_matches(length: int) -> None:
    assert results(in_function(cases(length)), 0, length - 1, length) == [0, 1, length]


def test_names_that_depend_on_each_other_are_evaluated_in_a_row() -> None:
    wanted = 5
    for _ in range(1, 190):
        wanted = ((wanted + 1) * 3 - 1) % 1000
    assert results(in_function(steps(190)), 5) == [wanted]


@pytest.mark.parametrize("body", [steps(250), steps(2400), chain(3000), cases(1100)])
def test_what_is_too_long_is_reported(body: str) -> None:
    assert "E006" in {d.code for d in check(in_function(body))}


def test_functions_that_call_each_other_too_deeply_fail_the_commit() -> None:
    calls = "".join(f"function f{i}(x: int): int {{ f{i - 1}(x) + 1 }}\n" for i in range(1, 1000))
    program = f"{DECLARED} function f0(x: int): int {{ x }}\n {calls} Out(f999(x)) :- In(x)."
    with pytest.raises(EngineError, match="too deeply"):
        results(program, 1)


def test_a_long_branch_of_another_type_is_reported() -> None:
    body = chain(100).removesuffix("0") + '"none"'
    assert {d.code for d in check(in_function(body))} == {"E202"}


def test_a_divided_row_evaluates_the_same_conditions_in_the_same_order() -> None:
    size = 40
    x, y = Var("x", INT), Var("y", INT)

    def condition(i: int) -> Expr:
        quotient = Binary("/", Constant(1, INT), Binary("-", y, Constant(i, INT), INT), INT)  # fails at y
        here = Binary("==", x, Constant(i, INT), BOOL)
        return Binary("or", here, Binary("==", quotient, Constant(7, INT), BOOL), BOOL)

    conditions = [condition(i) for i in range(size)]
    values: list[Expr] = [Constant(i, INT) for i in range(size + 1)]
    plain = values[-1]
    for test, value in zip(conditions[::-1], values[-2::-1], strict=True):
        plain = If(test, value, plain, INT)
    divided = choice_of(conditions, values)
    assert depth(divided) < depth(plain)
    for a, b in product(range(0, size + 2, 3), repeat=2):
        row = {"x": a, "y": b}
        assert evaluate(divided, row, {}) == evaluate(plain, row, {})
