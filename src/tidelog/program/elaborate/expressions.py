"""Type checking and inference of expressions.

Types flow both ways: a number, `none`, or a conditional between them takes the type that its context expects;
every other expression has its own type, which is compared with the expected one. The only implicit conversion
is from a value to an option of its type.

`Typer.infer` returns None after reporting an error. It also returns None, without a report, if the type of a
name is unknown because its declaration was already reported: each mistake is reported once.
"""

from __future__ import annotations

import math
from typing import assert_never

from tidelog.data import types
from tidelog.data.types import BOOL, BYTES, DOUBLE, INT, STRING, Type
from tidelog.data.values import BadValue, Value, canonical, from_text
from tidelog.errors import Span
from tidelog.program.elaborate.declarations import Declarations, Signature, resolve_type
from tidelog.program.elaborate.operators import (
    EQUALITY,
    NUMERIC,
    ORDER,
    SHIFTS,
    balanced,
    flexible_lefts,
    is_flexible,
    is_signed,
    with_names,
    works,
)
from tidelog.program.elaborate.problems import Problems
from tidelog.program.library import catalog as library
from tidelog.program.typed import Binary, Call, Cast, Constant, Expr, If, Let, Unary, Var
from tidelog.syntax import tree
from tidelog.syntax.chains import ASSOCIATIVE, SHORT, chain

__all__ = ["Typer"]


