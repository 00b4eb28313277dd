"""Parsing expressions and patterns, by precedence.

`in` and `match` are words only in their place: after a value, and before `(…) {`.
"""

from __future__ import annotations

from tidelog.syntax import statements, tree
from tidelog.syntax.accesses import bits, positions
from tidelog.syntax.constants import amount, bytes_literal, is_unit, string, width_literal
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.foreign import CONVERTED, RELATIONS, argument_hint, operator_hint
from tidelog.syntax.lexer import Token
from tidelog.syntax.names import column_name, is_word, parameter_name, variable_name
from tidelog.syntax.precedence import BINARY, CAST, COMPARISON, LOOSEST, NOT
from tidelog.syntax.quoting import STARTS, is_bare
from tidelog.syntax.statements import assigned
from tidelog.syntax.types import type_name

__all__ = [
    "PARTS",
    "argument",
    "assigned",
    "binding",
    "block",
    "continues",
    "expression",
    "pattern",
    "rest_of_expression",
    "type_name",
]


def expression(c: Cursor, level: int = LOOSEST) -> tree.Expr:
    """An expression whose outermost operator binds at least as tightly as `level`."""
    start, depth = c.token.start, c.depth
    c.deepen()
    value = _operators(c, start, _prefix(c, level), level)
    c.depth = depth
    return value


def rest_of_expression(c: Cursor, start: int, first: tree.Expr, level: int = LOOSEST) -> tree.Expr:
    """The rest of an expression that starts at `start`, after its first value was read."""
    depth = c.depth
    c.deepen()
    value = _operators(c, start, _accesses(c, start, first), level)
    c.depth = depth
    return value


def continues(c: Cursor) -> bool:
    """Whether the next token continues the value before it."""
    return _operator(c) is not None or _is_access(c)


def pattern(c: Cursor) -> tree.Expr:
    """A pattern: a value without operators, since `in` and `->` may follow it."""
    depth = c.depth
    c.deepen()
    found = _unary(c)
    c.depth = depth
    return found


def _operator(c: Cursor) -> int | None:
    """The precedence of the operator that comes next."""
    token = c.token
    if token.kind in ("op", "keyword") or token.text == "in":
        return CAST if token.text == "as" else BINARY.get(token.text)
    return None


def _operators(c: Cursor, start: int, left: tree.Expr, level: int) -> tree.Expr:
    """A value extended by the operators that follow it."""
    while True:
        precedence = _operator(c)
        if precedence is None or precedence < level:
            return left
        op = c.advance().text
        if op == "as":
            c.deepen()
            left = tree.Cast(left, type_name(c), c.since(start))
            continue
        left = tree.Binary(op, left, expression(c, precedence + 1), c.since(start))
        if precedence == COMPARISON == _operator(c):
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
    if c.at("-") and c.peek().kind in ("int", "fraction") and not _is_access(c, 2 + is_unit(c, 2)):
        return amount(c, start)
    if c.at("-") or c.at("~"):
        op = c.advance().text
        c.deepen()
        return tree.Unary(op, _unary(c), c.since(start))
    return _accesses(c, start, _primary(c))


def _conditional(c: Cursor) -> tree.Expr:
    """`if (a) b else if (c) d else e`. A chain of any length is one level of nesting."""
    branches: list[tuple[int, tree.Expr, tree.Expr]] = []
    while c.at("if"):
        start = c.advance().start
        if not c.at("("):
            message = f"expected `(` before the condition of `if`, found {describe(c.token)}"
            raise c.unexpected(message, "write `if (condition) a else b`")
        c.advance()
        condition = expression(c)
        c.expect(")", "after the condition of `if`")
        then = expression(c)
        if not c.at("else"):
            hint = "write `else if`" if c.token.text in ("elif", "elsif", "elseif") else None
            message = f"expected `else` after the first branch of `if`, found {describe(c.token)}"
            raise c.unexpected(message, hint)
        c.advance()
        branches.append((start, condition, then))
    value = expression(c)
    for start, condition, then in reversed(branches):
        value = tree.Conditional(condition, then, value, c.since(start))
    return value


