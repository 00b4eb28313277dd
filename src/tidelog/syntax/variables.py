"""The variables that an expression or literal reads, in source order, with duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidelog.syntax import tree

__all__ = [
    "bound_names",
    "calls",
    "children",
    "expression_variables",
    "expressions",
    "literal_expressions",
    "literal_variables",
    "pattern_names",
    "statement_expressions",
]


def children(expr: tree.Expr) -> tuple[tree.Expr, ...]:
    """The expressions directly below this one."""
    match expr:
        case tree.Interpolation(parts):
            return tuple(p for p in parts if not isinstance(p, str))
        case tree.Unary(operand=operand) | tree.Cast(operand=operand):
            return (operand,)
        case tree.Binary(left=left, right=right):
            return (left, right)
        case tree.Conditional(condition, then, otherwise):
            return (condition, then, otherwise)
        case tree.Block(bindings, result):
            return (*(part for b in bindings for part in _bound(b)), result)
        case tree.Steps(statements, result):
            return (*(e for s in statements for e in statement_expressions(s)), *_present(result))
        case tree.Call(args=args):
            return args
        case tree.Aggregate(value, keys, _, args):
            return (value, *keys, *args)
        case tree.SubAggregate(_, args, alternatives):
            return (*args, *(e for row in alternatives for x in row for e in literal_expressions(x)))
        case tree.Construct(args=fields):
            return tuple(f.value for f in fields)
        case tree.TupleValue(items) | tree.VecLiteral(items):
            return items
        case tree.MapLiteral(entries):
            return tuple(part for entry in entries for part in entry)
        case tree.FieldAccess(operand) | tree.Slice(operand):
            return (operand,)
        case tree.At(pattern=pattern):
            return (pattern,)
        case tree.Match(subject, cases):
            return (subject, *(part for case in cases for part in (case.pattern, case.value)))
        case tree.Closure(body=body):
            return (body,)
        case (
            tree.BoolLiteral()
            | tree.IntLiteral()
            | tree.FractionLiteral()
            | tree.DurationLiteral()
            | tree.WidthLiteral()
            | tree.StringLiteral()
            | tree.BytesLiteral()
            | tree.NoneLiteral()
            | tree.Variable()
            | tree.Wildcard()
        ):
            return ()
        case _:
            assert_never(expr)


def _bound(binding: tree.Assignment | tree.Destructuring) -> tuple[tree.Expr, ...]:
    """The expressions of a `var`."""
    if isinstance(binding, tree.Assignment):
        return (binding.value,)
    return (binding.pattern, binding.value)


def _present(result: tree.Expr | None) -> tuple[tree.Expr, ...]:
    return () if result is None else (result,)


def statement_expressions(statement: tree.Statement) -> tuple[tree.Expr, ...]:
    """The expressions directly in a statement: patterns and blocks included."""
    match statement:
        case tree.Assignment() | tree.Destructuring():
            return _bound(statement)
        case tree.Update(target, value):
            return (target, value)
        case tree.Choice(branches, otherwise):
            return (*(e for b in branches for e in (b.condition, b.body)), *_present(otherwise))
        case tree.Switch(subject, arms):
            return (subject, *(e for arm in arms for e in (arm.pattern, arm.body)))
        case tree.Loop(pattern, collection, body):
            return (pattern, collection, body)
        case tree.Return(value):
            return (value,)
        case tree.Jump():
            return ()
        case _:
            assert_never(statement)


def literal_expressions(literal: tree.Literal) -> Iterator[tree.Expr]:
    """The expressions directly in a literal, patterns included."""
    match literal:
        case tree.Atom(args=args):
            yield from (a.value for a in args)
        case tree.Negation(atom) | tree.Row(atom=atom):
            yield from (a.value for a in atom.args)
        case tree.Condition(value):
            yield value
        case tree.Assignment() | tree.Destructuring():
            yield from _bound(literal)
        case tree.Generator(pattern, collection):
            yield from (pattern, collection)
        case tree.Disjunction(alternatives) | tree.NegatedBody(alternatives):
            for alternative in alternatives:
                for inner in alternative:
                    yield from literal_expressions(inner)
        case _:
            assert_never(literal)


def expression_variables(expr: tree.Expr) -> Iterator[tree.Variable]:
    """The free variables of an expression, without those that its blocks, cases and closures bind.

    Of an aggregate over a body they are all variables of that body: which of them are local is known only
    from the literals around it.
    """
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case tree.Variable() as variable:
                yield variable
            case tree.At(name, pattern, name_span=span):
                yield tree.Variable(name, span)
                waiting.append(pattern)
            case tree.Block(bindings, result):
                yield from _block_variables(bindings, result)
            case tree.Steps(statements, result):
                yield from _step_variables(statements, result)
            case tree.Match(subject, cases):
                yield from expression_variables(subject)
                for case in cases:
                    local = pattern_names(case.pattern)
                    yield from (v for v in expression_variables(case.value) if v.name not in local)
            case tree.Closure(parameters, body):
                names = {p.name for p in parameters}
                yield from (v for v in expression_variables(body) if v.name not in names)
            case tree.SubAggregate(_, args, alternatives):
                for argument in args:
                    yield from expression_variables(argument)
                for alternative in alternatives:
                    for literal in alternative:
                        yield from literal_variables(literal)
            case other:
                waiting += reversed(children(other))


def _block_variables(
    bindings: tuple[tree.Assignment | tree.Destructuring, ...], result: tree.Expr
) -> Iterator[tree.Variable]:
    local: set[str] = set()
    for binding in bindings:
        yield from (v for v in expression_variables(binding.value) if v.name not in local)
        local |= bound_names(binding)
    yield from (v for v in expression_variables(result) if v.name not in local)


def _step_variables(
    statements: tuple[tree.Statement, ...], result: tree.Expr | None
) -> Iterator[tree.Variable]:
    """The free variables of a block; an assignment does not read its target, but names it."""
    local: set[str] = set()
    for statement in statements:
        yield from (v for v in _statement_variables(statement) if v.name not in local)
        if isinstance(statement, tree.Assignment | tree.Destructuring):
            local |= bound_names(statement)
    if result is not None:
        yield from (v for v in expression_variables(result) if v.name not in local)


def _statement_variables(statement: tree.Statement) -> Iterator[tree.Variable]:
    match statement:
        case tree.Assignment(value=value) | tree.Destructuring(value=value):
            yield from expression_variables(value)
        case tree.Switch(subject, arms):
            yield from expression_variables(subject)
            for arm in arms:
                yield from _outside(arm.body, arm.pattern)
        case tree.Loop(pattern, collection, body):
            yield from expression_variables(collection)
            yield from _outside(body, pattern)
        case tree.Update() | tree.Choice() | tree.Return() | tree.Jump():
            for part in statement_expressions(statement):
                yield from expression_variables(part)
        case _:
            assert_never(statement)


def _outside(body: tree.Steps, pattern: tree.Expr) -> Iterator[tree.Variable]:
    """The free variables of a block that the pattern before it does not bind."""
    local = pattern_names(pattern)
    return (v for v in expression_variables(body) if v.name not in local)


def bound_names(binding: tree.Assignment | tree.Destructuring) -> set[str]:
    """The names that a `var` binds."""
    return {binding.name} if isinstance(binding, tree.Assignment) else pattern_names(binding.pattern)


def pattern_names(pattern: tree.Expr) -> set[str]:
    """The names that a pattern binds: those of all its variables."""
    return {v.name for v in expression_variables(pattern)}


def literal_variables(literal: tree.Literal) -> Iterator[tree.Variable]:
    """The variables a literal reads or matches, without those that a `var` binds."""
    match literal:
        case tree.Atom(args=args):
            for argument in args:
                yield from expression_variables(argument.value)
        case tree.Negation(atom):
            yield from literal_variables(atom)
        case tree.Row(name, atom, name_span=span):
            yield tree.Variable(name, span)
            yield from literal_variables(atom)
        case tree.Condition(value) | tree.Assignment(value=value) | tree.Destructuring(value=value):
            yield from expression_variables(value)
        case tree.Generator(collection=collection):
            yield from expression_variables(collection)
        case tree.Disjunction(alternatives) | tree.NegatedBody(alternatives):
            for alternative in alternatives:
                for inner in alternative:
                    yield from literal_variables(inner)
        case _:
            assert_never(literal)


def expressions(expr: tree.Expr) -> Iterator[tree.Expr]:
    """An expression and all its subexpressions."""
    waiting = [expr]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(children(found))


def calls(expr: tree.Expr) -> Iterator[tree.Call]:
    """The calls inside an expression."""
    return (found for found in expressions(expr) if isinstance(found, tree.Call))
