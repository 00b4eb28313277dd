"""Scopes: names, and the rows in which they have values.

A name is evaluated when it is first read, and only in the rows of its reader. A name read by one branch alone
is computed only in the rows that take the branch, and a name that is never read is never computed.

A `Part` is a scope restricted to some of its rows. Its names are restricted when they are read: a name that
has been evaluated keeps the values of those rows, and any other name is redefined in its own scope,
restricted to the same rows. All parts of one `Selection` are shared, so each definition is evaluated once per
selection.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.engine.local.expressions.vectors import Rows, Vector
from tidelog.program.typed import Expr

__all__ = ["Name", "Part", "Scope", "Selection"]


class Name:
    """An expression in a scope and, once it has been read, its value."""

    __slots__ = ("expr", "scope", "vector")

    def __init__(self, expr: Expr | None, scope: Scope | None, vector: Vector | None = None) -> None:
        self.expr = expr
        self.scope = scope
        self.vector = vector


class Scope:
    __slots__ = ("names", "size")

    def __init__(self, names: Mapping[str, Name], size: int) -> None:
        self.names = dict(names)
        self.size = size

    def find(self, name: str) -> Name:
        return self.names[name]

    def where(self, name: str, meaning: Name) -> Scope:
        """This scope with one more name."""
        return Inner(self, name, meaning)


class Inner(Scope):
    """A scope nested in another, with the same rows."""

    __slots__ = ("outer",)

    def __init__(self, outer: Scope, name: str, meaning: Name) -> None:
        super().__init__({name: meaning}, outer.size)
        self.outer = outer

    def find(self, name: str) -> Name:
        return self.names[name] if name in self.names else self.outer.find(name)


class Part(Scope):
    __slots__ = ("selection", "whole")

    def __init__(self, whole: Scope, selection: Selection) -> None:
        super().__init__({}, len(selection.rows))
        self.whole = whole
        self.selection = selection

    def find(self, name: str) -> Name:
        if name not in self.names:
            self.names[name] = self.selection.name(self.whole.find(name))
        return self.names[name]


class Selection:
    """Some rows, and the scopes and names restricted to them."""

    __slots__ = ("_names", "_parts", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._parts: dict[Scope, Part] = {}
        self._names: dict[Name, Name] = {}

    def part(self, scope: Scope) -> Part:
        if scope not in self._parts:
            self._parts[scope] = Part(scope, self)
        return self._parts[scope]

    def name(self, name: Name) -> Name:
        if name not in self._names:
            self._names[name] = self._cut(name)
        return self._names[name]

    def _cut(self, name: Name) -> Name:
        if name.vector is not None:
            return Name(None, None, name.vector.take(self.rows))
        assert name.scope is not None
        return Name(name.expr, self.part(name.scope))