# -- what follows a value


def _is_access(c: Cursor, ahead: int = 0) -> bool:
    """Whether `?`, `[`, `.name` or `.0` comes next. With a space after it, a point ends a rule."""
    dot = c.peek(ahead)
    if dot.kind != "op" or dot.text not in (".", "?", "["):
        return False
    if dot.text != ".":
        return True
    name = c.peek(ahead + 1)
    if name.start != dot.end:
        return False
    if name.kind == "quoted":
        return is_word(name)
    return name.kind in ("name", "int", "fraction") or (name.kind == "keyword" and name.text not in STARTS)


def _accesses(c: Cursor, start: int, value: tree.Expr) -> tree.Expr:
    """A value extended by the methods and fields that follow it."""
    while _is_access(c):
        c.deepen()
        opening = c.advance().text
        if opening != ".":
            value = bits(c, start, value) if opening == "[" else tree.Unary("?", value, c.since(start))
            continue
        name = c.token
        if name.kind in ("int", "fraction"):
            value = positions(c, start, value)
            continue
        c.advance()
        if name.kind == "keyword" or not c.at("("):
            value = tree.FieldAccess(value, name.name, c.since(start), c.span(name))
            continue
        args = _arguments(c, f"of `{name.name}`")
        if name.text == "group_by":
            value = _aggregate(c, value, args, start)
        else:
            value = tree.Call(variable_name(c, name), (value, *args), True, c.since(start), c.span(name))
    return value


def _aggregate(c: Cursor, value: tree.Expr, keys: tuple[tree.Expr, ...], start: int) -> tree.Expr:
    distinct = False
    while True:
        if not (c.at(".") and _is_aggregate(c.peek(), c.token.end) and c.peek(2).text == "("):
            raise c.unexpected(
                "expected an aggregate after `group_by`", "write `.group_by(…).count()`, for example"
            )
        c.advance()
        name = c.advance()
        args = _arguments(c, f"of `{name.name}`")
        if name.text != "distinct" or args:
            return tree.Aggregate(value, keys, name.name, args, distinct, c.since(start), c.span(name))
        distinct = True


def _is_aggregate(name: Token, start: int) -> bool:
    """Whether a token right after a point may be the name of an aggregate, also of one of a module."""
    is_name = name.kind in ("name", "quoted") or (name.kind == "Name" and "::" in name.text)
    return is_name and name.start == start


def _arguments(c: Cursor, where: str) -> tuple[tree.Expr, ...]:
    c.expect("(", f"before the arguments {where}")
    return _list(c, ")", f"after the arguments {where}")


def _list(c: Cursor, closing: str, where: str) -> tuple[tree.Expr, ...]:
    """Expressions separated by commas, and what closes the list."""
    found: list[tree.Expr] = []
    while not c.at(closing):
        found.append(expression(c))
        if not c.accept(","):
            break
    c.expect(closing, where, argument_hint(c))
    return tuple(found)


# -- values


def _primary(c: Cursor) -> tree.Expr:
    token = c.token
    match token.kind:
        case "int" | "fraction":
            return amount(c, token.start)
        case "string":
            c.advance()
            return string(c, token, expression)
        case "short":
            c.advance()
            return tree.StringLiteral(token.text, c.span(token), c.source.text[token.start : token.end])
        case "raw":
            c.advance()
            return tree.StringLiteral(token.text[2:-1], c.span(token))
        case "width":
            c.advance()
            return width_literal(c, token)
        case "bytes":
            c.advance()
            return bytes_literal(c, token)
        case "name":
            c.advance()
            return tree.Wildcard(c.span(token)) if token.text == "_" else _named(c, token)
        case "Name":
            return _capitalised(c)
        case "quoted":
            return _quoted(c)
        case "keyword" if token.text in ("true", "false"):
            c.advance()
            return tree.BoolLiteral(token.text == "true", c.span(token))
        case "keyword" if token.text == "none":
            c.advance()
            return tree.NoneLiteral(c.span(token))
        case "keyword" if token.text == "if":
            return _conditional(c)
        case "op" if token.text in _BRACKETS:
            return _BRACKETS[token.text](c)
    raise c.unexpected(f"expected an expression, found {describe(token)}", operator_hint(c))


