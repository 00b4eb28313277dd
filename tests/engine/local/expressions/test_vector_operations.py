"""Every operator, conversion and standard function on the edges of every type agrees with the reference."""

from __future__ import annotations

from itertools import product

import pytest

from engine.local.expressions.vector_cases import SCALARS, STANDARD, TYPES, edges, generic_types, instance
from engine.local.expressions.vector_rows import assert_same
from tidelog.data import types
from tidelog.data.types import BOOL, DOUBLE, FLOAT, INT, Type
from tidelog.engine.local.expressions.functions import IMPLEMENTED
from tidelog.program.library.catalog import StandardFunction, can_cast
from tidelog.program.typed import Binary, Call, Cast, Constant, Expr, Unary, Var

NUMBERS = [t for t in SCALARS if types.is_number(t)]
ENOUGH = 400  # rows for one function of several arguments


def assert_everywhere(expr: Expr, *columns: tuple[str, Type]) -> None:
    """The expression on all combinations of the edges of its variables' types."""
    few = 32 if len(columns) < 4 else 4
    rows = list(product(*(edges(t)[:few] for _, t in columns)))
    rows = rows[:: max(1, len(rows) // ENOUGH)] if len(columns) > 2 else rows
    values = {name: [row[i] for row in rows] for i, (name, _) in enumerate(columns)}
    assert_same(expr, values, {}, len(rows))


@pytest.mark.parametrize("type_", NUMBERS, ids=str)
@pytest.mark.parametrize("op", ["+", "-", "*", "/", "%"])
def test_arithmetic(op: str, type_: Type) -> None:
    expr = Binary(op, Var("a", type_), Var("b", type_), type_)
    assert_everywhere(expr, ("a", type_), ("b", type_))


@pytest.mark.parametrize("type_", [t for t in SCALARS if types.is_integer(t)], ids=str)
@pytest.mark.parametrize("op", ["&", "|", "^", "<<", ">>", "~"])
def test_bits(op: str, type_: Type) -> None:
    if op == "~":
        assert_everywhere(Unary(op, Var("a", type_), type_), ("a", type_))
        return
    right = INT if op in ("<<", ">>") else type_
    assert_everywhere(Binary(op, Var("a", type_), Var("b", right), type_), ("a", type_), ("b", right))


@pytest.mark.parametrize("type_", NUMBERS, ids=str)
def test_minus(type_: Type) -> None:
    assert_everywhere(Unary("-", Var("a", type_), type_), ("a", type_))


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(op: str, type_: Type) -> None:
    assert_everywhere(Binary(op, Var("a", type_), Var("b", type_), BOOL), ("a", type_), ("b", type_))


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE], ids=str)
@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons_of_computed_numbers(op: str, type_: Type) -> None:
    a, b, zero = Var("a", type_), Var("b", type_), Constant(0.0, type_)
    computed = Binary(op, Binary("-", zero, a, type_), Binary("+", b, zero, type_), BOOL)
    assert_everywhere(computed, ("a", type_), ("b", type_))


@pytest.mark.parametrize("target", TYPES, ids=str)
def test_conversions(target: Type) -> None:
    for source in TYPES:
        if can_cast(source, target):
            assert_everywhere(Cast(Var("a", source), target), ("a", source))


@pytest.mark.parametrize("function", STANDARD, ids=lambda f: f.signature)
def test_standard_functions(function: StandardFunction) -> None:
    for generic in generic_types(function):
        columns = [(p.name, instance(p.type, generic)) for p in function.parameters]
        args = tuple(Var(name, type_) for name, type_ in columns)
        assert_everywhere(Call(function.name, args, instance(function.result, generic)), *columns)


@pytest.mark.parametrize("type_", [t for t in SCALARS if isinstance(t, types.Decimal)], ids=str)
@pytest.mark.parametrize("digits", [-2, 0, 1, 3])
def test_decimals_rounded_to_a_constant_number_of_digits(type_: Type, digits: int) -> None:
    call = Call("round", (Var("a", type_), Constant(digits, INT)), type_)
    assert_everywhere(call, ("a", type_))


def test_every_standard_function_is_implemented() -> None:
    assert {(f.name, len(f.parameters)) for f in STANDARD} == IMPLEMENTED
