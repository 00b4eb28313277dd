"""Parsing the attributes of a declaration: `#[file = "edges.csv", header = false]`."""

from __future__ import annotations

from dataclasses import replace

from tidelog.syntax import tree
from tidelog.syntax.constants import integer
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.definitions import is_kind, relation
from tidelog.syntax.expressions import expression
from tidelog.syntax.names import column_name

__all__ = ["attributed"]

_EXAMPLE = 'write `file = "edges.csv"` or `header = false`, for example'


def attributed(c: Cursor) -> tree.Relation:
    """A relation with the attributes before it."""
    start = c.token.start
    found: list[tree.Attribute] = []
    while c.accept("#["):
        while not c.at("]"):
            found.append(_attribute(c))
            if not c.accept(","):
                break
        c.expect("]", "after the attributes")
    if not (c.at("input") or c.at("output") or c.at("relation") or is_kind(c.token)):
        raise c.unexpected(f"expected a relation after its attributes, found {describe(c.token)}")
    declared = relation(c)
    whole = c.since(start)
    return replace(declared, attributes=tuple(found), span=whole, declaration=declared.span)


def _attribute(c: Cursor) -> tree.Attribute:
    start = c.token.start
    name = column_name(c, "the attributes")
    c.expect("=", f"after the attribute `{name}`")
    value: tree.Expr | None = None
    if c.token.kind in ("string", "raw") or c.at("true") or c.at("false"):
        value = expression(c)
    elif c.token.kind == "int":
        value = integer(c)
    if not isinstance(value, tree.StringLiteral | tree.BoolLiteral | tree.IntLiteral):
        raise c.unexpected(
            f"expected a constant as the value of `{name}`, found {describe(c.token)}", _EXAMPLE
        )
    return tree.Attribute(name, value, c.since(start))
