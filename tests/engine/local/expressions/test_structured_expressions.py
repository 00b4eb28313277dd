"""Structured values in expressions: on columns, what the reference says row by row."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.structured import NUMBERS, PAYLOAD, POINT, constructor, named, typed_columns, values
from tidelog.data import types
from tidelog.data.types import BOOL, INT, STRING, Map, Option, Set, Type, Vec
from tidelog.data.values import Value, canonical, order_key
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.aggregates import aggregate
from tidelog.engine.local.expressions.closures import TAKE_CLOSURES
from tidelog.engine.local.expressions.collections import COLLECTION_FUNCTIONS
from tidelog.engine.local.expressions.evaluator import Evaluator
from tidelog.program.declared import Column as Parameter
from tidelog.program.declared import Function
from tidelog.program.library.catalog import COLLECTIONS
from tidelog.program.typed import (
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Get,
    If,
    Is,
    Lambda,
    Listing,
    Make,
    Unary,
    Var,
)
from tidelog.reference.evaluate import Failure, evaluate

RESULT = named("result", constructor("Ok", value=INT), constructor("Err", error=STRING), args=(INT, STRING))
NUMBER = st.integers(-3, 6)
VEC, WORDS, SET, MAP = Vec(INT), Vec(STRING), Set(INT), Map(STRING, INT)
MAYBE, PAIRS = Vec(Option(INT)), Vec(types.Tuple((INT, STRING)))
X, A = Var("x", INT), Var("a", INT)
ONE = Constant(1, INT)

# each function with the types of its arguments and of its result
CALLS: list[tuple[str, tuple[Type, ...], Type]] = [
    *(("len", (t,), INT) for t in (VEC, SET, MAP)),
    ("get", (VEC, INT), Option(INT)),
    ("get", (WORDS, INT), Option(STRING)),
    ("get", (MAP, STRING), Option(INT)),
    *((name, (VEC,), Option(INT)) for name in ("first", "last", "min_of", "max_of")),
    ("contains", (VEC, INT), BOOL),
    ("contains", (MAYBE, Option(INT)), BOOL),
    ("contains", (SET, INT), BOOL),
    ("push", (VEC, INT), VEC),
    ("append", (WORDS, WORDS), WORDS),
    ("slice", (VEC, INT, INT), VEC),
    *((name, (t,), t) for name in ("reverse", "sort") for t in (VEC, WORDS, MAYBE)),
    ("range", (INT, INT), VEC),
    ("zip", (VEC, WORDS), PAIRS),
    ("enumerate", (WORDS,), PAIRS),
    ("sum_of", (VEC,), INT),
    ("sum_of", (Vec(types.DOUBLE),), types.DOUBLE),
    ("sum_of", (Vec(types.FLOAT),), types.FLOAT),
    ("sum_of", (Vec(types.Decimal(10, 2)),), types.Decimal(10, 2)),
    ("insert", (SET, INT), SET),
    ("remove", (SET, INT), SET),
    *((name, (SET, SET), SET) for name in ("union", "intersect", "difference")),
    ("is_subset", (SET, SET), BOOL),
    ("to_vec", (Set(STRING),), WORDS),
    ("to_set", (WORDS,), Set(STRING)),
    ("contains_key", (MAP, STRING), BOOL),
    ("insert", (MAP, STRING, INT), MAP),
    ("remove", (MAP, STRING), MAP),
    ("keys", (MAP,), WORDS),
    ("values", (MAP,), VEC),
    ("entries", (MAP,), Vec(types.Tuple((STRING, INT)))),
    ("to_map", (PAIRS,), Map(INT, STRING)),
    ("split", (STRING, STRING), WORDS),
    ("join", (WORDS, STRING), STRING),
    ("to_chars", (STRING,), WORDS),
    ("is_ok", (RESULT,), BOOL),
    ("is_err", (RESULT,), BOOL),
    ("ok", (RESULT,), Option(INT)),
    ("unwrap", (RESULT,), INT),
]
# `enumerate` gives pairs of a position and an item
CALLS = [(n, a, Vec(types.Tuple((INT, STRING))) if n == "enumerate" else r) for n, a, r in CALLS]


def column(type_: Type) -> st.SearchStrategy[Value]:
    """Values of a type, of which small ones are frequent."""
    if type_ == INT:
        return NUMBER
    if type_ == STRING:
        return st.sampled_from(["", "a", "b", "a,b", ",", "ï"])
    if type_ in (VEC, SET, MAYBE):
        item = NUMBER if type_ != MAYBE else st.none() | NUMBER
        return st.lists(item, max_size=4).map(lambda found: canonical(type_, found))
    if type_ == MAP:
        entries = st.dictionaries(st.sampled_from(["", "a", "b"]), NUMBER, max_size=3)
        return entries.map(lambda found: canonical(type_, found))
    if type_ == PAIRS:
        pairs = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b"])), max_size=3)
        return pairs.map(lambda found: canonical(type_, found))
    return values(type_)


def agrees(expr: Expr, rows: list[dict[str, Any]], names: dict[str, Type], functions: Any = None) -> None:
    """The engine and the reference have the same values, and fail in the same rows."""
    codec = Codec()
    columns = {name: codec.encode_column(type_, [row[name] for row in rows]) for name, type_ in names.items()}
    outcome = Evaluator(codec, functions or {}).evaluate(expr, columns, len(rows))
    failures = np.zeros(len(rows)) if outcome.failures is None else outcome.failures
    for i, row in enumerate(rows):
        expected = evaluate(expr, row, functions or {})
        assert (failures[i] != 0) == isinstance(expected, Failure), (row, expected)
        if not isinstance(expected, Failure):
            found = codec.decode(expr.type, int(outcome.codes[i]))
            assert order_key(expr.type, found) == order_key(expr.type, expected), (row, found, expected)


def test_every_function_of_the_library_is_implemented_and_tried_here() -> None:
    listed = {f.name for group in COLLECTIONS.values() for f in group}
    assert {name for name, _ in COLLECTION_FUNCTIONS} | TAKE_CLOSURES.keys() == listed
    assert {(name, type(arguments[0])) for name, arguments, _ in CALLS} == COLLECTION_FUNCTIONS


@pytest.mark.parametrize("call", CALLS, ids=lambda c: f"{c[0]}({', '.join(map(str, c[1]))})")
@given(data=st.data())
def test_functions_on_collections(call: tuple[str, tuple[Type, ...], Type], data: st.DataObject) -> None:
    name, arguments, result = call
    names = {f"v{i}": t for i, t in enumerate(arguments)}
    row = st.fixed_dictionaries({n: column(t) for n, t in names.items()})
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    agrees(Call(name, tuple(Var(n, t) for n, t in names.items()), result), rows, names)


def _less(limit: Expr) -> Binary:
    return Binary("<", X, limit, BOOL)


QUOTIENT = Binary("/", Constant(6, INT), X, INT)
V, N = Var("v", VEC), Var("n", INT)
CLOSURES: dict[str, Expr] = {
    "map": Call("map", (V,), VEC, (Lambda((X,), Binary("+", X, ONE, INT)),)),
    "map with a variable": Call("map", (V,), VEC, (Lambda((X,), Binary("*", X, N, INT)),)),
    "map that may fail": Call("map", (V,), VEC, (Lambda((X,), QUOTIENT),)),
    "map to a constant": Call("map", (V,), WORDS, (Lambda((X,), Constant("a", STRING)),)),
    "filter": Call("filter", (V,), VEC, (Lambda((X,), _less(N)),)),
    "filter that may fail": Call("filter", (V,), VEC, (Lambda((X,), Binary("<", QUOTIENT, N, BOOL)),)),
    "any": Call("any", (V,), BOOL, (Lambda((X,), Binary("<", QUOTIENT, N, BOOL)),)),
    "all": Call("all", (V,), BOOL, (Lambda((X,), Binary("<", QUOTIENT, N, BOOL)),)),
    "fold": Call("fold", (V, N), INT, (Lambda((A, X), Binary("-", Binary("*", A, N, INT), X, INT)),)),
    "fold that may fail": Call("fold", (V, N), INT, (Lambda((A, X), Binary("/", X, A, INT)),)),
    "fold without variables": Call("fold", (V, ONE), INT, (Lambda((A, X), Binary("+", A, X, INT)),)),
    "closures in closures": Call(
        "map",
        (V,),
        Vec(VEC),
        (
            Lambda(
                (A,), Call("filter", (V,), VEC, (Lambda((X,), Binary("<", X, Binary("+", A, N, INT), BOOL)),))
            ),
        ),
    ),
    "in a branch": If(_less(N), Call("len", (V,), INT), Call("fold", (V, X), INT, (Lambda((A, X), A),)), INT),
    "of a collection that fails": Call(
        "map", (Listing((QUOTIENT, N), VEC),), VEC, (Lambda((A,), Binary("+", A, N, INT)),)
    ),
}


@pytest.mark.parametrize("name", CLOSURES)
@given(data=st.data())
def test_closures(name: str, data: st.DataObject) -> None:
    row = st.fixed_dictionaries({"v": column(VEC), "n": NUMBER, "x": NUMBER})
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    agrees(CLOSURES[name], rows, {"v": VEC, "n": INT, "x": INT})


@given(st.lists(st.fixed_dictionaries({"v": column(VEC), "n": NUMBER}), min_size=1, max_size=6))
def test_functions_of_the_language_share_calls_with_closures(rows: list[dict[str, Any]]) -> None:
    body = Call("map", (Var("w", VEC),), VEC, (Lambda((X,), Binary("+", X, Var("m", INT), INT)),))
    function = Function("shift", (Parameter("w", VEC), Parameter("m", INT)), VEC, body)
    once = Call("shift", (V, N), VEC)
    inner = Call("map", (V,), VEC, (Lambda((X,), Binary("-", X, N, INT)),))
    other = Call("map", (V,), VEC, (Lambda((X,), Binary("-", X, ONE, INT)),))
    calls = (once, Call("shift", (inner, N), VEC), Call("shift", (other, N), VEC), once)
    agrees(Listing(calls, Vec(VEC)), rows, {"v": VEC, "n": INT}, {"shift": function})


@given(typed_columns(max_size=6))
def test_equality_order_and_text(case: tuple[types.Item, list[Value]]) -> None:
    type_, found = case
    if not found or not types.is_structured(type_):
        return
    rows = [{"a": a, "b": b} for a, b in zip(found, found[1:] + found[:1], strict=True)]
    a, b = Var("a", type_), Var("b", type_)
    for op in ("==", "!=", "<", "<=", ">", ">="):
        agrees(Binary(op, a, b, BOOL), rows, {"a": type_, "b": type_})
    agrees(Cast(a, STRING), rows, {"a": type_, "b": type_})
    agrees(Cast(Cast(a, STRING), type_), rows, {"a": type_, "b": type_})
    for name in ("min", "max"):
        agrees(Call(name, (a, b), type_), rows, {"a": type_, "b": type_})
    agrees(Call("hash", (a,), INT), rows, {"a": type_, "b": type_})


@given(st.lists(values(PAYLOAD), min_size=1, max_size=6))
def test_building_a_value_and_matching_it_is_identity(found: list[Any]) -> None:
    p, field = Var("p", PAYLOAD), types.Bit(32)
    parts = (Get(p, "IPv4", 0, field), Get(p, "IPv4", 1, field))
    again = If(Is(p, "IPv4", BOOL), Make("IPv4", parts, PAYLOAD), p, PAYLOAD)
    rows = [{"p": value} for value in found]
    agrees(Binary("==", again, p, BOOL), rows, {"p": PAYLOAD})
    agrees(parts[1], rows, {"p": PAYLOAD})  # which fails for other constructors
    agrees(Make("Other", (), PAYLOAD), rows, {"p": PAYLOAD})


@given(st.lists(values(NUMBERS), min_size=1, max_size=6))
def test_recursive_values_are_taken_apart(found: list[Any]) -> None:
    p = Var("p", NUMBERS)
    rows = [{"p": value} for value in found]
    agrees(Get(Get(p, "Cons", 1, NUMBERS), "Cons", 0, INT), rows, {"p": NUMBERS})
    agrees(Make("Cons", (ONE, p), NUMBERS), rows, {"p": NUMBERS})


@given(
    st.lists(st.tuples(st.integers(0, 2), values(POINT), NUMBER, st.integers(1, 2)), min_size=1, max_size=8)
)
def test_aggregates_over_structured_values(rows: list[tuple[int, Any, int, int]]) -> None:
    codec = Codec()
    held = sorted({group for group, *_ in rows})
    groups = np.array([held.index(group) for group, *_ in rows])
    points = codec.encode_column(POINT, [p for _, p, _, _ in rows])
    numbers = codec.encode_column(INT, [n for _, _, n, _ in rows])
    weights = np.array([w for *_, w in rows])
    by_group = [[(p, n, w) for g, p, n, w in rows if g == group] for group in held]

    def found(function: str, args: list[Any], kinds: list[Type], result: Type) -> list[Value]:
        outcome = aggregate(function, groups, args, kinds, result, weights, False, len(held), codec)
        assert outcome.failures is None
        return codec.decode_column(result, outcome.codes)

    def by_order(p: Any) -> Any:
        return order_key(POINT, p)

    assert found("min", [points], [POINT], POINT) == [
        min((p for p, _, _ in g), key=by_order) for g in by_group
    ]
    assert found("count_distinct", [points], [POINT], INT) == [len({p for p, _, _ in g}) for g in by_group]
    assert found("arg_max", [points, numbers], [POINT, INT], POINT) == [
        min((p for p, n, _ in g if n == max(n for _, n, _ in g)), key=by_order) for g in by_group
    ]
    repeated = [[(p, n) for p, n, w in g for _ in range(w)] for g in by_group]
    assert found("collect_vec", [points], [POINT], Vec(POINT)) == [
        tuple(sorted((p for p, _ in g), key=by_order)) for g in repeated
    ]
    assert found("collect_vec", [points, numbers], [POINT, INT], Vec(POINT)) == [
        tuple(p for p, _ in sorted(g, key=lambda x: (x[1], by_order(x[0])))) for g in repeated
    ]
    assert found("collect_set", [points], [POINT], Set(POINT)) == [
        frozenset(p for p, _ in g) for g in repeated
    ]
    assert found("collect_map", [points, points], [POINT, POINT], Map(POINT, POINT)) == [
        {p: p for p, _ in g} for g in repeated
    ]


def test_a_key_with_two_values_fails_its_group_alone() -> None:
    codec = Codec()
    groups, keys, held = np.array([0, 1, 1]), np.array([5, 5, 5]), np.array([1, 1, 2])
    outcome = aggregate(
        "collect_map", groups, [keys, held], [INT, INT], Map(INT, INT), np.ones(3, np.int64), False, 2, codec
    )
    assert outcome.failures is not None
    assert outcome.failures[0] == 0
    assert outcome.reason(int(outcome.failures[1])) == "collect_map: the key 5 has two different values"


SPANS: st.SearchStrategy[Any] = st.timedeltas() | st.sampled_from(
    [timedelta(0), timedelta(microseconds=2**63 - 1), timedelta(microseconds=1 - 2**63), timedelta(hours=-1)]
)
SMALL = st.integers() | st.integers(-3, 3)
TEMPORAL: list[tuple[str, Type, Type, Type]] = [
    ("-", types.TIMESTAMP, types.TIMESTAMP, types.DURATION),
    ("+", types.TIMESTAMP, types.DURATION, types.TIMESTAMP),
    ("-", types.TIMESTAMP, types.DURATION, types.TIMESTAMP),
    *((op, types.DURATION, types.DURATION, types.DURATION) for op in "+-"),
    *((op, types.DURATION, INT, types.DURATION) for op in "*/"),
    ("*", INT, types.DURATION, types.DURATION),
]


def _in_range(type_: Type, value: Any) -> bool:
    try:
        canonical(type_, value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("case", TEMPORAL, ids=lambda c: f"{c[1]} {c[0]} {c[2]}")
@given(data=st.data())
def test_arithmetic_with_durations(case: tuple[str, Type, Type, Type], data: st.DataObject) -> None:
    op, left, right, result = case
    drawn: dict[Type, st.SearchStrategy[Any]] = {
        INT: SMALL.filter(lambda n: -(2**63) <= n < 2**63),
        types.DURATION: SPANS.filter(lambda d: _in_range(types.DURATION, d)),
        types.TIMESTAMP: st.datetimes(timezones=st.just(UTC)),
    }
    row = st.fixed_dictionaries({"a": drawn[left], "b": drawn[right]})
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    agrees(Binary(op, Var("a", left), Var("b", right), result), rows, {"a": left, "b": right})


@given(st.lists(SPANS.filter(lambda d: _in_range(types.DURATION, d)), min_size=1, max_size=5))
def test_durations_have_opposites_an_order_and_texts(found: list[Any]) -> None:
    d = Var("d", types.DURATION)
    rows = [{"d": value} for value in found]
    exprs = (Unary("-", d, types.DURATION), Cast(d, STRING), Cast(Cast(d, STRING), types.DURATION))
    for expr in (*exprs, Binary("<", d, exprs[0], BOOL)):
        agrees(expr, rows, {"d": types.DURATION})
