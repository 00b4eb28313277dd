"""Kernels on dictionaries of texts: interning byte strings.

The texts are stored one after another. The hash table is that of a relation: 1 more than a code, and half the
hash of the text.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.compiled import exported, inlined, kernel
from tidelog.engine.local.kernels.layout import (
    BEGINS_AT,
    BEGINS_CAP,
    BYTES,
    BYTES_AT,
    BYTES_CAP,
    NONE,
    TEXT_SLOTS,
    TEXT_SLOTS_AT,
    TEXTS,
)
from tidelog.engine.local.kernels.memory import (
    load8,
    load32,
    load64,
    load_word,
    prefetch,
    store8,
    store64,
    store_word,
)
from tidelog.engine.local.kernels.rows import SEED, mix, place, upper

__all__ = ["intern_texts"]

_LOWER = 0xFFFFFFFF
_BLOCK = 32  # texts whose slots and bytes are loaded together


@kernel
def _half_of_text(at, size):
    """Half the hash of the bytes at an address."""
    h = mix(SEED, size)
    if size < 8:
        word = 0
        for i in range(size):
            word = (word << 8) | (load8(at, i) & 255)
        return upper(mix(h, word))
    for i in range(size >> 3):
        h = mix(h, load_word(at, 8 * i))
    return upper(mix(h, load_word(at, size - 8)))


@kernel
def _is_text(at, other, size):
    """Whether there are the same bytes at two addresses."""
    if size < 8:
        same = 0
        while same < size and load8(at, same) == load8(other, same):
            same += 1
        return same == size
    for i in range(size >> 3):
        if load_word(at, 8 * i) != load_word(other, 8 * i):
            return False
    return load_word(at, size - 8) == load_word(other, size - 8)


@kernel
def _code_of(texts, at, size, half, adds):
    """The code of a text; -1 if it is missing, or is to be added and there is no room."""
    slots, capacity = load64(texts, TEXT_SLOTS_AT), load64(texts, TEXT_SLOTS)
    begins, content = load64(texts, BEGINS_AT), load64(texts, BYTES_AT)
    place_ = place(half, capacity)
    while True:
        slot = load64(slots, place_)
        if slot == 0:
            break
        if (slot >> 32) & _LOWER == half:
            code = (slot & _LOWER) - 1
            first = load64(begins, code)
            if load64(begins, code + 1) - first == size and _is_text(at, content + first, size):
                return code
        place_ += 1
        if place_ == capacity:
            place_ = 0
    count, used = load64(texts, TEXTS), load64(texts, BYTES)
    if not adds or count + 1 >= load64(texts, BEGINS_CAP) or used + size > load64(texts, BYTES_CAP):
        return -1
    if 4 * (count + 1) > 3 * capacity:
        return -1
    for i in range(size >> 3):
        store_word(content, used + 8 * i, load_word(at, 8 * i))
    for i in range(size & ~7, size):
        store8(content, used + i, load8(at, i))
    store64(begins, count + 1, used + size)
    store64(texts, BYTES, used + size)
    store64(texts, TEXTS, count + 1)
    store64(slots, place_, (half << 32) | (count + 1))
    return count


@inlined
def _offset(offsets, i, is_long):
    return load64(offsets, i) if is_long else load32(offsets, i)


@kernel
def _begin_texts(texts, offsets, is_long, content, first, last, codes):
    """Hash a block of texts, and begin to load what the search for them needs."""
    slots, capacity = load64(texts, TEXT_SLOTS_AT), load64(texts, TEXT_SLOTS)
    begins, known = load64(texts, BEGINS_AT), load64(texts, BYTES_AT)
    for i in range(first, last):
        start = _offset(offsets, i, is_long)
        half = _half_of_text(content + start, _offset(offsets, i + 1, is_long) - start)
        store64(codes, i, half)
        prefetch(slots, 8 * place(half, capacity))
    for i in range(first, last):
        slot = load64(slots, place(load64(codes, i), capacity))
        prefetch(begins, 8 * ((slot & _LOWER) - 1))
    for i in range(first, last):
        slot = load64(slots, place(load64(codes, i), capacity))
        if slot:
            prefetch(known, load64(begins, (slot & _LOWER) - 1))
    return 0


@exported
def intern_texts(texts, offsets, is_long, content, missing, first, count, adds, codes):
    """Write the codes of texts, from the one numbered `first` on; returns how many are done.

    Text i is between two offsets, of 32 or 64 bits, unless the byte `missing` has for it is not 0. Returns
    early if there is no room for a new text. Without `adds`, the code of an unknown text is -1.
    """
    done = first
    while done < count:
        last = done + _BLOCK if done + _BLOCK < count else count
        _begin_texts(texts, offsets, is_long, content, done, last, codes)
        for i in range(done, last):
            if missing and load8(missing, i):
                store64(codes, i, NONE)
                continue
            start = _offset(offsets, i, is_long)
            size = _offset(offsets, i + 1, is_long) - start
            code = _code_of(texts, content + start, size, load64(codes, i), adds)
            if code < 0 and adds:
                return i
            store64(codes, i, code)
        done = last
    return count
