"""Evaluates expressions on columns: the values of all rows at once, and the reasons of failures.

- Operators, conversions and standard functions are operations on vectors (see `operations`): strict, and
  the same for all rows.
- `if`, `and` and `or` choose between rows. Each side is evaluated only in the rows that take it, so an
  untaken branch neither fails nor costs anything.
- Names of `let` and of function parameters are lazy (see `scopes`); they fail where they are read.
- Calls of a function of the language with arguments known to be equal are evaluated once (see `sharing`).
- Statements are executed by all rows together (see `blocks`), and calls of recursive functions level by level
  (see `recursion`).
- An aggregate over instances evaluates the literals of a nested body (see `over`).
- A Python function is called once for each distinct combination of its arguments in an operation. What it
  raises is a failure.

Every value is the code of a canonical value of its expression's type. The one value that a column cannot
hold, the smallest 64-bit integer in an option, is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, assert_never

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type, present
from tidelog.data.values import BadValue, Value
from tidelog.engine.local.codes.codec import NONE, Codec, Codes
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.expressions import arithmetic
from tidelog.engine.local.expressions.blocks import Blocks
from tidelog.engine.local.expressions.closures import Closures
from tidelog.engine.local.expressions.comparisons import COMPARISONS, EQUALITIES, comparison, equality
from tidelog.engine.local.expressions.conversions import conversion
from tidelog.engine.local.expressions.durations import is_temporal, negated, temporal
from tidelog.engine.local.expressions.functions import concat, standard
from tidelog.engine.local.expressions.operations import Ledger, Operation, Pulse, Undefined, checked
from tidelog.engine.local.expressions.over import Overs
from tidelog.engine.local.expressions.recursion import Recursion
from tidelog.engine.local.expressions.scopes import Name, Scope, Selection
from tidelog.engine.local.expressions.sharing import Sharing
from tidelog.engine.local.expressions.structures import getting, listing, making, testing
from tidelog.engine.local.expressions.vectors import Failures, Mask, Outcome, Reasons, Vector
from tidelog.program import declared, traversal, typed
from tidelog.program.library.catalog import FAILS
from tidelog.program.typed import Expr

__all__ = ["Evaluator", "Functions", "Outcome"]

Functions: TypeAlias = Mapping[str, declared.Function | declared.PythonFunction]


class Evaluator:
    """Evaluates expressions that call these functions; `reason` returns the text of a failure.

    `check` is called regularly; what it raises ends the evaluation.
    """

    def __init__(
        self,
        codec: Codec,
        functions: Functions,
        reasons: Reasons | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.codec = codec
        self.functions = functions
        self.reasons = Reasons() if reasons is None else reasons
        self._pulse = Pulse(check)
        self._ledger = Ledger(codec, self.reasons, self._pulse)
        self._sharing = Sharing(self._read)
        self._closures = Closures(codec, self._value)
        self._blocks = Blocks(self._value, self._read, self._items, self._pulse)
        self._recursion = Recursion(self._body, self.reasons)
        self._overs = Overs(self, self._value, check)
        self._operations: dict[tuple[object, ...], Operation] = {}

    def reason(self, number: int) -> str:
        return self.reasons.text(number)

    def evaluate(
        self,
        expr: Expr,
        columns: Mapping[str, Codes],
        size: int,
        failures: Mapping[str, Failures | None] | None = None,
    ) -> Outcome:
        """Evaluate an expression in `size` rows, with the values of its variables in these columns.

        `failures` holds the failures of columns that are themselves outcomes.
        """
        known = failures or {}
        before, self._sharing = self._sharing, Sharing(self._read)
        names = {name: Name(None, None, Vector(codes, known.get(name))) for name, codes in columns.items()}
        try:
            found = self._value(expr, Scope(names, size))
        except RecursionError:  # elaboration limits the depth of a function, not of the calls between them
            found = self._failed("functions call each other too deeply")
        finally:
            self._sharing = before
        return found.outcome(size, self.reasons)

    def _value(self, expr: Expr, scope: Scope) -> Vector:
        if scope.size == 0:
            return Vector(np.empty(0, np.int64))
        match expr:
            case typed.Constant():
                return self._constant(expr)
            case typed.Var(name):
                return self._read(scope.find(name))
            case typed.Unary(op, operand, type_):
                is_span = isinstance(type_, types.Duration)
                operation = negated() if is_span else self._operation(arithmetic.unary, op, type_)
                return self._ledger.run(operation, [self._value(operand, scope)])
            case typed.Binary(op="and" | "or"):
                return self._connective(expr, scope)
            case typed.Binary(op, left, right, type_):
                if is_temporal(op, left.type, right.type):
                    operation = self._operation(temporal, op, left.type, right.type, type_)
                else:
                    operation = self._operation(self._binary, op, left.type)
                return self._ledger.run(operation, [self._value(left, scope), self._value(right, scope)])
            case typed.If():
                return self._choice(expr, scope)
            case typed.Let(name, value, body):
                meaning = Name(value, scope)
                if name.startswith("$"):  # part of a long chain: evaluate now to limit recursion
                    self._read(meaning)
                return self._value(body, scope.where(name, meaning))
            case typed.Call():
                return self._call(expr, scope)
            case typed.Cast(operand, type_):
                return self._cast(operand.type, type_, self._value(operand, scope))
            case typed.Block():
                return self._blocks.value(expr, scope)
            case typed.Over():
                return self._overs.value(expr, scope)
            case typed.Make() | typed.Get() | typed.Is() | typed.Listing():
                parts = [self._value(part, scope) for part in traversal.subexpressions(expr)]
                return self._ledger.run(self._structural(expr), parts)
            case _:
                assert_never(expr)

    def _structural(self, expr: typed.Make | typed.Get | typed.Is | typed.Listing) -> Operation:
        match expr:
            case typed.Make(constructor, fields, type_):
                types_ = tuple(f.type for f in fields)
                return self._operation(making, constructor, types_, type_, self.codec)
            case typed.Get(operand, constructor, field, type_):
                return self._operation(getting, operand.type, constructor, field, type_, self.codec)
            case typed.Is(operand, constructor):
                return self._operation(testing, operand.type, constructor, self.codec)
            case typed.Listing(items, type_):
                return self._operation(listing, tuple(i.type for i in items), type_, self.codec)
            case _:
                assert_never(expr)

    def _constant(self, constant: typed.Constant) -> Vector:
        try:
            code = self.codec.encode(constant.type, checked(constant.type, constant.value))
        except (Undefined, BadValue) as problem:
            return self._failed(str(problem))
        return Vector(np.array([code], np.int64))

    def _failed(self, reason: str) -> Vector:
        return Vector(np.zeros(1, np.int64), np.array([self.reasons.number(reason)], np.int32))

    def _read(self, name: Name) -> Vector:
        if name.vector is None:
            assert name.expr is not None
            assert name.scope is not None
            name.vector = self._value(name.expr, name.scope)
        return name.vector

    # -- operators

    def _operation(self, build: Callable[..., Operation], *key: object) -> Operation:
        """An operation, built once."""
        found = self._operations.get((build.__name__, *key))
        if found is None:
            found = self._operations[(build.__name__, *key)] = build(*key)
        return found

    def _binary(self, op: str, type_: Type) -> Operation:
        if op in EQUALITIES:
            return equality(op, type_)
        if op in COMPARISONS:
            return comparison(op, type_, self.codec)
        if op == "++":
            return Operation((type_, type_), type_, concat)
        return arithmetic.binary(op, type_)

    # -- choices

    def _connective(self, expr: typed.Binary, scope: Scope) -> Vector:
        left = self._value(expr.left, scope)
        is_open = left.codes == (expr.op == "and")
        return self._in_rows(is_open & _sound(left), expr.right, scope, left)

    def _choice(self, expr: typed.If, scope: Scope) -> Vector:
        condition = self._value(expr.condition, scope)
        holds, sound = condition.codes != 0, _sound(condition)
        chosen = self._in_rows(holds & sound, expr.then, scope, condition)
        return self._in_rows(~holds & sound, expr.otherwise, scope, chosen)

    def _in_rows(self, mask: Mask, expr: Expr, scope: Scope, elsewhere: Vector) -> Vector:
        """Evaluate an expression only in the rows of a mask; other rows have the values of `elsewhere`."""
        if mask.all():
            return self._value(expr, scope)
        rows = np.flatnonzero(mask)
        if not len(rows):
            return elsewhere
        return elsewhere.put(rows, self._value(expr, Selection(rows).part(scope)), scope.size)

    # -- calls

    def _call(self, call: typed.Call, scope: Scope) -> Vector:
        function = self.functions.get(call.function)
        if isinstance(function, declared.Function) and function.cycle:
            given = [self._value(a, scope) for a in call.args]
            return self._recursion.call(function, given, scope.size)
        if isinstance(function, declared.Function):
            names = {p.name: Name(a, scope) for p, a in zip(function.parameters, call.args, strict=True)}
            inner = Scope(names, scope.size)
            return self._sharing.call(
                call.function, list(names.values()), scope.size, lambda: self._value(function.body, inner)
            )
        if call.closures:
            return self._closures.call(call, scope)
        arguments = [self._value(a, scope) for a in call.args]
        if call.function == FAILS:
            return Vector((~_sound(arguments[0])).astype(np.int64))
        if isinstance(function, declared.PythonFunction):
            return self._ledger.run(_python(function, self._pulse), arguments)
        argument_types = tuple(a.type for a in call.args)
        operation = self._operation(
            standard, call.function, argument_types, call.type, self.codec, self._pulse
        )
        return self._ledger.run(operation, arguments)

    def _body(self, function: declared.Function, scope: Scope) -> Vector:
        """The value of a function's body, without the results of other calls."""
        before, self._sharing = self._sharing, Sharing(self._read)
        found = self._value(function.body, scope)
        self._sharing = before
        return found

    def _items(self, type_: Type, codes: Codes) -> Rows:
        """The items of collections: elements of sets in order, and pairs of keys and values of maps."""
        if isinstance(type_, types.Map):
            pairs = types.Vec(types.Tuple((type_.key, type_.value)))
            entries = self._operation(standard, "entries", (type_,), pairs, self.codec, self._pulse)
            type_, codes = pairs, self._ledger.run(entries, [Vector(codes)]).codes
        return self.codec.pool(type_).items(codes)

    # -- conversions

    def _cast(self, source: Type, target: Type, vector: Vector) -> Vector:
        if source == target:
            return vector
        if isinstance(source, types.Option):
            return self._cast_option(source.item, target, vector)
        converted = self._ledger.run(self._operation(conversion, source, present(target)), [vector])
        if not isinstance(target, types.Option):
            return converted
        some = self._operation(standard, "some", (target.item,), target, self.codec, self._pulse)
        return self._ledger.run(some, [converted])

    def _cast_option(self, item: types.Item, target: Type, vector: Vector) -> Vector:
        """Convert values that are present; `none` stays `none`, or becomes the string "none"."""
        there = (vector.codes != NONE) & _sound(vector)
        if there.all():
            return self._cast(item, target, vector)
        none = NONE if isinstance(target, types.Option) else self.codec.encode(target, "none")
        absent = Vector(np.full(len(vector), none), vector.failures)
        rows = np.flatnonzero(there)
        if not len(rows):
            return absent
        return absent.put(rows, self._cast(item, target, Vector(vector.codes[rows])), len(vector))


def _sound(vector: Vector) -> Mask:
    """The rows in which a vector has values."""
    if vector.failures is None:
        return np.ones(1, np.bool_)
    sound: Mask = vector.failures == 0
    return sound


def _python(function: declared.PythonFunction, pulse: Pulse) -> Operation:
    def call(*arguments: Value) -> Value:
        pulse.beat()
        try:
            return checked(function.result, function.call(*arguments))
        except Undefined as problem:
            raise Undefined(f"{function.name}: {problem}") from None
        except BadValue as problem:
            raise Undefined(f"{function.name}: the result {problem}") from None
        except Exception as error:  # an error in user code affects only its row
            raise Undefined(f"{function.name}: {type(error).__name__}: {error}") from None

    return Operation(tuple(p.type for p in function.parameters), function.result, call)
