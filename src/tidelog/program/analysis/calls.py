"""Which functions rules and functions call.

A call names its function, and a program's own function comes before a standard one of the same name. So a
name that is used as a standard function must not be declared later: its uses would change their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from tidelog.program.declared import Function, PythonFunction
from tidelog.program.traversal import expressions, subexpressions
from tidelog.program.typed import Body, Call, Expr, Group, Nested, Rule, Stage, Without
from tidelog.syntax import tree
from tidelog.syntax import variables as syntax

__all__ = ["calls"]


def calls(definition: Rule | Function | PythonFunction | tree.Function) -> set[str]:
    """The names of all functions that a rule or a function calls."""
    match definition:
        case Rule():
            return _names(_expressions(definition))
        case Function():
            return _names([definition.body])
        case PythonFunction():
            return set()
        case tree.Function():
            return _written_names(definition)
        case _:
            assert_never(definition)


def _names(roots: Iterable[Expr]) -> set[str]:
    names: set[str] = set()
    pending = list(roots)
    while pending:
        expr = pending.pop()
        if isinstance(expr, Call):
            names.add(expr.function)
        pending += subexpressions(expr)
    return names


def _expressions(rule: Rule) -> Iterator[Expr]:
    for head in rule.heads:
        yield from head.values
    yield from _in_bodies((*rule.bodies, *rule.after))
    yield from _in_group(rule.group)


def _in_group(group: Group | None) -> Iterator[Expr]:
    for aggregate in () if group is None else group.aggregates:
        yield from aggregate.args


def _in_bodies(bodies: Iterable[Body]) -> Iterator[Expr]:
    for literal in (x for body in bodies for x in body):
        yield from expressions(literal)
        if isinstance(literal, Nested):
            yield from literal.args
        if isinstance(literal, Stage):
            yield from _in_group(literal.group)
        if isinstance(literal, Nested | Without | Stage):
            yield from _in_bodies(literal.bodies)


def _written_names(function: tree.Function) -> set[str]:
    """The functions that a template calls or passes on by their names."""
    called = {call.function for call in syntax.calls(function.body)}
    free = {variable.name for variable in syntax.expression_variables(function.body)}
    return (called | free) - {p.name for p in function.parameters}
