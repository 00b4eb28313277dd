"""Runs bytecode on several threads.

The rows of the first atom are divided into parts. Each thread takes one part after another and searches for
instances; it counts those of known heads and emits the other heads. If most heads are new, it emits all and
does not look for any. From time to time all threads wait for each other. Then they insert the new heads, each
those whose hashes are in its share of the hash table, and one applies what is left. So rows, ranks and counts
do not depend on threads; only the order of new rows does, which may differ from run to run.

Heads that were computed as columns are inserted in the same way: threads write them down, then insert them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import chain, pairwise
from threading import Event
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import (
    address,
    apply_emitted,
    close_gaps,
    insert_share,
    run,
    write_heads,
)
from tidelog.engine.local.storage.index import Buckets
from tidelog.engine.local.storage.pending import Working
from tidelog.engine.local.storage.table import Table

__all__ = ["cover_shared", "insert_shared", "run_shared"]

_R = TypeVar("_R")
_Words: TypeAlias = npt.NDArray[np.int64]
_Parts: TypeAlias = deque[tuple[int, int]]
_Lists: TypeAlias = Sequence[tuple[_Words, int]]  # heads to be applied, and how many, by share or together

_INTERVAL: Final = 0.1  # seconds after which threads wait for each other
_PARTS: Final = 64  # for each thread
_APART: Final = 16  # words around a thread's own, so that no other thread writes into their cache lines
_STEPS: Final = 50_000  # between two looks at the other threads
_KNOWN: Final = 1 << 14  # a power of two
_MANY: Final = 1 << 14  # rows that are worth a thread
_FEW: Final = 1 << 12  # heads that one thread inserts by itself
_MOST_NEW: Final = 0.6  # the share of instances with new heads up to which several threads are faster
_EMITTED: Final = 1 << 16  # heads that a thread emits before it waits


class _Searcher:
    """A thread's copy of the bytecode, with the part that it works on, and the heads that it has emitted."""

    def __init__(self, words: _Words, shares: int) -> None:
        self._words = np.empty(len(words) + 2 * _APART, np.int64)[_APART:-_APART]
        self._words[:] = words
        width = int(words[layout.WIDTH]) + layout.PENDING_MORE
        self.emitted = np.empty((max(_EMITTED, shares), width), np.int64)
        self._known = np.zeros(_KNOWN, np.int32)  # where recent heads are among the emitted ones
        self._counts = np.zeros(shares + 2 * _APART, np.int64)[_APART:-_APART]  # of the lists of all heads
        self._is_busy = True
        self._put(EMITTED=0, FAILURES=0, SHARES=shares, COUNTS_AT=address(self._counts))
        self._put(OUT_AT=address(self.emitted), KNOWN_AT=address(self._known), KNOWN=_KNOWN)

    def _put(self, **words: int) -> None:
        for name, value in words.items():
            self._words[getattr(layout, name)] = value

    def start_over(self) -> None:
        """Forget the part that the bytecode is at."""
        self._is_busy = False
        self._put(INSTANCES=0, PENDING_FROM=0, PENDING_TO=0)

    def search(self, parts: _Parts, meet: Event) -> bool:
        """Search until there are no parts left, or the threads meet; returns whether there is more to do."""
        late = time.perf_counter() + _INTERVAL
        rank = int(self._words[layout.RANK])
        while self._is_busy or self._take(parts):
            status = run(address(self._words), rank, 0, 0, _STEPS, True)
            self._is_busy = status != layout.DONE
            if status == layout.GROW_OUT or time.perf_counter() > late:
                meet.set()
            if meet.is_set():
                return self._is_busy or bool(parts)
        return False

    def _take(self, parts: _Parts) -> bool:
        try:
            first, last = parts.popleft()
        except IndexError:
            return False
        self._words[layout.HEADER + layout.CURSOR], self._words[layout.HEADER + layout.END] = first, last
        self._words[layout.LEVEL] = 0
        self._is_busy = True
        return True

    @property
    def instances(self) -> int:
        return int(self._words[layout.INSTANCES])

    @property
    def failures(self) -> int:
        return int(self._words[layout.FAILURES])

    def emit(self, everything: bool) -> None:
        """Emit all heads from now on, or only those that change more than a count."""
        searches = layout.EMIT_ALL if everything else layout.EMIT_CHANGES
        lists = len(self._counts) if everything else 1
        self._put(SEARCHES=searches, OUT_CAP=len(self.emitted) // lists)

    @property
    def lists(self) -> _Lists:
        """The lists of heads that it has emitted since all threads met, and how long each of them is.

        There is one for each share of the hashes if all heads are emitted, otherwise one for all.
        """
        if self._words[layout.SEARCHES] == layout.EMIT_CHANGES:
            return [(self.emitted, int(self._words[layout.EMITTED]))]
        capacity = int(self._words[layout.OUT_CAP])
        return [(self.emitted[i * capacity :], int(count)) for i, count in enumerate(self._counts)]

    @property
    def count(self) -> int:
        """How many heads it has emitted since all threads met."""
        return sum(count for _, count in self.lists)

    def forget(self) -> None:
        """Forget what was emitted, since all of it is applied."""
        self._words[layout.EMITTED] = self._counts[:] = 0


def cover_shared(indexes: Iterable[tuple[Buckets, Table]], threads: int) -> None:
    """Bring indexes of tables up to date that lack many rows, each in a thread of its own."""
    behind = [(t, i) for i, t in indexes if t.rows - i.covered >= _MANY]
    if threads > 1 and len(behind) > 1:
        with ThreadPoolExecutor(threads - 1) as pool:
            _together(pool, [partial(i.cover, t.at, t.rows) for t, i in behind])


def run_shared(words: _Words, target: Working, threads: int, make_room: Callable[[int], None]) -> bool:
    """Run the rest of bytecode that has paused on several threads; returns whether that was worthwhile.

    A deletion is not if most instances change their heads: to write them down and apply them later takes
    longer than to apply them at once. Then some of the rows are left for one thread.

    `make_room` is called with the status of a kernel that stopped, also now and then with PAUSE.
    """
    level = layout.HEADER
    first, last = int(words[level + layout.CURSOR]), int(words[level + layout.END])
    words[level + layout.END] = first
    size = max(1, (last - first) // (threads * _PARTS))
    parts: _Parts = deque((at, min(at + size, last)) for at in range(first, last, size))
    searchers = [_Searcher(words, threads) for _ in range(threads)]
    for searcher in searchers[1:]:  # the first one finishes what the bytecode has begun
        searcher.start_over()
    mode, rank = int(words[layout.MODE]), int(words[layout.RANK])
    left = last
    with ThreadPoolExecutor(threads - 1) as pool:
        busy = True
        while busy:
            for searcher in searchers:
                searcher.emit(everything=bool(words[layout.MOSTLY_NEW]))
            before, meet = sum(searcher.instances for searcher in searchers), Event()
            busy = any(_together(pool, [partial(each.search, parts, meet) for each in searchers]))
            found = sum(searcher.instances for searcher in searchers) - before
            changed = sum(searcher.count for searcher in searchers)
            emitted = [searcher.lists for searcher in searchers]
            if mode == layout.INSERT:
                changed = _insert(emitted, target, rank, threads, pool, make_room)
                words[layout.MOSTLY_NEW] = changed > _MOST_NEW * found
            else:
                _apply(emitted, target, mode, rank, make_room)
                if parts and changed > _MOST_NEW * found:
                    left = parts[0][0]
                    parts.clear()
            for searcher in searchers:
                searcher.forget()
            make_room(layout.PAUSE)
    words[layout.INSTANCES] = sum(searcher.instances for searcher in searchers)
    words[layout.FAILURES] += sum(searcher.failures for searcher in searchers)
    words[layout.PENDING_FROM] = words[layout.PENDING_TO] = 0
    words[layout.LEVEL], words[level + layout.CURSOR], words[level + layout.END] = 0, left, last
    return left == last


def insert_shared(
    heads: _Words,
    highest: _Words,
    target: Working,
    rank: int,
    threads: int,
    make_room: Callable[[int], None],
) -> bool:
    """Insert computed heads, one per column, on several threads; false, without effect, if they are few.

    `highest` has the highest rank that an instance of each reads.
    """
    arity, count = heads.shape
    if threads < 2 or count < _MANY or target.best is not None:
        return False
    written = np.empty((count, arity + layout.PENDING_MORE), np.int64)
    bounds = [count * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads - 1) as pool:
        write = partial(write_heads, heads, highest, written)
        _together(pool, [partial(write, first, last) for first, last in pairwise(bounds)])
        _insert([[(written, count)]], target, rank, threads, pool, make_room)
    return True


def _apply(
    emitted: Iterable[_Lists], target: Working, mode: int, rank: int, make_room: Callable[[int], None]
) -> None:
    """Apply what was emitted and is left, one head after the other."""
    for heads, count in chain.from_iterable(emitted):
        done = 0
        while done < count:
            done, status = apply_emitted(target.table.at, mode, rank, heads, count, done)
            if status != layout.DONE:
                make_room(status)


def _sizes(lists: _Lists, shares: int) -> npt.NDArray[np.int64]:
    """How many emitted heads there are in each share of the hashes."""
    if len(lists) == shares:
        return np.array([count for _, count in lists])
    heads, count = lists[0]
    return np.bincount((heads[:count, layout.PENDING_HASH] * shares) >> 32, minlength=shares)


def _insert(
    emitted: Sequence[_Lists],
    target: Working,
    rank: int,
    shares: int,
    pool: ThreadPoolExecutor,
    make_room: Callable[[int], None],
) -> int:
    """Insert emitted heads, each thread those whose hashes are in its share; returns how many were new."""
    table = target.table
    before, remain = table.rows, True
    sizes = np.sum([_sizes(lists, shares) for lists in emitted], axis=0)
    total = int(sizes.sum())
    if total >= _FEW:
        if not table.has_room(total):
            make_room(layout.GROW_TABLE)
        table.reserve(total)
        target.reserve_list(total)
        remain = _insert_shares(emitted, table, rank, sizes, pool)
    if remain:
        _apply(emitted, target, layout.INSERT, rank, make_room)
    return table.rows - before


def _insert_shares(
    emitted: Sequence[_Lists],
    table: Table,
    rank: int,
    sizes: npt.NDArray[np.int64],
    pool: ThreadPoolExecutor,
) -> bool:
    """Insert the new ones of the emitted heads, by shares; returns whether others remain."""
    shares = len(sizes)
    firsts = (table.rows + np.cumsum(sizes) - sizes).tolist()

    def insert(share: int) -> tuple[int, int]:
        row, remain = firsts[share], 0
        for lists in emitted:
            if len(lists) == shares:  # a list for each share
                row, more = insert_share(table.at, rank, *lists[share], 0, 1, row)
            else:
                row, more = insert_share(table.at, rank, *lists[0], share, shares, row)
            remain += more
        return row, remain

    try:
        done = _together(pool, [partial(insert, share) for share in range(shares)])
    except BaseException:
        table.forget_later_rows()
        raise
    close_gaps(table.at, firsts, [row for row, _ in done])
    return any(remain for _, remain in done)


def _together(pool: ThreadPoolExecutor, jobs: Sequence[Callable[[], _R]]) -> list[_R]:
    """Run jobs side by side, the first one in this thread; returns when none is running any more."""
    started: dict[int, Future[_R]] = {}
    with suppress(RuntimeError):  # no more threads: this one does the rest
        for number in range(1, len(jobs)):
            started[number] = pool.submit(jobs[number])
    try:
        own = {number: job() for number, job in enumerate(jobs) if number not in started}
    finally:
        wait(started.values())
    return [started[i].result() if i in started else own[i] for i in range(len(jobs))]
