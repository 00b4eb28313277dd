"""Rows by the values of some columns, through a table's index: for readers, outside any rule."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.kernels.indexes import collect
from tidelog.engine.local.storage.snapshot import Extent
from tidelog.engine.local.storage.table import Rows, Table

__all__ = ["lookup", "within"]

_SHARE = 16  # of the rows may there be values of before a scan is as good


def lookup(table: Table, columns: tuple[int, ...], keys: Codes) -> tuple[Rows, Rows]:
    """The rows, dead ones too, that agree with a key on these columns: the key's number, and the row.

    A row of `keys` is one key. Makes the index if there is none, so nobody else may be at the table.
    """
    keys = np.ascontiguousarray(keys)
    index = table.index(columns)
    index.pinned = True
    found = np.empty((2, max(16, len(keys))), np.int64)
    while True:
        count = int(
            collect(
                table.data.ctypes.data,
                table.arity,
                np.array(columns, np.int64),
                index.heads,
                index.following,
                keys,
                found,
            )
        )
        if count <= found.shape[1]:
            return found[0, :count], found[1, :count]
        found = np.empty((2, count), np.int64)


def within(table: Table, column: int, wanted: Extent) -> Rows | None:
    """The rows, dead ones too, whose code in a column is one of these; None if looking at all is as good.

    A range of codes is found in the order of the column; codes that are listed are looked up one by one.
    """
    if wanted.among is not None:
        if len(wanted.among) * _SHARE > table.rows:
            return None
        return lookup(table, (column,), wanted.among[:, None])[1]
    ordered, data = table.ordered((column,)), table.data
    ordered.pinned, order = True, ordered.order
    first, last = 0, len(order)
    if wanted.least is not None:
        first = bisect_left(order, wanted.least, key=lambda row: data[row, column])
    if wanted.most is not None:
        last = bisect_right(order, wanted.most, key=lambda row: data[row, column])
    return order[first:last]
