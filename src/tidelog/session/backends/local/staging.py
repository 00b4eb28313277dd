"""The changes of a transaction to asserted facts, before it is committed: for each row, the last change.

A relation with a primary key has one row per key at any moment: inserted rows are compared with the rows of
the last commit and with those that the transaction has inserted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.arrow import encode_table
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.codes.few import FEW, encode_few
from tidelog.engine.local.kernels.layout import ALIVE
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.errors import DataError, shown
from tidelog.program.declared import Relation
from tidelog.session.backends.local.readers import Committed
from tidelog.session.interrupt import let_interrupt
from tidelog.tables.given import to_table
from tidelog.tables.keys import key_of, rows_of_keys

__all__ = ["Staged", "StagedData", "conflict", "expect_keys"]

_FEW: Final = 1024  # rows that are kept without a table
_NO_SIGNS: Final = np.zeros(0, np.int8)


class StagedData:
    """The changes of a transaction to one relation, as users give them.

    `encoding` lends the codec; data is converted inside the context `taking`.
    """

    def __init__(
        self,
        staged: Staged,
        encoding: Callable[[], AbstractContextManager[Codec]],
        taking: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self.staged = staged
        self._relation = staged.relation
        self._encoding = encoding
        self._taking = taking

    def insert(self, data: object) -> None:
        self._stage(data, self.staged.insert)

    def delete(self, data: object) -> None:
        self._stage(data, self.staged.delete)

    def upsert(self, data: object) -> None:
        self._stage(data, self.staged.upsert)

    def _stage(self, data: object, change: Callable[[Codes], None]) -> None:
        """Encode rows, and stage them."""
        if type(data) is list and len(data) <= FEW:
            with self._encoding() as codec:
                codes = encode_few(codec, self._relation, data)
                if codes is not None:
                    change(codes)
                    return
        table = self._taken(self._relation, data)
        with self._encoding() as codec:
            change(_codes(codec, self._relation, table))

    def delete_keys(self, keys: object) -> None:
        key = key_of(self._relation)
        table = self._taken(key, rows_of_keys(key, keys))
        with self._encoding() as codec:
            self.staged.delete_keys(_codes(codec, key, table))

    def delete_all(self) -> None:
        with self._encoding():
            self.staged.delete_all()

    def _taken(self, shape: Relation, data: object) -> object:
        with self._taking(self._relation.name):
            return to_table(shape, data)


def _codes(codec: Codec, relation: Relation, table: object) -> Codes:
    """The rows of a table, as codes."""
    return np.ascontiguousarray(encode_table(codec, relation, table, let_interrupt).T)


class Staged:
    """The rows of one relation that a transaction inserts (+1) or deletes (-1).

    `committed` is the relation at the last commit, None if it is new. Few rows, all changed by one call, are
    kept as they are; a table of rows is only needed to find out what several calls say about one row.
    """

    def __init__(self, relation: Relation, committed: Committed | None, codec: Codec) -> None:
        self.relation = relation
        self._committed = committed
        self._codec = codec
        self._only: tuple[Codes, int] | None = None
        self._table: Table | None = None
        self._signs: npt.NDArray[np.int8] = _NO_SIGNS

    def insert(self, codes: Codes) -> None:
        """Insert rows; DataError if another row has the key of one."""
        if self.relation.key is not None:
            self._expect_one_each(codes)
            which, held = self._holders(codes[:, self.relation.key])
            other = np.flatnonzero((codes[which] != held).any(axis=1))
            if len(other):
                first = int(other[0])
                raise conflict(self.relation, self._codec, held[first], codes[which[first]])
        self._put(codes, 1)

    def upsert(self, codes: Codes) -> None:
        """Insert rows, replacing those with the same keys."""
        assert self.relation.key is not None
        self._expect_one_each(codes)
        _, held = self._holders(codes[:, self.relation.key])
        self._put(held, -1)
        self._put(codes, 1)

    def delete(self, codes: Codes) -> None:
        self._put(codes, -1)

    def delete_keys(self, keys: Codes) -> None:
        self._put(self._holders(keys)[1], -1)

    def delete_all(self) -> None:
        """Delete all asserted rows, and discard earlier insertions."""
        rows = self._rows.rows
        self._signs[:rows] = np.minimum(self._signs[:rows], 0)
        if self._committed is not None:
            self._put(self._committed.given(), -1)

    def net(self) -> tuple[Codes, Codes]:
        """The rows to insert, and the rows to delete; a row may be repeated."""
        if self._table is None and self._only is not None:
            codes, sign = self._only
            return (codes, codes[:0]) if sign > 0 else (codes[:0], codes)
        signs = self._signs[: self._rows.rows]
        data = self._rows.codes()
        return data[signs == 1], data[signs == -1]

    # -- rows and keys

    @property
    def _rows(self) -> Table:
        """All rows that were changed."""
        if self._table is None:
            table, signs = Table(len(self.relation.columns)), np.zeros(_FEW, np.int8)
            if self._only is not None:
                signs[table.add(self._only[0])] = self._only[1]
            self._table, self._signs = table, signs
        return self._table

    def _put(self, codes: Codes, sign: int) -> None:
        if self._table is None and self._only is None and len(codes) <= _FEW:
            self._only = codes, sign
            return
        rows = self._rows.add(codes)
        if self._rows.rows > len(self._signs):
            longer = np.zeros(2 * self._rows.rows, np.int8)
            longer[: len(self._signs)] = self._signs
            self._signs = longer
        self._signs[rows] = sign

    def _said(self, codes: Codes) -> npt.NDArray[np.int8]:
        """The sign of the last change of rows in this transaction; 0 if there is none."""
        rows = self._rows.find(codes)
        return np.where(rows >= 0, self._signs[np.maximum(rows, 0)], 0)

    def _holders(self, keys: Codes) -> tuple[Rows, Codes]:
        """The rows that have these keys: the number of the key, and the row's codes."""
        assert self.relation.key is not None
        which, rows = lookup(self._rows, self.relation.key, keys)
        inserted = self._signs[rows] == 1
        found = [(which[inserted], self._rows.codes(rows[inserted]))]
        if self._committed is not None:
            which, codes = self._committed.holders(self.relation.key, keys)
            unsaid = self._said(codes) == 0
            found.append((which[unsaid], codes[unsaid]))
        return np.concatenate([w for w, _ in found]), np.concatenate([c for _, c in found])

    def _expect_one_each(self, codes: Codes) -> None:
        """DataError if two different rows have one key."""
        assert self.relation.key is not None
        rows = Table(codes.shape[1]).add(codes)
        keys = Table(len(self.relation.key)).add(codes[:, self.relation.key])
        if not len(codes) or rows.max() == keys.max():
            return
        first = np.empty(int(keys.max()) + 1, np.int64)
        first[keys[::-1]] = np.arange(len(codes))[::-1]
        other = int(np.flatnonzero(rows[first[keys]] != rows)[0])
        raise conflict(self.relation, self._codec, codes[first[keys[other]]], codes[other])


def expect_keys(relation: Relation, table: Table, inserted: Codes, codec: Codec) -> None:
    """DataError if an inserted row has the key of another row; for facts in the program."""
    if relation.key is None or not len(inserted):
        return
    which, rows = lookup(table, relation.key, inserted[:, relation.key])
    alive = (table.tags[rows] & ALIVE) != 0
    which, held = which[alive], table.codes(rows[alive])
    other = np.flatnonzero((inserted[which] != held).any(axis=1))
    if len(other):
        raise conflict(relation, codec, held[int(other[0])], inserted[which[int(other[0])]])


def conflict(relation: Relation, codec: Codec, held: Codes, new: Codes) -> DataError:
    """The error for two rows with one key."""
    assert relation.key is not None
    there, wanted = (
        tuple(codec.decode(t, int(c)) for t, c in zip(relation.types, row, strict=True))
        for row in (held, new)
    )
    key = ", ".join(f"{relation.columns[i].name} = {shown(wanted[i])}" for i in relation.key)
    rows = f"{shown(there)} and {shown(wanted)}"
    remedy = "keep one of them, or use upsert to replace the existing row"
    problem = f"the key {key} would have two rows: {rows}; {remedy}"
    return DataError(relation.name, problem, value=wanted)
