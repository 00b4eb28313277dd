"""Expressions on columns have, row by row, the value or the failure that the reference gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.local.expressions.vector_cases import FUNCTIONS, TYPES, Maker, edges, value
from engine.local.expressions.vector_rows import NO_CODE, agrees, assert_same, over
from tidelog.data.types import BIGINT, BOOL, DATE, INT, STRING, Bit, Option, Signed, Type
from tidelog.data.values import Value
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.evaluator import Evaluator
from tidelog.program import declared
from tidelog.program.declared import Column
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.problems import Problems
from tidelog.program.library.catalog import GROUPS, Example
from tidelog.program.typed import Binary, Call, Cast, Constant, Expr, If, Let, Var
from tidelog.reference.evaluate import Failure, evaluate
from tidelog.syntax import tree
from tidelog.syntax.parser import parse

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
ZERO = Constant(0, INT)
X, Y = Var("x", INT), Var("y", INT)
BROKEN = Binary("/", Constant(1, INT), ZERO, INT)


# -- against the reference


@settings(max_examples=400)
@given(st.integers(0, 2**64), st.sampled_from(TYPES), st.integers(1, 4), st.sampled_from([1, 2, 7, 40]))
def test_any_expression_means_what_the_reference_says(seed: int, type_: Type, depth: int, size: int) -> None:
    rng = random.Random(seed)
    names = {f"c{i}": t for i, t in enumerate(TYPES)}
    expr = Maker(rng).expr(type_, depth, names)
    columns = {name: [value(rng, t) for _ in range(size)] for name, t in names.items()}
    assert_same(expr, columns, FUNCTIONS, size)


EXAMPLES = [example for group in GROUPS.values() for function in group for example in function.examples]


def _expression(text: str) -> tree.Expr:
    item = parse(f"X({text}).").items[0]
    assert isinstance(item, tree.Rule)
    return item.heads[0].args[0].value


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.call)
def test_an_example_of_the_library_gives_what_the_table_says(example: Example) -> None:
    typer = Typer(Declarations(), Problems())
    call = typer.infer(_expression(example.call))
    assert call is not None
    (got,) = over(call, {}, {}, 1)
    if example.result is None:
        assert isinstance(got, Failure)
        return
    wanted = typer.check(_expression(example.result), call.type)
    assert wanted is not None
    assert [got] == over(wanted, {}, {}, 1)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.call)
def test_an_example_on_columns_gives_what_it_gives_on_constants(example: Example) -> None:
    call = Typer(Declarations(), Problems()).infer(_expression(example.call))
    assert isinstance(call, Call)
    wanted = evaluate(call, {}, {})
    values = [evaluate(a, {}, {}) for a in call.args]
    columns = {f"a{i}": [v, v, v] for i, v in enumerate(values) if not isinstance(v, Failure)}
    args = tuple(Var(f"a{i}", a.type) if f"a{i}" in columns else a for i, a in enumerate(call.args))
    found = over(Call(call.function, args, call.type), columns, {}, 3)
    assert all(agrees(f, wanted) for f in found), (found, wanted)


# -- arithmetic is never wrapped


@given(
    st.sampled_from("+-*/%"),
    st.lists(
        st.tuples(*[st.integers(SMALLEST, LARGEST) | st.integers(-3, 3) | st.just(SMALLEST)] * 2), min_size=1
    ),
)
def test_whole_numbers_are_exact_or_fail(op: str, pairs: list[tuple[int, int]]) -> None:
    columns = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}
    assert_same(Binary(op, X, Y, INT), columns, {}, len(pairs))


def test_an_overflow_in_one_row_leaves_the_others_alone() -> None:
    found = over(Binary("+", X, Y, INT), {"x": [1, LARGEST, 3], "y": [1, 1, 1]}, {}, 3)
    assert found[::2] == [2, 4]
    assert found[1] == Failure(
        "9223372036854775808 does not fit int (-9223372036854775808 to 9223372036854775807)"
    )


@pytest.mark.parametrize("op", ["+%", "-%", "*%"])
@pytest.mark.parametrize(
    "type_", [INT, *map(Bit, (1, 8, 32, 63, 64, 128)), *map(Signed, (1, 8, 64, 65, 128))]
)
def test_wrapping_operators_are_modulo_the_number_of_values(op: str, type_: Type) -> None:
    pairs = [(a, b) for a in edges(type_) for b in edges(type_)]
    columns = {"x": [a for a, _ in pairs], "y": [b for _, b in pairs]}
    expr = Binary(op, Var("x", type_), Var("y", type_), type_)
    assert not any(isinstance(found, Failure) for found in over(expr, columns, {}, len(pairs)))
    assert_same(expr, columns, {}, len(pairs))


# -- what is not taken does not fail


def test_each_side_is_evaluated_in_its_own_rows_only() -> None:
    seen: list[int] = []

    def record(x: int) -> int:
        seen.append(x)
        return x

    function = declared.PythonFunction("record", (Column("x", INT),), INT, "module", "record", record)
    call = Call("record", (X,), INT)
    positive = Binary(">", X, ZERO, BOOL)
    expr = Let("n", call, If(positive, Var("n", INT), ZERO, INT), INT)
    assert over(expr, {"x": [1, -1, 2, 1]}, {"record": function}, 4) == [1, 0, 2, 1]
    assert sorted(seen) == [1, 2]


def test_division_behind_its_own_guard_never_fails() -> None:
    guard = Binary("!=", Y, ZERO, BOOL)
    quotient = Binary("/", X, Y, INT)
    columns = {"x": [6, 6, 7], "y": [2, 0, 0]}
    assert over(If(guard, quotient, ZERO, INT), columns, {}, 3) == [3, 0, 0]
    test = Binary("and", guard, Binary(">", quotient, ZERO, BOOL), BOOL)
    assert over(test, columns, {}, 3) == [True, False, False]


def test_a_name_that_nobody_reads_is_never_evaluated() -> None:
    assert over(Let("n", BROKEN, X, INT), {"x": [1, 2]}, {}, 2) == [1, 2]
    constant = declared.Function("constant", (Column("n", INT),), INT, Constant(7, INT))
    assert over(Call("constant", (BROKEN,), INT), {}, {"constant": constant}, 2) == [7, 7]
    both = over(Let("n", Binary("/", X, Y, INT), Var("n", INT), INT), {"x": [4, 4], "y": [2, 0]}, {}, 2)
    assert both == [2, Failure("division by zero")]


def test_many_names_in_a_row_are_evaluated_once_each() -> None:
    calls: list[int] = []

    def step(x: int) -> int:
        calls.append(x)
        return x + 1

    function = declared.PythonFunction("step", (Column("x", INT),), INT, "module", "step", step)
    body: Expr = If(Binary(">", X, ZERO, BOOL), Var("n30", INT), ZERO, INT)
    for i in range(30, 0, -1):
        last, older = (X if k < 1 else Var(f"n{k}", INT) for k in (i - 1, i - 2))
        total = Binary("-", Binary("+", last, older, INT), older, INT)  # each name is read by two others
        body = Let(f"n{i}", Call("step", (total,), INT), body, INT)
    assert over(body, {"x": [5, -5]}, {"step": function}, 2) == [35, 0]
    assert len(calls) == 30


# -- failures


def test_the_first_failing_operand_gives_the_reason() -> None:
    unwrapped = Call("unwrap", (Var("o", Option(INT)),), INT)
    expr = Binary("+", Binary("/", X, Y, INT), unwrapped, INT)
    found = over(expr, {"x": [1, 1, 1], "y": [0, 0, 1], "o": [None, 1, None]}, {}, 3)
    assert found == [Failure("division by zero"), Failure("division by zero"), Failure("unwrap of none")]


def test_columns_may_have_failed_before() -> None:
    codec = Codec()
    evaluator = Evaluator(codec, {})
    columns = {"s": np.array([0, 0], np.int64)}  # of an interned type, without a value to stand for it
    failed = np.array([evaluator.reasons.number("lost"), 0], np.int32)
    codec.dictionary(STRING).code("a")
    upper = Call("upper", (Var("s", STRING),), STRING)
    outcome = evaluator.evaluate(upper, columns, 2, {"s": failed})
    assert outcome.failures is not None
    assert [outcome.reason(f) if f else None for f in outcome.failures.tolist()] == ["lost", None]
    assert codec.decode(STRING, int(outcome.codes[1])) == "A"
    unread = evaluator.evaluate(Let("n", upper, Constant(1, INT), INT), columns, 2, {"s": failed})
    assert unread.failures is None


def test_no_rows_give_no_outcome_and_call_nothing() -> None:
    def never(x: int) -> int:
        raise AssertionError(x)

    function = declared.PythonFunction("never", (Column("x", INT),), INT, "module", "never", never)
    assert over(Call("never", (X,), INT), {"x": []}, {"never": function}, 0) == []
    assert over(BROKEN, {}, {}, 0) == []


def test_the_number_that_an_option_cannot_hold_is_a_failure() -> None:
    (found,) = over(Call("some", (X,), Option(INT)), {"x": [SMALLEST]}, {}, 1)
    assert isinstance(found, Failure)
    assert NO_CODE in found.reason
    cast = Cast(X, Option(BIGINT))
    assert over(cast, {"x": [SMALLEST]}, {}, 1) == [SMALLEST]


# -- interned types


def test_strings_compare_by_code_point_whatever_their_codes() -> None:
    words = ["b", "a", "\U0001f600", "￿", ""]
    pairs = [(v, w) for v in words for w in words]
    columns = {"v": [v for v, _ in pairs], "w": [w for _, w in pairs]}
    less = Binary("<", Var("v", STRING), Var("w", STRING), BOOL)
    assert over(less, columns, {}, len(pairs)) == [v < w for v, w in pairs]


def test_a_few_strings_are_compared_without_sorting_a_large_dictionary() -> None:
    codec = Codec()
    codes = codec.encode_column(STRING, [str(n) for n in range(1000)])
    evaluator = Evaluator(codec, {})
    less = Binary("<", Var("v", STRING), Constant("5", STRING), BOOL)
    outcome = evaluator.evaluate(less, {"v": codes[[10, 700, 5, 49]]}, 4)
    assert outcome.codes.tolist() == [1, 0, 0, 1]


def test_a_plain_function_runs_once_for_each_distinct_combination() -> None:
    seen: list[tuple[str, int]] = []

    def join(s: str, n: int) -> str:
        seen.append((s, n))
        return s * n

    parameters = (Column("s", STRING), Column("n", INT))
    function = declared.PythonFunction("join", parameters, STRING, "module", "join", join)
    expr = Call("join", (Var("s", STRING), Var("n", INT)), STRING)
    columns: dict[str, list[Value]] = {"s": ["a", "b"] * 500, "n": [1, 1, 2, 2] * 250}
    found = over(expr, columns, {"join": function}, 1000)
    assert found[:4] == ["a", "b", "aa", "bb"]
    assert len(seen) == 4


def test_constants_are_converted_once_and_written_out_for_every_row() -> None:
    expr = Cast(Constant("2024-02-29", STRING), DATE)
    assert over(expr, {}, {}, 3) == [evaluate(expr, {}, {})] * 3
