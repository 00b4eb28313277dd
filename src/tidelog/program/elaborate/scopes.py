"""Which names a literal binds, and which names occur where: the scopes of nested bodies.

A nested body shares the names that also occur outside it; its other names are its own, even if another nested
body has the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from tidelog.errors import Span
from tidelog.program.elaborate.patterns import is_pattern
from tidelog.syntax import tree
from tidelog.syntax.variables import expression_variables, literal_variables, pattern_names

__all__ = [
    "defined_by",
    "has_wildcards",
    "is_nested",
    "matched_by",
    "named_spans",
    "outer_names",
    "plain_names",
]


def defined_by(literal: tree.Assignment | tree.Destructuring | tree.Generator) -> tuple[str, ...]:
    """The names that a `var` gives values."""
    if isinstance(literal, tree.Assignment):
        return (literal.name,)
    return tuple(dict.fromkeys(v.name for v in expression_variables(literal.pattern)))


def named_spans(literal: tree.Assignment | tree.Destructuring | tree.Generator) -> list[tuple[str, Span]]:
    """The names that a `var` gives values, with their places."""
    if isinstance(literal, tree.Assignment):
        return [(literal.name, literal.name_span)]
    return [(v.name, v.span) for v in expression_variables(literal.pattern)]


def matched_by(atom: tree.Atom) -> set[str]:
    """The names that a positive atom binds."""
    plain = {a.value.name for a in atom.args if isinstance(a.value, tree.Variable)}
    return plain.union(*(pattern_names(a.value) for a in atom.args if is_pattern(a.value)))


def is_nested(literal: tree.Literal) -> bool:
    """Whether a literal has a body of its own."""
    if isinstance(literal, tree.Assignment):
        return isinstance(literal.value, tree.SubAggregate)
    return isinstance(literal, tree.NegatedBody)


def plain_names(nested: tree.SubAggregate | tree.NegatedBody) -> set[str]:
    """The names that occur inside a nested body and its arguments."""
    found: set[str] = set()
    if isinstance(nested, tree.SubAggregate):
        found.update(v.name for a in nested.args for v in expression_variables(a))
    for alternative in nested.alternatives:
        for literal in alternative:
            found |= _all_names(literal)
    return found


def _all_names(literal: tree.Literal) -> set[str]:
    found = {v.name for v in literal_variables(literal)}
    match literal:
        case tree.Assignment() | tree.Destructuring() | tree.Generator():
            return found | set(defined_by(literal))
        case tree.Disjunction(alternatives) | tree.NegatedBody(alternatives):
            return found.union(*(_all_names(x) for row in alternatives for x in row))
        case tree.Atom() | tree.Row() | tree.Negation() | tree.Condition():
            return found
        case _:
            assert_never(literal)


def outer_names(literals: Iterable[tree.Literal]) -> frozenset[str]:
    """The names that occur in literals outside their nested bodies."""
    return frozenset(name for literal in literals for name in _outer(literal))


def _outer(literal: tree.Literal) -> Iterator[str]:
    match literal:
        case tree.NegatedBody():
            return
        case tree.Assignment(name=name) if is_nested(literal):
            yield name
        case tree.Disjunction(alternatives):
            for alternative in alternatives:
                yield from outer_names(alternative)
        case tree.Atom() | tree.Row() | tree.Negation() | tree.Condition() | tree.Assignment():
            yield from _all_names(literal)
        case tree.Destructuring() | tree.Generator():
            yield from _all_names(literal)
        case _:
            assert_never(literal)


def has_wildcards(expr: tree.Expr) -> bool:
    """Whether a pattern leaves something open."""
    match expr:
        case tree.Construct(args=args, is_open=is_open):
            named = any(a.name is not None for a in args)
            return is_open or named or any(_is_open(a.value) for a in args)
        case tree.TupleValue(items) | tree.Call("some", items):
            return any(map(_is_open, items))
        case tree.At():
            return True
        case _:
            return False


def _is_open(expr: tree.Expr) -> bool:
    return isinstance(expr, tree.Wildcard) or has_wildcards(expr)
