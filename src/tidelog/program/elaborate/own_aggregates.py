"""Aggregates of the program: functions over the sorted vec of the values of a group, or of a body, and those
with a state.

var r = x.group_by(k).f(a)    is    var v = x.group_by(k).collect_vec(), var r = f(v, a)
var r = f(x, a) { body }      is    var v = collect_vec(x) { body }, var r = f(v, a)
var r = x.group_by(k).g(a)    is    var s = x.group_by(k).g::state(a), var r = g::result(s)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.library.catalog import AGGREGATE_NAMES
from tidelog.syntax import tree

__all__ = ["with_own_aggregates"]

_COLLECT = "collect_vec"


def with_own_aggregates(
    body: tuple[tree.Literal, ...], known: Declarations, numbers: Iterator[int] | None = None
) -> tuple[tree.Literal, ...]:
    """The literals, with two in place of each aggregate that is a function."""
    names = count() if numbers is None else numbers
    made = tuple(part for literal in body for part in _literals(literal, known, names))
    same = len(made) == len(body) and all(a is b for a, b in zip(body, made, strict=True))
    return body if same else made


def _literals(literal: tree.Literal, known: Declarations, names: Iterator[int]) -> tuple[tree.Literal, ...]:
    match literal:
        case tree.Disjunction(rows) | tree.NegatedBody(rows):
            return (replace(literal, alternatives=_alternatives(rows, known, names)),)
        case (
            tree.Assignment(value=tree.SubAggregate() as value)
            | tree.Destructuring(value=tree.SubAggregate() as value)
        ):
            inner = replace(value, alternatives=_alternatives(value.alternatives, known, names))
            if value.function in known.folds:
                return _with_state(literal, inner, names)
            if not value.args or not _is_own(value.function, known):
                return (replace(literal, value=inner),)
            collected = replace(inner, function=_COLLECT, args=value.args[:1])
            return _both(literal, collected, value, value.args[1:], names)
        case (
            tree.Assignment(value=tree.Aggregate() as value)
            | tree.Destructuring(value=tree.Aggregate() as value)
        ) if _is_own(value.function, known):
            return _both(literal, replace(value, function=_COLLECT, args=()), value, value.args, names)
        case (
            tree.Assignment(value=tree.Aggregate() as value)
            | tree.Destructuring(value=tree.Aggregate() as value)
        ) if value.function in known.folds:
            return _with_state(literal, value, names)
        case _:
            return (literal,)


def _alternatives(
    rows: tuple[tuple[tree.Literal, ...], ...], known: Declarations, names: Iterator[int]
) -> tuple[tuple[tree.Literal, ...], ...]:
    made = tuple(with_own_aggregates(row, known, names) for row in rows)
    return rows if all(a is b for a, b in zip(rows, made, strict=True)) else made


def _is_own(name: str, known: Declarations) -> bool:
    return name not in AGGREGATE_NAMES and (name in known.calls or name in known.templates)


def _both(
    literal: tree.Assignment | tree.Destructuring,
    collected: tree.Aggregate | tree.SubAggregate,
    aggregate: tree.Aggregate | tree.SubAggregate,
    args: tuple[tree.Expr, ...],
    names: Iterator[int],
) -> tuple[tree.Literal, ...]:
    values = tree.Variable(f"$values{next(names)}", aggregate.span)
    call = tree.Call(aggregate.function, (values, *args), False, aggregate.span, aggregate.name_span)
    return (
        tree.Assignment(values.name, collected, literal.span, aggregate.span),
        replace(literal, value=call),
    )


def _with_state(
    literal: tree.Assignment | tree.Destructuring,
    aggregate: tree.Aggregate | tree.SubAggregate,
    names: Iterator[int],
) -> tuple[tree.Literal, ...]:
    """The state of an aggregate, and its result."""
    state = tree.Variable(f"$state{next(names)}", aggregate.span)
    collected = replace(aggregate, function=f"{aggregate.function}::state")
    call = tree.Call(f"{aggregate.function}::result", (state,), False, aggregate.span, aggregate.name_span)
    return (
        tree.Assignment(state.name, collected, literal.span, aggregate.span),
        replace(literal, value=call),
    )
