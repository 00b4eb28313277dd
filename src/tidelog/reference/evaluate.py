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
- Statements are executed one after the other. A variable may hold a failure; a condition, a collection or a
  returned value that fails makes the block fail.
- Calls of recursive functions inside each other are limited to `MAX_CALL_DEPTH`; a deeper one fails. A body
  with such a call is evaluated again once the call has a value, with the values of all its calls so far, so
  that the depth of calls needs no stack.
- A closure sees the variables around it. What fails inside it makes the call fail that called it.
- Every result is canonical for the type of its expression.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import BadValue, Value, canonical, joins, order_key
from tidelog.program import declared, typed
from tidelog.program.folds import written_name
from tidelog.program.library.catalog import MAX_BIGINT_SHIFT, MAX_CALL_DEPTH, TOO_DEEP
from tidelog.program.steps import Assign, Branch, Jump, Loop, Return, Steps
from tidelog.program.typed import Expr
from tidelog.reference.convert import Undefined, cast, checked, exact, number_at
from tidelog.reference.durations import duration, duration_arithmetic, is_temporal, microseconds
from tidelog.reference.functions import call_standard, joined
from tidelog.reference.structures import field_of, has_constructor, items_of, make

__all__ = ["Environment", "Failure", "Functions", "evaluate"]


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why an expression has no value."""

    reason: str


Environment: TypeAlias = Mapping[str, Value | Failure]
Functions: TypeAlias = Mapping[str, declared.Function | declared.PythonFunction]


@dataclass(slots=True)
class _Activation:
    """A call of a recursive function, with the values of the calls in its body so far.

    `number` is the next of those calls in the evaluation of the body that is going on.
    """

    function: declared.Function
    arguments: Environment
    depth: int
    values: list[Value | Failure] = field(default_factory=list)
    number: int = 0


@dataclass(frozen=True, slots=True)
class _Context:
    """The functions that can be called, and the innermost call of a recursive one."""

    functions: Functions
    activation: _Activation | None = None


class _Missing(Exception):
    """The evaluation of a body needs a call that has no value yet."""

    def __init__(self, activation: _Activation) -> None:
        self.activation = activation


def evaluate(expr: Expr, env: Environment, functions: Functions) -> Value | Failure:
    """The value of an expression for these values of its variables, or its failure."""
    return _outcome(expr, env, _Context(functions))


def _outcome(expr: Expr, env: Environment, context: _Context) -> Value | Failure:
    try:
        return _value(expr, env, context)
    except (Undefined, BadValue) as problem:
        return Failure(str(problem))


def _value(expr: Expr, env: Environment, context: _Context) -> Value:
    match expr:
        case typed.Constant(value, type_):
            return canonical(type_, value)
        case typed.Var(name):
            return _read(env[name])
        case typed.Unary(op, operand, type_):
            return _unary(op, type_, _value(operand, env, context))
        case typed.Binary(op="and" | "or"):
            return _connective(expr, env, context)
        case typed.Binary(op, left, right):
            a, b = _value(left, env, context), _value(right, env, context)
            return _binary(op, left.type, a, b)
        case typed.If(condition, then, otherwise):
            return _value(then if _value(condition, env, context) else otherwise, env, context)
        case typed.Let(name, value, body):
            return _value(body, {**env, name: _outcome(value, env, context)}, context)
        case typed.Call():
            return _call(expr, env, context)
        case typed.Cast(operand, type_):
            return checked(type_, cast(operand.type, type_, _value(operand, env, context)))
        case typed.Make(constructor, fields, type_):
            return checked(type_, make(type_, constructor, [_value(f, env, context) for f in fields]))
        case typed.Get(operand, constructor, field):
            return field_of(_value(operand, env, context), constructor, field)
        case typed.Is(operand, constructor):
            return has_constructor(_value(operand, env, context), constructor)
        case typed.Listing(items, type_):
            return checked(type_, tuple(_value(item, env, context) for item in items))
        case typed.Block(steps):
            result = _execute(steps, dict(env), context)
            assert isinstance(result, _Returned)
            return result.value
        case typed.Over():
            raise AssertionError("only plans have aggregates as expressions")
        case _:
            assert_never(expr)


def _read(value: Value | Failure) -> Value:
    if isinstance(value, Failure):
        raise Undefined(value.reason)
    return value


def _connective(expr: typed.Binary, env: Environment, context: _Context) -> Value:
    left = _value(expr.left, env, context)
    settled = left == (expr.op == "or")
    return left if settled else _value(expr.right, env, context)


# -- calls


def _call(call: typed.Call, env: Environment, context: _Context) -> Value:
    match context.functions.get(call.function):
        case declared.Function() as function:
            names = [p.name for p in function.parameters]
            values = [_outcome(a, env, context) for a in call.args]
            arguments = dict(zip(names, values, strict=True))
            if function.cycle:
                return _call_recursive(function, arguments, context)
            return _value(function.body, arguments, context)
        case declared.PythonFunction() as function:
            return _call_python(function, [_value(a, env, context) for a in call.args])
        case None:
            operands = tuple(_value(a, env, context) for a in call.args)
            argument_types = tuple(a.type for a in call.args)
            closures = tuple(_closure(c, env, context) for c in call.closures)
            return checked(call.type, call_standard(call.function, operands, argument_types, closures))


def _call_recursive(function: declared.Function, arguments: Environment, context: _Context) -> Value:
    """The value of a call, which may be inside another one of the same recursion."""
    around = context.activation
    if around is None or function.name not in around.function.cycle:
        return _read(_solved(_Activation(function, arguments, 1), context.functions))
    if around.number == len(around.values):
        raise _Missing(_Activation(function, arguments, around.depth + 1))
    around.number += 1
    return _read(around.values[around.number - 1])


def _solved(first: _Activation, functions: Functions) -> Value | Failure:
    """The value of a call, after those that it needs."""
    waiting = [first]
    while True:
        last = waiting[-1]
        last.number = 0
        if last.depth > MAX_CALL_DEPTH:
            value: Value | Failure = Failure(TOO_DEEP.format(written_name(last.function.name)))
        else:
            try:
                value = _outcome(last.function.body, last.arguments, _Context(functions, last))
            except _Missing as missing:
                waiting.append(missing.activation)
                continue
        waiting.pop()
        if not waiting:
            return value
        waiting[-1].values.append(value)


def _closure(closure: typed.Lambda, env: Environment, context: _Context) -> Callable[..., Value]:
    names = [p.name for p in closure.parameters]

    def apply(*arguments: Value) -> Value:
        return _value(closure.body, {**env, **dict(zip(names, arguments, strict=True))}, context)

    return apply


def _call_python(function: declared.PythonFunction, arguments: list[Value]) -> Value:
    try:
        return checked(function.result, function.call(*arguments))
    except Undefined as problem:
        raise Undefined(f"{function.name}: {problem}") from None
    except BadValue as problem:
        raise Undefined(f"{function.name}: the result {problem}") from None
    except Exception as error:
        raise Undefined(f"{function.name}: {type(error).__name__}: {error}") from None


# -- statements


@dataclass(frozen=True, slots=True)
class _Returned:
    value: Value


def _execute(steps: Steps, env: dict[str, Value | Failure], context: _Context) -> _Returned | str | None:
    """Execute statements; the result is a returned value, the word of a jump, or None at their end."""
    for step in steps:
        end: _Returned | str | None = None
        match step:
            case Assign(variable, value):
                env[variable.name] = _outcome(value, env, context)
            case Branch(conditions, bodies):
                taken = next(
                    (i for i, c in enumerate(conditions) if _value(c, env, context)), len(conditions)
                )
                end = _execute(bodies[taken], env, context)
            case Loop():
                end = _repeat(step, env, context)
            case Jump(word):
                end = word
            case Return(value):
                end = _Returned(_value(value, env, context))
            case _:
                assert_never(step)
        if end is not None:
            return end
    return None


def _repeat(loop: Loop, env: dict[str, Value | Failure], context: _Context) -> _Returned | None:
    for item in items_of(loop.collection.type, _value(loop.collection, env, context)):
        env[loop.variable.name] = item
        match _execute(loop.body, env, context):
            case _Returned() as returned:
                return returned
            case "break":
                break
            case _:
                pass
    return None


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
