"""Parsing the literals of a rule.

A parenthesis may hold literals or begin an expression, which is known only after it was read. So its content
is read once, as literals, and turned into values if an operator follows: the parser never goes back.
"""

from __future__ import annotations

from tidelog.errors import Span
from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, Unexpected, describe
from tidelog.syntax.expressions import (
    argument,
    assigned,
    binding,
    continues,
    expression,
    rest_of_expression,
)
from tidelog.syntax.foreign import JOINTS, argument_hint, end_hint
from tidelog.syntax.names import is_word, variable_name
from tidelog.syntax.precedence import NOT

__all__ = ["atom", "is_row", "literal", "literals", "no_end", "right_side"]

MAX_DELAY = 1000  # commits


def no_end(c: Cursor, expected: str) -> Unexpected:
    """The error for a token that neither continues nor ends the literals."""
    return c.unexpected(f"expected {expected}, found {describe(c.token)}", end_hint(c))


def literals(c: Cursor) -> tuple[tree.Literal, ...]:
    found = [literal(c)]
    while c.accept(","):
        found.append(literal(c))
    return tuple(found)


def literal(c: Cursor) -> tree.Literal:
    start = c.token.start
    if is_row(c):
        return _row(c)
    if _is_atom(c):
        found = atom(c)
        call = _as_call(found) if continues(c) else None
        return found if call is None else _condition(c, start, rest_of_expression(c, start, call))
    if c.at("not"):
        return _negation(c)
    if c.at("var"):
        return _variable(c)
    if c.at("("):
        return _parenthesis(c)
    return _condition(c, start, expression(c))


def _condition(c: Cursor, start: int, value: tree.Expr) -> tree.Condition:
    if c.at("=") and isinstance(value, tree.Variable):
        raise c.unexpected(
            "`=` does not compare", f"write `var {value.name} = …` to name a value, `==` to compare"
        )
    return tree.Condition(value, c.since(start))


# -- variables


def _variable(c: Cursor) -> tree.Literal:
    """`var pattern = value`, or `var pattern in collection`"""
    start = c.token.start
    found = binding(c)
    if c.token.text == "in" and c.token.kind == "name":
        c.advance()
        return tree.Generator(found, expression(c), c.since(start))
    return assigned(c, start, found, right_side)


def right_side(c: Cursor) -> tree.Expr:
    """The right side of a `var`: an expression, or an aggregate over a body of its own."""
    start = c.token.start
    value = expression(c)
    if not c.at("{") or value.span.start != start:
        return value
    match value:
        case tree.Variable(name):
            return _sub_aggregate(c, name, (), value.span, start)
        case tree.Call(name, args, False):
            return _sub_aggregate(c, name, args, value.name_span, start)
        case _:
            return value


def _sub_aggregate(
    c: Cursor, function: str, args: tuple[tree.Expr, ...], name: Span, start: int
) -> tree.SubAggregate:
    alternatives = _alternatives(c, "}")
    return tree.SubAggregate(function, args, alternatives, c.since(start), name)


# -- negation and parentheses


def _negation(c: Cursor) -> tree.Literal:
    """`not A(x)`, `not (a, b; c)`, or a condition that begins with `not`"""
    start = c.token.start
    if is_row(c, 1) and c.peek(3).kind == "Name" and "::" not in c.peek(3).text:
        message = f"`not` holds if there is no row, so `{c.peek().name}` cannot name one"
        hint = f"write `not {c.peek(3).text}(…)`, or `not ({c.peek().text} in {c.peek(3).text}(…), …)`"
        raise c.unexpected(message, hint, "E130")
    if _is_atom(c, 1):
        c.advance()
        found = atom(c)
        call = _as_call(found) if continues(c) else None
        if call is None:
            return tree.Negation(found, c.since(start))
        return _negated(c, start, found.span.start, call)
    if c.peek().text != "(":
        return _condition(c, start, expression(c))
    c.advance()
    opening = c.token.start
    alternatives = _alternatives(c, ")")
    first = _as_value(c, alternatives, opening)
    if first is None:
        return tree.NegatedBody(alternatives, c.since(start))
    return _negated(c, start, opening, first)


def _negated(c: Cursor, start: int, first_start: int, first: tree.Expr) -> tree.Condition:
    """The rest of a condition that begins with `not` and a value."""
    operand = rest_of_expression(c, first_start, first, NOT)
    negation = tree.Unary("not", operand, c.since(start))
    return _condition(c, start, rest_of_expression(c, start, negation))


def _parenthesis(c: Cursor) -> tree.Literal:
    """`(a, b; c)`, or the start of an expression"""
    start = c.token.start
    alternatives = _alternatives(c, ")")
    first = _as_value(c, alternatives, start)
    if first is None:
        return tree.Disjunction(alternatives, c.since(start))
    return _condition(c, start, rest_of_expression(c, start, first))


def _alternatives(c: Cursor, closing: str) -> tuple[tuple[tree.Literal, ...], ...]:
    """`(a, b; c)` or `{ a, b; c }`"""
    depth = c.depth
    c.deepen()
    c.advance()
    found = [literals(c)]
    while c.accept(";"):
        found.append(literals(c))
    if not c.accept(closing):
        raise no_end(c, "`)` to close the parenthesis" if closing == ")" else "`}` to close the aggregate")
    c.depth = depth
    return tuple(found)


