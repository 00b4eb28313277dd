"""Calls of compiled kernels. See the kernels for what they do.

Kernels access memory by address, so they must get what they expect: every array is checked here to be
contiguous and of the right type, and sizes are those of arrays.
"""

from __future__ import annotations

from ctypes import addressof, c_char
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.library import Kernels

__all__ = [
    "Grouped",
    "add_rows",
    "address",
    "all_fit",
    "apply_emitted",
    "apply_heads",
    "apply_rows",
    "assert_rows",
    "changed",
    "close_gaps",
    "collect",
    "components",
    "copy_codes",
    "count_more",
    "count_pairs",
    "cover",
    "end_round",
    "enlarge",
    "enlarge_best",
    "fill",
    "find_rows",
    "group_rows",
    "grouped",
    "hurry",
    "insert_share",
    "intern_terms",
    "intern_texts",
    "leads_to",
    "link",
    "lose_rows",
    "lowest_ranks",
    "merge",
    "most_pairs",
    "next_improved",
    "pairs",
    "publish",
    "publish_weights",
    "reaching",
    "retract_rows",
    "run",
    "run_parts",
    "settle",
    "sift",
    "slot_rows",
    "soonest_queue",
    "spread",
    "transpose",
    "undo_weights",
    "write_heads",
]

Integers: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Grouped: TypeAlias = tuple[Integers, Integers]  # where the group of each number begins; all members

_INTEGERS: Final = np.dtype(np.int64)
_HALVES: Final = np.dtype(np.int32)
_WORDS: Final = np.dtype(np.uint64)


_byte: Final[Any] = c_char.from_buffer


def address(array: npt.NDArray[Any]) -> int:
    """The address of an array's first value."""
    try:
        return addressof(_byte(array))
    except (TypeError, ValueError, BufferError):  # empty, or not to be written
        return int(array.__array_interface__["data"][0])


def _at(array: Integers | Words) -> int:
    """The address of a contiguous array of 64-bit numbers."""
    if not array.flags.c_contiguous or array.dtype not in (_INTEGERS, _WORDS):
        raise ValueError(f"not a contiguous array of 64-bit numbers: {array.dtype}, {array.strides}")
    return address(array)


def _bytes_at(array: Bytes) -> int:
    """The address of a contiguous array of bytes."""
    if not array.flags.c_contiguous or array.dtype != np.uint8:
        raise ValueError(f"not a contiguous array of bytes: {array.dtype}, {array.strides}")
    return int(array.__array_interface__["data"][0])


_kernels: Final = Kernels()

# -- kernels whose parameters are numbers and addresses of structures


def run(code: int, rank: int, list_at: int, list_len: int, steps: int, resume: bool) -> int:
    """Run bytecode from the beginning, or resume it; returns its status."""
    return _kernels.run(code, rank, list_at, list_len, steps, resume)


def hurry(loop: int, rank: int, most: int, large: int, enough: int, steps: int, how: int) -> int:
    """Run rounds of a loop; returns the status of the step that it stopped at."""
    return _kernels.hurry(loop, rank, most, large, enough, steps, how)


def run_parts(loop: int, most: int, steps: int) -> int:
    """Run a loop one partition after the other; returns the status of the bytecode that it stopped at."""
    return _kernels.run_parts(loop, most, steps)


def end_round(relation: int, mode: int) -> int:
    """Make the rows put on the worklist in this round the next delta; returns their number."""
    return _kernels.end_round(relation, mode)


def next_improved(relation: int, cut: int | None) -> int:
    """Make the better rows that were found the next delta, up to a value; returns their number."""
    return _kernels.next_improved(relation, cut is not None, 0 if cut is None else cut)


def lose_rows(relation: int, rows: Integers) -> None:
    """Record that the rows of some keys were deleted."""
    _kernels.lose_rows(relation, _at(rows), len(rows))


def enlarge_best(best: int, smaller: Integers, before: Integers) -> None:
    """Fill empty tables of best rows and of the rows before from smaller ones."""
    _kernels.enlarge_best(best, _at(smaller), _at(before), len(smaller))


def publish(relation: int, whole: bool) -> None:
    """Make the new state of changed rows current."""
    _kernels.publish(relation, whole)


def slot_rows(relation: int, first: int) -> None:
    """Put the rows from a number on into the hash table."""
    _kernels.slot_rows(relation, first)


def enlarge(slots: Integers, smaller: Integers) -> None:
    """Fill an empty hash table from the slots of a smaller one."""
    _kernels.enlarge(_at(slots), len(slots), _at(smaller), len(smaller))


def spread(slots: Integers, size: int) -> None:
    """Enlarge a hash table in place, from its first `size` slots to all; the others must be free."""
    aside = np.empty(size, np.int64)  # hardly any of it is touched
    _kernels.spread(_at(slots), len(slots), size, _at(aside))


