"""Expressions: exact where they have a value, and a failure that says why where they have none."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.data import types
from tidelog.data.types import BIGINT, BOOL, BYTES, DATE, DOUBLE, FLOAT, INT, STRING, TIMESTAMP, Option, Type
from tidelog.data.values import NAN, Value, canonical
from tidelog.program import declared
from tidelog.program.declared import Column
from tidelog.program.library.catalog import can_cast
from tidelog.program.typed import Binary, Call, Cast, Constant, Expr, If, Let, Unary, Var
from tidelog.reference.evaluate import Failure, evaluate

BYTE = types.Bit(8)
TINY = types.Signed(8)
MONEY = types.Decimal(4, 2)
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
FAILS = Failure("any reason")
BROKEN = Binary("/", Constant(1, INT), Constant(0, INT), INT)
BROKEN_BOOL = Binary("==", BROKEN, BROKEN, BOOL)
TRUE, FALSE = Constant(True, BOOL), Constant(False, BOOL)


def value(expr: Expr, **env: Value | Failure) -> Value | Failure:
    return evaluate(expr, env, {})


def binary(op: str, type_: Type, left: object, right: object) -> Value | Failure:
    """The operator on constants of a type; a shift's right side is an int."""
    a = Constant(canonical(type_, left), type_)
    right_type = INT if op in ("<<", ">>") else type_
    b = Constant(canonical(right_type, right), right_type)
    return value(Binary(op, a, b, BOOL if op in "== != <= >=" else type_))


def cast(source: Type, target: Type, operand: object) -> Value | Failure:
    assert can_cast(source, target)
    return value(Cast(Constant(canonical(source, operand), source), target))


def agrees(found: Value | Failure, wanted: object) -> bool:
    if isinstance(wanted, Failure):
        return isinstance(found, Failure) and bool(found.reason)
    return found is wanted or (found == wanted and type(found) is type(wanted))


# -- arithmetic


