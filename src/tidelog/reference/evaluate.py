"""The semantics of expressions: `evaluate` is total and returns a value or the reason why there is none.

- A failure is a value: it propagates through every operation that reads it, and through nothing else. An
  untaken branch, the right side of an `and` or `or` that the left side decides, and a name that is never read
  cannot fail.
- Arithmetic is exact and then rounded or checked by its type (see `convert`). A result that does not fit is a
  failure; only `+%`, `-%` and `*%` wrap around, modulo 2**N. `/` and `%` of integers truncate toward zero, so
  that the remainder has the sign of the dividend. Division by zero fails for every type.
- Float and double operations with a NaN or infinite operand follow IEEE 754. If the operands are finite, a
  result that is not finite is a failure.
- A field of a value with another constructor is a failure.
- A closure sees the variables around it. What fails inside it makes the call fail that called it.
- Every result is canonical for the type of its expression.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import BadValue, Value, canonical, joins, order_key
from tidelog.program import typed
from tidelog.program.library.catalog import MAX_BIGINT_SHIFT
from tidelog.program.typed import Expr
from tidelog.reference.convert import Undefined, cast, checked, exact, number_at
from tidelog.reference.durations import duration, duration_arithmetic, is_temporal, microseconds
from tidelog.reference.functions import call_standard, joined
from tidelog.reference.structures import field_of, has_constructor, make

__all__ = ["Environment", "Failure", "Functions", "evaluate"]


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why an expression has no value."""

    reason: str


Environment: TypeAlias = Mapping[str, Value | Failure]
Functions: TypeAlias = Mapping[str, typed.Function | typed.PythonFunction]


def evaluate(expr: Expr, env: Environment, functions: Functions) -> Value | Failure:
    """The value of an expression for these values of its variables, or its failure."""
    try:
        return _value(expr, env, functions)
    except (Undefined, BadValue) as problem:
        return Failure(str(problem))


def _value(expr: Expr, env: Environment, functions: Functions) -> Value:
    match expr:
        case typed.Constant(value, type_):
            return canonical(type_, value)
        case typed.Var(name):
            return _read(env[name])
        case typed.Unary(op, operand, type_):
            return _unary(op, type_, _value(operand, env, functions))
        case typed.Binary(op="and" | "or"):
            return _connective(expr, env, functions)
        case typed.Binary(op, left, right):
            a, b = _value(left, env, functions), _value(right, env, functions)
            return _binary(op, left.type, a, b)
        case typed.If(condition, then, otherwise):
            return _value(then if _value(condition, env, functions) else otherwise, env, functions)
        case typed.Let(name, value, body):
            return _value(body, {**env, name: evaluate(value, env, functions)}, functions)
        case typed.Call():
            return _call(expr, env, functions)
        case typed.Cast(operand, type_):
            return checked(type_, cast(operand.type, type_, _value(operand, env, functions)))
        case typed.Make(constructor, fields, type_):
            return checked(type_, make(type_, constructor, [_value(f, env, functions) for f in fields]))
        case typed.Get(operand, constructor, field):
            return field_of(_value(operand, env, functions), constructor, field)
        case typed.Is(operand, constructor):
            return has_constructor(_value(operand, env, functions), constructor)
        case typed.Listing(items, type_):
            return checked(type_, tuple(_value(item, env, functions) for item in items))
        case _:
            assert_never(expr)


def _read(value: Value | Failure) -> Value:
    if isinstance(value, Failure):
        raise Undefined(value.reason)
    return value


def _connective(expr: typed.Binary, env: Environment, functions: Functions) -> Value:
    left = _value(expr.left, env, functions)
    settled = left == (expr.op == "or")
    return left if settled else _value(expr.right, env, functions)


# -- calls


def _call(call: typed.Call, env: Environment, functions: Functions) -> Value:
    match functions.get(call.function):
        case typed.Function() as function:
            names = [p.name for p in function.parameters]
            arguments = [evaluate(a, env, functions) for a in call.args]
            return _value(function.body, dict(zip(names, arguments, strict=True)), functions)
        case typed.PythonFunction() as function:
            return _call_python(function, [_value(a, env, functions) for a in call.args])
        case None:
            values = tuple(_value(a, env, functions) for a in call.args)
            argument_types = tuple(a.type for a in call.args)
            closures = tuple(_closure(c, env, functions) for c in call.closures)
            return checked(call.type, call_standard(call.function, values, argument_types, closures))


def _closure(closure: typed.Lambda, env: Environment, functions: Functions) -> Callable[..., Value]:
    names = [p.name for p in closure.parameters]

    def apply(*arguments: Value) -> Value:
        return _value(closure.body, {**env, **dict(zip(names, arguments, strict=True))}, functions)

    return apply


