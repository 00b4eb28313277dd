"""Snapshots: a relation as of one commit, unaffected by later commits.

Rows keep their values and numbers, and a matrix is not modified while it is held. So a snapshot consists of a
few references and copies little.

- `RowSnapshot` lists the rows of a table that are alive. It reads the tag OLD, which holds the state of the
  last commit even while another one runs. Compaction makes new arrays and does not modify the old ones.
- `RowList` lists some rows of a table, whose codes are copied when they are read.
- `BitSnapshot` holds a state of bit rows, and the number of names; names are only added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.bits import Difference
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.kernels.layout import OLD
from tidelog.engine.local.native.calls import copy_codes
from tidelog.engine.local.storage.table import Cells, Rows, Table

__all__ = ["BitSnapshot", "Extent", "RowList", "RowSnapshot", "Unread", "listed", "live_rows", "matching"]

_MANY: Final = 4096  # rows


@dataclass(frozen=True, slots=True)
class Extent:
    """A set of codes of a column: an inclusive range whose bounds are optional, or a list."""

    least: int | None = None
    most: int | None = None
    among: Codes | None = None

    def holds(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of these codes are in the set."""
        if self.among is not None:
            return np.isin(codes, self.among)
        inside = np.ones(len(codes), np.bool_)
        if self.least is not None:
            inside &= codes >= self.least
        if self.most is not None:
            inside &= codes <= self.most
        return inside


def live_rows(table: Table) -> Rows:
    """The rows that are alive as of the last commit."""
    tags, rows = table.tags, table.rows
    return np.flatnonzero(tags[:rows] & OLD)


def matching(codes: Codes, wanted: Mapping[int, int]) -> npt.NDArray[np.bool_]:
    """Which rows have these codes in these columns."""
    mask = np.ones(len(codes), np.bool_)
    for column, code in wanted.items():
        mask &= codes[:, column] == code
    return mask


@dataclass(frozen=True, slots=True)
class RowList:
    """Rows of a table, as its cells and the numbers of the rows."""

    cells: Cells
    arity: int
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def codes(self) -> Codes:
        return copy_codes(self.cells, self.arity, self.rows)


Unread: TypeAlias = Difference | RowList


def listed(table: Table, rows: Rows) -> Codes | RowList:
    """The codes of some rows; copied later if they are many, since few would hold the cells of all rows."""
    if len(rows) >= max(_MANY, table.rows // 4):
        return RowList(table.cells, table.arity, rows)
    return table.codes(rows) if len(rows) else np.empty((0, table.arity), np.int64)


class RowSnapshot:
    def __init__(self, table: Table) -> None:
        self._rows = live_rows(table)
        self._cells, self._arity = table.cells, table.arity

    @property
    def size(self) -> int:
        return len(self._rows)

    def codes(self, count: int | None = None) -> Codes:
        return copy_codes(self._cells, self._arity, self._rows[:count])

    def select(self, wanted: Mapping[int, int]) -> Codes:
        codes = self.codes()
        return codes[matching(codes, wanted)]


class BitSnapshot:
    def __init__(self, kept: BitRelation) -> None:
        self.size = kept.size
        self._bits, self._turned = kept.bits, kept.turned
        self._names, self._known = kept.names.column(0), kept.names.rows

    def codes(self, count: int | None = None) -> Codes:
        return self._codes(self._bits.pairs())[:count]

    def select(self, wanted: Mapping[int, int]) -> Codes:
        """The tuples with these codes; reads only the bit rows that can match."""
        places = {(c ^ self._turned): self._place(code) for c, code in wanted.items()}
        known = [place for place in places.values() if place is not None]
        if len(known) < len(places):
            return np.empty((0, 2), np.int64)
        pairs = self._bits.pairs(np.array([places[0]]) if places.get(0) is not None else None)
        return self._codes(pairs if places.get(1) is None else pairs[pairs[:, 1] == places[1]])

    def _place(self, code: int) -> int | None:
        found = np.flatnonzero(self._names[: self._known] == code)
        return int(found[0]) if len(found) else None

    def _codes(self, pairs: Codes) -> Codes:
        return self._names[pairs[:, ::-1] if self._turned else pairs]
