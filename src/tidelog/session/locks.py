"""The locks of a session, and the one order in which they are taken.

| lock | held by | for | guards |
|---|---|---|---|
| writing | a transaction | its whole life | that there is one writer |
| `turn` | a commit, a preview, a query, data being ingested | that work | the engine |
| `reading` | readers, and the writer for moments | a lookup, a publication | what both of them use |
| that of `engine.local.codes` | encoding and decoding | a column of values | dictionaries |

The rules:

- Locks are taken in this order, and none while a later one is held. So threads cannot deadlock.
- Readers and the writer share the program, the commit number, the decoder, and for each table the tags of the
  last commit, the asserted facts, the hash table and the indexes. These are read and changed while `reading`
  is held, with one exception: while a commit or a query runs, hash tables and indexes belong to it, and
  readers scan instead (see `readers`). An index that a reader needs is built under `reading`.
- A view is made under `reading`, so all views made while it is held are of one commit.
- No user code runs while `reading` or a later lock is held. Functions of rules and progress reports run while
  `turn` is held: they can read, but anything that needs the engine is an error. Callbacks of subscriptions
  run while nothing is held.

A process that forks waits until no thread holds `reading`, so that its child finds every table intact. Work
of other threads does not continue in the child, and their locks are free there. If that was a commit, the
child can read the one before, and anything that needs the engine is an error.
"""

from __future__ import annotations

import os
from threading import Lock, RLock, get_ident
from typing import Final
from weakref import ref

from tidelog.errors import SessionError
from tidelog.session.interrupt import let_interrupt

__all__ = ["AT_WORK", "Locks", "Turn"]

_BETWEEN: Final = 0.1  # seconds of waiting between checks for interrupts

AT_WORK: Final = (
    "the session is busy; functions of rules and progress reports can read relations, but cannot start a "
    "query or a commit"
)


class Turn:
    """A reentrant lock; Ctrl-C ends the wait for it."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=_BETWEEN):
            let_interrupt()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def is_free(self) -> bool:
        """Whether this thread could take it at once."""
        free = self._lock.acquire(blocking=False)
        if free:
            self._lock.release()
        return free


class Locks:
    def __init__(self) -> None:
        self.turn = Turn()
        self.reading = RLock()
        self._writing = Lock()
        self._writer: int | None = None
        _ALL.add(self)

    def begin_writing(self) -> None:
        """Wait until no transaction is open; SessionError if this thread has one."""
        me = get_ident()
        if self._writer == me:
            raise SessionError("this thread already has an open transaction; commit it or roll it back first")
        self._writing.acquire()
        self._writer = me

    def end_writing(self) -> None:
        self._writer = None
        self._writing.release()

    def free_in_child(self) -> None:
        """Release the locks of threads that are not in this process; called while `reading` is held."""
        if not self.turn.is_free():
            self.turn = Turn()
        if self._writer != get_ident():
            self._writing, self._writer = Lock(), None


class _Registry:
    """The locks of all sessions in this process, in the order in which they were made."""

    def __init__(self) -> None:
        self._known: list[ref[Locks]] = []
        self._enough = 64
        self._adding = Lock()
        self._stopped: list[Locks] = []

    def add(self, locks: Locks) -> None:
        with self._adding:
            if len(self._known) >= self._enough:
                self._known = [known for known in self._known if known() is not None]
                self._enough = 64 + 2 * len(self._known)
            self._known.append(ref(locks))

    def before_fork(self) -> None:
        self._adding.acquire()
        self._stopped = [locks for known in self._known if (locks := known()) is not None]
        for locks in self._stopped:
            locks.reading.acquire()

    def after_fork(self) -> None:
        stopped, self._stopped = self._stopped, []
        for locks in stopped:
            locks.reading.release()
        self._adding.release()

    def in_child(self) -> None:
        for locks in self._stopped:
            locks.free_in_child()
        self.after_fork()


_ALL: Final = _Registry()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ALL.before_fork, after_in_parent=_ALL.after_fork, after_in_child=_ALL.in_child
    )