def _as_value(c: Cursor, alternatives: tuple[tuple[tree.Literal, ...], ...], start: int) -> tree.Expr | None:
    """The value that a parenthesis stands for, if it is one: `(a)`, or before an operator also `(a, b)`."""
    match alternatives:
        case ((tree.Condition(only),),):
            return only
        case (row,) if continues(c) and c.token.text not in JOINTS:
            return _value(row, c.since(start))
        case _:
            return None


def _value(row: tuple[tree.Literal, ...], span: Span) -> tree.Expr | None:
    """The literals in a parenthesis as a value, or as the items of a tuple."""
    items = [_item(literal) for literal in row]
    found = tuple(item for item in items if item is not None)
    if len(found) < len(items):
        return None
    return found[0] if len(found) == 1 else tree.TupleValue(found, span)


def _item(literal: tree.Literal) -> tree.Expr | None:
    match literal:
        case tree.Condition(value):
            return value
        case tree.Atom():
            return _as_call(literal)
        case tree.Row():
            return _as_membership(literal)
        case tree.Negation(found):
            call = _as_call(found)
            return None if call is None else tree.Unary("not", call, literal.span)
        case tree.Disjunction((row,)):
            return _value(row, literal.span)
        case _:
            return None


def _as_call(found: tree.Atom) -> tree.Call | None:
    """The call that an atom stands for before an operator: `module::function(…)`, or of a quoted name."""
    is_plain = "::" not in found.relation and not found.name_span.text.startswith("`")
    is_version = found.delay > 0 or found.is_prime
    if is_plain or is_version or found.is_whole or any(a.name is not None for a in found.args):
        return None
    args = tuple(a.value for a in found.args)
    return tree.Call(found.relation, args, False, found.span, found.name_span)


# -- atoms


def _is_atom(c: Cursor, ahead: int = 0) -> bool:
    """Whether `Name(`, `Name[`, `Name-1(` or `Name'(` comes next.

    `Name[7:0]` is a value, the bits of a constructor.
    """
    if c.peek(ahead).kind not in ("Name", "quoted"):
        return False
    if c.peek(ahead + 1).text == "-":
        return c.peek(ahead + 2).kind == "int" and c.peek(ahead + 3).text == "("
    if c.peek(ahead + 1).kind == "prime":
        return True
    if c.peek(ahead + 1).text == "[":
        return c.peek(ahead + 3).text != ":"
    return c.peek(ahead + 1).text == "("


def is_row(c: Cursor, ahead: int = 0) -> bool:
    """Whether `name in Name(` comes next."""
    name, word = c.peek(ahead), c.peek(ahead + 1)
    return is_word(name) and name.kind != "Name" and word.text == "in" and _is_atom(c, ahead + 2)


def _row(c: Cursor) -> tree.Literal:
    """`row in Relation(…)`, or a test whether the result of a function has an item."""
    name = c.advance()
    variable_name(c, name)
    c.advance()
    found = tree.Row(name.name, atom(c), c.since(name.start), c.span(name))
    test = _as_membership(found) if continues(c) else None
    return found if test is None else _condition(c, name.start, rest_of_expression(c, name.start, test))


def _as_membership(row: tree.Row) -> tree.Expr | None:
    """The test that a named row stands for before an operator: `x in module::function(…)`."""
    call = _as_call(row.atom)
    if call is None:
        return None
    return tree.Binary("in", tree.Variable(row.name, row.name_span), call, row.span)


def atom(c: Cursor) -> tree.Atom:
    """`Relation(a, b)`, `Relation[row]`, `Relation-1(a, b)` or `Relation'(a, b)`"""
    name = c.advance()
    delay, is_prime = 0, c.token.kind == "prime"
    if is_prime:
        c.advance()
    elif c.at("-") and c.peek().kind == "int" and c.peek(2).text == "(":
        c.advance()
        delay = _delay(c)
    if c.accept("["):
        value = expression(c)
        c.expect("]", f"after the row of `{name.name}`")
        args = (tree.Argument(value, None, value.span),)
        return tree.Atom(name.name, args, c.since(name.start), c.span(name), is_whole=True)
    c.expect("(", f"after the relation `{name.name}`")
    found: list[tree.Argument] = []
    while not c.at(")"):
        found.append(argument(c, "the relation"))
        if not c.accept(","):
            break
    before = found[-1].span if found and c.at("=") else None
    named = "" if before is None else c.source.text[before.start : before.end]
    hint = f"a column that is given by name begins with a dot: `.{named} = …`" if named else argument_hint(c)
    c.expect(")", f"after the arguments of `{name.name}`", hint)
    place = c.since(name.start)
    return tree.Atom(name.name, tuple(found), place, c.span(name), delay=delay, is_prime=is_prime)


def _delay(c: Cursor) -> int:
    """The number of commits of `Relation-1`."""
    text = c.token.text
    value = int(text) if text.isdecimal() and len(text) <= len(str(MAX_DELAY)) else 0
    if not 0 < value <= MAX_DELAY:
        raise c.unexpected(f"a delay is a number of commits from 1 to {MAX_DELAY:,}", None, "E134")
    c.advance()
    return value