@pytest.mark.parametrize(
    ("op", "type_", "left", "right", "result"),
    [
        ("+", INT, LARGEST, 1, FAILS),
        ("-", INT, SMALLEST, 1, FAILS),
        ("*", INT, 2**32, 2**31, FAILS),
        ("*", INT, -(2**32), 2**31, SMALLEST),
        ("/", INT, SMALLEST, -1, FAILS),
        ("/", INT, 7, -2, -3),
        ("%", INT, -7, 2, -1),
        ("%", INT, 7, -2, 1),
        ("%", INT, SMALLEST, -1, 0),
        ("/", INT, 1, 0, FAILS),
        ("%", INT, 1, 0, FAILS),
        ("-", BYTE, 1, 2, FAILS),
        ("+", BYTE, 255, 1, FAILS),
        ("*", TINY, -128, -1, FAILS),
        ("*", BIGINT, LARGEST, LARGEST, LARGEST**2),
        ("/", BIGINT, -(10**40), 3, -(10**40 // 3)),
        ("+", MONEY, Decimal("99.99"), Decimal("0.01"), FAILS),
        ("*", MONEY, Decimal("0.05"), Decimal("0.50"), Decimal("0.02")),
        ("*", MONEY, Decimal("0.15"), Decimal("0.50"), Decimal("0.08")),
        ("/", MONEY, Decimal("2.00"), Decimal("3.00"), Decimal("0.67")),
        ("/", MONEY, Decimal("0.01"), Decimal("2.00"), Decimal("0.00")),
        ("/", MONEY, Decimal("1.00"), Decimal("0.01"), FAILS),
        ("/", MONEY, Decimal("1.00"), Decimal("0.00"), FAILS),
        ("%", MONEY, Decimal("-7.50"), Decimal("2.00"), Decimal("-1.50")),
        ("+", types.Decimal(38, 0), Decimal(10**37), Decimal(1), Decimal(10**37 + 1)),
        ("+", DOUBLE, 0.1, 0.2, 0.1 + 0.2),
        ("*", DOUBLE, 1e200, 1e200, FAILS),
        ("*", DOUBLE, math.inf, -1.0, -math.inf),
        ("-", DOUBLE, math.inf, math.inf, NAN),
        ("/", DOUBLE, 1.0, 0.0, FAILS),
        ("/", DOUBLE, math.nan, 0.0, FAILS),
        ("/", DOUBLE, 1.0, math.inf, 0.0),
        ("%", DOUBLE, -7.5, 2.0, -1.5),
        ("%", DOUBLE, 7.5, math.inf, 7.5),
        ("%", DOUBLE, math.inf, 2.0, NAN),
        ("*", DOUBLE, -1.0, 0.0, 0.0),
        ("*", FLOAT, 1e30, 1e30, FAILS),
        ("/", FLOAT, 1.0, 3.0, struct.unpack("<f", struct.pack("<f", 1 / 3))[0]),
        ("++", STRING, "naï", "ve", "naïve"),
    ],
)
def test_arithmetic_is_exact_or_fails(
    op: str, type_: Type, left: object, right: object, result: object
) -> None:
    assert agrees(binary(op, type_, left, right), result)


@pytest.mark.parametrize(
    ("op", "type_", "operand", "result"),
    [
        ("-", INT, SMALLEST, FAILS),
        ("-", INT, LARGEST, -LARGEST),
        ("-", BYTE, 1, FAILS),
        ("-", BYTE, 0, 0),
        ("-", MONEY, Decimal("1.50"), Decimal("-1.50")),
        ("-", DOUBLE, math.inf, -math.inf),
        ("-", DOUBLE, math.nan, NAN),
        ("-", FLOAT, 1.5, -1.5),
        ("~", INT, 0, -1),
        ("~", BYTE, 5, 250),
        ("~", TINY, 127, -128),
        ("not", BOOL, True, False),
    ],
)
def test_unary_operators(op: str, type_: Type, operand: object, result: object) -> None:
    found = value(Unary(op, Constant(canonical(type_, operand), type_), type_))
    assert agrees(found, result)


@pytest.mark.parametrize(
    ("op", "type_", "left", "right", "result"),
    [
        ("&", INT, -2, 7, 6),
        ("|", INT, SMALLEST, 1, SMALLEST + 1),
        ("^", BYTE, 255, 15, 240),
        ("<<", BYTE, 0b1100_0001, 1, 0b1000_0010),
        ("<<", INT, 1, 62, 2**62),
        ("<<", INT, 1, 63, FAILS),
        ("<<", INT, -1, 63, SMALLEST),
        ("<<", TINY, 64, 1, FAILS),
        ("<<", INT, 1, 64, FAILS),
        ("<<", INT, 0, -1, FAILS),
        ("<<", BYTE, 1, 8, FAILS),
        (">>", INT, -5, 1, -3),
        (">>", BYTE, 128, 7, 1),
        (">>", BYTE, 128, 8, FAILS),
    ],
)
def test_bits_are_lost_only_where_there_are_no_more(
    op: str, type_: Type, left: object, right: object, result: object
) -> None:
    assert agrees(binary(op, type_, left, right), result)


def test_a_bigint_grows_to_a_million_bits() -> None:
    assert binary("<<", BIGINT, 1, 65_535) == 2**65_535
    assert agrees(binary("<<", BIGINT, 1, 65_536), FAILS)
    assert binary("*", BIGINT, 2**500_000, 2**499_999) == 2**999_999
    assert agrees(binary("*", BIGINT, 2**500_000, 2**500_000), FAILS)


ints = st.integers(SMALLEST, LARGEST)


@given(ints, ints)
def test_quotient_and_remainder_make_up_the_dividend(a: int, b: int) -> None:
    quotient, remainder = binary("/", INT, a, b), binary("%", INT, a, b)
    if b == 0 or (a, b) == (SMALLEST, -1):
        assert isinstance(quotient, Failure)
        return
    assert isinstance(quotient, int)
    assert isinstance(remainder, int)
    assert quotient * b + remainder == a
    assert abs(remainder) < abs(b)
    assert remainder == 0 or (remainder < 0) == (a < 0)


@given(st.sampled_from("+-*/"), st.floats(), st.floats())
def test_doubles_are_those_of_the_processor_unless_they_fail(op: str, a: float, b: float) -> None:
    found = binary(op, DOUBLE, a, b)
    if op == "/" and b == 0:
        assert isinstance(found, Failure)
        return
    wanted = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()
    if math.isfinite(a) and math.isfinite(b) and not math.isfinite(wanted):
        assert isinstance(found, Failure)
    else:
        assert agrees(found, canonical(DOUBLE, wanted))


singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.sampled_from("+-*/"), singles, singles)
def test_floats_are_doubles_rounded_to_single_precision(op: str, a: float, b: float) -> None:
    found, double = binary(op, FLOAT, a, b), binary(op, DOUBLE, a, b)
    if isinstance(found, Failure):
        assert isinstance(double, Failure) or abs(float(str(double))) > 3.4e38
    else:
        assert found == canonical(FLOAT, double)


# -- comparisons


@pytest.mark.parametrize(
    ("op", "type_", "left", "right", "result"),
    [
        ("==", DOUBLE, math.nan, math.nan, True),
        ("!=", DOUBLE, math.nan, math.nan, False),
        ("<", DOUBLE, math.inf, math.nan, True),
        ("==", DOUBLE, -0.0, 0.0, True),
        ("==", Option(INT), None, None, False),
        ("!=", Option(INT), None, None, True),
        ("==", Option(INT), 1, 1, True),
        ("!=", Option(INT), 1, None, True),
        ("<", STRING, "Z", "a", True),
        ("<", STRING, "\uffff", "\U00010000", True),
        (">=", BOOL, True, False, True),
        ("<=", BYTES, b"a", b"ab", True),
        (">", DATE, date(2024, 1, 2), date(2024, 1, 1), True),
    ],
)
def test_comparisons_follow_the_order_of_the_type(
    op: str, type_: Type, left: object, right: object, result: bool
) -> None:
    assert binary(op, type_, left, right) is result


# -- failures


def test_a_failing_operand_fails_the_operation_with_its_own_reason() -> None:
    assert value(BROKEN) == Failure("division by zero")
    assert value(Binary("+", Var("x", INT), BROKEN, INT), x=Failure("first")) == Failure("first")
    assert value(Cast(BROKEN, STRING)) == Failure("division by zero")
    assert value(Call("abs", (BROKEN,), INT)) == Failure("division by zero")


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        ("and", FALSE, BROKEN_BOOL, False),
        ("or", TRUE, BROKEN_BOOL, True),
        ("and", TRUE, BROKEN_BOOL, FAILS),
        ("or", FALSE, BROKEN_BOOL, FAILS),
        ("and", BROKEN_BOOL, FALSE, FAILS),
        ("or", BROKEN_BOOL, TRUE, FAILS),
        ("and", TRUE, FALSE, False),
        ("or", FALSE, TRUE, True),
    ],
)
def test_and_and_or_look_right_only_if_they_must(op: str, left: Expr, right: Expr, result: object) -> None:
    assert agrees(value(Binary(op, left, right, BOOL)), result)


