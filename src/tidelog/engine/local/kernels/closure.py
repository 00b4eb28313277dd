"""Kernels on bit rows: all pairs that follow from a base by steps.

`row[x]` holds the values that x is paired with. The result is the least rows such that `row[x]` contains the
base of x, and `row[y]` for every step from x to y. Nodes that lead to each other have the same row. So
strongly connected components are found first, in reverse topological order, and the members of each share one
row.

Pairs grouped by their first element are two arrays: where the group of each element begins (one more than
there are elements), and the second elements.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.memory import load8, load64, store8, store64

__all__ = [
    "changed",
    "components",
    "count_more",
    "count_pairs",
    "fill",
    "group",
    "leads_to",
    "lowest_ranks",
    "most_pairs",
    "pairs",
    "reaching",
    "transpose",
]

_ONE = np.uint64(1)
_PAIRS, _QUADS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_OCTETS, _EACH = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


@inlined
def _lower(lowest, x, value):
    if value < load64(lowest, x):
        store64(lowest, x, value)


@inlined
def _set(row, value):
    word = np.uint64(load64(row, value >> 6)) | (_ONE << np.uint64(value & 63))
    store64(row, value >> 6, np.int64(word))


@inlined
def _bits(word):
    """The number of set bits in a word."""
    word -= (word >> _ONE) & _PAIRS
    word = (word & _QUADS) + ((word >> np.uint64(2)) & _QUADS)
    word = (word + (word >> np.uint64(4))) & _OCTETS
    return np.int64((word * _EACH) >> np.uint64(56))


@inlined
def _without(rows, at, less, less_words, j, w):
    """A word of a row, without the bits of row j of the others; -1 is no row."""
    word = np.uint64(load64(rows, at))
    if j >= 0 and w < less_words:
        word &= ~np.uint64(load64(less, j * less_words + w))
    return word


@kernel
def _is_equal(one, one_words, other, other_words):
    """Whether two rows have the same bits; missing words count as 0."""
    if one == other and one_words == other_words:
        return True
    shared = one_words if one_words < other_words else other_words
    for w in range(shared):
        if load64(one, w) != load64(other, w):
            return False
    rest = 0
    for w in range(shared, one_words):
        rest |= load64(one, w)
    for w in range(shared, other_words):
        rest |= load64(other, w)
    return rest == 0


@exported
def group(first, second, count, size, starts, targets):
    """Group pairs by their first element, which is less than `size`; `starts`, with two more, begins as 0."""
    for i in range(count):
        at = load64(first, i) + 2
        store64(starts, at, load64(starts, at) + 1)
    for x in range(2, size + 2):
        store64(starts, x, load64(starts, x) + load64(starts, x - 1))
    for i in range(count):  # the start of x is at x + 1 for now, and moves on to its end
        at = load64(first, i) + 1
        place = load64(starts, at)
        store64(targets, place, load64(second, i))
        store64(starts, at, place + 1)
    return 0


@exported
def components(starts, targets, size, component, order, lowest, stack, path, at):
    """The component of each node, numbered so that no step leads to a higher number; returns their count.

    `component` and `order`, the order in which nodes are visited, begin as -1, `at` as the starts.
    """
    met = count = stacked = 0
    for root in range(size):
        if load64(order, root) >= 0:
            continue
        depth = 0
        store64(path, 0, root)
        while depth >= 0:
            x = load64(path, depth)
            if load64(order, x) < 0:
                store64(order, x, met)
                store64(lowest, x, met)
                met += 1
                store64(stack, stacked, x)
                stacked += 1
            deeper = False
            while load64(at, x) < load64(starts, x + 1):
                y = load64(targets, load64(at, x))
                store64(at, x, load64(at, x) + 1)
                if load64(order, y) < 0:
                    depth += 1
                    store64(path, depth, y)
                    deeper = True
                    break
                if load64(component, y) < 0:
                    _lower(lowest, x, load64(order, y))
            if deeper:
                continue
            if load64(lowest, x) == load64(order, x):
                while True:
                    stacked -= 1
                    y = load64(stack, stacked)
                    store64(component, y, count)
                    if y == x:
                        break
                count += 1
            depth -= 1
            if depth >= 0:
                _lower(lowest, load64(path, depth), load64(lowest, x))
    return count


@exported
def reaching(step, to, component, members, first, count, touched, marks):
    """Mark the components that have a touched member or lead to one; returns their number.

    `members` are grouped by component, beginning at `first`. `marks` begins as 0.
    """
    total = 0
    for c in range(count):
        found = 0
        for m in range(load64(first, c), load64(first, c + 1)):
            x = load64(members, m)
            found |= load8(touched, x)
            for i in range(load64(step, x), load64(step, x + 1)):
                found |= load8(marks, load64(component, load64(to, i)))
        store8(marks, c, found)
        total += found
    return total


@exported
def fill(
    step,
    to,
    base_step,
    base,
    component,
    members,
    first,
    count,
    row_of,
    marks,
    joined,
    rows,
    words,
    start,
    most,
):
    """Fill the rows, initially 0, of marked components; returns the next component after `most` words.

    It begins with the component `start`. `members` are as in `reaching`, and `row_of` says which row a
    component has. `joined` begins as -1.
    """
    for c in range(start, count):
        if most <= 0:
            return c
        if not load8(marks, c):
            continue
        row = rows + 8 * words * load64(row_of, c)
        for m in range(load64(first, c), load64(first, c + 1)):
            x = load64(members, m)
            for i in range(load64(base_step, x), load64(base_step, x + 1)):
                _set(row, load64(base, i))
            for i in range(load64(step, x), load64(step, x + 1)):
                d = load64(component, load64(to, i))
                if d != c and load64(joined, d) != c:
                    store64(joined, d, c)
                    most -= words
                    other = rows + 8 * words * load64(row_of, d)
                    for w in range(words):
                        store64(row, w, load64(row, w) | load64(other, w))
            most -= load64(step, x + 1) - load64(step, x) + 1
            most -= load64(base_step, x + 1) - load64(base_step, x)
    return count


@inlined
def _keep_lowest(lowest, ranks, width):
    for k in range(width):
        _lower(lowest, k, load64(ranks, k))


@exported
def lowest_ranks(step, to, base_step, base, component, members, first, count, ranks, width, lowest):
    """The lowest ranks of the values that each component is paired with, `width` of each.

    `members` are as in `fill`. `lowest` begins as the largest rank.
    """
    for c in range(count):
        own = lowest + 8 * width * c
        for m in range(load64(first, c), load64(first, c + 1)):
            x = load64(members, m)
            for i in range(load64(base_step, x), load64(base_step, x + 1)):
                _keep_lowest(own, ranks + 8 * width * load64(base, i), width)
            for i in range(load64(step, x), load64(step, x + 1)):
                d = load64(component, load64(to, i))
                if d != c:
                    _keep_lowest(own, lowest + 8 * width * d, width)
    return 0


@exported
def most_pairs(step, to, base_step, component, members, first, count, places, most):
    """At most how many pairs there are; `most` gets with how many values each component is paired at most.

    `members` are as in `fill`. A value counts once for each path to it.
    """
    total = 0
    for c in range(count):
        own, begin, end = 0, load64(first, c), load64(first, c + 1)
        for m in range(begin, end):
            x = load64(members, m)
            own += load64(base_step, x + 1) - load64(base_step, x)
            for i in range(load64(step, x), load64(step, x + 1)):
                d = load64(component, load64(to, i))
                if d != c:
                    own += load64(most, d)
        if own > places:
            own = places
        store64(most, c, own)
        total += own * (end - begin)
    return total


@exported
def changed(old_rows, old_words, old, old_size, rows, words, ids, size, compared, equal, found):
    """List the nodes whose rows differ, and return their number; new nodes had an empty row.

    `compared`, the old row that a new one was last compared with, begins as -2.
    """
    count = 0
    for x in range(size):
        i, j = (load64(old, x) if x < old_size else -1), load64(ids, x)
        if load64(compared, j) != i:
            store64(compared, j, i)
            before, length = old_rows + 8 * old_words * i, old_words if i >= 0 else 0
            store8(equal, j, _is_equal(before, length, rows + 8 * words * j, words))
        if not load8(equal, j):
            store64(found, count, x)
            count += 1
    return count


@exported
def count_pairs(rows, words, ids, size, counts):
    """The number of set bits in the rows of all nodes. `counts`, those of each row, begins as -1."""
    total = 0
    for x in range(size):
        i = load64(ids, x)
        if load64(counts, i) < 0:
            count = 0
            for w in range(words):
                count += _bits(np.uint64(load64(rows, i * words + w)))
            store64(counts, i, count)
        total += load64(counts, i)
    return total


@exported
def count_more(nodes, count, rows, words, ids, size, less, less_words, less_ids, less_size, compared, counts):
    """How many pairs `pairs` finds; shared pairs of rows are counted once. `compared` begins as -2."""
    total = 0
    for k in range(count):
        x = load64(nodes, k)
        if x >= size:
            continue
        i, j = load64(ids, x), (load64(less_ids, x) if x < less_size else -1)
        if load64(compared, i) != j:
            store64(compared, i, j)
            more = 0
            for w in range(words):
                more += _bits(_without(rows, i * words + w, less, less_words, j, w))
            store64(counts, i, more)
        total += load64(counts, i)
    return total


@exported
def pairs(nodes, count, rows, words, ids, size, less, less_words, less_ids, less_size, out):
    """List the pairs of some nodes, without those in the other rows; nodes without an id have none."""
    n = 0
    for k in range(count):
        x = load64(nodes, k)
        if x >= size:
            continue
        i, j = load64(ids, x), (load64(less_ids, x) if x < less_size else -1)
        for w in range(words):
            word = _without(rows, i * words + w, less, less_words, j, w)
            while word:
                store64(out, 2 * n, x)
                store64(out, 2 * n + 1, w * 64 + _bits(~word & (word - _ONE)))
                n += 1
                word &= word - _ONE
    return 0


@kernel
def _transpose_block(block):
    """Transpose a block of 64 words: bit j of word i becomes bit i of word j."""
    half, mask = 32, np.uint64(0xFFFFFFFF)
    while half:
        i = 0
        while i < 64:
            low, high = np.uint64(load64(block, i)), np.uint64(load64(block, i + half))
            moved = ((low >> np.uint64(half)) ^ high) & mask
            store64(block, i, np.int64(low ^ (moved << np.uint64(half))))
            store64(block, i + half, np.int64(high ^ moved))
            i = (i + half + 1) & ~half
        half >>= 1
        mask ^= mask << np.uint64(half)
    return 0


@exported
def transpose(rows, words, ids, size, first, last, block, out, out_words):
    """Write the columns in the words `first` to `last` of rows as rows, initially 0, of their own.

    `block` has room for 64 words. The words of a cache line are read together.
    """
    for x in range(0, size, 64):
        count = 64 if x + 64 < size else size - x
        for w in range(first, last):
            together = 0
            for i in range(count):
                word = load64(rows, load64(ids, x + i) * words + w)
                store64(block, i, word)
                together |= word
            if together:
                for i in range(count, 64):
                    store64(block, i, 0)
                _transpose_block(block)
                for i in range(64):
                    store64(out, (w * 64 + i) * out_words + (x >> 6), load64(block, i))
    return 0


@exported
def leads_to(starts, targets, x, goal_starts, goal, z, most, seen, queue):
    """Whether steps lead from x to a node with the goal z; -1 if undecided after `most` steps.

    x itself counts. The search is breadth first. `seen` begins as 0.
    """
    store64(queue, 0, x)
    first, last = 0, 1
    store8(seen, x, 1)
    while first < last:
        y = load64(queue, first)
        first += 1
        for i in range(load64(goal_starts, y), load64(goal_starts, y + 1)):
            if load64(goal, i) == z:
                return 1
        most -= 1 + load64(starts, y + 1) - load64(starts, y)
        most -= load64(goal_starts, y + 1) - load64(goal_starts, y)
        if most < 0:
            return -1
        for i in range(load64(starts, y), load64(starts, y + 1)):
            target = load64(targets, i)
            if not load8(seen, target):
                store8(seen, target, 1)
                store64(queue, last, target)
                last += 1
    return 0
