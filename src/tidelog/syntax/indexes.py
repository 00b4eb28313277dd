"""Parsing declarations of indexes: `index ByName(n: string) on Person(_, n)`.

`index` is a word only before a name at the start of an item, and `on` only after the parameters.
"""

from __future__ import annotations

from tidelog.syntax import tree
from tidelog.syntax.bodies import atom
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.names import parameter_name
from tidelog.syntax.types import type_name

__all__ = ["index", "is_index"]

_NAMES = ("Name", "quoted")


def is_index(c: Cursor) -> bool:
    return c.token.kind == "name" and c.token.text == "index" and c.peek().kind in _NAMES


def index(c: Cursor) -> tree.Index:
    start = c.advance().start
    name = c.advance()
    c.expect("(", f"before the parameters of the index `{name.name}`")
    parameters: list[tree.Parameter] = []
    while not c.at(")"):
        token = parameter_name(c)
        type_ = type_name(c) if c.accept(":") else None
        parameters.append(tree.Parameter(token.name, type_, c.since(token.start)))
        if not c.accept(","):
            break
    c.expect(")", f"after the parameters of the index `{name.name}`")
    if c.token.kind != "name" or c.token.text != "on":
        raise c.unexpected(f"expected `on` and a relation, found {describe(c.token)}")
    c.advance()
    if c.token.kind not in _NAMES:
        raise c.unexpected(f"expected a relation after `on`, found {describe(c.token)}")
    found = atom(c)
    if c.at(".") and not c.starts_line():
        raise c.unexpected("a declaration does not end with a full stop", "remove it")
    return tree.Index(name.name, tuple(parameters), found, c.since(start), c.span(name))
