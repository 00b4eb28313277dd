"""Parsing imperative rules: `for` over rows, with nested statements that end in heads of rules.

Every loop, `if` and `match` has a head in it, so what is written is also checked: a statement becomes part of
the rules of the heads inside it, and of no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidelog.errors import Diagnostic
from tidelog.syntax import tree
from tidelog.syntax.bodies import atom, is_row, literal, right_side
from tidelog.syntax.cursor import Cursor, Unexpected, describe
from tidelog.syntax.expressions import assigned, binding, expression, pattern
from tidelog.syntax.names import is_word, variable_name

__all__ = ["head", "imperative_rule", "is_loop"]

_EXAMPLE = "write `for (Relation(x, y) if condition) Head(x)`"


def head(c: Cursor) -> tree.Atom:
    found = atom(c)
    if found.delay or found.is_prime:
        what = "an earlier commit" if found.delay else "the rows of a stream"
        raise Unexpected(
            Diagnostic("E134", found.span, f"a head cannot be {what}", hint=f"write `{found.relation}(…)`")
        )
    return found


def is_loop(c: Cursor) -> bool:
    """Whether `for (` comes next."""
    return c.token.kind == "name" and c.token.text == "for" and c.peek().text == "("


def imperative_rule(c: Cursor) -> tree.RuleLoop:
    """A loop that is an item. It ends with a full stop, which is optional after a brace."""
    start = c.token.start
    found = _loop(c)
    if c.source.text[c.read - 1] != "}" and not c.at("."):
        hint = "write several statements in braces: `{ …; … }`" if c.at(";") or c.at(",") else None
        hint = "write no `;` before `else`" if c.at(";") and c.peek().text == "else" else hint
        raise c.unexpected(f"expected the full stop that ends the rule, found {describe(c.token)}", hint)
    c.accept(".")
    for statement in _idle(found):
        c.complain(
            "E003", statement.span, "this statement derives nothing", "end it in a head: `Relation(x)`"
        )
    return tree.RuleLoop(found.source, found.condition, found.body, c.since(start))


def _statement(c: Cursor) -> tree.RuleStatement:
    depth = c.depth
    c.deepen()
    found = _one(c)
    c.depth = depth
    return found


def _one(c: Cursor) -> tree.RuleStatement:
    if is_loop(c):
        return _loop(c)
    if c.at("if"):
        return _if(c)
    if c.at("{"):
        return _sequence(c)
    if c.token.kind == "name" and c.token.text == "match" and c.peek().text == "(":
        return _switch(c)
    if c.token.kind in ("Name", "quoted"):
        return head(c)
    if c.at("var"):
        raise c.unexpected("a variable needs statements that use it", "write `{ var x = …; Head(x) }`")
    message = f"expected a head, `for`, `if`, `match` or `{{`, found {describe(c.token)}"
    raise c.unexpected(message, _hint(c))


def _hint(c: Cursor) -> str | None:
    if c.token.kind == "name" and c.peek().text == "(":
        return f"relation names are capitalised: `{c.token.text[0].upper()}{c.token.text[1:]}(…)`"
    if c.at("else"):
        return "write no `;` before `else`"
    return "the empty statement is `{}`" if c.token.text == "skip" else None


def _idle(statement: tree.RuleStatement) -> Iterator[tree.RuleStatement]:
    """The outermost loops, `if` and `match` that have no head in them."""
    waiting = [statement]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, tree.Atom | tree.RuleSequence) and not _derives(found):
            yield found
        else:
            waiting += _inner(found)


def _derives(statement: tree.RuleStatement) -> bool:
    """Whether a head is in a statement. The atoms of loops are not heads."""
    waiting = [statement]
    for found in waiting:  # grows during the loop
        waiting += _inner(found)
    return any(isinstance(found, tree.Atom) for found in waiting)


def _inner(statement: tree.RuleStatement) -> list[tree.RuleStatement]:
    match statement:
        case tree.Atom():
            return []
        case tree.RuleLoop(body=body):
            return [body]
        case tree.RuleIf(then=then, otherwise=otherwise):
            return [then] if otherwise is None else [then, otherwise]
        case tree.RuleSwitch(branches=branches):
            return [branch.body for branch in branches]
        case tree.RuleSequence(parts):
            return [part for part in parts if not isinstance(part, tree.Assignment | tree.Destructuring)]
        case _:
            assert_never(statement)


# -- loops


def _loop(c: Cursor) -> tree.RuleLoop:
    start = c.advance().start
    c.expect("(", "after `for`")
    source = _source(c)
    condition = expression(c) if c.accept("if") else None
    if not c.at(")"):
        hint = "write conditions after `if`: `for (Relation(x) if x > 1)`" if c.at(",") else None
        raise c.unexpected(
            f"expected `if` or `)` after what `for` runs over, found {describe(c.token)}", hint
        )
    c.advance()
    return tree.RuleLoop(source, condition, _statement(c), c.since(start))


def _source(c: Cursor) -> tree.Atom | tree.Row | tree.Generator:
    """`Relation(x)`, `row in Relation(x)`, `row in Relation` or `var item in collection`"""
    if is_word(c.token) and c.peek().text == "in" and c.peek(2).kind == "Name" and not is_row(c):
        return _rows(c)
    start = c.token.start
    found = literal(c)
    if isinstance(found, tree.Atom | tree.Row | tree.Generator):
        return found
    hint = _EXAMPLE
    match found:
        case tree.Condition(tree.Binary("in", tree.Variable(name))):
            hint = (
                f"write `for (var {name} in …)` for the items of a collection, or `for ({name} in Relation)`"
            )
        case tree.Negation() | tree.NegatedBody():
            hint = "`for` runs over rows; negate in a rule with `:-`"
    message = "`for` runs over the rows of a relation or the items of a collection"
    raise Unexpected(Diagnostic("E003", c.since(start), message, hint=hint))


def _rows(c: Cursor) -> tree.Row:
    """`row in Relation`: all its rows."""
    name = c.advance()
    variable_name(c, name)
    c.advance()
    relation = c.advance()
    found = tree.Atom(relation.name, (), c.span(relation), c.span(relation))
    return tree.Row(name.name, found, c.since(name.start), c.span(name))


# -- conditions and sequences


def _if(c: Cursor) -> tree.RuleIf:
    start = c.advance().start
    c.expect("(", "before the condition of `if`")
    condition = expression(c)
    c.expect(")", "after the condition of `if`")
    then = _statement(c)
    otherwise = _statement(c) if c.accept("else") else None
    return tree.RuleIf(condition, then, otherwise, c.since(start))


def _switch(c: Cursor) -> tree.RuleSwitch:
    start = c.advance().start
    c.advance()
    subject = expression(c)
    items = [subject]
    while c.accept(","):
        items.append(expression(c))
    if len(items) > 1:
        subject = tree.TupleValue(tuple(items), items[0].span.to(items[-1].span))
    c.expect(")", "after the value of `match`")
    c.expect("{", "before the cases of `match`")
    branches: list[tree.RuleBranch] = []
    while not c.at("}"):
        branches.append(_branch(c))
        if not c.accept(","):
            break
    if not branches:
        raise c.unexpected("`match` has no cases", "write `pattern -> statement`")
    if not c.at("}"):
        hint = "separate cases with commas" if c.at(";") or c.at("|") else None
        raise c.unexpected(f"expected `,` or `}}` after a case of `match`, found {describe(c.token)}", hint)
    c.advance()
    return tree.RuleSwitch(subject, tuple(branches), c.since(start))


def _branch(c: Cursor) -> tree.RuleBranch:
    start = c.token.start
    found = pattern(c)
    c.expect("->", "after the pattern")
    return tree.RuleBranch(found, _statement(c), c.since(start))


def _sequence(c: Cursor) -> tree.RuleSequence:
    start = c.advance().start
    parts: list[tree.RuleStatement | tree.Assignment | tree.Destructuring] = []
    while not c.at("}"):
        parts.append(_variable(c) if c.at("var") else _statement(c))
        is_braced = c.source.text[c.read - 1] == "}"
        if not c.accept(";") and not is_braced:
            break
    if not c.at("}"):
        hint = "separate statements with semicolons" if c.at(",") or c.at(".") else None
        raise c.unexpected(f"expected `;` or `}}` after a statement, found {describe(c.token)}", hint)
    c.advance()
    if parts and isinstance(parts[-1], tree.Assignment | tree.Destructuring):
        c.complain("E003", parts[-1].span, "no statement uses this variable", "remove it")
    return tree.RuleSequence(tuple(parts), c.since(start))


def _variable(c: Cursor) -> tree.Assignment | tree.Destructuring:
    start = c.token.start
    return assigned(c, start, binding(c), right_side)
