"""`e?`: the value of an option or result, or an early return of its `none` or `Err` from the function.

Typed expressions have no jumps. So `e?` becomes an *attempt*: a name for `e`, whose value stands for `e?`.
What is evaluated after it is put under the condition that the attempt holds:

    { var x = e?; rest }    is    let t = e in if (is_some(t)) { let x = unwrap(t) in rest } else none

This is possible where all that remains of the function is known: in the *tails* of its body, which are the
body itself, the result of a block and the branches of an `if` or `match` in a tail. A part of a tail that may
not be evaluated, such as the right side of `and`, cannot have attempts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.data import types
from tidelog.data.types import BOOL, Named, Type
from tidelog.program.typed import Call, Constant, Expr, Get, If, Is, Let, Make, Var
from tidelog.syntax import tree
from tidelog.syntax.variables import expressions

__all__ = ["NO_FUNCTION", "Attempt", "Early", "attempt_of", "has_steps", "tails", "with_attempts"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """`name` stands for `operand`. If it `holds`, `e?` is `value`; if not, the function gives `returned`."""

    name: str
    operand: Expr
    holds: Expr
    value: Expr
    returned: Expr


@dataclass(frozen=True, slots=True)
class Early:
    """Where an expression can return to.

    `result` is that of the function around it, None outside of functions and inside closures. `tails` are the
    identities of the expressions that are tails. `attempts` are those made so far in a part of a tail, None
    in parts that may not be evaluated.
    """

    result: Type | None = None
    tails: frozenset[int] = frozenset()
    attempts: list[Attempt] | None = None


NO_FUNCTION = Early()


def tails(body: tree.Expr) -> frozenset[int]:
    """The identities of the tails of a function's body; none if it never returns early."""
    if not any(isinstance(x, tree.Unary) and x.op == "?" for x in expressions(body)):
        return frozenset()
    return frozenset(map(id, _tails(body)))


def has_steps(body: tree.Expr) -> bool:
    """Whether statements decide about the result of a function's body."""
    return any(isinstance(x, tree.Steps) for x in _tails(body))


def _tails(body: tree.Expr) -> Iterator[tree.Expr]:
    waiting = [body]
    while waiting:
        found = waiting.pop()
        yield found
        match found:
            case tree.Block(result=result):
                waiting.append(result)
            case tree.Conditional(_, then, otherwise):
                waiting += (then, otherwise)
            case tree.Match(cases=cases):
                waiting += (case.value for case in cases)


def attempt_of(operand: Expr, name: str, type_: Type, result: Type) -> Attempt | None:
    """An attempt for an operand of a type, in a function with this result; None if there is none."""
    whole = Var(name, type_)
    match type_, result:
        case types.Option(item), types.Option():
            holds, value = Call("is_some", (whole,), BOOL), Call("unwrap", (whole,), item)
            return Attempt(name, operand, holds, value, Constant(None, result))
        case Named("result", (item, error)), Named("result"):
            returned = Make("Err", (Get(whole, "Err", 0, error),), result)
            return Attempt(name, operand, Is(whole, "Ok", BOOL), Get(whole, "Ok", 0, item), returned)
        case _:
            return None


def with_attempts(attempts: Sequence[Attempt], rest: Expr) -> Expr:
    """What a function does after some attempts, or its early return."""
    for attempt in reversed(attempts):
        choice = If(attempt.holds, rest, attempt.returned, rest.type)
        rest = Let(attempt.name, attempt.operand, choice, rest.type)
    return rest
