"""Parsing names: those that may be any word, and those that are one word."""

from __future__ import annotations

from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.lexer import Token

__all__ = ["column_name", "is_word", "parameter_name", "variable_name"]


def column_name(c: Cursor, of: str) -> str:
    """A column name. Names often come from users' files, so keywords and capitals are allowed."""
    if is_word(c.token) or c.token.kind == "keyword":
        return c.advance().name
    raise c.unexpected(f"expected the name of a column of {of}, found {describe(c.token)}")


def is_word(token: Token) -> bool:
    """Whether a token is a name of one component."""
    if token.kind == "quoted":
        return "::" not in token.text or (token.text.startswith("`") and "`::" not in token.text)
    return token.kind in ("name", "Name") and token.text != "_" and "::" not in token.text


def variable_name(c: Cursor, token: Token) -> str:
    """The name of a variable that was read. Names with a dollar sign are made by elaboration."""
    if token.text.startswith("`$"):
        message = "names of variables and functions cannot begin with `$`"
        c.complain("E121", c.span(token), message)
    return token.name


def parameter_name(c: Cursor) -> Token:
    """The name of a parameter of a closure."""
    if c.token.kind == "name" or (c.token.kind == "quoted" and is_word(c.token)):
        variable_name(c, c.token)
        return c.advance()
    raise c.unexpected(f"expected the name of a parameter, found {describe(c.token)}")
