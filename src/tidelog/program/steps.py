"""Typed statements: the steps of a `Block`, which is an expression.

A block is executed step by step until a `Return`, whose value it has; elaboration makes sure that there is
one on every way. It assigns only variables of its own, so that it changes nothing around it. A variable may
hold a failure, which counts only where the variable is read; a condition, a collection or a returned value
that fails makes the block fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

if TYPE_CHECKING:
    from tidelog.program.typed import Expr, Var

__all__ = ["Assign", "Branch", "Jump", "Loop", "Return", "Step", "Steps", "assigned", "parts", "with_parts"]


@dataclass(frozen=True, slots=True)
class Assign:
    variable: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Branch:
    """The body of the first condition that holds, or the last body, of which there is one more."""

    conditions: tuple[Expr, ...]
    bodies: tuple[Steps, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """The body, once for each item of a vec, element of a set, or pair of a key and its value in a map."""

    variable: Var
    collection: Expr
    body: Steps


@dataclass(frozen=True, slots=True)
class Jump:
    """`break` ends the loop around it, `continue` goes on with its next item."""

    word: str


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr


Step: TypeAlias = Assign | Branch | Loop | Jump | Return
Steps: TypeAlias = tuple[Step, ...]


def parts(steps: Steps) -> Iterator[Expr]:
    """The expressions of steps, in the order of the text."""
    for step in steps:
        match step:
            case Assign(value=value) | Return(value):
                yield value
            case Branch(conditions, bodies):
                yield from conditions
                for body in bodies:
                    yield from parts(body)
            case Loop(_, collection, body):
                yield collection
                yield from parts(body)
            case Jump():
                pass
            case _:
                assert_never(step)


def assigned(steps: Steps) -> Iterator[Var]:
    """The variables that steps assign, with duplicates."""
    for step in steps:
        match step:
            case Assign(variable):
                yield variable
            case Branch(bodies=bodies):
                for body in bodies:
                    yield from assigned(body)
            case Loop(variable, body=body):
                yield variable
                yield from assigned(body)
            case Return() | Jump():
                pass
            case _:
                assert_never(step)


def with_parts(
    steps: Steps, change: Callable[[Expr], Expr], variable: Callable[[Var], Var] = lambda var: var
) -> Steps:
    """Steps with other expressions and variables."""

    def go(step: Step) -> Step:
        match step:
            case Assign(name, value):
                return Assign(variable(name), change(value))
            case Branch(conditions, bodies):
                return Branch(tuple(map(change, conditions)), tuple(tuple(map(go, body)) for body in bodies))
            case Loop(name, collection, body):
                return Loop(variable(name), change(collection), tuple(map(go, body)))
            case Return(value):
                return Return(change(value))
            case Jump():
                return step
            case _:
                assert_never(step)

    return tuple(map(go, steps))
