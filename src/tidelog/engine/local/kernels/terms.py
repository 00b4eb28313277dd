"""Kernels on dictionaries of structured values: interning rows of codes.

A value is a row of the codes of its parts. The rows are stored one after another, and either all have the
same length or each begins where `starts` says. The hash table is that of a relation: 1 more than a code, and
half the hash of the row.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.layout import (
    ITEMS,
    ITEMS_AT,
    ITEMS_CAP,
    ITEMS_EACH,
    TERM_SLOTS,
    TERM_SLOTS_AT,
    TERM_STARTS_AT,
    TERM_STARTS_CAP,
    TERMS,
)
from tidelog.engine.local.kernels.memory import load64, prefetch, store64
from tidelog.engine.local.kernels.rows import SEED, mix, place, upper

__all__ = ["intern_terms"]

_LOWER = 0xFFFFFFFF
_BLOCK = 32  # rows whose slots and codes are loaded together


@inlined
def _start(starts, each, i):
    """Where a row begins."""
    return i * each if each else load64(starts, i)


@kernel
def _half_of_term(content, first, last):
    """Half the hash of the codes from one place to another."""
    h = mix(SEED, last - first)
    for i in range(first, last):
        h = mix(h, load64(content, i))
    return upper(h)


@kernel
def _is_term(content, first, size, known, start):
    """Whether the same codes are at two places."""
    same = 0
    while same < size and load64(content, first + same) == load64(known, start + same):
        same += 1
    return same == size


@kernel
def _code_of_term(terms, content, first, size, half, adds):
    """The code of a row; -1 if it is missing, or is to be added and there is no room."""
    slots, capacity = load64(terms, TERM_SLOTS_AT), load64(terms, TERM_SLOTS)
    known, starts, each = load64(terms, ITEMS_AT), load64(terms, TERM_STARTS_AT), load64(terms, ITEMS_EACH)
    at = place(half, capacity)
    while True:
        slot = load64(slots, at)
        if slot == 0:
            break
        if (slot >> 32) & _LOWER == half:
            code = (slot & _LOWER) - 1
            start = _start(starts, each, code)
            if _start(starts, each, code + 1) - start == size and _is_term(
                content, first, size, known, start
            ):
                return code
        at += 1
        if at == capacity:
            at = 0
    count, used = load64(terms, TERMS), load64(terms, ITEMS)
    if not adds or used + size > load64(terms, ITEMS_CAP) or 4 * (count + 1) > 3 * capacity:
        return -1
    if each == 0:
        if count + 1 >= load64(terms, TERM_STARTS_CAP):
            return -1
        store64(starts, count + 1, used + size)
    for i in range(size):
        store64(known, used + i, load64(content, first + i))
    store64(terms, ITEMS, used + size)
    store64(terms, TERMS, count + 1)
    store64(slots, at, (half << 32) | (count + 1))
    return count


@kernel
def _begin_terms(terms, starts, content, first, last, codes):
    """Hash a block of rows, and begin to load what the search for them needs."""
    slots, capacity = load64(terms, TERM_SLOTS_AT), load64(terms, TERM_SLOTS)
    known, each = load64(terms, ITEMS_AT), load64(terms, ITEMS_EACH)
    for i in range(first, last):
        half = _half_of_term(content, _start(starts, each, i), _start(starts, each, i + 1))
        store64(codes, i, half)
        prefetch(slots, 8 * place(half, capacity))
    for i in range(first, last):
        slot = load64(slots, place(load64(codes, i), capacity))
        if slot:
            prefetch(known, 8 * _start(load64(terms, TERM_STARTS_AT), each, (slot & _LOWER) - 1))
    return 0


@exported
def intern_terms(terms, starts, content, first, count, adds, codes):
    """Write the codes of rows of codes, from the row numbered `first` on; returns how many are done.

    Returns early if there is no room for a new row. Without `adds`, the code of an unknown row is -1.
    """
    each, done = load64(terms, ITEMS_EACH), first
    while done < count:
        last = done + _BLOCK if done + _BLOCK < count else count
        _begin_terms(terms, starts, content, done, last, codes)
        for i in range(done, last):
            begin = _start(starts, each, i)
            size = _start(starts, each, i + 1) - begin
            code = _code_of_term(terms, content, begin, size, load64(codes, i), adds)
            if code < 0 and adds:
                return i
            store64(codes, i, code)
        done = last
    return count
