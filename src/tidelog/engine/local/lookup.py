"""Rows by the values of some columns, through a table's index: for readers, outside any rule."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from tidelog.engine.local.codec import Codes
from tidelog.engine.local.compiled import njit
from tidelog.engine.local.memory import load64
from tidelog.engine.local.rows import SEED, mix
from tidelog.engine.local.snapshot import Extent
from tidelog.engine.local.table import Rows, Table

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
            _collect(
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


@njit(cache=True, nogil=True)
def _collect(data_at, arity, columns, heads, following, keys, found):  # type: ignore[no-untyped-def]
    """How many pairs of key and row there are; as many are written down as there is room for."""
    mask = np.uint64(heads.size - 1)
    count = 0
    for i in range(keys.shape[0]):
        h = SEED
        for j in range(columns.size):
            h = mix(h, keys[i, j])
        row = np.int64(heads[h & mask])
        while row >= 0:
            same = True
            for j in range(columns.size):
                if load64(data_at, row * arity + columns[j]) != keys[i, j]:
                    same = False
                    break
            if same:
                if count < found.shape[1]:
                    found[0, count] = i
                    found[1, count] = row
                count += 1
            row = np.int64(following[row])
    return count
