"""Type checking and inference of expressions: constants, operators, conditionals, conversions.

What inference has in common is in `inference`; structured values are in `structures`, calls in `calls`.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from typing import assert_never

from tidelog.data import types
from tidelog.data.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, Type
from tidelog.data.values import BadValue, Value, canonical, from_text
from tidelog.errors import Span
from tidelog.program.elaborate.bits import slice_of, width_constant
from tidelog.program.elaborate.definitions import resolve_type
from tidelog.program.elaborate.early import Attempt, attempt_of, with_attempts
from tidelog.program.elaborate.operators import (
    EQUALITY,
    NUMERIC,
    ORDER,
    SHIFTS,
    WRAPPING,
    balanced,
    flexible_lefts,
    is_flexible,
    is_signed,
    time_result,
    with_names,
    works,
)
from tidelog.program.elaborate.statements import Statements
from tidelog.program.elaborate.unknowns import is_open
from tidelog.program.library import catalog as library
from tidelog.program.typed import Binary, Call, Cast, Constant, Expr, If, Unary, Var
from tidelog.syntax import tree
from tidelog.syntax.chains import ASSOCIATIVE, SHORT, chain, conditionals

__all__ = ["Typer"]


class Typer(Statements):
    """Types expressions. `infer` and `check` are its results; `variables` is its scope."""

    def _infer(self, expr: tree.Expr, wanted: Type | None = None) -> Expr | None:
        early = self._early
        if id(expr) not in early.tails:
            return self._typed(expr, wanted)
        attempts: list[Attempt] = []
        self._early = replace(early, attempts=attempts)
        typed = self._typed(expr, wanted)
        self._early = early
        if typed is None or not attempts or early.result is None:
            return typed
        fitted = self._fit(typed, early.result, expr.span)
        return None if fitted is None else with_attempts(attempts, fitted)

    def _typed(self, expr: tree.Expr, wanted: Type | None) -> Expr | None:
        match expr:
            case tree.BoolLiteral(value):
                return Constant(value, BOOL)
            case tree.IntLiteral() | tree.FractionLiteral():
                return self._number(expr, wanted)
            case tree.DurationLiteral(amount, unit):
                return self._read(f"{amount.value} {unit}", DURATION, expr.span)
            case tree.WidthLiteral():
                return width_constant(expr, self.problems)
            case tree.StringLiteral(value):
                return Constant(value, STRING)
            case tree.BytesLiteral(value):
                return Constant(value, BYTES)
            case tree.NoneLiteral():
                return self._none(expr, wanted)
            case tree.Interpolation():
                return self._interpolation(expr)
            case tree.Variable(name):
                return self._variable(name, expr.span)
            case tree.Wildcard():
                self._wildcard(expr)
                return None
            case tree.Unary():
                return self._unary(expr, wanted)
            case tree.Binary():
                return self._binary(expr, wanted)
            case tree.Conditional():
                return self._conditional(expr, wanted)
            case tree.Block():
                return self._block(expr, wanted)
            case tree.Steps():
                return self._steps(expr, wanted)
            case tree.Call():
                return self._call(expr)
            case tree.Cast():
                return self._cast(expr)
            case tree.Aggregate() | tree.SubAggregate():
                self._misplaced_aggregate(expr)
                return None
            case tree.Construct():
                return self._construct(expr, wanted)
            case tree.TupleValue():
                return self._tuple(expr, wanted)
            case tree.VecLiteral():
                return self._vec(expr, wanted)
            case tree.MapLiteral():
                return self._map(expr, wanted)
            case tree.FieldAccess():
                return self._field(expr)
            case tree.Slice():
                return self._slice(expr)
            case tree.Match():
                return self._match_cases(expr, wanted)
            case tree.At() | tree.Closure():
                self._misplaced(expr)
                return None
            case _:
                assert_never(expr)

    def _wildcard(self, expr: tree.Wildcard) -> None:
        hint = "use a named variable instead"
        self.problems.report("E302", expr.span, "`_` cannot be used as a value", hint=hint)

    def _misplaced_aggregate(self, expr: tree.Aggregate | tree.SubAggregate) -> None:
        is_group = isinstance(expr, tree.Aggregate)
        form = f"….group_by(…).{expr.function}(…)" if is_group else f"{expr.function} {{ … }}"
        self.problems.report(
            "E401",
            expr.span,
            "an aggregate must be the whole value of a variable in the body of a rule",
            hint=f"write `var n = {form}` and use `n`",
        )

    def _misplaced(self, expr: tree.At | tree.Closure) -> None:
        if isinstance(expr, tree.At):
            self.problems.report("E211", expr.span, "`@` names a part of a pattern; this is not a pattern")
            return
        message = "a closure can only be an argument of a function that takes one"
        self.problems.report("E201", expr.span, message)

    # -- constants and names

    def _number(self, expr: tree.IntLiteral | tree.FractionLiteral, wanted: Type | None) -> Expr | None:
        type_ = _number_type(expr, self._present(wanted))
        try:
            value: Value = float(expr.value) if types.is_float(type_) else expr.value
            if isinstance(value, float) and math.isinf(value) and value != expr.value:
                raise OverflowError
            return Constant(canonical(type_, value), type_)
        except OverflowError:
            self.problems.report("E203", expr.span, f"this number does not fit {type_}")
        except BadValue as bad:
            self.problems.report("E203", expr.span, str(bad))
        return None

    def _none(self, expr: tree.NoneLiteral, wanted: Type | None) -> Expr | None:
        found = self._top(wanted)
        if isinstance(found, types.Option):
            return Constant(None, found)
        if found is not None:
            message = f"expected `{self._known(found)}`, which cannot be `none`"
            self.problems.report("E201", expr.span, message)
            return None
        what, hint = "the type of this `none` is unknown", "write `none as option<int>`"
        item = self._unknown(expr.span, what, hint, "E204", is_item=True)
        return Constant(None, types.Option(item))  # type: ignore[arg-type]

    def _interpolation(self, expr: tree.Interpolation) -> Expr | None:
        return _row("++", [self._as_text(p) for p in expr.parts])

    def _as_text(self, part: str | tree.Expr) -> Expr | None:
        if isinstance(part, str):
            return Constant(part, STRING)
        typed = self._infer(part)
        if typed is None or self.unknowns.top(typed.type) == STRING:
            return typed
        return Cast(typed, STRING)

    # -- operators

    def _unary(self, expr: tree.Unary, wanted: Type | None) -> Expr | None:
        if expr.op == "not":
            operand = self._check(expr.operand, BOOL)
            return None if operand is None else Unary("not", operand, BOOL)
        if expr.op == "?":
            return self._attempt(expr)
        operand = self._infer(expr.operand, wanted)
        if operand is None:
            return None
        allowed = types.is_integer if expr.op == "~" else is_signed
        type_ = self._known(operand.type)
        if not allowed(type_):
            self._no_operator(expr.op, type_, expr.span)
            return None
        return Unary(expr.op, operand, type_)

    def _attempt(self, expr: tree.Unary) -> Expr | None:
        """`e?`, whose value is that of an attempt."""
        operand = self._infer(expr.operand)
        if operand is None:
            return None
        result, attempts = self._early.result, self._early.attempts
        if result is None or attempts is None:
            self._misplaced_attempt(expr.span, is_outside=result is None)
            return None
        have, known = self._known(operand.type), self._known(result)
        made = attempt_of(operand, self._name("try"), have, known)
        if made is None or not self._same_errors(have, known):
            message = f"`?` is on `{have}`, but the function around it gives `{known}`"
            note = "both must be options, or both results with the same errors"
            self.problems.report("E214", expr.span, message, note=note)
            return None
        attempts.append(made)
        return made.value

    def _same_errors(self, have: Type, result: Type) -> bool:
        if isinstance(have, types.Named) and isinstance(result, types.Named):
            return self.unknowns.unify(have.args[1], result.args[1])
        return True

    def _misplaced_attempt(self, span: Span, *, is_outside: bool) -> None:
        message = "`?` must be in a function whose result is an option or a result, and not in a closure"
        hint = "use `match`, or `unwrap_or(…, …)`"
        if not is_outside:
            message = "`?` cannot be in a part that may not be evaluated"
            hint = "bind its value before, with `var x = …?;`"
        self.problems.report("E214", span, message, hint=hint)

    def _no_operator(self, op: str, type_: Type, span: Span) -> None:
        hint = None
        if isinstance(type_, types.Option):
            hint = "use `unwrap_or(…, …)` to supply a default for a missing value"
        elif op == "+" and type_ == STRING:
            hint = "join strings with `++`"
        elif op in WRAPPING and types.is_number(type_):
            hint = f"only `bit<N>`, `signed<N>` and `int` wrap around; use `{op[0]}`"
        self.problems.report("E202", span, f"`{op}` does not work on `{type_}`", hint=hint)

    def _binary(self, expr: tree.Binary, wanted: Type | None) -> Expr | None:
        op = expr.op
        if op in ASSOCIATIVE:
            type_: Type = STRING if op == "++" else BOOL
            row = chain(expr)[::-1]
            first = self._check(row[0].left, type_)
            with nullcontext() if op == "++" else self._perhaps():
                return _row(op, [first, *(self._check(o.right, type_) for o in row)])
        if op in NUMERIC:
            return self._numbers(chain(expr), wanted)
        if op == "in":
            return self._membership(expr)
        if self._is_none(expr):
            return None
        left, right = self._together(expr.left, expr.right, None, f"`{op}`", op in EQUALITY)
        return self._operation(expr, left, right)

    def _slice(self, expr: tree.Slice) -> Expr | None:
        operand = self._infer(expr.operand)
        return None if operand is None else slice_of(expr, operand, self._known(operand.type), self.problems)

    def _is_none(self, expr: tree.Binary) -> bool:
        """Whether a side is `none`. If so, it is reported."""
        if not isinstance(expr.left, tree.NoneLiteral) and not isinstance(expr.right, tree.NoneLiteral):
            return False
        hint = "use `is_none(…)` or `is_some(…)`"
        self.problems.report("E205", expr.span, "`none` cannot be an operand", hint=hint)
        return True

    def _operation(self, expr: tree.Binary, left: Expr | None, right: Expr | None) -> Expr | None:
        if left is None or right is None:
            return None
        type_ = self._known(left.type)
        if not works(expr.op, type_):
            self._no_operator(expr.op, type_, expr.span)
            return None
        return Binary(expr.op, left, right, BOOL if expr.op in EQUALITY | ORDER else type_)

    def _numbers(self, row: list[tree.Binary], wanted: Type | None) -> Expr | None:
        """A chain of operators on numbers, last first.

        The wanted type is passed down to the left; typed values are combined on the way back. The side with
        its own type determines the type of the other. Parts of a long chain are bound to names.
        """
        waiting: list[tuple[tree.Binary, Type | None, Expr | None, bool]] = []
        for operator, flexible in zip(row, flexible_lefts(row), strict=True):
            if operator.op not in SHIFTS and self._is_none(operator):
                return None
            is_first = flexible and operator.op not in SHIFTS and not is_flexible(operator.right)
            right = self._infer(operator.right, wanted) if is_first else None
            waiting.append((operator, wanted, right, is_first))
            wanted = right.type if right else wanted
        left = self._infer(row[-1].left, wanted)
        part = len(row) if len(row) <= SHORT else math.isqrt(len(row))
        values: list[Expr] = []
        names: list[Var] = []
        for number, (operator, wish, known, is_first) in enumerate(reversed(waiting)):
            if left is not None and number and number % part == 0:
                self._made += 1
                values.append(left)
                names.append(left := Var(f"$row{self._made}", left.type))
            left = self._number_operation(operator, left, known, wish, is_first)
        return None if left is None else with_names([*values, left], names)

    def _number_operation(
        self, expr: tree.Binary, left: Expr | None, known: Expr | None, wanted: Type | None, is_first: bool
    ) -> Expr | None:
        if expr.op in SHIFTS:
            return self._operation(expr, left, self._check(expr.right, INT))
        right = known if is_first else self._infer(expr.right, left.type if left else wanted)
        if left is not None and right is not None:
            result = time_result(expr.op, self._known(left.type), self._known(right.type))
            if result is not None:
                return Binary(expr.op, left, right, result)
        return self._operation(expr, *self._agree(left, right, expr.left, expr.right, f"`{expr.op}`", False))

    def _together(
        self, first: tree.Expr, second: tree.Expr, wanted: Type | None, what: str, options: bool
    ) -> tuple[Expr | None, Expr | None]:
        if is_flexible(first) and not is_flexible(second):
            right = self._infer(second, wanted)
            left = self._infer(first, right.type if right else wanted)
        else:
            left = self._infer(first, wanted)
            right = self._infer(second, left.type if left else wanted)
        return self._agree(left, right, first, second, what, options)

    def _agree(
        self,
        left: Expr | None,
        right: Expr | None,
        first: tree.Expr,
        second: tree.Expr,
        what: str,
        options: bool,
    ) -> tuple[Expr | None, Expr | None]:
        """Two values of one type, or None after an error. With `options`, one may be made an option."""
        if left is None or right is None or self.unknowns.unify(left.type, right.type):
            return left, right
        have, other = self._known(left.type), self._known(right.type)
        if options and isinstance(have, types.Option) and self.unknowns.unify(have.item, other):
            return left, self._fit(right, have, second.span)
        if options and isinstance(other, types.Option) and self.unknowns.unify(other.item, have):
            return self._fit(left, other, first.span), right
        whole = types.is_integer(have)  # suggest converting an integer to a fraction, not the reverse
        narrow, wide = (have, other) if whole else (other, have)
        hint = self._conversion(narrow, wide) or self._conversion(wide, narrow)
        if hint is not None and narrow != wide and types.is_number(narrow) and types.is_number(wide):
            hint = f"convert the {narrow} with `as {wide}`"
        value = other if have == STRING else have
        if hint is not None and STRING in (have, other) and self._conversion(STRING, value) is not None:
            hint = f"convert the string with `as {value}`, or write a text in double quotes"
        if what == "`+`" and STRING in (have, other):
            hint = 'insert values into a string with `"… ${value} …"`'
        self.problems.report(
            "E202",
            first.span.to(second.span),
            f"{what} needs two values of one type, but these are `{have}` and `{other}`",
            hint=hint,
        )
        return None, None

    def _membership(self, expr: tree.Binary) -> Expr | None:
        """`x in e`: `e` is a vec, a set, or a map with the key `x`."""
        item = None if is_flexible(expr.left) else self._infer(expr.left)
        if item is None and not is_flexible(expr.left):
            return None
        guess = types.Vec(item.type) if item is not None and is_flexible(expr.right) else None
        collection = self._infer(expr.right, guess)
        if collection is None:
            return None
        match self._known(collection.type):
            case types.Vec(wanted) | types.Set(wanted) | types.Map(wanted):
                function = "contains_key" if isinstance(collection.type, types.Map) else "contains"
                item = item or self._infer(expr.left, wanted)
                fitted = None if item is None else self._fit(item, wanted, expr.left.span)
                return None if fitted is None else Call(function, (collection, fitted), BOOL)
            case other:
                message = f"`in` needs a vec, a set or a map, but this is `{other}`"
                is_list = not isinstance(other, types.Option | types.Named)
                hint = "write the values in brackets: `x in [1, 2]`" if is_list else None
                self.problems.report("E202", expr.right.span, message, hint=hint)
                return None

    def _conditional(self, expr: tree.Conditional, wanted: Type | None) -> Expr | None:
        row = list(conditionals(expr))
        if len(row) > SHORT:
            return self._long_conditional(row, wanted)
        condition = self._check(expr.condition, BOOL)
        with self._perhaps(expr):
            then, otherwise = self._together(expr.then, expr.otherwise, wanted, "`if`", True)
        if condition is None or then is None or otherwise is None:
            return None
        return If(condition, then, otherwise, then.type)

    # -- conversions

    def _cast(self, expr: tree.Cast) -> Expr | None:
        target = resolve_type(expr.type, self.known.types, self.problems, self.bound)
        if target is None:
            return None
        operand = self._infer(expr.operand, target if is_flexible(expr.operand) else None)
        if operand is None or self.unknowns.unify(operand.type, target):
            return operand
        have = self._known(operand.type)
        if is_open(have) or not library.can_cast(have, target):
            hint = "use `unwrap_or(…, …)` first" if isinstance(have, types.Option) else None
            message = f"`{have}` cannot be converted to `{target}`"
            self.problems.report("E206", expr.span, message, hint=hint)
            return None
        return self._fold(operand, target, expr.span)

    def _read(self, text: str, type_: Type, span: Span) -> Expr | None:
        """A constant from its text."""
        try:
            return Constant(from_text(type_, text), type_)
        except BadValue as bad:
            self.problems.report("E203", span, str(bad))
            return None

    def _fold(self, operand: Expr, target: Type, span: Span) -> Expr | None:
        """A conversion, evaluated now if it gives a constant of a type without literals."""
        readable = not isinstance(target, types.Option | types.Bytes)
        if isinstance(operand, Constant) and operand.type == STRING and readable:
            assert isinstance(operand.value, str)
            return self._read(operand.value, target, span)
        if isinstance(operand, Constant) and isinstance(target, types.Option) and target.item == operand.type:
            return self._constant(operand.value, target, span)
        return Cast(operand, target)


def _number_type(expr: tree.IntLiteral | tree.FractionLiteral, wanted: Type | None) -> Type:
    whole = isinstance(expr, tree.IntLiteral)
    if wanted is not None and types.is_number(wanted) and (whole or not types.is_integer(wanted)):
        return wanted
    return INT if whole else DOUBLE


def _row(op: str, operands: list[Expr | None]) -> Expr | None:
    sound = [operand for operand in operands if operand is not None]
    return balanced(op, sound, SHORT) if len(sound) == len(operands) else None