def test_an_untaken_branch_never_fails() -> None:
    one = Constant(1, INT)
    assert value(If(TRUE, one, BROKEN, INT)) == 1
    assert value(If(FALSE, BROKEN, one, INT)) == 1
    assert isinstance(value(If(BROKEN_BOOL, one, one, INT)), Failure)


def test_a_name_fails_where_it_is_read() -> None:
    assert value(Let("x", BROKEN, Constant(1, INT), INT)) == 1
    assert isinstance(value(Let("x", BROKEN, Var("x", INT), INT)), Failure)
    assert value(Let("x", Constant(1, INT), Let("x", Constant(2, INT), Var("x", INT), INT), INT)) == 2


# -- conversions


@pytest.mark.parametrize(
    ("source", "target", "operand", "result"),
    [
        (INT, BYTE, 256, FAILS),
        (INT, BIGINT, LARGEST, LARGEST),
        (BIGINT, INT, 2**63, FAILS),
        (BYTE, TINY, 127, 127),
        (BOOL, BYTE, True, 1),
        (DOUBLE, INT, -1.9, -1),
        (DOUBLE, INT, 1e300, FAILS),
        (DOUBLE, INT, math.nan, FAILS),
        (DOUBLE, MONEY, math.inf, FAILS),
        (DOUBLE, BIGINT, 1e23, 99999999999999991611392),
        (DOUBLE, types.Decimal(38, 0), 1e23, Decimal(10**23)),
        (DOUBLE, types.Decimal(38, 30), 0.1, Decimal("0.1")),
        (FLOAT, MONEY, 0.125, Decimal("0.12")),
        (DOUBLE, MONEY, 100.0, FAILS),
        (DOUBLE, FLOAT, 1e39, FAILS),
        (DOUBLE, FLOAT, math.nan, NAN),
        (DOUBLE, FLOAT, -math.inf, -math.inf),
        (FLOAT, DOUBLE, 0.1, 0.10000000149011612),
        (INT, DOUBLE, 2**53 + 1, float(2**53)),
        (INT, FLOAT, 2**60 + 2**36 + 1, float(2**60 + 2**37)),
        (BIGINT, DOUBLE, 10**400, FAILS),
        (BIGINT, FLOAT, 10**39, FAILS),
        (INT, MONEY, 99, Decimal("99.00")),
        (INT, MONEY, 100, FAILS),
        (MONEY, INT, Decimal("-1.99"), -1),
        (MONEY, DOUBLE, Decimal("0.10"), 0.1),
        (MONEY, types.Decimal(2, 1), Decimal("1.25"), Decimal("1.2")),
        (MONEY, types.Decimal(2, 1), Decimal("9.96"), FAILS),
        (INT, STRING, -5, "-5"),
        (DOUBLE, STRING, 1.0, "1.0"),
        (BYTES, STRING, "naïve".encode(), "naïve"),
        (BYTES, STRING, b"\xff", FAILS),
        (STRING, BYTES, "ï", b"\xc3\xaf"),
        (STRING, INT, " 1", FAILS),
        (STRING, BOOL, "true", True),
        (STRING, DATE, "2024-02-29", date(2024, 2, 29)),
        (DATE, TIMESTAMP, date(2024, 2, 29), datetime(2024, 2, 29, tzinfo=UTC)),
        (TIMESTAMP, DATE, datetime(1969, 12, 31, 23, tzinfo=UTC), date(1969, 12, 31)),
        (DATE, INT, date(1969, 12, 31), -1),
        (INT, DATE, 0, date(1970, 1, 1)),
        (INT, DATE, LARGEST, FAILS),
        (TIMESTAMP, INT, datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), 1_000_005),
        (INT, TIMESTAMP, -1, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        (INT, TIMESTAMP, LARGEST, FAILS),
        (INT, Option(INT), 5, 5),
        (STRING, Option(STRING), "none", "none"),
        (STRING, Option(INT), "none", FAILS),
        (Option(INT), Option(STRING), None, None),
        (Option(INT), Option(BYTE), 256, FAILS),
        (Option(INT), STRING, None, "none"),
        (Option(BYTES), STRING, b"a", "a"),
        (INT, INT, 5, 5),
    ],
)
def test_a_conversion_gives_the_nearest_value_or_fails(
    source: Type, target: Type, operand: object, result: object
) -> None:
    assert agrees(cast(source, target, operand), result)