def cover(index: int, relation: int) -> bool:
    """Add new rows to the chains of an index; false if the index is too small."""
    return bool(_kernels.cover(index, relation))


def group_rows(index: int, relation: int, buckets: npt.NDArray[np.int32]) -> int:
    """Group the rows of an index by buckets, whose numbers go to `buckets`; returns how many are in use."""
    return _kernels.group_rows(index, relation, address(buckets))


def soonest_queue(trace: int, iteration: int) -> int:
    """The first iteration from this one on with a nonempty queue; the capacity if there is none."""
    return _kernels.soonest_queue(trace, iteration)


def undo_weights(trace: int) -> None:
    """Restore the entries as of the beginning of the commit."""
    _kernels.undo_weights(trace)


def publish_weights(trace: int) -> int:
    """Clear the log; returns by how many the entries with weight 0 have increased."""
    return _kernels.publish_weights(trace)


def link(trace: int) -> None:
    """Build the chains of all entries."""
    _kernels.link(trace)


# -- tables


def all_fit(numbers: Integers) -> bool:
    """Whether all numbers fit into 32 bits."""
    return bool(_kernels.all_fit(_at(numbers), numbers.size))


def add_rows(relation: int, data: Integers) -> Integers:
    """The rows of these tuples; missing tuples are added as dead rows. There must be room."""
    rows = np.empty(len(data), np.int64)
    _kernels.add_rows(relation, _at(data), len(data), _at(rows))
    return rows


def find_rows(relation: int, data: Integers) -> Integers:
    """The rows of these tuples; negative for missing tuples."""
    rows = np.empty(len(data), np.int64)
    _kernels.find_rows(relation, _at(data), len(data), _at(rows))
    return rows


def copy_codes(cells: npt.NDArray[np.signedinteger[Any]], arity: int, rows: Integers | int) -> Integers:
    """The codes of these rows, or of as many from the first one on."""
    count, at = (rows, 0) if isinstance(rows, int) else (len(rows), _at(rows))
    codes = np.empty((count, arity), np.int64)
    wide = cells.dtype == _INTEGERS
    if not cells.flags.c_contiguous or cells.dtype not in (_INTEGERS, _HALVES):
        raise ValueError(f"not contiguous cells: {cells.dtype}, {cells.strides}")
    _kernels.copy_codes(address(cells), cells.shape[1], wide, arity, at, count, _at(codes))
    return codes


def assert_rows(relation: int, data: Integers) -> Integers:
    """Assert tuples; returns the rows that were not asserted before. There must be room."""
    rows = np.empty(len(data), np.int64)
    return rows[: _kernels.assert_rows(relation, _at(data), len(data), _at(rows))]


def retract_rows(relation: int, data: Integers) -> Integers:
    """Mark asserted tuples as being retracted; returns their rows."""
    rows = np.empty(len(data), np.int64)
    return rows[: _kernels.retract_rows(relation, _at(data), len(data), _at(rows))]


def settle(relation: int, whole: bool, size: int) -> tuple[Integers, Integers]:
    """The rows that a commit inserted and deleted, at most `size` of each, in one array."""
    found = np.empty(2 + 2 * size, np.int64)
    at = _at(found)
    _kernels.settle(relation, whole, at + 16, at + 16 + 8 * size, at)
    inserted, deleted = found[:2].tolist()
    return found[2 : 2 + inserted], found[2 + size : 2 + size + deleted]


def apply_heads(
    relation: int, mode: int, rank: int, heads: Integers, highest: Integers, origins: Integers, done: int
) -> tuple[int, int]:
    """Apply heads, one per column, from number `done` on; returns how many are done, and what is full."""
    room = np.empty(layout.MOST_PENDING * (len(heads) + layout.PENDING_MORE), np.int64)
    count, out = len(highest), np.array([done], np.int64)
    if heads.shape[1] != count or len(origins) != count:
        raise ValueError(f"{heads.shape[1]} heads, {count} ranks and {len(origins)} rows")
    status = _kernels.apply_heads(
        relation, mode, rank, _at(heads), count, count, _at(highest), _at(origins), _at(room), _at(out)
    )
    return int(out[0]), status


def write_heads(heads: Integers, highest: Integers, pending: Integers, first: int, last: int) -> None:
    """Write the heads of these numbers, one per column, down in the form of emitted ones."""
    arity, count = heads.shape
    if not (0 <= first <= last <= count == len(highest) == len(pending)):
        raise ValueError(f"{first} to {last} of {count} heads, {len(highest)} ranks, {len(pending)} places")
    _kernels.write_heads(_at(heads), count, arity, _at(highest), first, last, _at(pending))


