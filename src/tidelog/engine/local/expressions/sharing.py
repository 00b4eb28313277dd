"""Evaluates equal calls once.

A function of the language may call another twice, which calls a third twice, and so on. The number of calls
doubles with every step, but the number of distinct arguments mostly does not. So each argument gets a
*number*, and arguments with the same number have the same values. A value is identified by its vector; an
argument that is not evaluated yet, by its expression and the numbers of the names that it reads. A call with
the same function, numbers and row count as an earlier one reuses its result.

Once there are many calls, arguments made of operators alone are evaluated before they are numbered, and
vectors are identified by their contents: `f(x + 1 + 2)` then equals `f(x + 2 + 1)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from typing import Final, assert_never

from tidelog.engine.local.expressions.scopes import Name, Scope
from tidelog.engine.local.expressions.vectors import Vector
from tidelog.program import traversal, typed
from tidelog.program.typed import Expr

__all__ = ["Sharing"]

MANY: Final = 64  # calls in one evaluation
_CELLS: Final = 2**24  # the cache is cleared when its results exceed this many cells


class Sharing:
    """The calls of one evaluation so far; `read` returns the value of a name."""

    def __init__(self, read: Callable[[Name], Vector]) -> None:
        self._read = read
        self._numbers: dict[Hashable, int] = {}
        self._names: dict[Name, int] = {}
        self._vectors: dict[int, tuple[Vector, int]] = {}  # by identity, with their numbers
        self._calls: dict[Hashable, Vector] = {}
        self._made = 0
        self._cells = 0

    def call(self, function: str, names: Sequence[Name], size: int, evaluate: Callable[[], Vector]) -> Vector:
        """The value of a call in `size` rows, evaluated if it is new."""
        self._made += 1
        key = function, size, *(self._number(name) for name in names)
        found = self._calls.get(key)
        if found is None:
            found = evaluate()
            self._cells += len(found)
            if self._cells > _CELLS:
                self._calls.clear()
                self._cells = len(found)
            self._calls[key] = found
        return found

    def _number(self, name: Name) -> int:
        """The number of a name, which does not change when the name is evaluated later."""
        if name not in self._names:
            self._names[name] = self._find_number(name)
        return self._names[name]

    def _find_number(self, name: Name) -> int:
        if isinstance(name.expr, typed.Var) and name.scope is not None:
            return self._number(name.scope.find(name.expr.name))
        if name.vector is None and name.expr is not None and self._made > MANY and _is_simple(name.expr):
            self._read(name)
        if name.vector is not None:
            return self._number_of_vector(name.vector)
        assert name.expr is not None
        assert name.scope is not None
        return self._part(name.expr, name.scope)

    def _numbered(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _number_of_vector(self, vector: Vector) -> int:
        known = self._vectors.get(id(vector))
        if known is None:
            key: Hashable = ("vector", len(self._vectors))
            if self._made > MANY:
                failures = b"" if vector.failures is None else vector.failures.tobytes()
                key = "values", blake2b(vector.codes.tobytes()).digest(), blake2b(failures).digest()
            known = self._vectors[id(vector)] = vector, self._numbered(key)
        return known[1]

    def _key(self, expr: Expr, scope: Scope) -> Hashable:
        """A key that identifies an expression, with numbers in place of names."""
        match expr:
            case typed.Constant(value):
                return expr, repr(value) if isinstance(value, float) else None  # there are two zeros
            case typed.Var(name):
                return "name", self._number(scope.find(name))
            case typed.Unary(op, operand, type_):
                return op, type_, self._part(operand, scope)
            case typed.Binary(op, left, right):
                return op, left.type, self._part(left, scope), self._part(right, scope)
            case typed.If(condition, then, otherwise):
                return "if", *(self._part(part, scope) for part in (condition, then, otherwise))
            case typed.Let(name, value, body):
                return self._key(body, scope.where(name, Name(value, scope)))
            case typed.Call(function, args, type_, closures):
                parts = [self._part(arg, scope) for arg in args]
                return "call", function, type_, *parts, *(self._closure(c, scope) for c in closures)
            case typed.Cast(operand, type_):
                return "cast", operand.type, type_, self._part(operand, scope)
            case typed.Make(constructor, fields, type_):
                return "make", constructor, type_, *(self._part(field, scope) for field in fields)
            case typed.Get(operand, constructor, index):
                return "get", operand.type, constructor, index, self._part(operand, scope)
            case typed.Is(operand, constructor):
                return "is", operand.type, constructor, self._part(operand, scope)
            case typed.Listing(items, type_):
                return "list", type_, *(self._part(item, scope) for item in items)
            case typed.Block():
                read = sorted({v.name for v in traversal.variables(expr)})
                return expr, *(self._number(scope.find(name)) for name in read)
            case typed.Over():
                read = sorted({v.name for v in traversal.variables(expr)})
                return repr(expr), *(self._number(scope.find(name)) for name in read)
            case _:
                assert_never(expr)

    def _closure(self, closure: typed.Lambda, scope: Scope) -> Hashable:
        """A key of a closure: its text, and the numbers of the names around it that it reads."""
        own = {p.name for p in closure.parameters}
        read = sorted({v.name for v in traversal.variables(closure.body)} - own)
        return repr(closure), *((name, self._number(scope.find(name))) for name in read)

    def _part(self, expr: Expr, scope: Scope) -> int:
        if isinstance(expr, typed.Var):
            return self._number(scope.find(expr.name))
        return self._numbered(self._key(expr, scope))


def _is_simple(expr: Expr) -> bool:
    """Whether an expression consists of names, constants and operators that are evaluated in all rows."""
    match expr:
        case typed.Constant() | typed.Var():
            return True
        case typed.Unary(operand=operand) | typed.Cast(operand=operand):
            return _is_simple(operand)
        case typed.Binary(op, left, right):
            return op not in ("and", "or") and _is_simple(left) and _is_simple(right)
        case typed.Make() | typed.Get() | typed.Is() | typed.Listing():
            return all(map(_is_simple, traversal.subexpressions(expr)))
        case typed.If() | typed.Let() | typed.Call() | typed.Block() | typed.Over():
            return False
        case _:
            assert_never(expr)
