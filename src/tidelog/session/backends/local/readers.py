"""What readers read while a writer works: each relation as it was at one commit.

A commit works on the tables in place, but it leaves alone what the last commit said: a row's tag keeps OLD,
its values never change, and a matrix is replaced as a whole. So a reader may read at any moment but two:
while asserted facts are taken in, and at the publication, in which the new state becomes the old one. The
lock `reading` (see `locks`) keeps these and all reading apart. It is taken here and nowhere else in a session
in this process, except by those who want several views of one commit.

A `Source` is a relation as of the commit at which it was made. Making one costs nothing: it reads the table
itself, until a publication is about to change the relation; then it takes a snapshot first. `Committed` is
what a transaction asks of a relation that it is going to change.

Hash tables and indexes grow as they are used, so two threads must never be at one of them. Between commits
they belong to whoever holds the lock. While the engine works (`working`), they are its own, and readers scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from weakref import ref

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels.layout import OLD
from tidelog.engine.local.storage.lookup import lookup, within
from tidelog.engine.local.storage.snapshot import BitSnapshot, Extent, RowSnapshot
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.errors import SessionError
from tidelog.session.interrupt import interrupts_noted
from tidelog.session.locks import AT_WORK, Locks

__all__ = ["Committed", "Readers", "Source"]

_LARGE: Final = 4096  # rows from which on an index is worth making
_FEW: Final = 64  # sources to be noted before the first look for those that are gone


class Readers:
    """Everybody who reads an engine's tables, and the one who writes them."""

    def __init__(self, engine: LocalEngine, locks: Locks) -> None:
        self.engine = engine
        self.mutex = locks.reading
        self.is_busy = False
        self._sources: list[ref[Source]] = []  # those that read a table, under the lock
        self._enough = _FEW
        self._tables: dict[str, Table] = {}
        self._bits: dict[str, BitSnapshot] = {}

    def source(self, relation: str) -> Source:
        """The relation as it is now; call it under the mutex if more than one is to be of one commit."""
        with self.mutex:
            if self.is_busy:  # the engine may be about to change its form
                table, bits = self._tables[relation], self._bits.get(relation)
            else:
                table, bits = self.engine.tables[relation], _snapshot(self.engine.dense.bits.get(relation))
            source = Source(self, relation, table, bits)
            self._note(source)
            return source

    def _note(self, source: Source) -> None:
        # plain references: sets of weak ones change by themselves while others go through them
        if len(self._sources) >= self._enough:
            self._sources = [known for known in self._sources if known() is not None]
            self._enough = _FEW + 2 * len(self._sources)
        self._sources.append(ref(source))

    @contextmanager
    def working(self) -> Iterator[None]:
        """The engine's tables are being worked on; SessionError if they are already."""
        with self.mutex:
            if self.is_busy:
                raise SessionError(AT_WORK)
            self._tables = dict(self.engine.tables)
            self._bits = {name: BitSnapshot(kept) for name, kept in self.engine.dense.bits.items()}
            self.is_busy = True
        try:
            yield
        finally:
            with self.mutex:
                self.is_busy = False
                self._tables, self._bits = {}, {}

    @contextmanager
    def publishing(self, is_kept: Callable[[str], bool]) -> Iterator[None]:
        """The work becomes the state; relations that are not kept are gone afterwards."""
        with self.mutex:
            self._detach(is_kept)
            yield
            self._tables = dict(self.engine.tables)
            self._bits = {name: BitSnapshot(kept) for name, kept in self.engine.dense.bits.items()}

    def _detach(self, is_kept: Callable[[str], bool]) -> None:
        """Have the sources whose relation changes take their snapshots."""
        attached: list[ref[Source]] = []
        for known in self._sources:
            source = known()
            if source is None:
                continue
            if not is_kept(source.relation) or self._is_changing(source):
                source.detach()
            else:
                attached.append(known)
        self._sources = attached

    def _is_changing(self, source: Source) -> bool:
        name, table = source.relation, source.table
        return self.engine.has_changed(name) or table.wasteful or self.engine.tables[name] is not table