def apply_emitted(
    relation: int, mode: int, rank: int, heads: Integers, count: int, done: int
) -> tuple[int, int]:
    """Apply emitted heads from number `done` up to `count`; returns how many are done and what is full."""
    out = np.array([done], np.int64)
    if count > len(heads):
        raise ValueError(f"{count} of {len(heads)} heads")
    status = _kernels.apply_emitted(relation, mode, rank, _at(heads), count, _at(out))
    return int(out[0]), status


def insert_share(
    relation: int, rank: int, heads: Integers, count: int, share: int, shares: int, first: int
) -> tuple[int, int]:
    """Insert the new heads of a share, from a row on. There must be room.

    Returns the next row, and how many heads remain to be applied.
    """
    out = np.array([first, 0], np.int64)
    if count > len(heads):
        raise ValueError(f"{count} of {len(heads)} heads")
    _kernels.insert_share(relation, rank, _at(heads), count, share, shares, _at(out))
    return int(out[0]), int(out[1])


def close_gaps(relation: int, firsts: list[int], lasts: list[int]) -> None:
    """Make the rows that shares inserted contiguous, and put them on the worklist."""
    bounds = np.array([firsts, lasts], np.int64)
    _kernels.close_gaps(relation, _at(bounds[0]), _at(bounds[1]), len(firsts))


def apply_rows(relation: int, mode: int, rank: int, rows: Integers, done: int) -> tuple[int, int]:
    """Apply asserted rows from number `done` on; returns how many are done, and what is full."""
    out = np.array([done], np.int64)
    status = _kernels.apply_rows(relation, mode, rank, _at(rows), len(rows), _at(out))
    return int(out[0]), status


# -- texts


def intern_terms(
    terms: int, starts: Integers | None, content: Integers, done: int, adds: bool, codes: Integers
) -> int:
    """Write the codes of rows of codes, from the row numbered `done` on; returns how many are done."""
    begin = 0 if starts is None else _at(starts)
    return _kernels.intern_terms(terms, begin, _at(content), done, len(codes), adds, _at(codes))


def intern_texts(
    texts: int, given: tuple[int, bool, int, int], done: int, adds: bool, codes: Integers
) -> int:
    """Write the codes of texts, from the one numbered `done` on; returns how many are done.

    They are given by the addresses of their offsets, whether these have 64 bits, and the addresses of the
    content and of the marks of missing ones.
    """
    return _kernels.intern_texts(texts, *given, done, len(codes), adds, _at(codes))


# -- indexes


def merge(relation: int, index: int, fresh: Integers, merged: Integers) -> None:
    """Merge the sorted rows of an index with new sorted rows."""
    _kernels.merge(relation, index, _at(fresh), len(fresh), _at(merged))


def collect(relation: int, index: int, keys: Integers) -> tuple[Integers, Integers]:
    """All pairs of a key, by its number, and a row that has it. An index must cover the table."""
    capacity = max(16, len(keys))
    while True:
        found = np.empty((2, capacity), np.int64)
        count = _kernels.collect(relation, index, _at(keys), len(keys), _at(found), capacity)
        if count <= capacity:
            return found[0, :count], found[1, :count]
        capacity = count


# -- traces


def sift(relation: int, iteration: int, waiting: int) -> tuple[Integers, Integers]:
    """Process the queue of an iteration: the rows deleted and inserted there, at most `waiting`."""
    rows, counts = np.empty((2, waiting), np.int64), np.empty(2, np.int64)
    _kernels.sift(relation, iteration, _at(rows[0]), _at(rows[1]), _at(counts))
    return rows[0, : counts[0]].copy(), rows[1, : counts[1]].copy()


# -- bit rows


def grouped(first: Integers, second: Integers, size: int) -> Grouped:
    """Group pairs by their first element, which must be less than `size`."""
    starts, targets = np.zeros(size + 2, np.int64), np.empty(len(first), np.int64)
    _kernels.group(_at(first), _at(second), len(first), size, _at(starts), _at(targets))
    return starts[:-1], targets


def components(steps: Grouped) -> tuple[Integers, int]:
    """The strongly connected component of each node, in reverse topological order, and their number."""
    starts, targets = steps
    size = len(starts) - 1
    component, order = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    lowest, stack, path = np.empty((3, size), np.int64)
    at = starts[:-1].copy()
    count = _kernels.components(
        _at(starts), _at(targets), size, *map(_at, (component, order, lowest, stack, path, at))
    )
    return component, count


def reaching(steps: Grouped, component: Integers, members: Grouped, touched: Bytes) -> tuple[Bytes, int]:
    """The components that have a touched member or lead to one, marked with 1, and their number."""
    first, of = members
    marks = np.zeros(len(first) - 1, np.uint8)
    count = _kernels.reaching(
        *map(_at, (*steps, component, of, first)), len(marks), _bytes_at(touched), _bytes_at(marks)
    )
    return marks, count