def _named(c: Cursor, name: Token) -> tree.Expr:
    """A variable, a call, a `match`, or `name @ pattern`."""
    if c.at("("):
        call = _call(c, name)
        return _match(c, call) if name.text == "match" and c.at("{") else call
    if c.at("@"):
        c.deepen()
        c.advance()
        return tree.At(variable_name(c, name), pattern(c), c.since(name.start), c.span(name))
    if name.text in ("match", "case") and not c.starts_line() and _starts_value(c.token):
        raise c.unexpected(
            f"expected an operator after the variable `{name.text}`, found {describe(c.token)}",
            "write `if (condition) a else b`, or `match (value) { pattern -> result, … }`",
        )
    return tree.Variable(variable_name(c, name), c.span(name))


def _quoted(c: Cursor) -> tree.Expr:
    """A quoted name: `` `x` `` is a variable, a call or a constructor by what follows it."""
    if c.peek().text == "{":
        return _construct(c)
    if is_word(c.token):
        return _named(c, c.advance())
    return _capitalised(c)


def _starts_value(token: Token) -> bool:
    return token.kind in ("Name", "quoted", "int", "string") or (token.kind == "name" and token.text != "in")


def _call(c: Cursor, name: Token) -> tree.Call:
    args = _arguments(c, f"of `{name.name}`")
    return tree.Call(variable_name(c, name), args, False, c.since(name.start), c.span(name))


def _parenthesis(c: Cursor) -> tree.Expr:
    """`(a)`, or the tuple `(a, b)`."""
    start = c.advance().start
    first = expression(c)
    if c.accept(")"):
        return first
    if not c.at(","):
        raise c.unexpected(f"expected `)` to close the parenthesis, found {describe(c.token)}")
    c.advance()
    if c.at(")"):
        raise c.unexpected("a tuple has two items or more", "remove the comma")
    items = (first, *_list(c, ")", "to close the parenthesis"))
    return tree.TupleValue(items, c.since(start))


def _brackets(c: Cursor) -> tree.Expr:
    """`[a, b]`, or `[k -> v, l -> w]`"""
    start = c.advance().start
    items: list[tree.Expr] = []
    entries: list[tuple[tree.Expr, tree.Expr]] = []
    while not c.at("]"):
        item = expression(c)
        if entries or (not items and c.at("->")):
            c.expect("->", "between a key and its value")
            entries.append((item, expression(c)))
        else:
            items.append(item)
        if not c.accept(","):
            break
    if c.at(";") or c.at("->"):
        hint = (
            "separate items with commas: `[1, 2]`" if c.at(";") else "write `->` in every entry, or in none"
        )
        raise c.unexpected(f"expected `,` or `]`, found {describe(c.token)}", hint)
    c.expect("]", "after the items")
    if entries:
        return tree.MapLiteral(tuple(entries), c.since(start))
    return tree.VecLiteral(tuple(items), c.since(start))


def _closure(c: Cursor) -> tree.Expr:
    """`|x, y: int| e`"""
    if c.source.text.endswith("||", 0, c.token.end):
        raise c.unexpected("expected an expression, found `|`", "write `or`")
    start = c.advance().start
    parameters: list[tree.Parameter] = []
    while not c.at("|"):
        name = parameter_name(c)
        type_ = type_name(c) if c.accept(":") else None
        parameters.append(tree.Parameter(name.name, type_, c.since(name.start)))
        if not c.accept(","):
            break
    c.expect("|", "after the parameters")
    return tree.Closure(tuple(parameters), expression(c), c.since(start))


