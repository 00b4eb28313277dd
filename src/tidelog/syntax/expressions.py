"""Parsing expressions, by precedence.

From loosest to tightest: `if`, `or`, `and`, `not`, comparisons (which do not chain), `|`, `^`, `&`,
shifts, `++`, `+ -`, `* / %`, `as`, unary `- ~`, and method calls (`.function(…)`).
The printer uses the same table.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from tidelog.data.values import EXACT
from tidelog.errors import Span
from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.lexer import Token, hole_end, tokenize

__all__ = [
    "BINARY",
    "CAST",
    "COMPARISON",
    "LOOSEST",
    "NOT",
    "POSTFIX",
    "UNARY",
    "assignment",
    "block",
    "expression",
    "rest_of_expression",
    "type_name",
]

LOOSEST, NOT, COMPARISON, CAST, UNARY, POSTFIX = 0, 3, 4, 12, 13, 14
_LEVELS = ("or", "and", "", "== != < <= > >=", "|", "^", "&", "<< >>", "++", "+ -", "* / %")
BINARY = {op: level for level, ops in enumerate(_LEVELS, start=1) for op in ops.split()}

MAX_DIGITS = 1000
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "$": "$"}
_PIECE = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\(.)|[^\\$]+|\$", re.DOTALL)


def expression(c: Cursor, level: int = LOOSEST) -> tree.Expr:
    """An expression whose outermost operator binds at least as tightly as `level`."""
    start, depth = c.token.start, c.depth
    c.deepen()
    value = _operators(c, start, _prefix(c, level), level)
    c.depth = depth
    return value


def rest_of_expression(c: Cursor, start: int, first: tree.Expr) -> tree.Expr:
    """The rest of an expression that starts at `start`, after its first value in parentheses was read."""
    depth = c.depth
    c.deepen()
    value = _operators(c, start, _methods(c, start, first), LOOSEST)
    c.depth = depth
    return value


def _operators(c: Cursor, start: int, left: tree.Expr, level: int) -> tree.Expr:
    """A value extended by the operators that follow it."""
    while True:
        op = c.token.text if c.token.kind in ("op", "keyword") else ""
        precedence = CAST if op == "as" else BINARY.get(op)
        if precedence is None or precedence < level:
            return left
        c.advance()
        if op == "as":
            c.deepen()
            left = tree.Cast(left, type_name(c), c.since(start))
            continue
        left = tree.Binary(op, left, expression(c, precedence + 1), c.since(start))
        if precedence == COMPARISON and BINARY.get(c.token.text) == COMPARISON:
            raise c.unexpected("comparisons do not chain", "write `a < b and b < c`")


def _prefix(c: Cursor, level: int) -> tree.Expr:
    start = c.token.start
    if c.at("not"):
        if level > NOT:
            raise c.unexpected("`not` must be in parentheses here", "write `(not …)`")
        c.advance()
        return tree.Unary("not", expression(c, NOT), c.since(start))
    if c.at("if"):
        return _conditional(c)
    return _unary(c)


def _unary(c: Cursor) -> tree.Expr:
    start = c.token.start
    if c.at("-") and c.peek().kind in ("int", "fraction") and not _is_method(c, 2):
        c.advance()
        return _negative(_number(c), c.since(start))
    if c.at("-") or c.at("~"):
        op = c.advance().text
        c.deepen()
        return tree.Unary(op, _unary(c), c.since(start))
    return _postfix(c)


def _negative(number: tree.IntLiteral | tree.FractionLiteral, span: Span) -> tree.Expr:
    if isinstance(number, tree.IntLiteral):
        return tree.IntLiteral(-number.value, span)
    return tree.FractionLiteral(number.value.copy_negate(), span)  # unary `-` would round


def _conditional(c: Cursor) -> tree.Expr:
    start = c.advance().start
    c.expect("(", "before the condition of `if`")
    condition = expression(c)
    c.expect(")", "after the condition of `if`")
    then = expression(c)
    c.expect("else", "after the first branch of `if`")
    return tree.Conditional(condition, then, expression(c), c.since(start))


# -- values and methods


def _is_method(c: Cursor, ahead: int = 0) -> bool:
    """Whether the next tokens are `.name(`, with no space after the point (which would end a rule)."""
    dot = c.peek(ahead)
    if dot.text != ".":
        return False
    name, paren = c.peek(ahead + 1), c.peek(ahead + 2)
    return name.kind == "name" and name.start == dot.end and paren.text == "("


def _postfix(c: Cursor) -> tree.Expr:
    start = c.token.start
    return _methods(c, start, _primary(c))


def _methods(c: Cursor, start: int, value: tree.Expr) -> tree.Expr:
    """A value extended by the method calls that follow it."""
    while _is_method(c):
        c.deepen()
        c.advance()
        name = c.advance()
        args = _arguments(c, f"of `{name.text}`")
        if name.text == "group_by":
            value = _aggregate(c, value, args, start)
        else:
            value = tree.Call(name.text, (value, *args), True, c.since(start), c.span(name))
    return value


def _aggregate(c: Cursor, value: tree.Expr, keys: tuple[tree.Expr, ...], start: int) -> tree.Expr:
    distinct = False
    while True:
        if not _is_method(c):
            raise c.unexpected(
                "expected an aggregate after `group_by`", "write `.group_by(…).count()`, for example"
            )
        c.advance()
        name = c.advance()
        args = _arguments(c, f"of `{name.text}`")
        if name.text != "distinct" or args:
            return tree.Aggregate(value, keys, name.text, args, distinct, c.since(start), c.span(name))
        distinct = True


def _arguments(c: Cursor, where: str) -> tuple[tree.Expr, ...]:
    c.expect("(", f"before the arguments {where}")
    args: list[tree.Expr] = []
    while not c.at(")"):
        args.append(expression(c))
        if not c.accept(","):
            break
    c.expect(")", f"after the arguments {where}")
    return tuple(args)


def _primary(c: Cursor) -> tree.Expr:
    token = c.token
    match token.kind:
        case "int" | "fraction":
            return _number(c)
        case "string":
            c.advance()
            return _string(c, token)
        case "bytes":
            c.advance()
            return _bytes(c, token)
        case "name":
            c.advance()
            if token.text == "_":
                return tree.Wildcard(c.span(token))
            return _call(c, token) if c.at("(") else tree.Variable(token.text, c.span(token))
        case "Name":
            return _capitalised(c)
        case "keyword" if token.text in ("true", "false"):
            c.advance()
            return tree.BoolLiteral(token.text == "true", c.span(token))
        case "keyword" if token.text == "none":
            c.advance()
            return tree.NoneLiteral(c.span(token))
        case "keyword" if token.text == "if":
            return _conditional(c)
    if c.accept("("):
        inner = expression(c)
        c.expect(")", "to close the parenthesis")
        return inner
    if c.at("{"):
        return block(c)
    raise c.unexpected(f"expected an expression, found {describe(token)}")


def _call(c: Cursor, name: Token) -> tree.Expr:
    args = _arguments(c, f"of `{name.text}`")
    return tree.Call(name.text, args, False, c.since(name.start), c.span(name))


def _capitalised(c: Cursor) -> tree.Expr:
    token = c.token
    if "::" in token.text and c.peek().text == "(":
        return _call(c, c.advance())
    if c.peek().text == "(":
        raise c.unexpected(f"the relation `{token.text}` cannot be used inside an expression", _as_literal(c))
    raise c.unexpected(
        f"expected an expression, but the capitalised name `{token.text}` is a relation",
        f"variables start with a lowercase letter: `{token.text[0].lower()}{token.text[1:]}`",
    )


def _as_literal(c: Cursor) -> str:
    """The hint for a relation that is used as a value."""
    before = [t.text for t in c.tokens[max(c.index - 2, 0) : c.index]]
    if before == ["not", "("]:
        return "`not` negates a single literal: derive a separate relation for the part in parentheses"
    joint = before[-2:-1] if before[-1:] == ["not"] else before[-1:]
    match joint:
        case ["and"]:
            return "`and` joins conditions; separate literals with commas: `a, b`"
        case ["or"]:
            return (
                "`or` joins conditions; write alternatives in parentheses, separated by semicolons: `(a; b)`"
            )
        case _:
            return "make it a separate literal in the body of the rule"


def block(c: Cursor) -> tree.Block:
    """`{ var a = …; result }`"""
    start = c.expect("{", "before the body").start
    bindings: list[tree.Assignment] = []
    while c.at("var"):
        c.deepen()
        bindings.append(assignment(c))
        c.expect(";", "after the value of a variable")
    result = expression(c)
    c.expect("}", "after the result")
    return tree.Block(tuple(bindings), result, c.since(start))


def assignment(c: Cursor) -> tree.Assignment:
    """`var name = value`"""
    start = c.advance().start
    name = c.expect_kind("name", "the name of a variable after `var`")
    if name.text == "_":
        c.complain("E003", c.span(name), "`_` cannot be assigned a value", "use a named variable")
    if c.at("=="):
        raise c.unexpected("variables are assigned with `=`, not `==`", f"write `var {name.text} = …`")
    c.expect("=", f"after `var {name.text}`")
    value = expression(c)
    return tree.Assignment(name.text, value, c.since(start), c.span(name))


# -- constants


def _number(c: Cursor) -> tree.IntLiteral | tree.FractionLiteral:
    if c.token.kind == "int":
        return _integer(c)
    token = c.advance()
    try:
        return tree.FractionLiteral(Decimal(token.text.replace("_", ""), EXACT), c.span(token))
    except InvalidOperation:
        c.complain("E203", c.span(token), "the exponent of this number is out of range for every type")
        return tree.FractionLiteral(Decimal(0), c.span(token))


def _integer(c: Cursor) -> tree.IntLiteral:
    token = c.advance()
    digits = token.text.replace("_", "")
    base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
    if base != 10 and len(digits) == 2:
        c.complain("E003", c.span(token), "this number has no digits")
        return tree.IntLiteral(0, c.span(token))
    if len(digits) > MAX_DIGITS:
        message = f"this number exceeds the limit of {MAX_DIGITS} digits"
        c.complain("E203", c.span(token), message, 'write it as text: `"…" as bigint`')
        return tree.IntLiteral(0, c.span(token))
    return tree.IntLiteral(int(digits, base), c.span(token))


def _bytes(c: Cursor, token: Token) -> tree.BytesLiteral:
    try:
        value = bytes.fromhex(token.text[2:-1])
    except ValueError:
        c.complain("E004", c.span(token), "invalid bytes literal", 'write two hex digits per byte: `x"00ff"`')
        value = b""
    return tree.BytesLiteral(value, c.span(token))


def _string(c: Cursor, token: Token) -> tree.Expr:
    """A string, or an interpolation if it contains `${…}`."""
    parts: list[str | tree.Expr] = []
    text = c.source.text
    position, end = token.start + 1, token.end - 1
    is_closed = token.text != '"'
    while is_closed and position < end:
        if text.startswith("${", position):
            value, position = _hole(c, position + 2, end)
            parts.append(value)
        else:
            plain, position = _text(c, position, end)
            parts.append(plain)
    if any(not isinstance(p, str) for p in parts):
        return tree.Interpolation(tuple(parts), c.span(token))
    return tree.StringLiteral("".join(p for p in parts if isinstance(p, str)), c.span(token))


def _text(c: Cursor, position: int, end: int) -> tuple[str, int]:
    """The plain text up to the next `${` or the end, and the position there."""
    out: list[str] = []
    while position < end and not c.source.text.startswith("${", position):
        piece = _PIECE.match(c.source.text, position, end)
        if piece is None:
            c.complain("E004", Span(c.source, position, end), "nothing follows this backslash")
            return "".join(out), end
        code, letter = piece.groups()
        if code is not None:
            out.append(_code_point(c, int(code, 16), Span(c.source, *piece.span())))
        elif letter is not None:
            if letter not in _ESCAPES:
                c.complain(
                    "E004",
                    Span(c.source, *piece.span()),
                    f"unknown escape sequence `\\{letter}`",
                    r"supported escapes are \n \t \r \0 \\ \" \$ and \u{1F600}",
                )
            out.append(_ESCAPES.get(letter, letter))
        else:
            out.append(piece.group())
        position = piece.end()
    return "".join(out), position


def _code_point(c: Cursor, code: int, span: Span) -> str:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        c.complain("E004", span, "invalid Unicode code point")
        return ""
    return chr(code)


def _hole(c: Cursor, start: int, end: int) -> tuple[tree.Expr, int]:
    """The expression of a `${…}` whose content starts at `start`, and the position after its `}`."""
    tokens, comments, problems = tokenize(c.source, start, min(end, hole_end(c.source.text, start)))
    c.problems.extend(problems)
    for comment in comments:
        c.complain("E003", comment.span, "comments are not allowed inside strings")
    inner = Cursor(c.source, tokens, c.problems)
    inner.depth = c.depth
    value = expression(inner)
    return value, inner.expect("}", "to close `${`").end


# -- types


def type_name(c: Cursor) -> tree.TypeName:
    """`name`, `name<…>` or `name(…)`, with no space between name and arguments."""
    token, depth = c.token, c.depth
    if token.kind not in ("name", "Name"):
        raise c.unexpected(f"expected a type, found {describe(token)}")
    c.deepen()
    c.advance()
    if c.token.start != token.end or not (c.at("<") or c.at("(")):
        c.depth = depth
        return tree.TypeName(token.text, (), c.span(token))
    closing = ">" if c.advance().text == "<" else ")"
    args = [_type_argument(c)]
    while c.accept(","):
        args.append(_type_argument(c))
    if closing == ">" and c.at(">>"):
        c.split()
    else:
        c.expect(closing, f"after the arguments of `{token.text}`")
    c.depth = depth
    return tree.TypeName(token.text, tuple(args), c.since(token.start))


def _type_argument(c: Cursor) -> tree.TypeName | int:
    return _integer(c).value if c.token.kind == "int" else type_name(c)
