"""Kernels on bit rows: all pairs that follow from a base by steps.

`row[x]` holds the values that x is paired with. The result is the least rows such that `row[x]` contains the
base of x, and `row[y]` for every step from x to y. Nodes that lead to each other have the same row. So
strongly connected components are found first, in reverse topological order, and the members of each share one
row.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.jit import njit

__all__ = ["changed", "components", "count_more", "count_pairs", "fill", "grouped", "leads_to", "pairs"]

_ONE = np.uint64(1)
_PAIRS, _QUADS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_OCTETS, _EACH = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


@njit(cache=True, nogil=True)
def grouped(first, second, size):  # type: ignore[no-untyped-def]
    """Group pairs by their first element: returns where each group begins, and the second elements."""
    starts = np.zeros(size + 1, np.int64)
    for i in range(first.size):
        starts[first[i] + 1] += 1
    for x in range(size):
        starts[x + 1] += starts[x]
    at = starts[:-1].copy()
    targets = np.empty(first.size, np.int64)
    for i in range(first.size):
        targets[at[first[i]]] = second[i]
        at[first[i]] += 1
    return starts, targets


@njit(cache=True, nogil=True)
def components(starts, targets):  # type: ignore[no-untyped-def]
    """The component of each node, numbered so that no step leads to a higher number, and their count."""
    size = starts.size - 1
    component = np.full(size, -1, np.int64)
    order = np.full(size, -1, np.int64)  # the order in which nodes were visited
    lowest = np.empty(size, np.int64)
    stack, path, at = np.empty(size, np.int64), np.empty(size, np.int64), starts[:-1].copy()
    met = count = stacked = 0
    for root in range(size):
        if order[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            x = path[depth]
            if order[x] < 0:
                order[x] = lowest[x] = met
                met += 1
                stack[stacked] = x
                stacked += 1
            deeper = False
            while at[x] < starts[x + 1]:
                y = targets[at[x]]
                at[x] += 1
                if order[y] < 0:
                    depth += 1
                    path[depth] = y
                    deeper = True
                    break
                if component[y] < 0:
                    lowest[x] = min(lowest[x], order[y])
            if deeper:
                continue
            if lowest[x] == order[x]:
                while True:
                    stacked -= 1
                    component[stack[stacked]] = count
                    if stack[stacked] == x:
                        break
                count += 1
            depth -= 1
            if depth >= 0:
                lowest[path[depth]] = min(lowest[path[depth]], lowest[x])
    return component, count


@njit(cache=True, nogil=True)
def fill(starts, targets, base_starts, base, component, members, first, rows, start, most):  # type: ignore[no-untyped-def]
    """Fill the rows, initially 0, of components from `start` on; returns the next one after `most` words.

    `members` are grouped by component, beginning at `first`.
    """
    joined = np.full(rows.shape[0], -1, np.int64)
    words = rows.shape[1]
    for c in range(start, first.size - 1):
        if most <= 0:
            return c
        for m in range(first[c], first[c + 1]):
            x = members[m]
            for i in range(base_starts[x], base_starts[x + 1]):
                rows[c, base[i] >> 6] |= _ONE << np.uint64(base[i] & 63)
            for i in range(starts[x], starts[x + 1]):
                d = component[targets[i]]
                if d != c and joined[d] != c:
                    joined[d] = c
                    most -= words
                    for w in range(words):
                        rows[c, w] |= rows[d, w]
            most -= starts[x + 1] - starts[x] + base_starts[x + 1] - base_starts[x] + 1
    return first.size - 1


@njit(cache=True, nogil=True)
def _is_equal(one, i, other, j):  # type: ignore[no-untyped-def]
    """Whether two rows have the same bits; missing words count as 0."""
    shared = min(one.shape[1], other.shape[1])
    for w in range(shared):
        if one[i, w] != other[j, w]:
            return False
    rest = np.uint64(0)
    for w in range(shared, one.shape[1]):
        rest |= one[i, w]
    for w in range(shared, other.shape[1]):
        rest |= other[j, w]
    return rest == 0


@njit(cache=True, nogil=True)
def changed(old_rows, old, new_rows, new):  # type: ignore[no-untyped-def]
    """The nodes whose rows differ; new nodes had an empty row."""
    found = np.empty(new.size, np.int64)
    empty = np.zeros((1, 1), np.uint64)
    compared = np.full(new_rows.shape[0], -2, np.int64)  # the old row that a new one was last compared with
    equal = np.zeros(new_rows.shape[0], np.bool_)
    count = 0
    for x in range(new.size):
        i, j = (old[x] if x < old.size else -1), new[x]
        if compared[j] != i:
            compared[j] = i
            equal[j] = _is_equal(old_rows, i, new_rows, j) if i >= 0 else _is_equal(empty, 0, new_rows, j)
        if not equal[j]:
            found[count] = x
            count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def _bits(word):  # type: ignore[no-untyped-def]
    """The number of set bits in a word."""
    word -= (word >> _ONE) & _PAIRS
    word = (word & _QUADS) + ((word >> np.uint64(2)) & _QUADS)
    word = (word + (word >> np.uint64(4))) & _OCTETS
    return np.int64((word * _EACH) >> np.uint64(56))


@njit(cache=True, nogil=True)
def count_pairs(rows, ids):  # type: ignore[no-untyped-def]
    """The number of set bits in the rows of all nodes; shared rows are counted once and multiplied."""
    counts = np.full(rows.shape[0], -1, np.int64)
    total = 0
    for x in range(ids.size):
        i = ids[x]
        if counts[i] < 0:
            counts[i] = 0
            for w in range(rows.shape[1]):
                counts[i] += _bits(rows[i, w])
        total += counts[i]
    return total


@njit(cache=True, nogil=True)
def count_more(nodes, rows, ids, less_rows, less_ids):  # type: ignore[no-untyped-def]
    """How many pairs `pairs` would return; shared pairs of rows are counted once and multiplied."""
    compared = np.full(rows.shape[0], -2, np.int64)
    counts = np.zeros(rows.shape[0], np.int64)
    total = 0
    for k in range(nodes.size):
        x = nodes[k]
        if x >= ids.size:
            continue
        i, j = ids[x], (less_ids[x] if x < less_ids.size else -1)
        if compared[i] != j:
            compared[i] = j
            counts[i] = 0
            for w in range(rows.shape[1]):
                word = rows[i, w]
                if j >= 0 and w < less_rows.shape[1]:
                    word &= ~less_rows[j, w]
                counts[i] += _bits(word)
        total += counts[i]
    return total


@njit(cache=True, nogil=True)
def pairs(nodes, rows, ids, less_rows, less_ids):  # type: ignore[no-untyped-def]
    """The pairs of some nodes, without those in the other rows; nodes without an id have none."""
    out = np.empty((count_more(nodes, rows, ids, less_rows, less_ids), 2), np.int64)
    n = 0
    for k in range(nodes.size):
        x = nodes[k]
        if x >= ids.size:
            continue
        i, j = ids[x], (less_ids[x] if x < less_ids.size else -1)
        for w in range(rows.shape[1]):
            word = rows[i, w]
            if j >= 0 and w < less_rows.shape[1]:
                word &= ~less_rows[j, w]
            while word:
                out[n, 0] = x
                out[n, 1] = w * 64 + _bits(~word & (word - _ONE))
                n += 1
                word &= word - _ONE
    return out


@njit(cache=True, nogil=True)
def leads_to(starts, targets, x, goal_starts, goal, z, most):  # type: ignore[no-untyped-def]
    """Whether steps lead from x to a node with the goal z; -1 if undecided after `most` steps.

    x itself counts. The search is breadth first.
    """
    seen = np.zeros(starts.size - 1, np.bool_)
    queue = np.empty(starts.size - 1, np.int64)
    queue[0], first, last = x, 0, 1
    seen[x] = True
    while first < last:
        y = queue[first]
        first += 1
        for i in range(goal_starts[y], goal_starts[y + 1]):
            if goal[i] == z:
                return 1
        most -= 1 + starts[y + 1] - starts[y] + goal_starts[y + 1] - goal_starts[y]
        if most < 0:
            return -1
        for i in range(starts[y], starts[y + 1]):
            if not seen[targets[i]]:
                seen[targets[i]] = True
                queue[last] = targets[i]
                last += 1
    return 0
