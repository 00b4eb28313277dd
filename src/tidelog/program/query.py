"""Queries: a rule body whose implicit head has the variables of the body as columns.

The columns of the answer are the variables that are bound at the end of the body, in the order in which the
text first mentions them. With a group, these are its keys, its results and the variables bound after it; with
alternatives, the variables that every alternative binds. Variables whose names begin with `_` are left out.
Parameters are variables that stand for given values; they are not columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from tidelog.errors import Source, Span
from tidelog.program.declared import Column, Function, PythonFunction, Relation, Role
from tidelog.program.elaborate.declarations import Declarations, Signature, needed_row_types
from tidelog.program.elaborate.instances import add_cycles
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.rules import elaborate_rule
from tidelog.program.elaborate.typedefs import declare_types
from tidelog.program.parameters import with_values
from tidelog.program.renaming import with_standard_names
from tidelog.program.typed import Bind, Body, Each, Match, Nested, Rule, Stage, Var
from tidelog.syntax import tree
from tidelog.syntax.parser import read_body
from tidelog.syntax.rebuilding import nodes_of
from tidelog.syntax.variables import expression_variables, literal_variables

__all__ = ["QUERY", "Query", "elaborate_query"]

QUERY = "<query>"


@dataclass(frozen=True, slots=True)
class Query:
    """`rule` derives `relation`, which no program declares.

    `functions` are instances of generic functions that it needs besides those of the program.
    """

    relation: Relation
    rule: Rule
    functions: Mapping[str, Function | PythonFunction] = field(default_factory=dict)


def elaborate_query(
    source: Source, known: Declarations, problems: Problems, parameters: Mapping[str, object] | None = None
) -> Query | None:
    """The query, or None after reporting an error. Raises SessionError for a wrong parameter."""
    body, unread = read_body(source)
    problems.found += unread
    if unread:
        return None
    whole = Span(source, 0, len(source.text))
    if "std::" in source.text:
        body = with_standard_names(body)
    if parameters:
        body = with_values(body, parameters)
    declared = known.copy()
    first = _rule(body, (), whole, declared, problems)
    if first is None:
        return None
    bound = _bound(first)
    named = [v for v in _mentioned(body) if v.name in bound]
    rule = _rule(body, named, whole, declared, problems)
    if rule is None:
        return None
    columns = tuple(Column(v.name, e.type) for v, e in zip(named, rule.heads[0].values, strict=True))
    if declared.recursive:
        add_cycles(declared)
    functions = {name: f for name, f in declared.functions.items() if name not in known.functions}
    return Query(Relation(QUERY, columns, Role.OUTPUT, span=whole, names=known.names), rule, functions)


def _rule(
    body: tuple[tree.Literal, ...],
    named: Iterable[tree.Variable],
    span: Span,
    declared: Declarations,
    problems: Problems,
) -> Rule | None:
    """The rule with these variables in its head; their types come from the body."""
    named = tuple(named)
    declared.known[QUERY] = Signature(tuple((v.name, None) for v in named))
    head = tree.Atom(QUERY, tuple(tree.Argument(v, None, v.span) for v in named), span, span)
    needed = needed_row_types([tree.Rule((head,), (*body, *_uses(body)), span)], declared)
    declare_types(needed, declared.types, problems)
    return elaborate_rule(tree.Rule((head,), body, span), declared, problems, keeps_rows=True)


def _uses(body: tuple[tree.Literal, ...]) -> Iterator[tree.Literal]:
    """Conditions that use all row variables, which are columns of the answer."""
    for node in nodes_of(tree.Rule((), body)):
        if isinstance(node, tree.Row) and not node.name.startswith("_"):
            yield tree.Condition(tree.Variable(node.name))


def _bound(rule: Rule) -> set[str]:
    """The variables that a head can use."""
    if rule.group is None:
        return _in_all(rule.bodies)
    found = {v.name for v in (*rule.group.keys, *(a.result for a in rule.group.aggregates))}
    return found | _in_all(rule.after)


def _in_all(bodies: tuple[Body, ...]) -> set[str]:
    return set.intersection(*(_variables(body) for body in bodies))


def _variables(body: Body) -> set[str]:
    matched = {t.name for x in body if isinstance(x, Match) for t in x.terms if isinstance(t, Var)}
    computed = {x.variable.name for x in body if isinstance(x, Bind | Each)}
    matched |= {v.name for x in body if isinstance(x, Stage) for v in x.columns}
    return matched | computed | {x.result.name for x in body if isinstance(x, Nested)}


def _mentioned(body: tuple[tree.Literal, ...]) -> list[tree.Variable]:
    """The variables of a body, each at its first occurrence in the text."""
    found = sorted(_occurrences(body), key=lambda v: v.span.start)
    first: dict[str, tree.Variable] = {}
    for variable in found:
        if not variable.name.startswith("_"):
            first.setdefault(variable.name, variable)
    return list(first.values())


def _occurrences(body: Iterable[tree.Literal]) -> Iterator[tree.Variable]:
    for literal in body:
        match literal:
            case tree.Assignment(name=name, name_span=span):
                yield tree.Variable(name, span)
            case tree.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from _occurrences(alternative)
            case tree.Destructuring(pattern) | tree.Generator(pattern):
                yield from expression_variables(pattern)
            case tree.Atom() | tree.Row() | tree.Negation() | tree.Condition() | tree.NegatedBody():
                pass
            case _:
                assert_never(literal)
        yield from literal_variables(literal)