@pytest.mark.parametrize(
    ("source", "target"),
    [(INT, BOOL), (BOOL, DOUBLE), (DATE, BIGINT), (Option(INT), INT), (DOUBLE, DATE), (BYTES, INT)],
)
def test_some_conversions_do_not_exist(source: Type, target: Type) -> None:
    assert not can_cast(source, target)


@given(st.integers(1, 38).flatmap(lambda digits: st.integers(0, 10**digits - 1)))
def test_a_number_becomes_the_nearest_float(strata: int) -> None:
    type_ = types.Decimal(38, 20)
    found = cast(type_, FLOAT, Decimal((0, tuple(map(int, str(strata))), -20)))
    assert isinstance(found, float)
    bits = struct.unpack("<i", struct.pack("<f", found))[0]
    number = Fraction(strata, 10**20)
    for neighbour in (max(bits - 1, 0), bits + 1):
        other = struct.unpack("<f", struct.pack("<i", neighbour))[0]
        assert abs(number - Fraction(found)) <= abs(number - Fraction(other))


# -- calls


def test_a_function_of_the_language_sees_its_parameters_only() -> None:
    twice = declared.Function(
        "twice", (Column("n", INT),), INT, Binary("+", Var("n", INT), Var("n", INT), INT)
    )
    constant = declared.Function("constant", (Column("n", INT),), INT, Constant(7, INT))
    call = Call("twice", (Call("twice", (Var("x", INT),), INT),), INT)
    functions = {"twice": twice, "constant": constant}
    assert evaluate(call, {"x": 3, "n": 100}, functions) == 12
    assert evaluate(call, {"x": 2**62}, functions) == Failure(
        "9223372036854775808 does not fit int (-9223372036854775808 to 9223372036854775807)"
    )
    assert evaluate(Call("constant", (BROKEN,), INT), {}, functions) == 7


def python(call: object, result: Type = INT) -> Value | Failure:
    assert callable(call)
    function = declared.PythonFunction("f", (Column("x", INT),), result, "module", "f", call)
    return evaluate(Call("f", (Constant(4, INT),), result), {}, {"f": function})


def test_a_python_function_gives_a_canonical_value_of_its_type() -> None:
    assert python(lambda x: x + 1) == 5
    assert python(lambda x: None, Option(INT)) is None
    assert agrees(python(lambda x: -0.0 * x, DOUBLE), 0.0)
    assert python(lambda x: math.nan, DOUBLE) is NAN


def test_what_a_python_function_does_wrong_is_a_failure() -> None:
    assert python(lambda x: x // 0) == Failure("f: ZeroDivisionError: integer division or modulo by zero")
    assert python(lambda x: "no", INT) == Failure("f: the result 'no' is not of type int")
    assert isinstance(python(lambda x: None), Failure)
    assert isinstance(python(lambda x: 1 << 2_000_000, BIGINT), Failure)
