"""The reasoners of the papers by name, with one interface: insert facts, delete facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tidelog.bench.database import Database
from tidelog.bench.names import STRATEGY_OF
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.program.draft import load
from tidelog.reference.chibi import Chibi
from tidelog.reference.circuit.reasoner import Circuit

__all__ = ["Reasoner", "Tables", "make_reasoner"]

Tables = Mapping[str, Any]


class Reasoner(Protocol):
    def prepare(self, tables: Tables) -> object:
        """Convert Arrow tables by relation to the input of this reasoner; this is not measured."""
        ...

    def insert(self, facts: Any) -> None: ...

    def delete(self, facts: Any) -> None: ...

    def size(self) -> int:
        """The number of tuples in all relations of the program."""
        ...


def make_reasoner(name: str, text: str) -> Reasoner:
    """The reasoner with this name, with a program and without facts."""
    if name in STRATEGY_OF:
        return _Engine(Database(text, STRATEGY_OF[name]))
    return _Reference(name, text)


class _Engine:
    def __init__(self, db: Database) -> None:
        self._db = db

    def prepare(self, tables: Tables) -> object:
        return tables

    def insert(self, facts: Tables) -> None:
        self._db.commit(facts)

    def delete(self, facts: Tables) -> None:
        self._db.commit(None, facts)

    def size(self) -> int:
        return sum(self._db.size(name) for name in self._db.relations)


class _Reference:
    def __init__(self, name: str, text: str) -> None:
        self._program = load(text)
        indexed = name.endswith("indexed")
        self._chibi = Chibi(indexed=indexed) if name.startswith("chibi") else None
        self._circuit = Circuit(indexed=indexed)

    def prepare(self, tables: Tables) -> object:
        columns = {name: [c.to_pylist() for c in table.columns] for name, table in tables.items()}
        return {name: ZSet.of(zip(*values, strict=True)) for name, values in columns.items()}

    def insert(self, facts: Mapping[str, ZSet[Row]]) -> None:
        if self._chibi is not None:
            self._chibi.commit(self._program, facts)
        else:
            self._circuit.commit(self._program.rules, facts, self._program.functions)

    def delete(self, facts: Mapping[str, ZSet[Row]]) -> None:
        self.insert({name: -rows for name, rows in facts.items()})

    def size(self) -> int:
        known = self._circuit if self._chibi is None else self._chibi
        return sum(len(rows) for name, rows in known.contents.items() if name in self._program.relations)
