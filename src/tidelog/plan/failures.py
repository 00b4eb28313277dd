"""Nested bodies with values that may fail: the instances that have all values, and those that lack some.

A failure inside a nested body is one of the literal around it, and that is an error only in rows that satisfy
the rest of the rule. So a nested body is split: its *sound* instances, and the *failing* ones, in which
something has no value and nothing else is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import combinations
from typing import Final

from tidelog.data.types import BOOL
from tidelog.program import traversal
from tidelog.program.analysis.failing import fails, often_fails, succeeds
from tidelog.program.typed import Binary, Bind, Body, Each, Expr, Literal, Nested, Test

__all__ = ["failing_bodies", "sound_body"]

_MOST: Final = 3  # definitions that may fail in one body; each combination of them is a body


def failing_bodies(body: Body, args: Sequence[Expr], parameters: set[str]) -> list[Body] | None:
    """The bodies of the failing instances; None if the instances cannot be distinguished."""
    risky = [x for x in body if _value(x) is not None]
    lists = [some for n in range(1, len(risky) + 1) for some in combinations(risky, n)]
    lost = [_lost(body, some) for some in lists]
    if len(risky) > _MOST or any(names & parameters for names in lost):
        return None
    made = [_without(body, some, names) for some, names in zip(lists, lost, strict=True)]
    tests = [x.condition for x in body if isinstance(x, Test)]
    conditions = [fails(e) for e in (*tests, *args) if often_fails(e)]
    if conditions:
        made.append((*_without(body, (), set()), Test(reduce(_either, conditions))))
    return made


def sound_body(body: Body, args: Sequence[Expr]) -> Body:
    """The body of the instances in which everything has a value."""
    made: list[Literal] = []
    for literal in body:
        value = literal.condition if isinstance(literal, Test) else _value(literal)
        if value is not None and often_fails(value):
            made.append(Test(succeeds(value)))
        made.append(literal)
    return (*made, *(Test(succeeds(a)) for a in args if often_fails(a)))


def _value(literal: Literal) -> Expr | None:
    """What defines a variable, if it may fail."""
    if isinstance(literal, Bind | Each):
        value = literal.value if isinstance(literal, Bind) else literal.collection
        return value if often_fails(value) else None
    return None


def _lost(body: Body, failing: Iterable[Literal]) -> set[str]:
    """The variables that have no value if these definitions fail."""
    names = {x.variable.name for x in failing if isinstance(x, Bind | Each)}
    size = -1
    while size != len(names):
        size = len(names)
        names |= {x.variable.name for x in body if isinstance(x, Bind | Each) and _reads(x) & names}
        names |= {x.result.name for x in body if isinstance(x, Nested) and _reads(x) & names}
    return names


def _without(body: Body, failing: Sequence[Literal], lost: set[str]) -> Body:
    """The body for rows in which these definitions fail, and others that may do not."""
    made: list[Literal] = []
    for literal in body:
        value = _value(literal)
        if _reads(literal) & lost:
            continue
        if value is not None and literal in failing:
            made.append(Test(fails(value)))
        elif value is not None:
            made += [Test(succeeds(value)), literal]
        elif isinstance(literal, Test) and often_fails(literal.condition):
            made.append(Test(_either(fails(literal.condition), literal.condition)))
        else:
            made.append(literal)
    return tuple(made)


def _either(left: Expr, right: Expr) -> Expr:
    return Binary("or", left, right, BOOL)


def _reads(literal: Literal) -> set[str]:
    return {v.name for e in traversal.expressions(literal) for v in traversal.variables(e)}
