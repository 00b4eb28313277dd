"""What readers see while a writer works: each relation as of one commit.

A commit changes tables in place, but preserves the last commit: a row's tag keeps OLD, its values never
change, and a matrix is replaced as a whole. So readers can read at all times except two: while asserted facts
are staged, and during publication, when the new state replaces the old one. The lock `reading` (see `locks`)
separates these from all reading. In a session in this process it is only taken here, except to get several
views of one commit.

A `Source` is a relation as of the commit at which it was made. Making one costs nothing: it reads the table
itself until a publication is about to change the relation, and then takes a snapshot first. `Committed` is a
relation for the transaction that is going to change it.

Hash tables and indexes grow when they are used, so two threads must never use one at the same time. Between
commits they belong to the thread that holds the lock. While the engine works (`working`), they belong to the
engine, and readers scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
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

_LARGE: Final = 4096  # rows from which an index is worth building
_FEW: Final = 64  # sources to register before those no longer in use are first removed


class Readers:
    """All readers of an engine's tables, and their writer."""

    def __init__(self, engine: LocalEngine, locks: Locks) -> None:
        self.engine = engine
        self.mutex = locks.reading
        self.is_busy = False
        self._sources: list[ref[Source]] = []  # those that read a table; guarded by the lock
        self._enough = _FEW
        self._tables: dict[str, Table] = {}
        self._bits: dict[str, BitSnapshot] = {}

    def source(self, relation: str) -> Source:
        """The relation as it is now; hold the mutex to get several of one commit."""
        with self.mutex:
            if self.is_busy:  # the engine may be about to convert it
                table, bits = self._tables[relation], self._bits.get(relation)
            else:
                table, bits = self.engine.tables[relation], _snapshot(self.engine.dense.bits.get(relation))
            source = Source(self, relation, table, bits)
            self._note(source)
            return source

    def _note(self, source: Source) -> None:
        # a list of references: a WeakSet may change while another thread iterates over it
        if len(self._sources) >= self._enough:
            self._sources = [known for known in self._sources if known() is not None]
            self._enough = _FEW + 2 * len(self._sources)
        self._sources.append(ref(source))

    def working(self) -> AbstractContextManager[None]:
        """Inside this block, the engine works on its tables; SessionError if it already does."""
        return _Working(self)

    def begin_work(self) -> None:
        with self.mutex:
            if self.is_busy:
                raise SessionError(AT_WORK)
            self._remember()
            self.is_busy = True

    def end_work(self) -> None:
        with self.mutex:
            self.is_busy = False
            self._tables, self._bits = {}, {}

    @contextmanager
    def publishing(self, is_kept: Callable[[str], bool]) -> Iterator[None]:
        """Inside this block, the new state replaces the old one; relations that are not kept are dropped."""
        with self.mutex:
            self._detach(is_kept)
            yield
            self._remember()

    def _remember(self) -> None:
        """Keep the current state for readers while the engine works."""
        self._tables = dict(self.engine.tables)
        self._bits = {name: BitSnapshot(kept) for name, kept in self.engine.dense.bits.items()}

    def _detach(self, is_kept: Callable[[str], bool]) -> None:
        """Have the sources whose relation changes take snapshots."""
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


class _Working(AbstractContextManager[None]):
    __slots__ = ("_readers",)

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def __enter__(self) -> None:
        self._readers.begin_work()

    def __exit__(self, *error: object) -> None:
        self._readers.end_work()


def _snapshot(kept: BitRelation | None) -> BitSnapshot | None:
    return None if kept is None else BitSnapshot(kept)


class Source:
    """A relation as of one commit; `table` holds its rows, or with `bits` its asserted facts."""

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
        """The codes of all rows, or of the first `count`."""
        with self._readers.mutex:
            state = self._state or RowSnapshot(self.table)
        return state.codes(count)

    def given(self) -> Codes:
        """The codes of the asserted rows."""
        with self._readers.mutex:
            if self._given is not None:
                return self._given
            given = self._readers.engine.given_before(self.relation, self.table)
            return self.table.codes(np.flatnonzero(given))

    def select(self, wanted: Mapping[int, int]) -> Codes:
        """The codes of the rows that have these codes in these columns."""
        with self._readers.mutex:
            state = self._state
            if state is None and not self._readers.is_busy and self._is_worth(wanted):
                with interrupts_noted():  # a half-built index would stay wrong
                    return self.table.codes(self._find(wanted))
            state = state or RowSnapshot(self.table)
        return state.select(wanted)

    def has(self, codes: Codes) -> bool:
        """Whether there is a row with these codes."""
        if not len(codes):
            return self.size > 0
        with self._readers.mutex:
            if self._state is None and not self._readers.is_busy:
                row = int(self.table.find(codes[np.newaxis])[0])
                return row >= 0 and bool(self.table.tags[row] & OLD)
        return len(self.select(dict(enumerate(codes.tolist())))) > 0

    def is_given(self, codes: Codes) -> bool | None:
        """Whether the row with these codes is asserted; None if only `given` knows."""
        with self._readers.mutex:
            if self._given is not None or self._readers.is_busy:
                return None
            row = int(self.table.find(codes[np.newaxis])[0])
            return row >= 0 and bool(self.table.given[row])

    def rank(self, codes: Codes) -> int | None:
        """The rank of the row with these codes; None if ranks are not kept."""
        with self._readers.mutex:
            if self._state is not None or self._readers.is_busy:
                return None
            rows = self._present(self.table.find(codes[np.newaxis]))
            return int(self.table.ranks(rows)[0]) if len(rows) else None

    def between(self, place: int, wanted: Extent) -> Codes:
        """The codes of the rows whose code in a column is one of these."""
        with self._readers.mutex:
            state = self._state
            if state is None and not self._readers.is_busy and self.table.rows >= _LARGE:
                with interrupts_noted():
                    found = within(self.table, place, wanted)
                if found is not None:
                    return self.table.codes(self._present(found))
            state = state or RowSnapshot(self.table)
        codes = state.codes()
        return codes[wanted.holds(codes[:, place])]

    def detach(self) -> None:
        """Take a snapshot, because the table is about to change."""
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
    """A relation at the last commit, for the transaction that changes it; use it while `turn` is held."""

    def __init__(self, readers: Readers, table: Table) -> None:
        self._readers = readers
        self._table = table

    def given(self) -> Codes:
        """The codes of the asserted rows."""
        with self._readers.mutex:
            table = self._table
            return table.codes(np.flatnonzero(table.given[: table.rows]))

    def holders(self, columns: tuple[int, ...], keys: Codes) -> tuple[Rows, Codes]:
        """The rows that have these codes in these columns: the number of the key, and the row's codes."""
        with self._readers.mutex:
            which, rows = lookup(self._table, columns, keys)
            is_there = (self._table.tags[rows] & OLD) != 0
            return which[is_there], self._table.codes(rows[is_there])
