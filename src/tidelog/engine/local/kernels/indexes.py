"""Kernels on indexes: grouping rows by key, adding rows to chains, merging sorted rows, looking up keys."""

from __future__ import annotations

from tidelog.engine.local.kernels.cells import cell
from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.layout import (
    BUCKETS,
    CELLS_AT,
    COLUMNS,
    COLUMNS_FROM,
    COVERED,
    FOLLOWING_AT,
    GROUPED,
    GROUPED_AT,
    HEADS,
    HEADS_AT,
    ORDER_AT,
    ROWS,
    STARTS_AT,
    STRIDE,
    WIDE,
)
from tidelog.engine.local.kernels.memory import load32, load64, prefetch, store32, store64
from tidelog.engine.local.kernels.rows import SEED, fetch_cells, mix, place, upper

__all__ = [
    "bucket_end",
    "bucket_start",
    "chain_head",
    "collect",
    "cover",
    "fetch_bucket",
    "fetch_found",
    "group_rows",
    "merge",
]

_AHEAD = 12  # rows between beginning to load a bucket or chain and adding to it


@kernel
def _half_of(index, relation, row):
    """Half the hash of a row's key."""
    cells, wide = load64(relation, CELLS_AT), load64(relation, WIDE)
    at = row * load64(relation, STRIDE)
    h = SEED
    for j in range(load64(index, COLUMNS)):
        h = mix(h, cell(cells, at + load64(index, COLUMNS_FROM + j), wide))
    return upper(h)


@inlined
def bucket_start(index, half):
    """Where the rows of a bucket begin, given half the hash of a key."""
    size = load64(index, BUCKETS)
    return load32(load64(index, STARTS_AT), place(half, size)) if size else 0


@inlined
def bucket_end(index, half):
    size = load64(index, BUCKETS)
    return load32(load64(index, STARTS_AT), place(half, size) + 1) if size else 0


@inlined
def chain_head(index, half):
    """The latest of the newer rows in a chain, or -1."""
    return load32(load64(index, HEADS_AT), place(half, load64(index, HEADS)))


@inlined
def fetch_bucket(index, half):
    """Begin to load the places where a key's bucket and chain begin."""
    prefetch(load64(index, STARTS_AT), 4 * place(half, load64(index, BUCKETS)))
    prefetch(load64(index, HEADS_AT), 4 * place(half, load64(index, HEADS)))


_FIRST = 3  # rows


@kernel
def fetch_found(index, relation, half):
    """Begin to load the first rows of a key's bucket, and the latest of its chain."""
    at, end = bucket_start(index, half), bucket_end(index, half)
    if end > at + _FIRST:
        end = at + _FIRST
    for i in range(at, end):
        fetch_cells(relation, load32(load64(index, GROUPED_AT), i))
    newer = chain_head(index, half)
    if newer >= 0:
        fetch_cells(relation, newer)
        prefetch(load64(index, FOLLOWING_AT), 4 * (newer - load64(index, GROUPED)))
    return 0


@exported
def cover(index, relation):
    """Add new rows to the front of the chains of an index; false if there are too many for them."""
    first, last, size = load64(index, COVERED), load64(relation, ROWS), load64(index, HEADS)
    if first == last:
        return True
    grouped = load64(index, GROUPED)
    if last - grouped > 2 * size:
        return False
    heads, following = load64(index, HEADS_AT), load64(index, FOLLOWING_AT)
    for row in range(first, last):
        if row + _AHEAD < last:
            prefetch(heads, 4 * place(_half_of(index, relation, row + _AHEAD), size))
        at = place(_half_of(index, relation, row), size)
        store32(following, row - grouped, load32(heads, at))
        store32(heads, at, row)
    store64(index, COVERED, last)
    return True


@exported
def group_rows(index, relation, buckets):
    """Group all rows by their buckets; returns how many buckets are in use.

    The index must have no chains, and its starts must be 0. `buckets` has room for the bucket of each row.
    """
    starts, size, grouped = load64(index, STARTS_AT), load64(index, BUCKETS), load64(index, GROUPED_AT)
    rows = load64(index, GROUPED)
    for row in range(rows + _AHEAD):
        if row < rows:
            at = place(_half_of(index, relation, row), size) + 1
            store32(buckets, row, at)
            prefetch(starts, 4 * at)
        if row >= _AHEAD:
            at = load32(buckets, row - _AHEAD)
            store32(starts, at, load32(starts, at) + 1)
    total = used = 0
    for i in range(1, size + 1):
        count = load32(starts, i)
        store32(starts, i, total)
        total += count
        used += count != 0
    for row in range(rows):
        if row + 2 * _AHEAD < rows:
            prefetch(starts, 4 * load32(buckets, row + 2 * _AHEAD))
        if row + _AHEAD < rows:
            prefetch(grouped, 4 * load32(starts, load32(buckets, row + _AHEAD)))
        at = load32(buckets, row)
        position = load32(starts, at)
        store32(grouped, position, row)
        store32(starts, at, position + 1)
    store64(index, COVERED, rows)
    return used


@exported
def merge(relation, index, fresh, size, merged):
    """Merge the sorted rows of an index with `size` new sorted rows."""
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    order, covered, columns = load64(index, ORDER_AT), load64(index, COVERED), load64(index, COLUMNS)
    i = j = 0
    while i < covered or j < size:
        is_first = j >= size
        if not is_first and i < covered:
            is_first = True
            for c in range(columns):
                column = load64(index, COLUMNS_FROM + c)
                x = cell(cells, load64(order, i) * stride + column, wide)
                y = cell(cells, load64(fresh, j) * stride + column, wide)
                if x != y:
                    is_first = x < y
                    break
        if is_first:
            store64(merged, i + j, load64(order, i))
            i += 1
        else:
            store64(merged, i + j, load64(fresh, j))
            j += 1
    return 0


@exported
def collect(relation, index, keys, count, found, capacity):
    """Write the matching pairs of key and row to `found`, as far as they fit; returns their total number.

    `found` has the numbers of keys, then, from `capacity` on, the rows.
    """
    cells, stride, wide = load64(relation, CELLS_AT), load64(relation, STRIDE), load64(relation, WIDE)
    columns, following, older = load64(index, COLUMNS), load64(index, FOLLOWING_AT), load64(index, GROUPED)
    total = 0
    for i in range(count):
        h = SEED
        for j in range(columns):
            h = mix(h, load64(keys, i * columns + j))
        at, end = bucket_start(index, upper(h)), bucket_end(index, upper(h))
        newer = chain_head(index, upper(h))
        while at < end or newer >= 0:
            if at < end:
                row = load32(load64(index, GROUPED_AT), at)
                at += 1
            else:
                row = newer
                newer = load32(following, row - older)
            same = True
            for j in range(columns):
                column = load64(index, COLUMNS_FROM + j)
                if cell(cells, row * stride + column, wide) != load64(keys, i * columns + j):
                    same = False
                    break
            if same:
                if total < capacity:
                    store64(found, total, i)
                    store64(found, capacity + total, row)
                total += 1
    return total
