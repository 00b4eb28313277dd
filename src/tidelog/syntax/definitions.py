"""Parsing declarations: relations, types and functions."""

from __future__ import annotations

from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.expressions import block
from tidelog.syntax.lexer import Token
from tidelog.syntax.names import column_name, variable_name
from tidelog.syntax.types import type_name, type_parameters

__all__ = ["function", "is_kind", "relation", "signature", "type_definition"]


def relation(c: Cursor) -> tree.Relation:
    start = c.token.start
    role = c.advance().text if c.at("input") or c.at("output") else ""
    kind = c.advance().text if is_kind(c.token) else ""
    if not kind:
        c.expect("relation", f"after `{role}`")
    name = c.token
    if name.kind == "name":
        capital = name.text[0].upper() + name.text[1:]
        c.complain("E005", c.span(name), "relation names must be capitalised", f"write `{capital}`")
        c.advance()
    else:
        c.expect_kind("Name", "the name of a relation")
    row: tree.TypeName | None = None
    columns: tuple[tree.Column, ...] = ()
    if c.accept("["):
        row = type_name(c)
        c.expect("]", f"after the type of the rows of `{name.name}`")
    else:
        columns = _columns(c, f"the relation `{name.name}`")
    key = _primary_key(c) if c.at("primary") else None
    if c.at(".") and not c.starts_line():
        raise c.unexpected("a declaration does not end with a full stop", "remove it")
    return tree.Relation(role, name.name, columns, key, c.since(start), c.span(name), row=row, kind=kind)


def is_kind(token: Token) -> bool:
    """Whether a token is the word for a kind of relation, in place of `relation`."""
    return token.kind == "name" and token.text in ("multiset", "stream")


def _columns(c: Cursor, of: str) -> tuple[tree.Column, ...]:
    c.expect("(", f"before the columns of {of}")
    columns = _named_types(c, ")", of)
    c.expect(")", f"after the columns of {of}")
    return columns


def _named_types(c: Cursor, closing: str, of: str) -> tuple[tree.Column, ...]:
    """`name: type, …`"""
    found: list[tree.Column] = []
    while not c.at(closing):
        start = c.token.start
        name = column_name(c, of)
        if not c.at(":"):
            is_type = c.token.kind == "name"
            hint = f"write `{name}: {c.token.text}`" if is_type else f"write a type, as in `{name}: string`"
            message = f"expected `:` between the name `{name}` and its type, found {describe(c.token)}"
            raise c.unexpected(message, hint)
        c.advance()
        type_ = type_name(c)
        found.append(tree.Column(name, type_, c.since(start)))
        if c.at("?") or c.at("["):
            wanted = "option" if c.at("?") else "vec"
            raise c.unexpected(
                f"expected `,` or `{closing}` after a type, found {describe(c.token)}",
                f"write `{wanted}<{type_.span.text}>`",
            )
        if not c.accept(","):
            break
    return tuple(found)


def _primary_key(c: Cursor) -> tuple[tree.Variable, ...]:
    c.advance()
    c.expect("key", "after `primary`")
    c.expect("(", "before the columns of the key")
    columns: list[tree.Variable] = []
    while not c.at(")"):
        token = c.token
        columns.append(tree.Variable(column_name(c, "the key"), c.span(token)))
        if not c.accept(","):
            break
    c.expect(")", "after the columns of the key")
    return tuple(columns)


def type_definition(c: Cursor) -> tree.Alias | tree.TypeDefinition:
    """`typedef Name<A> = type`, or `typedef Name<A> = One{…} | Other`"""
    start = c.advance().start
    name = c.token
    if name.kind not in ("name", "Name", "quoted"):
        raise c.unexpected(f"expected the name of a type, found {describe(name)}")
    c.advance()
    parameters = type_parameters(c)
    c.expect("=", f"after the name `{name.name}`")
    if c.token.kind not in ("Name", "quoted") or c.peek().text not in ("{", "|"):
        type_ = type_name(c)
        return tree.Alias(name.name, type_, c.since(start), c.span(name), parameters)
    constructors = [_constructor(c)]
    while c.accept("|"):
        constructors.append(_constructor(c))
    return tree.TypeDefinition(name.name, parameters, tuple(constructors), c.since(start), c.span(name))


def _constructor(c: Cursor) -> tree.Constructor:
    """`Name{field: type, …}`, or `Name`"""
    name = c.token
    if name.kind == "name":
        capital = name.text[0].upper() + name.text[1:]
        raise c.unexpected("constructor names must be capitalised", f"write `{capital}`")
    c.expect_kind("Name", "the name of a constructor")
    fields: tuple[tree.Column, ...] = ()
    if c.at("("):
        raise c.unexpected("the fields of a constructor are in braces", f"write `{name.name}{{…}}`")
    if c.accept("{"):
        fields = _named_types(c, "}", f"`{name.name}`")
        c.expect("}", f"after the fields of `{name.name}`")
    return tree.Constructor(name.name, fields, c.since(name.start), c.span(name))


def function(c: Cursor) -> tree.Function:
    """`function name<T>(parameters): type { … }`"""
    start = c.advance().start
    name, type_params, parameters, result = signature(c, "function")
    body = block(c)
    return tree.Function(name.name, parameters, result, body, c.since(start), c.span(name), type_params)


def signature(
    c: Cursor, what: str
) -> tuple[Token, tuple[tree.Variable, ...], tuple[tree.Column, ...], tree.TypeName]:
    """`name<T>(parameters): type` of a function or an aggregate."""
    is_qualified = c.token.kind == "Name" and "::" in c.token.text
    kind = "Name" if is_qualified else "name"
    article = "an" if what[0] in "aeiou" else "a"
    name = c.expect_kind(kind, f"{article} {what} name, which starts with a lowercase letter")
    variable_name(c, name)
    type_params = type_parameters(c)
    parameters = _columns(c, f"the {what} `{name.name}`")
    hint = "write `: type { … }`" if c.at("->") or c.at("=>") else None
    c.expect(":", "before the type of the result", hint)
    return name, type_params, parameters, type_name(c)
