"""Parsing aggregates with a state.

`aggregate` is a word only before a name at the start of an item, `insert` and `delete` only before their
blocks.
"""

from __future__ import annotations

from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.definitions import signature
from tidelog.syntax.expressions import PARTS
from tidelog.syntax.statements import block, declaration, is_idle, rest

__all__ = ["fold", "is_fold"]

_STATE = "begin with the state: `var n = 0;`"


def is_fold(c: Cursor) -> bool:
    """Whether `aggregate name` comes next."""
    return (
        c.token.kind == "name" and c.token.text == "aggregate" and c.peek().kind in ("name", "Name", "quoted")
    )


def fold(c: Cursor) -> tree.Fold:
    """`aggregate name<T>(parameters): type { var x = …; insert { … } delete { … } value }`"""
    start = c.advance().start
    name, type_parameters, parameters, result = signature(c, "aggregate")
    c.expect("{", "before the state")
    state: list[tree.Assignment | tree.Destructuring] = []
    while c.at("var"):
        state.append(declaration(c, PARTS))
    if not state:
        raise c.unexpected(
            f"expected `var` and the state of the aggregate, found {describe(c.token)}", _STATE
        )
    insert = _part(c, "insert")
    if insert is None:
        hint = "say what an instance does to the state: `insert { n = n + 1; }`"
        hint = "`insert` comes before `delete`" if c.token.text == "delete" else hint
        raise c.unexpected(f"expected `insert` after the state, found {describe(c.token)}", hint)
    delete = _part(c, "delete")
    value = rest(c, PARTS, c.token.start)
    return tree.Fold(
        name.name,
        parameters,
        result,
        tuple(state),
        insert,
        delete,
        value,
        c.since(start),
        c.span(name),
        type_parameters,
    )


def _part(c: Cursor, word: str) -> tree.Steps | None:
    """`insert { … }` or `delete { … }`, if it comes next."""
    if c.token.kind != "name" or c.token.text != word or c.peek().text != "{":
        return None
    c.advance()
    body = block(c, PARTS)
    if is_idle(body):
        return body
    assert body.result is not None
    c.complain("E003", body.result.span, f"`{word}` has no value", "assign the variables of the state")
    return tree.Steps((), None, body.span)
