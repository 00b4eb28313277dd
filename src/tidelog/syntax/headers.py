"""Parsing the header of a file: the name of its module, and its imports.

`import` and `module` are words only before a name at the start of an item.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, describe
from tidelog.syntax.names import is_word

__all__ = ["expect_at_start", "header", "is_header"]

_NAMES = ("name", "Name", "quoted")


def is_header(c: Cursor) -> bool:
    return c.token.kind == "name" and c.token.text in ("import", "module") and c.peek().kind in _NAMES


def header(c: Cursor) -> tree.Import | tree.Module:
    """`import a::b`, `import a::b as c` or `module a::b`"""
    word = c.advance()
    path = c.advance()
    if word.text == "module":
        return tree.Module(path.name, c.since(word.start))
    alias: str | None = None
    if c.accept("as"):
        if not is_word(c.token):
            raise c.unexpected(f"expected another name of the module after `as`, found {describe(c.token)}")
        alias = c.advance().name
    if c.at(".") or c.at(";"):
        raise c.unexpected(f"an import does not end with {describe(c.token)}", "remove it")
    return tree.Import(path.name, alias, c.since(word.start), c.span(path))


def expect_at_start(c: Cursor, item: tree.Item, before: Sequence[tree.Item]) -> None:
    """Report a part of the header that follows other items."""
    if isinstance(item, tree.Import) and not isinstance(before[-1] if before else item, _HEADER):
        c.complain("E003", item.span, "an import must be at the start of the file", "move it to the top")
    elif isinstance(item, tree.Module) and before:
        c.complain("E003", item.span, "the name of the module must be the first line", "move it to the top")


_HEADER = (tree.Import, tree.Module, tree.Prefix)