def _match(c: Cursor, call: tree.Call) -> tree.Expr:
    """The rest of `match (value) { pattern -> result, … }`; several values are a tuple."""
    start, depth = call.span.start, c.depth
    if not call.args:
        raise c.unexpected("expected a value in the parentheses of `match`", "write `match (value) { … }`")
    subject = call.args[0] if len(call.args) == 1 else tree.TupleValue(call.args, call.span)
    c.deepen()
    c.advance()
    cases: list[tree.Case] = []
    while not c.at("}"):
        cases.append(_case(c))
        if not c.accept(","):
            break
    if not c.at("}"):
        hint = "separate cases with commas" if c.at(";") or c.at("|") else None
        raise c.unexpected(f"expected `,` or `}}` after a case of `match`, found {describe(c.token)}", hint)
    if not cases:
        raise c.unexpected("`match` has no cases", "write `pattern -> result`")
    c.advance()
    c.depth = depth
    return tree.Match(subject, tuple(cases), c.since(start))


def _case(c: Cursor) -> tree.Case:
    start = c.token.start
    found = pattern(c)
    if c.at("=") and c.peek().text == ">":
        raise c.unexpected("a case of `match` is written with `->`, not `=>`", "write `pattern -> result`")
    if c.at("if"):
        raise c.unexpected(
            "expected `->` after the pattern, found `if`",
            "test conditions in the result: `pattern -> if (condition) a else b`",
        )
    c.expect("->", "after the pattern")
    return tree.Case(found, expression(c), c.since(start))


# -- constructors


def _capitalised(c: Cursor) -> tree.Expr:
    """`Constructor{…}`, `Constructor`, or the call of a function of a module, `module::function(…)`."""
    token = c.token
    if c.peek().text == "(":
        if "::" in token.text:
            return _call(c, c.advance())
        raise c.unexpected(f"`{token.text}(…)` cannot be used inside an expression", _instead(c))
    if c.peek().text == "{":
        return _construct(c)
    if not is_bare(token.name):
        type_ = token.text.rpartition("::")[2]
        hint = f"write `… as {type_}` to convert" if type_ in CONVERTED else "call a function with `(…)`"
        raise c.unexpected(f"expected an expression, found {describe(token)}", hint)
    c.advance()
    return tree.Construct(token.name, (), is_bare=True, span=c.span(token), name_span=c.span(token))


def _instead(c: Cursor) -> str:
    """The hint for what looks like an atom and is used as a value."""
    before = [t.text for t in c.tokens[max(c.index - 2, 0) : c.index]]
    joint = before[-2:-1] if before[-1:] == ["not"] else before[-1:]
    match joint:
        case ["and"]:
            return "`and` joins conditions; separate literals with commas: `a, b`"
        case ["or"]:
            return (
                "`or` joins conditions; write alternatives in parentheses, separated by semicolons: `(a; b)`"
            )
        case _:
            name = c.token.text
            if name in RELATIONS:
                return RELATIONS[name]
            return f"constructors take braces: `{name}{{…}}`; a relation is a separate literal of the body"


def _construct(c: Cursor) -> tree.Expr:
    name = c.advance()
    c.advance()
    args: list[tree.Argument] = []
    is_open = False
    while not c.at("}") and not is_open:
        is_open = c.at(".") and c.peek().text == "."
        if is_open:
            c.advance()
            c.advance()
        else:
            args.append(argument(c, f"`{name.name}`"))
        if not c.accept(","):
            break
    c.expect("}", f"after the fields of `{name.name}`")
    return tree.Construct(name.name, tuple(args), False, is_open, c.since(name.start), c.span(name))


def argument(c: Cursor, of: str) -> tree.Argument:
    """`value`, or `.name = value`"""
    start = c.token.start
    if not c.accept("."):
        return tree.Argument(expression(c), None, c.since(start))
    name = column_name(c, of)
    c.expect("=", f"after `.{name}`")
    return tree.Argument(expression(c), name, c.since(start))


# -- blocks


def block(c: Cursor) -> tree.Block | tree.Steps:
    """`{ var a = …; result }`"""
    return statements.block(c, PARTS)


def binding(c: Cursor) -> tree.Expr:
    """`var pattern`"""
    return statements.binding(c, pattern)


PARTS = statements.Parts(expression, _primary, pattern, rest_of_expression, continues)
_BRACKETS = {"(": _parenthesis, "[": _brackets, "{": block, "|": _closure}