class Typer:
    """`variables` maps the names in scope to their types, None where a type is unknown.

    A block cannot reuse those names or the `reserved` ones, which come into scope later.
    """

    def __init__(self, known: Declarations, problems: Problems) -> None:
        self.known = known
        self.problems = problems
        self.variables: dict[str, Type | None] = {}
        self.grouped_away: frozenset[str] = frozenset()
        self.behind_group: frozenset[str] = frozenset()
        self.reserved: frozenset[str] = frozenset()
        self._made = 0

    def check(self, expr: tree.Expr, wanted: Type) -> Expr | None:
        """The expression as a value of the wanted type, or None."""
        typed = self.infer(expr, wanted)
        return None if typed is None else self._fit(typed, wanted, expr.span)

    def _fit(self, typed: Expr, wanted: Type, span: Span) -> Expr | None:
        if typed.type == wanted:
            return typed
        if isinstance(wanted, types.Option) and wanted.item == typed.type:
            return (
                self._constant(typed.value, wanted, span)
                if isinstance(typed, Constant)
                else Cast(typed, wanted)
            )
        hint = self._conversion(typed.type, wanted)
        self.problems.report("E201", span, f"expected `{wanted}`, but this is `{typed.type}`", hint=hint)
        return None

    def _conversion(self, have: Type, wanted: Type) -> str | None:
        if isinstance(have, types.Option) and have.item == wanted:
            return "use `unwrap_or(…, …)` to supply a default for a missing value"
        if library.can_cast(have, wanted):
            return f"convert it with `as {wanted}`"
        return None

    def infer(self, expr: tree.Expr, wanted: Type | None = None) -> Expr | None:
        """The typed expression. `wanted` determines the type of expressions without their own type."""
        match expr:
            case tree.BoolLiteral(value):
                return Constant(value, BOOL)
            case tree.IntLiteral() | tree.FractionLiteral():
                return self._number(expr, wanted)
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
                self.problems.report(
                    "E302", expr.span, "`_` cannot be used as a value", hint="use a named variable instead"
                )
                return None
            case tree.Unary():
                return self._unary(expr, wanted)
            case tree.Binary():
                return self._binary(expr, wanted)
            case tree.Conditional():
                return self._conditional(expr, wanted)
            case tree.Block():
                return self._block(expr, wanted)
            case tree.Call():
                return self._call(expr)
            case tree.Cast():
                return self._cast(expr)
            case tree.Aggregate():
                self.problems.report(
                    "E401",
                    expr.span,
                    "an aggregate must be the whole value of a variable in the body of a rule",
                    hint=f"write `var n = ….group_by(…).{expr.function}(…)` and use `n`",
                )
                return None
            case _:
                assert_never(expr)

    # -- constants and names

    def _number(self, expr: tree.IntLiteral | tree.FractionLiteral, wanted: Type | None) -> Expr | None:
        type_ = _number_type(expr, wanted)
        try:
            value: Value = float(expr.value) if types.is_float(type_) else expr.value
            if isinstance(value, float) and math.isinf(value):
                raise OverflowError
            return Constant(canonical(type_, value), type_)
        except OverflowError:
            self.problems.report("E203", expr.span, f"this number does not fit {type_}")
        except BadValue as bad:
            self.problems.report("E203", expr.span, str(bad))
        return None

    def _none(self, expr: tree.NoneLiteral, wanted: Type | None) -> Expr | None:
        if isinstance(wanted, types.Option):
            return Constant(None, wanted)
        if wanted is not None:
            self.problems.report("E201", expr.span, f"expected `{wanted}`, which cannot be `none`")
            return None
        self.problems.report(
            "E204", expr.span, "the type of this `none` is unknown", hint="write `none as option<int>`"
        )
        return None

    def _variable(self, name: str, span: Span) -> Expr | None:
        if name not in self.variables:
            self.unbound(name, span)
            return None
        type_ = self.variables[name]
        return None if type_ is None else Var(name, type_)

    def unbound(self, name: str, span: Span) -> None:
        """Report an unbound variable once, and continue as if it were bound."""
        self.variables[name] = None
        if name in self.grouped_away:
            self.problems.report(
                "E404",
                span,
                f"`{name}` has many values in a group, so it cannot be used outside the aggregate",
                hint=f"add `{name}` to `group_by(…)`, or aggregate it",
            )
            return
        if name in self.behind_group:
            self.problems.report(
                "E301",
                span,
                f"`{name}` is bound only after the group, so it cannot be used inside it",
                note="literals that use the result of an aggregate are evaluated after the group",
                hint="choose another name for the result",
            )
            return
        near = self.problems.suggest(name, self.variables)
        self.problems.report(
            "E301",
            span,
            f"unbound variable `{name}`",
            note="a variable is bound by a positive atom of the body or by `var … = …`",
            hint=near,
        )

    def _interpolation(self, expr: tree.Interpolation) -> Expr | None:
        return _row("++", [self._as_text(p) for p in expr.parts])

    def _as_text(self, part: str | tree.Expr) -> Expr | None:
        if isinstance(part, str):
            return Constant(part, STRING)
        typed = self.infer(part)
        if typed is None or typed.type == STRING:
            return typed
        return Cast(typed, STRING)

    # -- operators

    def _unary(self, expr: tree.Unary, wanted: Type | None) -> Expr | None:
        if expr.op == "not":
            operand = self.check(expr.operand, BOOL)
            return None if operand is None else Unary("not", operand, BOOL)
        operand = self.infer(expr.operand, wanted)
        if operand is None:
            return None
        allowed = types.is_integer if expr.op == "~" else is_signed
        if not allowed(operand.type):
            self._no_operator(expr.op, operand.type, expr.span)
            return None
        return Unary(expr.op, operand, operand.type)

    def _no_operator(self, op: str, type_: Type, span: Span) -> None:
        hint = None
        if isinstance(type_, types.Option):
            hint = "use `unwrap_or(…, …)` to supply a default for a missing value"
        elif op == "+" and type_ == STRING:
            hint = "join strings with `++`"
        self.problems.report("E202", span, f"`{op}` does not work on `{type_}`", hint=hint)

    def _binary(self, expr: tree.Binary, wanted: Type | None) -> Expr | None:
        op = expr.op
        if op in ASSOCIATIVE:
            type_: Type = STRING if op == "++" else BOOL
            row = chain(expr)[::-1]
            return _row(op, [self.check(x, type_) for x in (row[0].left, *(o.right for o in row))])
        if op in NUMERIC:
            return self._numbers(chain(expr), wanted)
        if self._is_none(expr):
            return None
        left, right = self._together(expr.left, expr.right, None, f"`{op}`", op in EQUALITY)
        return self._operation(expr, left, right)

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
        if not works(expr.op, left.type):
            self._no_operator(expr.op, left.type, expr.span)
            return None
        return Binary(expr.op, left, right, BOOL if expr.op in EQUALITY | ORDER else left.type)

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
            right = self.infer(operator.right, wanted) if is_first else None
            waiting.append((operator, wanted, right, is_first))
            wanted = right.type if right else wanted
        left = self.infer(row[-1].left, wanted)
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
            return self._operation(expr, left, self.check(expr.right, INT))
        right = known if is_first else self.infer(expr.right, left.type if left else wanted)
        return self._operation(expr, *self._agree(left, right, expr.left, expr.right, f"`{expr.op}`", False))

    def _together(
        self, first: tree.Expr, second: tree.Expr, wanted: Type | None, what: str, options: bool
    ) -> tuple[Expr | None, Expr | None]:
        if is_flexible(first) and not is_flexible(second):
            right = self.infer(second, wanted)
            left = self.infer(first, right.type if right else wanted)
        else:
            left = self.infer(first, wanted)
            right = self.infer(second, left.type if left else wanted)
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
        if left is None or right is None or left.type == right.type:
            return left, right
        if options and isinstance(left.type, types.Option) and left.type.item == right.type:
            return left, self._fit(right, left.type, second.span)
        if options and isinstance(right.type, types.Option) and right.type.item == left.type:
            return self._fit(left, right.type, first.span), right
        whole = types.is_integer(left.type)  # suggest converting an integer to a fraction, not the reverse
        narrow, wide = (left.type, right.type) if whole else (right.type, left.type)
        hint = self._conversion(narrow, wide) or self._conversion(wide, narrow)
        if hint is not None and narrow != wide and types.is_number(narrow) and types.is_number(wide):
            hint = f"convert the {narrow} with `as {wide}`"
        if what == "`+`" and STRING in (left.type, right.type):
            hint = 'insert values into a string with `"… ${value} …"`'
        self.problems.report(
            "E202",
            first.span.to(second.span),
            f"{what} needs two values of one type, but these are `{left.type}` and `{right.type}`",
            hint=hint,
        )
        return None, None

    def _conditional(self, expr: tree.Conditional, wanted: Type | None) -> Expr | None:
        condition = self.check(expr.condition, BOOL)
        then, otherwise = self._together(expr.then, expr.otherwise, wanted, "`if`", True)
        if condition is None or then is None or otherwise is None:
            return None
        return If(condition, then, otherwise, then.type)

    def _block(self, expr: tree.Block, wanted: Type | None) -> Expr | None:
        outer = {b.name: self.variables[b.name] for b in expr.bindings if b.name in self.variables}
        values: list[tuple[str, Expr | None]] = []
        for binding in expr.bindings:
            value = self.infer(binding.value)
            if binding.name in self.variables or binding.name in self.reserved:
                message, hint = f"`{binding.name}` already has a value", "choose another name"
                self.problems.report("E303", binding.name_span, message, hint=hint)
            self.variables[binding.name] = value.type if value else None
            values.append((binding.name, value))
        result = self.infer(expr.result, wanted)
        for binding in expr.bindings:
            self.variables.pop(binding.name, None)
        self.variables |= outer
        for name, value in reversed(values):
            if result is None or value is None:
                return None
            result = Let(name, value, result, result.type)
        return result

    # -- conversions and calls

    def _cast(self, expr: tree.Cast) -> Expr | None:
        target = resolve_type(expr.type, self.known, self.problems)
        if target is None:
            return None
        operand = self.infer(expr.operand, target if is_flexible(expr.operand) else None)
        if operand is None or operand.type == target:
            return operand
        if not library.can_cast(operand.type, target):
            hint = "use `unwrap_or(…, …)` first" if isinstance(operand.type, types.Option) else None
            message = f"`{operand.type}` cannot be converted to `{target}`"
            self.problems.report("E206", expr.span, message, hint=hint)
            return None
        return self._fold(operand, target, expr.span)

    def _fold(self, operand: Expr, target: Type, span: Span) -> Expr | None:
        """A conversion, evaluated now if it gives a constant of a type without literals."""
        readable = not isinstance(target, types.Option | types.Bytes)
        if isinstance(operand, Constant) and operand.type == STRING and readable:
            assert isinstance(operand.value, str)
            try:
                return Constant(from_text(target, operand.value), target)
            except BadValue as bad:
                self.problems.report("E203", span, str(bad))
                return None
        if isinstance(operand, Constant) and isinstance(target, types.Option) and target.item == operand.type:
            return self._constant(operand.value, target, span)
        return Cast(operand, target)

    def _constant(self, value: Value, type_: Type, span: Span) -> Expr | None:
        try:
            return Constant(canonical(type_, value), type_)
        except BadValue as bad:
            self.problems.report("E203", span, str(bad))
            return None

    def _call(self, expr: tree.Call) -> Expr | None:
        signature = self.known.calls.get(expr.function)
        if signature is not None:
            return self._call_declared(expr, signature)
        overloads = library.lookup(expr.function)
        if not overloads:
            self._unknown_function(expr)
            return None
        chosen = next((f for f in overloads if len(f.parameters) == len(expr.args)), None)
        if chosen is None:
            counts = " or ".join(str(len(f.parameters)) for f in overloads)
            note = "; ".join(f"`{f.signature}`" for f in overloads)
            self._wrong_count(expr, counts, note)
            return None
        return self._call_standard(expr, chosen)

    def _unknown_function(self, expr: tree.Call) -> None:
        if expr.function in library.AGGREGATE_NAMES:
            hint: str | None = f"aggregates follow `group_by`: `….group_by(…).{expr.function}(…)`"
        else:
            hint = self.problems.suggest(expr.function, self.known.calls, library.FUNCTION_NAMES)
        message = f"unknown function `{expr.function}`"
        self.problems.report("E108", expr.name_span, message, hint=hint)
        for arg in expr.args:
            self.infer(arg)

    def _wrong_count(self, expr: tree.Call, wanted: str, note: str | None) -> None:
        noun = "argument" if wanted == "1" else "arguments"
        message = f"`{expr.function}` takes {wanted} {noun}, but got {len(expr.args)}"
        self.problems.report("E105", expr.span, message, note=note)

    def _call_declared(self, expr: tree.Call, signature: Signature) -> Expr | None:
        if len(expr.args) != len(signature.columns):
            self._wrong_count(expr, str(len(signature.columns)), None)
            return None
        args = [
            self.infer(arg) if type_ is None else self.check(arg, type_)
            for arg, (_, type_) in zip(expr.args, signature.columns, strict=True)
        ]
        sound = tuple(a for a in args if a is not None)
        if signature.result is None or len(sound) < len(args):
            return None
        return Call(expr.function, sound, signature.result)

    def _call_standard(self, expr: tree.Call, function: library.StandardFunction) -> Expr | None:
        """Arguments with their own type determine `T`; the others take it."""
        args: dict[int, Expr | None] = {}
        generic: Type | None = None
        order = sorted(range(len(expr.args)), key=lambda i: (is_flexible(expr.args[i]), i))
        for i in order:
            wanted = _instantiate(function.parameters[i].type, generic)
            args[i] = self.infer(expr.args[i], wanted)
            if isinstance(function.parameters[i].type, library.TypeVariable) and generic is None:
                generic = self._generic(expr, function, i, args[i])
                wanted = _instantiate(function.parameters[i].type, generic)
            typed = args[i]
            args[i] = self._fit(typed, wanted, expr.args[i].span) if typed and wanted else None
        sound = tuple(a for i in range(len(expr.args)) if (a := args[i]) is not None)
        result = _instantiate(function.result, generic)
        if len(sound) < len(expr.args) or result is None:
            return None
        return Call(expr.function, sound, result)

    def _generic(
        self, expr: tree.Call, function: library.StandardFunction, i: int, arg: Expr | None
    ) -> Type | None:
        """The type `T` as determined by argument `i`; None after reporting an error."""
        if arg is None:
            return None
        parameter = function.parameters[i].type
        assert isinstance(parameter, library.TypeVariable)
        type_: Type = arg.type
        if parameter.optional:
            type_ = arg.type.item if isinstance(arg.type, types.Option) else arg.type
        if library.allows(function.kind, type_):
            return type_
        self.problems.report(
            "E201",
            expr.args[i].span,
            f"`{expr.function}` needs {function.kind.value} here, but this is `{arg.type}`",
            note=f"`{function.signature}`",
        )
        return None


def _number_type(expr: tree.IntLiteral | tree.FractionLiteral, wanted: Type | None) -> Type:
    if isinstance(wanted, types.Option):
        wanted = wanted.item
    whole = isinstance(expr, tree.IntLiteral)
    if wanted is not None and types.is_number(wanted) and (whole or not types.is_integer(wanted)):
        return wanted
    return INT if whole else DOUBLE


def _instantiate(type_: library.ParamType, generic: Type | None) -> Type | None:
    """A parameter's type once `T` is known; None before that."""
    if not isinstance(type_, library.TypeVariable):
        return type_
    if generic is None or isinstance(generic, types.Option):
        return generic if not type_.optional else None
    return types.Option(generic) if type_.optional else generic


def _row(op: str, operands: list[Expr | None]) -> Expr | None:
    sound = [operand for operand in operands if operand is not None]
    return balanced(op, sound, SHORT) if len(sound) == len(operands) else None