def fill(
    steps: Grouped,
    base: Grouped,
    component: Integers,
    members: Grouped,
    row_of: Integers,
    marks: Bytes,
    rows: Words,
    start: int,
    most: int,
) -> int:
    """Fill the rows of marked components from `start` on; returns the next one after about `most` words."""
    first, of = members
    joined = np.full(len(first) - 1, -1, np.int64)
    return _kernels.fill(
        *map(_at, (*steps, *base, component, of, first)),
        len(first) - 1,
        _at(row_of),
        _bytes_at(marks),
        _at(joined),
        _at(rows),
        rows.shape[1],
        start,
        most,
    )


def lowest_ranks(
    steps: Grouped, base: Grouped, component: Integers, members: Grouped, ranks: Integers, largest: int
) -> Integers:
    """The lowest ranks of the values that each component is paired with; `largest` if there is none."""
    first, of = members
    lowest = np.full((len(first) - 1, ranks.shape[1]), largest, np.int64)
    _kernels.lowest_ranks(
        *map(_at, (*steps, *base, component, of, first)), len(lowest), _at(ranks), ranks.shape[1], _at(lowest)
    )
    return lowest


def most_pairs(steps: Grouped, base: Grouped, component: Integers, members: Grouped, places: int) -> int:
    """At most how many pairs there are, each value counted once for each path to it."""
    first, of = members
    most = np.empty(len(first) - 1, np.int64)
    return _kernels.most_pairs(
        *map(_at, (*steps, base[0], component, of, first)), len(most), places, _at(most)
    )


def changed(old_rows: Words, old: Integers, rows: Words, ids: Integers) -> Integers:
    """The nodes whose rows differ."""
    found, compared = np.empty(len(ids), np.int64), np.full(len(rows), -2, np.int64)
    equal = np.empty(len(rows), np.uint8)
    count = _kernels.changed(
        _at(old_rows), old_rows.shape[1], _at(old), len(old),
        _at(rows), rows.shape[1], _at(ids), len(ids), _at(compared), address(equal), _at(found),
    )  # fmt: skip
    return found[:count]


def count_pairs(rows: Words, ids: Integers) -> int:
    """The number of pairs of all nodes."""
    counts = np.full(len(rows), -1, np.int64)
    return _kernels.count_pairs(_at(rows), rows.shape[1], _at(ids), len(ids), _at(counts))


def count_more(nodes: Integers, rows: Words, ids: Integers, less_rows: Words, less_ids: Integers) -> int:
    """The number of pairs of some nodes, without those in the other rows."""
    compared, counts = np.full(len(rows), -2, np.int64), np.empty(len(rows), np.int64)
    return _kernels.count_more(*_compared(nodes, rows, ids, less_rows, less_ids), _at(compared), _at(counts))


def pairs(nodes: Integers, rows: Words, ids: Integers, less_rows: Words, less_ids: Integers) -> Integers:
    """The pairs of some nodes, without those in the other rows."""
    found = np.empty((count_more(nodes, rows, ids, less_rows, less_ids), 2), np.int64)
    _kernels.pairs(*_compared(nodes, rows, ids, less_rows, less_ids), _at(found))
    return found


def _compared(
    nodes: Integers, rows: Words, ids: Integers, less: Words, less_ids: Integers
) -> tuple[int, ...]:
    own = (_at(rows), rows.shape[1], _at(ids), len(ids))
    return (_at(nodes), len(nodes), *own, _at(less), less.shape[1], _at(less_ids), len(less_ids))


def transpose(rows: Words, ids: Integers, first: int, last: int, out: Words) -> None:
    """Write the columns in some words of the rows of all nodes to the rows `out`, which begin as 0."""
    if out.shape[0] < 64 * last or 64 * out.shape[1] < len(ids) or last > rows.shape[1]:
        raise ValueError(f"{rows.shape} of {len(ids)} nodes transposed to {out.shape}")
    block = np.empty(64, np.uint64)
    _kernels.transpose(
        _at(rows), rows.shape[1], _at(ids), len(ids), first, last, _at(block), _at(out), out.shape[1]
    )


def leads_to(steps: Grouped, x: int, goals: Grouped, z: int, most: int) -> int:
    """Whether steps lead from x to a node with the goal z: 1 or 0, or -1 if undecided after `most` steps."""
    size = len(steps[0]) - 1
    seen, queue = np.zeros(size, np.uint8), np.empty(size, np.int64)
    return _kernels.leads_to(*map(_at, steps), x, *map(_at, goals), z, most, address(seen), _at(queue))
