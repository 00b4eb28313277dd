"""Parsing blocks and their statements.

`for`, `match`, `break`, `continue` and `return` are words only in their place: at the beginning of a
statement, and before what only a statement has. A block of `var` with a result is an expression as any other
(`tree.Block`); every other block is `tree.Steps`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.foreign import ELSE_IF, statement_hint
from tidelog.syntax.lexer import Token

__all__ = ["Parts", "assigned", "binding", "block", "declaration", "is_idle", "rest"]

_IN_BRACES = "write the statements of a branch in braces: `{ … }`"
_JUMPS = frozenset(["break", "continue"])
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Parts:
    """What statements are made of: how each part is parsed.

    `rest` parses what follows the first value of an expression that starts at an offset.
    """

    expression: Callable[[Cursor], tree.Expr]
    primary: Callable[[Cursor], tree.Expr]
    pattern: Callable[[Cursor], tree.Expr]
    rest: Callable[[Cursor, int, tree.Expr], tree.Expr]
    continues: Callable[[Cursor], bool]


def block(c: Cursor, parts: Parts) -> tree.Block | tree.Steps:
    """`{ var a = …; result }`"""
    start = c.expect("{", "before the body").start
    return rest(c, parts, start)


def rest(c: Cursor, parts: Parts, start: int) -> tree.Block | tree.Steps:
    """What is left of a block that begins at an offset."""
    statements: list[tree.Statement] = []
    result: tree.Expr | None = None
    while result is None and not c.at("}"):
        found = _statement(c, parts)
        if isinstance(found, tree.Statement):
            statements.append(found)
        else:
            result = found
    if c.at(","):
        raise c.unexpected("expected `}` after the result, found `,`", "a list is written `[a, b]`")
    if c.at(";"):
        raise c.unexpected(
            "expected `}` after the result, found `;`",
            "the result is the last value of a block; `return …;` returns earlier",
        )
    if c.at("="):
        raise c.unexpected("expected `}` after the result, found `=`", "a variable is assigned by `x = …;`")
    at = start if result is None else result.span.start
    c.expect("}", "after the result", statement_hint(c, at))
    bindings = tuple(s for s in statements if isinstance(s, tree.Assignment | tree.Destructuring))
    if result is not None and len(bindings) == len(statements):
        return tree.Block(bindings, result, c.since(start))
    return tree.Steps(tuple(statements), result, c.since(start))


def _statement(c: Cursor, parts: Parts) -> tree.Statement | tree.Expr:
    """A statement, or the result of a block."""
    start = c.token.start
    if c.at("var"):
        return declaration(c, parts)
    if c.at("if"):
        return _choice(c, parts)
    if c.token.kind == "name":
        word = c.token.text
        if word in _JUMPS and c.peek().text == ";":
            c.advance()
            c.advance()
            return tree.Jump(word, c.since(start))
        if word == "return" and _returns(c):
            return _return(c, parts)
        if word in ("for", "match") and c.peek().text == "(":
            return _compound(c, parts)
    return _updated(c, parts, start, parts.expression(c))


def declaration(c: Cursor, parts: Parts) -> tree.Assignment | tree.Destructuring:
    """`var pattern = value;`"""
    start = c.token.start
    made = assigned(c, start, binding(c, parts.pattern), parts.expression)
    c.expect(";", "after the value of a variable")
    return made


def _updated(c: Cursor, parts: Parts, start: int, value: tree.Expr) -> tree.Statement | tree.Expr:
    """A value, or the assignment that begins with it."""
    if not c.at("="):
        return value
    c.advance()
    made = tree.Update(value, parts.expression(c), c.since(start))
    c.expect(";", "after the value of a variable")
    return made


# -- return


def _returns(c: Cursor) -> bool:
    """Whether `return` is the word, and not a variable or function of this name."""
    following = c.peek()
    if following.kind in ("op", "keyword"):
        if following.text in ("true", "false", "none", "if", "not") or following.text == ";":
            return True
        return following.text in ("(", "[", "{", "-", "~", "|") and _ends_statement(c)
    return following.text != "in" or _ends_statement(c)


def _ends_statement(c: Cursor) -> bool:
    """Whether a semicolon ends what comes next, and not a brace."""
    level, ahead = 0, 1
    while True:
        token: Token = c.peek(ahead)
        if token.kind == "end":
            return False
        if token.kind == "op":
            level += (token.text in _OPENING) - (token.text in _CLOSING)
            if level < 0 or (level == 0 and token.text == ";"):
                return level == 0
        ahead += 1


def _return(c: Cursor, parts: Parts) -> tree.Return:
    start = c.advance().start
    if c.at(";"):
        raise c.unexpected("expected a value after `return`, found `;`", "every function has a result")
    value = parts.expression(c)
    c.expect(";", "after the value of `return`")
    return tree.Return(value, c.since(start))


# -- statements with blocks


def _choice(c: Cursor, parts: Parts) -> tree.Statement | tree.Expr:
    """A row of `if` and `else if`: a statement, or a value if its branches have values."""
    start = c.token.start
    rows: list[tuple[int, tree.Expr, tree.Expr]] = []
    otherwise: tree.Expr | None = None
    while otherwise is None:
        branch_start = c.advance().start
        c.expect("(", "before the condition of `if`")
        condition = parts.expression(c)
        c.expect(")", "after the condition of `if`")
        rows.append((branch_start, condition, _branch(c, parts)))
        if not c.accept("else"):
            break
        if not c.at("if"):
            otherwise = _branch(c, parts)
    idle = [body for _, _, body in rows if is_idle(body)]
    if len(idle) == len(rows) and (otherwise is None or is_idle(otherwise)):
        c.accept(";")
        branches = (
            tree.Branch(x, body, x.span.to(body.span)) for (_, x, _), body in zip(rows, idle, strict=True)
        )
        return tree.Choice(tuple(branches), otherwise, c.since(start))
    if otherwise is None:
        hint = "a branch without a value ends with a semicolon: `{ x = …; }`"
        hint = "write `else if`" if c.token.text in ELSE_IF else hint
        raise c.unexpected(f"expected `else` after the first branch of `if`, found {describe(c.token)}", hint)
    for branch_start, condition, then in reversed(rows):
        otherwise = tree.Conditional(condition, then, otherwise, c.since(branch_start))
    return otherwise


def is_idle(expr: tree.Expr) -> TypeGuard[tree.Steps]:
    """Whether an expression is a block without a value."""
    return isinstance(expr, tree.Steps) and expr.result is None


def _branch(c: Cursor, parts: Parts) -> tree.Expr:
    if not c.at("{"):
        if c.token.text in (*_JUMPS, "return") and c.token.kind == "name" and c.peek().text not in (")", "}"):
            raise c.unexpected(f"expected a value or `{{`, found {describe(c.token)}", _IN_BRACES)
        found = parts.expression(c)
        if c.at("="):
            raise c.unexpected("expected `else` or `}`, found `=`", _IN_BRACES)
        return found
    start, body = c.token.start, _body(c, parts)
    return body if is_idle(body) or not parts.continues(c) else parts.rest(c, start, body)


def _body(c: Cursor, parts: Parts) -> tree.Block | tree.Steps:
    depth = c.depth
    c.deepen()
    found = block(c, parts)
    c.depth = depth
    return found


def _compound(c: Cursor, parts: Parts) -> tree.Statement | tree.Expr:
    """`for (pattern in collection) { … }`, `match (value) { pattern -> { … }, … }`, or a value."""
    start = c.token.start
    if c.token.text == "for" and c.peek(2).text == "var":
        raise c.unexpected(
            "the variable of a loop is written without `var`", "write `for (x in values) { … }`"
        )
    first = parts.primary(c)
    match first:
        case tree.Call("for", args, method=False) if c.at("{"):
            return _loop(c, parts, start, args)
        case tree.Match(subject, cases):
            bodies = [case.value for case in cases if is_idle(case.value)]
            if len(bodies) == len(cases):
                c.accept(";")
                arms = (
                    tree.Arm(case.pattern, body, case.span) for case, body in zip(cases, bodies, strict=True)
                )
                return tree.Switch(subject, tuple(arms), c.since(start))
        case _:
            pass
    return _updated(c, parts, start, parts.rest(c, start, first))


def _loop(c: Cursor, parts: Parts, start: int, args: tuple[tree.Expr, ...]) -> tree.Loop:
    match args:
        case (tree.Binary("in", pattern, collection),):
            pass
        case _:
            hint = "write `for (x in values) { … }`"
            raise c.unexpected("`for` needs a variable and a collection, joined by `in`", hint)
    body = _body(c, parts)
    if not is_idle(body):
        assert body.result is not None
        c.complain("E003", body.result.span, "the body of a loop has no value", "end it with a semicolon")
        body = tree.Steps((), None, body.span)
    c.accept(";")
    return tree.Loop(pattern, collection, body, c.since(start))


# -- variables


def binding(c: Cursor, pattern: Callable[[Cursor], tree.Expr]) -> tree.Expr:
    """`var pattern`"""
    c.advance()
    if c.token.kind not in ("name", "Name", "quoted") and not c.at("("):
        raise c.unexpected(f"expected the name of a variable after `var`, found {describe(c.token)}")
    return pattern(c)


def assigned(
    c: Cursor, start: int, found: tree.Expr, value: Callable[[Cursor], tree.Expr]
) -> tree.Assignment | tree.Destructuring:
    """The rest of `var pattern = value`, where `value` parses the right side."""
    if isinstance(found, tree.Wildcard):
        c.complain("E003", found.span, "`_` cannot be assigned a value", "use a named variable")
    if c.at("=="):
        shown = found.span.text
        raise c.unexpected("variables are assigned with `=`, not `==`", f"write `var {shown} = …`")
    c.expect("=", f"after `var {found.span.text}`")
    right = value(c)
    if isinstance(found, tree.Variable):
        return tree.Assignment(found.name, right, c.since(start), found.span)
    return tree.Destructuring(found, right, c.since(start))
