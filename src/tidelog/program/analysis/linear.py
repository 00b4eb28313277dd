"""Which aggregates with a state only add to it.

`insert` is *linear* if it gives each variable of the state its old value plus terms that do not read the
state. The state over some instances is then the initial one plus the sums of their terms, whatever their
order is, and an instance that leaves takes its terms away. This is found by executing `insert` with
expressions in place of values; what is too hard to follow counts as not linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.types import BOOL, Type
from tidelog.program import steps
from tidelog.program.declared import Function
from tidelog.program.steps import Assign, Branch, Jump, Loop, Return, Steps
from tidelog.program.traversal import variables
from tidelog.program.typed import (
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Expr,
    Get,
    If,
    Is,
    Let,
    Listing,
    Make,
    Over,
    Unary,
    Var,
)

__all__ = ["Linear", "Term", "linear", "variables_of"]

_MOST: Final = 2000  # expressions that are made
_ADDED: Final = types.Int | types.BigInt | types.Bit | types.Signed  # what is added exactly
_SAFE: Final = frozenset(["==", "!=", "<", "<=", ">", ">=", "and", "or"])


@dataclass(frozen=True, slots=True)
class Term:
    """What is added to a variable of the state, or taken from it if the sign is -1."""

    sign: int
    value: Expr


Linear: TypeAlias = tuple[tuple[Term, ...], ...]  # the terms of each variable of the state


def variables_of(state: Type, count: int) -> tuple[Type, ...]:
    """The types of the variables of a state, by their number; a lone one is the state itself."""
    return state.items if isinstance(state, types.Tuple) and len(state.items) == count else (state,)


def linear(function: Function) -> Linear | None:
    """The terms that `insert` or `delete` of an aggregate adds; None if it does something else."""
    state = function.parameters[0]
    execution = _Execution()
    try:
        made = execution.result(function.body)
    except _TooHard:
        return None
    if any(_reads(condition, state.name) for condition in execution.doubtful):
        return None
    if isinstance(made, Make) and isinstance(state.type, types.Tuple):
        parts, olds = made.fields, [Get(Var(state.name, t), "", i, t) for i, t in enumerate(state.type.items)]
        found = [
            _terms(part, Get(Var(state.name, state.type), "", old.field, old.type), state.name)
            for part, old in zip(parts, olds, strict=True)
        ]
    else:
        found = [_terms(made, Var(state.name, state.type), state.name)]
    sound = tuple(terms for terms in found if terms is not None)
    return _guarded(sound, state.type, execution.doubtful) if len(sound) == len(found) else None


def _guarded(terms: Linear, state: Type, doubtful: Sequence[Expr]) -> Linear | None:
    """The terms, and zeros that fail where a condition does."""
    if not doubtful:
        return terms
    for i, type_ in enumerate(variables_of(state, len(terms))):
        if isinstance(type_, _ADDED):
            zero = Constant(0, type_)
            guards = tuple(Term(1, If(condition, zero, zero, type_)) for condition in doubtful)
            return (*terms[:i], (*terms[i], *guards), *terms[i + 1 :])
    return None


def _terms(expr: Expr, old: Expr, state: str) -> tuple[Term, ...] | None:
    """The terms by which an expression differs from the old value of a variable."""
    if not isinstance(old.type, _ADDED):
        return () if expr == old else None
    if expr == old:
        return ()
    match expr:
        case Binary("+", left, right) if not _reads(right, state):
            return _with(_terms(left, old, state), Term(1, right))
        case Binary("+", left, right) if not _reads(left, state):
            return _with(_terms(right, old, state), Term(1, left))
        case Binary("-", left, right) if not _reads(right, state):
            return _with(_terms(left, old, state), Term(-1, right))
        case If(condition, then, otherwise) if not _reads(condition, state):
            yes, no = _terms(then, old, state), _terms(otherwise, old, state)
            if yes is None or no is None:
                return None
            zero = Constant(0, old.type)
            return (
                *(replace(t, value=If(condition, t.value, zero, old.type)) for t in yes),
                *(replace(t, value=If(condition, zero, t.value, old.type)) for t in no),
            )
        case _:
            return None


def _with(terms: tuple[Term, ...] | None, term: Term) -> tuple[Term, ...] | None:
    return None if terms is None else (*terms, term)


def _reads(expr: Expr, name: str) -> bool:
    return any(v.name == name for v in variables(expr))


def _is_safe(condition: Expr) -> bool:
    """Whether a condition certainly has a value."""
    match condition:
        case Var() | Constant():
            return True
        case Binary(op, left, right):
            return op in _SAFE and _is_safe(left) and _is_safe(right)
        case Unary("not", operand) | Is(operand) | Get(operand, ""):
            return _is_safe(operand)
        case _:
            return False


class _TooHard(Exception):
    pass


_Known: TypeAlias = Mapping[str, Expr]
_ALWAYS: Final = Constant(True, BOOL)


class _Execution:
    """Executes a function with expressions of its parameters in place of values.

    `doubtful` are conditions that may fail, each under the conditions around it: where one does, the function
    fails, even if it changes nothing.
    """

    def __init__(self) -> None:
        self._left = _MOST
        self.doubtful: list[Expr] = []

    def result(self, body: Expr) -> Expr:
        if not isinstance(body, Block):
            return self._value(body, {})
        *before, last = body.steps
        if not isinstance(last, Return):
            raise _TooHard
        return self._value(last.value, self._after(before, {}, _ALWAYS))

    def _after(self, done: Sequence[steps.Step], known: _Known, path: Expr) -> dict[str, Expr]:
        """What variables are after steps that are executed under a condition."""
        now = dict(known)
        for step in done:
            match step:
                case Assign(variable, value):
                    now[variable.name] = self._value(value, now)
                case Branch(conditions, bodies):
                    now = self._joined([self._value(c, now) for c in conditions], bodies, now, path)
                case Loop() | Jump() | Return():
                    raise _TooHard
                case _:
                    assert_never(step)
        return now

    def _joined(
        self, conditions: list[Expr], bodies: tuple[Steps, ...], known: _Known, path: Expr
    ) -> dict[str, Expr]:
        ends: list[dict[str, Expr]] = []
        for condition, body in zip(conditions, bodies, strict=False):
            if not _is_safe(condition):
                self.doubtful.append(self._made(Binary("and", path, condition, BOOL)))
            ends.append(self._after(body, known, self._made(Binary("and", path, condition, BOOL))))
            path = self._made(Binary("and", path, Unary("not", condition, BOOL), BOOL))
        ends.append(self._after(bodies[-1], known, path))
        made = dict(known)
        for name, old in known.items():
            value = ends[-1].get(name, old)
            for condition, end in zip(reversed(conditions), reversed(ends[:-1]), strict=True):
                if end[name] != value:
                    value = self._made(If(condition, end[name], value, value.type))
            made[name] = value
        return made

    def _made(self, expr: Expr) -> Expr:
        self._left -= 1
        if self._left < 0:
            raise _TooHard
        return expr

    def _value(self, expr: Expr, known: _Known) -> Expr:
        """An expression in which variables are replaced by their values."""

        def go(part: Expr) -> Expr:
            return self._value(part, known)

        match expr:
            case Constant():
                return expr
            case Var(name):
                return known.get(name, expr)
            case Unary() | Cast() | Get() | Is():
                made = replace(expr, operand=go(expr.operand))
                is_part = isinstance(made, Get) and isinstance(made.operand, Make)
                return self._made(made.operand.fields[made.field] if is_part else made)  # type: ignore[union-attr]
            case Binary():
                return self._made(replace(expr, left=go(expr.left), right=go(expr.right)))
            case If(condition, then, otherwise):
                return self._made(
                    replace(expr, condition=go(condition), then=go(then), otherwise=go(otherwise))
                )
            case Let(name, value, body):
                return self._value(body, {**known, name: go(value)})
            case Call(args=args, closures=()):
                return self._made(replace(expr, args=tuple(map(go, args))))
            case Make(fields=fields):
                return self._made(replace(expr, fields=tuple(map(go, fields))))
            case Listing(items=items):
                return self._made(replace(expr, items=tuple(map(go, items))))
            case Call() | Block() | Over():
                raise _TooHard
            case _:
                assert_never(expr)
