"""Index lookups outside rules: rows by the values of some columns."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.native.calls import collect
from tidelog.engine.local.storage.snapshot import Extent
from tidelog.engine.local.storage.table import Rows, Table

__all__ = ["lookup", "within"]

_SHARE = 16  # scan if more than 1/16 as many values as rows are looked up


def lookup(table: Table, columns: tuple[int, ...], keys: Codes) -> tuple[Rows, Rows]:
    """Find the rows, including dead ones, that match a key in these columns: returns key numbers and rows.

    Each row of `keys` is one key. Creates the index if missing, so no other thread may use the table.
    """
    keys = np.ascontiguousarray(keys)
    index = table.index(columns)
    index.pinned = True
    return collect(table.at, index.at, keys)


def within(table: Table, column: int, wanted: Extent) -> Rows | None:
    """Find the rows, including dead ones, whose code in a column is wanted; None if a scan is as fast.

    A range of codes is found by binary search in the ordered index. Listed codes are looked up one by one.
    """
    if wanted.among is not None:
        if len(wanted.among) * _SHARE > table.rows:
            return None
        return lookup(table, (column,), wanted.among[:, None])[1]
    ordered, data = table.ordered((column,)), table.data
    ordered.pinned, order = True, ordered.order
    first, last = 0, len(order)
    if wanted.least is not None:
        first = bisect_left(order, wanted.least, key=lambda row: int(data[row, column]))
    if wanted.most is not None:
        last = bisect_right(order, wanted.most, key=lambda row: int(data[row, column]))
    return order[first:last]
