"""Literals that look like atoms and are calls: `module::is_good(x)`, or of a quoted name.

Such a literal is an atom if there is a relation of that name, and otherwise the call of a function.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.library.catalog import FUNCTION_NAMES
from tidelog.syntax import tree

__all__ = ["with_calls"]


def with_calls(body: tuple[tree.Literal, ...], known: Declarations) -> tuple[tree.Literal, ...]:
    """The literals, with conditions in place of atoms that name functions."""
    made = tuple(_literal(x, known) for x in body)
    return body if all(a is b for a, b in zip(body, made, strict=True)) else made


def _literal(literal: tree.Literal, known: Declarations) -> tree.Literal:
    match literal:
        case tree.Atom():
            call = _call(literal, known)
            return literal if call is None else tree.Condition(call, literal.span)
        case tree.Row(name, atom):
            call = _call(atom, known)
            if call is None:
                return literal
            item = tree.Variable(name, literal.name_span)
            return tree.Condition(tree.Binary("in", item, call, literal.span), literal.span)
        case tree.Negation(atom):
            call = _call(atom, known)
            negated = None if call is None else tree.Unary("not", call, literal.span)
            return literal if negated is None else tree.Condition(negated, literal.span)
        case tree.Disjunction(rows) | tree.NegatedBody(rows):
            return replace(literal, alternatives=tuple(with_calls(row, known) for row in rows))
        case tree.Assignment(value=tree.SubAggregate() as value):
            return replace(literal, value=_aggregate(value, known))
        case tree.Destructuring(value=tree.SubAggregate() as value):
            return replace(literal, value=_aggregate(value, known))
        case _:
            return literal


def _aggregate(value: tree.SubAggregate, known: Declarations) -> tree.SubAggregate:
    return replace(value, alternatives=tuple(with_calls(row, known) for row in value.alternatives))


def _call(atom: tree.Atom, known: Declarations) -> tree.Call | None:
    name = atom.relation
    if name in known.known or (name not in known.calls and name not in FUNCTION_NAMES):
        return None
    if atom.is_whole or any(a.name is not None for a in atom.args):
        return None
    return tree.Call(name, tuple(a.value for a in atom.args), False, atom.span, atom.name_span)
