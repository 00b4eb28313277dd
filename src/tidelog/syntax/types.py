"""Parsing types, and the type parameters of definitions."""

from __future__ import annotations

from tidelog.syntax import tree
from tidelog.syntax.constants import integer
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.names import is_word

__all__ = ["type_name", "type_parameters"]


def type_name(c: Cursor) -> tree.TypeName:
    """`name`, `name<…>` or `name(…)`, `(a, b)`, or `|a, b|: c`.

    There is no space between a name and its arguments.
    """
    depth = c.depth
    c.deepen()
    if c.at("("):
        type_ = _parenthesis(c)
    elif c.at("|"):
        type_ = _function(c)
    else:
        type_ = _named(c)
    c.depth = depth
    return type_


def _named(c: Cursor) -> tree.TypeName:
    token = c.token
    if token.kind not in ("name", "Name", "quoted"):
        raise c.unexpected(f"expected a type, found {describe(token)}")
    c.advance()
    if c.token.start != token.end or not (c.at("<") or c.at("(")):
        return tree.TypeName(token.name, (), c.span(token))
    closing = ">" if c.advance().text == "<" else ")"
    args = [_argument(c)]
    while c.accept(","):
        args.append(_argument(c))
    _close(c, closing, f"after the arguments of `{token.name}`")
    return tree.TypeName(token.name, tuple(args), c.since(token.start))


def _argument(c: Cursor) -> tree.TypeName | int:
    return integer(c).value if c.token.kind == "int" else type_name(c)


def _close(c: Cursor, closing: str, where: str) -> None:
    """Read `>` or `)`; `>` may be the first half of another token."""
    if closing == ">" and (c.at(">>") or c.at(">=")):
        c.split()
    else:
        c.expect(closing, where)


def _parenthesis(c: Cursor) -> tree.TypeName:
    """`(a, b)`, or `(a)`, which is `a`: a function type among parameters needs it."""
    start = c.advance().start
    items = [type_name(c)]
    while c.accept(",") and not c.at(")"):
        items.append(type_name(c))
    c.expect(")", "after the items of the tuple type")
    return items[0] if len(items) == 1 else tree.TypeName("()", tuple(items), c.since(start))


def _function(c: Cursor) -> tree.TypeName:
    start = c.advance().start
    types: list[tree.TypeName] = []
    while not c.at("|"):
        types.append(type_name(c))
        if not c.accept(","):
            break
    c.expect("|", "after the parameters of the function type")
    c.expect(":", "before the result of the function type")
    types.append(type_name(c))
    return tree.TypeName("||", tuple(types), c.since(start))


def type_parameters(c: Cursor) -> tuple[tree.Variable, ...]:
    """`<A, B>` after the name of a type or function, or nothing."""
    if not c.accept("<"):
        return ()
    found: list[tree.Variable] = []
    while not found or c.accept(","):
        token = c.token
        if not is_word(token):
            raise c.unexpected(f"expected the name of a type parameter, found {describe(token)}")
        c.advance()
        found.append(tree.Variable(token.name, c.span(token)))
    _close(c, ">", "after the type parameters")
    return tuple(found)
