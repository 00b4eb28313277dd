"""Shorthands for tests of the parser: a text as a tree, and what is said about a mistake."""

from __future__ import annotations

from tidelog.errors import Diagnostic, Source
from tidelog.syntax import tree
from tidelog.syntax.parser import parse, read


def value(text: str) -> tree.Expr:
    """The tree of an expression."""
    (rule,) = parse(f"R({text}).").items
    assert isinstance(rule, tree.Rule)
    return rule.heads[0].args[0].value


def body(text: str) -> tuple[tree.Literal, ...]:
    (rule,) = parse(f"R() :- {text}").items
    assert isinstance(rule, tree.Rule)
    return rule.body


def item(text: str) -> tree.Item:
    (found,) = parse(text).items
    return found


def problems(text: str) -> list[Diagnostic]:
    return read(Source("t", text))[1]


def places(text: str) -> list[tuple[str, tuple[int, int]]]:
    """The codes and positions of what is wrong with a text."""
    return [(d.code, d.span.source.position(d.span.start)) for d in problems(text)]


def names(text: str) -> list[str]:
    """The relations of the items that could be read."""
    items = read(Source("t", text))[0].items
    return [
        i.heads[0].relation if isinstance(i, tree.Rule) else i.name
        for i in items
        if not isinstance(i, tree.RuleLoop | tree.Module | tree.Import)
    ]
