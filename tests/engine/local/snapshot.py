"""What a local engine holds, as plain data to compare."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from conformance.reasoners import LocalReasoner
from tidelog.data.values import Row
from tidelog.engine.local.storage.table import Table

Exact: TypeAlias = dict[str, "Snapshot"]


class Snapshot:
    """A table's state to the last number."""

    def __init__(self, table: Table) -> None:
        self.rows = table.rows
        self.numbers = table.live, table.highest
        self.data, self.tags = table.data[: self.rows].copy(), table.tags[: self.rows].copy()
        self.trace = None if table.trace is None else table.trace.entries.copy()
        self.given, self.support = table.given[: self.rows].copy(), table.support[: self.rows].copy()

    def check(self, table: Table) -> None:
        """The table is as it was; what has been added since is dead and not asserted."""
        here, since = slice(0, self.rows), slice(self.rows, table.rows)
        assert (table.live, table.highest) == self.numbers
        assert np.array_equal(table.data[here], self.data)
        assert np.array_equal(table.tags[here], self.tags)
        assert np.array_equal(table.given[here], self.given)
        assert np.array_equal(table.support[here], self.support)
        if table.trace is None or self.trace is None:
            assert table.trace is None
            assert self.trace is None
        else:
            assert np.array_equal(table.trace.entries, self.trace)
            assert table.trace.waiting == 0
        assert not table.tags[since].any()
        assert not table.given[since].any()


def take_state(reasoner: LocalReasoner) -> Exact:
    return {name: Snapshot(table) for name, table in reasoner.engine.tables.items()}


def check_unchanged(reasoner: LocalReasoner, before: Exact) -> None:
    """All tables are there, and no others, each to the last number as it was."""
    assert reasoner.engine.tables.keys() == before.keys()
    for name, table in reasoner.engine.tables.items():
        before[name].check(table)


def visible_state(reasoner: LocalReasoner) -> dict[str, dict[Row, tuple[int, ...]]]:
    """Tag, rank, count and assertion of every tuple that is there, hidden relations included."""
    made: dict[str, dict[Row, tuple[int, ...]]] = {}
    for name, stored in reasoner.flat.relations.items():
        table = reasoner.engine.tables[name]
        alive = table.alive()
        rows = reasoner.decode(stored.types, table.codes(alive))
        facts = zip(table.tags[alive], table.support[alive], table.given[alive], strict=True)
        made[name] = {
            row: (int(tag), *map(int, support), int(given))
            for row, (tag, support, given) in zip(rows, facts, strict=True)
        }
    return made


def contents(reasoner: LocalReasoner) -> dict[str, frozenset[Row]]:
    """The tuples of all relations, hidden ones included."""
    stored = reasoner.flat.relations
    return {
        name: frozenset(reasoner.decode(s.types, reasoner.engine.rows(name))) for name, s in stored.items()
    }
