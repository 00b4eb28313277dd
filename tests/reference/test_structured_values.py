"""Structured values in expressions: built, taken apart, compared, and handed to closures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tidelog.data import types
from tidelog.data.structs import FrozenMap
from tidelog.data.types import (
    BOOL,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    Constructor,
    Field,
    Named,
    Type,
    TypeTable,
)
from tidelog.data.values import NAN, Value, canonical
from tidelog.program.typed import (
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Get,
    Is,
    Lambda,
    Listing,
    Make,
    Unary,
    Var,
)
from tidelog.reference.aggregates import aggregate, over_nothing
from tidelog.reference.evaluate import Failure, evaluate

TABLE = TypeTable()
SHAPE = Named("Shape", (), "1", TABLE)
SPOT = Named("Spot", (), "2", TABLE)
TREE = Named("Tree", (), "3", TABLE)
TABLE.define(SHAPE, (Constructor("Circle", (Field("r", INT),)), Constructor("Empty", ())))
TABLE.define(SPOT, (Constructor("Spot", (Field("x", INT), Field("z", types.Option(INT)))),))
TABLE.define(TREE, (Constructor("Leaf", ()), Constructor("Node", (Field("l", TREE), Field("r", TREE)))))
NUMBERS = types.Vec(INT)
PAIR = types.Tuple((INT, STRING))


def value(expr: Expr, **variables: Value) -> Value | Failure:
    return evaluate(expr, variables, {})


def constant(type_: Type, given: object) -> Constant:
    return Constant(canonical(type_, given), type_)


def circle(r: Expr) -> Make:
    return Make("Circle", (r,), SHAPE)


def test_a_constructor_makes_a_value_with_its_fields() -> None:
    assert value(circle(constant(INT, 3))) == canonical(SHAPE, {"Circle": {"r": 3}})
    assert value(Make("Empty", (), SHAPE)) == canonical(SHAPE, "Empty")
    assert value(Make("", (constant(INT, 1), constant(STRING, "a")), PAIR)) == (1, "a")


def test_a_field_that_fails_makes_the_value_fail() -> None:
    division = Binary("/", constant(INT, 1), constant(INT, 0), INT)
    assert isinstance(value(circle(division)), Failure)
    assert isinstance(value(Listing((division,), NUMBERS)), Failure)


def test_a_field_is_read_by_position() -> None:
    assert value(Get(circle(constant(INT, 3)), "Circle", 0, INT)) == 3
    assert value(Get(constant(PAIR, (1, "a")), "", 1, STRING)) == "a"


def test_a_field_of_another_constructor_has_no_value() -> None:
    assert isinstance(value(Get(Make("Empty", (), SHAPE), "Circle", 0, INT)), Failure)


def test_is_asks_for_the_constructor() -> None:
    assert value(Is(circle(constant(INT, 3)), "Circle", BOOL)) is True
    assert value(Is(circle(constant(INT, 3)), "Empty", BOOL)) is False


def test_none_equals_itself_inside_a_value_and_nothing_outside() -> None:
    inside = constant(SPOT, {"x": 1, "z": None})
    outside = Var("x", types.Option(INT))
    assert value(Binary("==", inside, inside, BOOL)) is True
    assert value(Binary("==", outside, outside, BOOL), x=None) is False


@pytest.mark.parametrize(
    ("type_", "smaller", "larger"),
    [
        (SHAPE, {"Circle": {"r": 9}}, "Empty"),
        (SHAPE, {"Circle": {"r": 1}}, {"Circle": {"r": 2}}),
        (SPOT, {"x": 1, "z": None}, {"x": 1, "z": -5}),
        (SPOT, {"x": 1, "z": 9}, {"x": 2, "z": None}),
        (NUMBERS, [1, 2], [1, 2, 0]),
        (NUMBERS, [], [-1]),
        (types.Set(INT), [2, 1], [1, 3]),
        (types.Map(INT, STRING), {1: "b"}, {1: "b", 2: "a"}),
        (types.Vec(types.DOUBLE), [1.0], [NAN]),
        (TREE, "Leaf", {"Node": {"l": "Leaf", "r": "Leaf"}}),
    ],
)
def test_values_are_ordered_by_their_parts(type_: Type, smaller: object, larger: object) -> None:
    a, b = constant(type_, smaller), constant(type_, larger)
    assert value(Binary("<", a, b, BOOL)) is True
    assert value(Binary(">=", a, b, BOOL)) is False


def test_a_closure_sees_the_variables_around_it() -> None:
    x, n = Var("x", INT), Var("n", INT)
    closure = Lambda((x,), Binary("+", x, n, INT))
    call = Call("map", (constant(NUMBERS, [1, 2]),), NUMBERS, (closure,))
    assert value(call, n=10) == (11, 12)
    assert value(call, n=10, x=5) == (11, 12)


def test_a_closure_that_fails_makes_the_call_fail() -> None:
    x = Var("x", INT)
    closure = Lambda((x,), Binary("==", Binary("/", constant(INT, 1), x, INT), constant(INT, 1), BOOL))
    assert isinstance(value(Call("filter", (constant(NUMBERS, [1, 0]),), NUMBERS, (closure,))), Failure)
    assert value(Call("any", (constant(NUMBERS, [1, 0]),), BOOL, (closure,))) is True


def test_a_structured_value_is_written_as_json_and_read_back() -> None:
    spot = constant(SPOT, {"x": 1, "z": None})
    text = value(Cast(spot, STRING))
    assert text == '{"x":1,"z":null}'
    assert value(Cast(constant(STRING, text), SPOT)) == spot.value
    assert isinstance(value(Cast(constant(STRING, "{}"), SPOT)), Failure)


# -- durations

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        ("-", NOON, NOON - HOUR, HOUR),
        ("+", NOON, HOUR, NOON + HOUR),
        ("-", NOON, HOUR, NOON - HOUR),
        ("+", HOUR, HOUR, 2 * HOUR),
        ("-", HOUR, 3 * HOUR, -2 * HOUR),
        ("*", HOUR, 3, 3 * HOUR),
        ("*", 3, HOUR, 3 * HOUR),
    ],
)
def test_durations_and_timestamps_add_up(op: str, left: object, right: object, result: object) -> None:
    assert value(Binary(op, _timed(left), _timed(right), _timed(result).type)) == result


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        ("+", datetime.max.replace(tzinfo=UTC), HOUR),
        ("-", datetime.min.replace(tzinfo=UTC), HOUR),
        ("*", HOUR, 2**62),
        ("+", timedelta(microseconds=2**63 - 1), HOUR),
    ],
)
def test_a_result_outside_its_range_fails(op: str, left: object, right: object) -> None:
    assert isinstance(value(Binary(op, _timed(left), _timed(right), DURATION)), Failure)


def test_durations_are_compared_by_length() -> None:
    assert value(Binary("<", _timed(HOUR), _timed(2 * HOUR), BOOL)) is True
    assert value(Unary("-", _timed(HOUR), DURATION)) == -HOUR


def _timed(given: object) -> Constant:
    kinds: dict[type, Type] = {datetime: TIMESTAMP, timedelta: DURATION, int: INT}
    return constant(kinds[type(given)], given)


# -- aggregates


def test_collect_vec_sorts_by_value_or_by_the_key() -> None:
    rows = [(3, "a"), (1, "b"), (3, "b")]
    assert aggregate("collect_vec", [(a,) for a, _ in rows], (INT,), NUMBERS) == (1, 3, 3)
    assert aggregate("collect_vec", rows, (INT, STRING), NUMBERS) == (3, 1, 3)


def test_top_gives_the_largest_first_and_of_equal_ones_the_smallest_value() -> None:
    rows = [(3, 2, "a"), (1, 2, "b"), (2, 2, "b"), (3, 2, "b")]
    assert aggregate("top", [(a, n) for a, n, _ in rows], (INT, INT), NUMBERS) == (3, 3)
    assert aggregate("top", rows, (INT, INT, STRING), NUMBERS) == (1, 2)
    assert aggregate("top", [(a, 9) for a, _, _ in rows], (INT, INT), NUMBERS) == (3, 3, 2, 1)
    doubles = types.Vec(types.DOUBLE)
    assert aggregate("top", [(1.0, 1), (NAN, 1)], (types.DOUBLE, INT), doubles) == (NAN,)


def test_collect_set_and_collect_map_keep_each_value_once() -> None:
    assert aggregate("collect_set", [(3,), (3,)], (INT,), types.Set(INT)) == frozenset([3])
    pairs: list[tuple[Value, ...]] = [(1, "a"), (1, "a"), (2, "b")]
    wanted = FrozenMap({1: "a", 2: "b"})
    assert aggregate("collect_map", pairs, (INT, STRING), types.Map(INT, STRING)) == wanted


def test_collect_map_fails_for_two_values_of_a_key() -> None:
    found = aggregate("collect_map", [(1, "a"), (1, "b")], (INT, STRING), types.Map(INT, STRING))
    assert isinstance(found, Failure)
    numbers = types.Map(INT, types.DOUBLE)
    same = aggregate("collect_map", [(1, NAN), (1, NAN)], (INT, types.DOUBLE), numbers)
    assert same == FrozenMap({1: NAN})


@pytest.mark.parametrize(
    ("function", "type_", "wanted"),
    [
        ("count", INT, [0]),
        ("count_distinct", INT, [0]),
        ("count_if", INT, [0]),
        ("sum", types.DOUBLE, [0.0]),
        ("any", BOOL, [False]),
        ("all", BOOL, [True]),
        ("concat", STRING, [""]),
        ("collect_vec", NUMBERS, [()]),
        ("collect_set", types.Set(INT), [frozenset()]),
        ("collect_map", types.Map(INT, INT), [FrozenMap()]),
        ("min", INT, []),
        ("arg_max", INT, []),
        ("top", NUMBERS, []),
        ("avg", types.DOUBLE, []),
        ("median", types.DOUBLE, []),
        ("stddev", types.Option(types.DOUBLE), []),
        ("bit_or", INT, []),
    ],
)
def test_some_aggregates_have_a_value_over_nothing(function: str, type_: Type, wanted: list[Value]) -> None:
    assert over_nothing(function, type_) == wanted
