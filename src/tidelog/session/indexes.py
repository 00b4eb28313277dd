"""Indexes: looking up the rows of a relation by some of its columns.

A lookup reads the last commit, as `db["R"]` does, and finds its rows by the engine's index of those columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.errors import SessionError, shown
from tidelog.program.declared import Index
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.session.facts import Facts, WholeFacts

__all__ = ["IndexView", "find_index"]


def find_index(name: str, indexes: Mapping[str, Index]) -> Index:
    """The index with a name; SessionError if there is none."""
    if not isinstance(name, str):
        raise SessionError(f"the name of an index must be a string, not {shown(name)}")
    if name not in indexes:
        hint = did_you_mean(name, indexes)
        raise SessionError(f"unknown index `{name}`" + (f"; {hint}" if hint else ""))
    return indexes[name]


class IndexView:
    """An index of a session. It follows the session: a lookup reads what the last commit holds."""

    def __init__(self, read: Callable[[], tuple[Index, WholeFacts]]) -> None:
        self._read = read
        self.name = read()[0].name

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._read()[0].columns)

    def lookup(self, *values: object, **named: object) -> Facts:
        """The rows with these values, one for each parameter, in their order or by name."""
        index, facts = self._read()
        names = [name for name, _ in index.columns]
        given = dict(zip(names, values, strict=False))
        twice = given.keys() & named.keys()
        given |= named
        if len(values) > len(names) or twice or given.keys() != set(names):
            takes = ", ".join(names) or "nothing"
            raise SessionError(f"the index `{index.name}` takes a value for each of: {takes}")
        columns = facts.columns
        return facts.where(**{columns[position]: given[name] for name, position in index.columns})

    __call__ = lookup

    def dump(self) -> WholeFacts:
        """All rows of the relation."""
        return self._read()[1]

    def __repr__(self) -> str:
        index = self._read()[0]
        return f"<index {index.name}({', '.join(self.parameters)}) on {index.relation}>"