def _call_python(function: typed.PythonFunction, arguments: list[Value]) -> Value:
    try:
        return checked(function.result, function.call(*arguments))
    except Undefined as problem:
        raise Undefined(f"{function.name}: {problem}") from None
    except Exception as error:
        raise Undefined(f"{function.name}: {type(error).__name__}: {error}") from None


# -- operators


def _unary(op: str, type_: Type, operand: Value) -> Value:
    match op:
        case "not":
            return not operand
        case "-":
            if isinstance(operand, float):
                return checked(type_, -operand)
            if is_temporal(operand):
                return duration(-microseconds(operand))
            return number_at(type_, -exact(operand))
        case "~":
            assert isinstance(operand, int)
            return _lowest_bits(type_, ~operand)
        case _:
            raise AssertionError(op)


def _binary(op: str, type_: Type, left: Value, right: Value) -> Value:
    """The result for operands of a type. The right side of a shift is an int; durations mix with others."""
    match op:
        case "==" | "!=":
            return joins(left, right) == (op == "==")
        case "<" | "<=" | ">" | ">=":
            return _COMPARISONS[op](order_key(type_, left), order_key(type_, right))
        case "++":
            assert isinstance(left, str)
            assert isinstance(right, str)
            return joined("", [left, right], left, right)
        case "&" | "|" | "^":
            return _BITWISE[op](left, right)
        case "<<" | ">>":
            assert isinstance(left, int)
            assert isinstance(right, int)
            return _shift(op, type_, left, right)
        case "+%" | "-%" | "*%":
            return _wrapped(type_, int(_arithmetic(op[0], exact(left), exact(right))))
        case _ if is_temporal(left) or is_temporal(right):
            return duration_arithmetic(op, left, right)
        case _ if isinstance(left, float) and isinstance(right, float):
            return _float_arithmetic(op, type_, left, right)
        case _:
            return number_at(type_, _arithmetic(op, exact(left), exact(right)))


_COMPARISONS: Mapping[str, Callable[..., bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_BITWISE: Mapping[str, Callable[..., int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}


def _arithmetic(op: str, left: Fraction, right: Fraction) -> Fraction:
    """The exact result, before it is truncated or rounded to its type."""
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%" if right == 0:
            raise Undefined("division by zero")
        case "/":
            return left / right
        case "%":
            return left - right * math.trunc(left / right)
        case _:
            raise AssertionError(op)


def _float_arithmetic(op: str, type_: Type, left: float, right: float) -> Value:
    if math.isfinite(left) and math.isfinite(right):
        return number_at(type_, _arithmetic(op, Fraction(left), Fraction(right)))
    match op:
        case "+":
            result = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case "/" | "%" if right == 0:
            raise Undefined("division by zero")
        case "/":
            result = left / right
        case "%":
            result = left if math.isfinite(left) and math.isinf(right) else math.nan
        case _:
            raise AssertionError(op)
    return canonical(type_, result)


def _shift(op: str, type_: Type, number: int, amount: int) -> Value:
    limit = _shift_limit(type_)
    if not 0 <= amount <= limit:
        raise Undefined(f"{type_} can be shifted by 0 to {limit} bits, not by {amount}")
    if op == ">>":
        return number >> amount
    return _lowest_bits(type_, number << amount)


def _shift_limit(type_: Type) -> int:
    match type_:
        case types.Bit(width) | types.Signed(width):
            return width - 1
        case types.BigInt():
            return MAX_BIGINT_SHIFT
        case types.Int():
            return 63
        case types.Bool() | types.Float() | types.Double() | types.Decimal() | types.String() | types.Bytes():
            raise AssertionError(type_)
        case types.Date() | types.Timestamp() | types.Duration() | types.Option():
            raise AssertionError(type_)
        case types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            raise AssertionError(type_)
        case _:
            assert_never(type_)


def _wrapped(type_: Type, number: int) -> Value:
    """The only value of a bounded integer type that differs from a number by a multiple of 2**N."""
    width = type_.width if isinstance(type_, types.Bit | types.Signed) else 64
    lowest = number & ((1 << width) - 1)
    is_negative = not isinstance(type_, types.Bit) and lowest >> (width - 1) == 1
    return lowest - (1 << width) if is_negative else lowest


def _lowest_bits(type_: Type, number: int) -> Value:
    """The number as a value of the type: `bit<N>` drops excess bits, other types are checked for overflow."""
    if isinstance(type_, types.Bit):
        return number & ((1 << type_.width) - 1)
    return checked(type_, number)