def _snapshot(kept: BitRelation | None) -> BitSnapshot | None:
    return None if kept is None else BitSnapshot(kept)


class Source:
    """A relation as of one commit; `table` holds its rows, or if there are `bits` what is asserted of it."""

    def __init__(self, readers: Readers, relation: str, table: Table, bits: BitSnapshot | None) -> None:
        self.relation = relation
        self.table = table
        self._readers = readers
        self._state: BitSnapshot | RowSnapshot | None = bits
        self._given: Codes | None = None

    @property
    def size(self) -> int:
        with self._readers.mutex:
            return self.table.live if self._state is None else self._state.size

    def codes(self, count: int | None = None) -> Codes:
        """The values of all rows, or of the first so many."""
        with self._readers.mutex:
            state = self._state or RowSnapshot(self.table)
        return state.codes(count)

    def given(self) -> Codes:
        """The values of the rows that are asserted."""
        with self._readers.mutex:
            if self._given is not None:
                return self._given
            given = self._readers.engine.given_before(self.relation, self.table)
            return self.table.data[np.flatnonzero(given)]

    def select(self, wanted: Mapping[int, int]) -> Codes:
        """The values of the rows that have these codes in these columns."""
        with self._readers.mutex:
            state = self._state
            if state is None and not self._readers.is_busy and self._is_worth(wanted):
                with interrupts_noted():  # an index half made would be wrong for ever
                    return self.table.data[self._find(wanted)]
            state = state or RowSnapshot(self.table)
        return state.select(wanted)

    def between(self, place: int, wanted: Extent) -> Codes:
        """The values of the rows whose code in a column is one of these."""
        with self._readers.mutex:
            state = self._state
            if state is None and not self._readers.is_busy and self.table.rows >= _LARGE:
                with interrupts_noted():
                    found = within(self.table, place, wanted)
                if found is not None:
                    return self.table.data[self._present(found)]
            state = state or RowSnapshot(self.table)
        codes = state.codes()
        return codes[wanted.holds(codes[:, place])]

    def detach(self) -> None:
        """Keep the state, which is about to change."""
        self._given = self.given()
        self._state = self._state or RowSnapshot(self.table)

    # -- the table itself, under the mutex

    def _is_worth(self, wanted: Mapping[int, int]) -> bool:
        return bool(wanted) and (self.table.rows >= _LARGE or len(wanted) == self.table.arity)

    def _find(self, wanted: Mapping[int, int]) -> Rows:
        columns = tuple(sorted(wanted))
        key = np.array([[wanted[c] for c in columns]], np.int64)
        whole = len(columns) == self.table.arity
        return self._present(self.table.find(key) if whole else lookup(self.table, columns, key)[1])

    def _present(self, rows: Rows) -> Rows:
        is_there = (rows >= 0) & ((self.table.tags[np.maximum(rows, 0)] & OLD) != 0)
        return np.compress(is_there, rows)


class Committed:
    """A relation at the last commit, for the transaction that changes it; ask it while `turn` is held."""

    def __init__(self, readers: Readers, table: Table) -> None:
        self._readers = readers
        self._table = table

    def given(self) -> Codes:
        """The values of the rows that are asserted."""
        with self._readers.mutex:
            table = self._table
            return table.data[np.flatnonzero(table.given[: table.rows])]

    def holders(self, columns: tuple[int, ...], keys: Codes) -> tuple[Rows, Codes]:
        """The rows that have these codes in these columns: the number of the key, and the row's codes."""
        with self._readers.mutex:
            which, rows = lookup(self._table, columns, keys)
            is_there = (self._table.tags[rows] & OLD) != 0
            return which[is_there], self._table.data[rows[is_there]]
