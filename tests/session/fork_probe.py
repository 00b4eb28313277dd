"""A process that forks while other threads read, query and commit; each child reads and writes.

Run as a program with the number of children; it ends with 0 if all of them did.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading

import tidelog

PATIENCE = 3600  # seconds; only so that a hang ends
PROGRAM = """
input relation Name(id: int, name: string) primary key (id)
output relation Known(name: string)
Known(n) :- Name(_, n).
"""


def main(children: int) -> None:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Name", [(i, f"n{i}") for i in range(5000)])
    stop = threading.Event()
    others = [threading.Thread(target=work, args=(db, stop)) for work in (read, write, ask)]
    for other in others:
        other.start()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(children):
            expect_end(fork(db))
    finally:
        stop.set()
        for other in others:
            other.join()


def read(db: tidelog.Session, stop: threading.Event) -> None:
    while not stop.is_set():
        assert len(db["Name"].where(id=7)) == 1
        assert db["Known"].to_arrow().num_rows >= 5000


def write(db: tidelog.Session, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        with db.transaction() as tx:
            tx.upsert("Name", [(number % 5000, f"m{number}"), (5000 + number, f"k{number}")])


def ask(db: tidelog.Session, stop: threading.Event) -> None:
    while not stop.is_set():
        assert len(db.query('Name(7, n), var m = n ++ "!"')) == 1


def fork(db: tidelog.Session) -> int:
    child = os.fork()
    if child == 0:
        os._exit(in_child(db))
    return child


def in_child(db: tidelog.Session) -> int:
    """0 if what was committed can be read, and a commit works or is refused."""
    try:
        snapshot = db.snapshot()
        ids = {row[0] for row in snapshot["Name"]}
        assert len(ids) == len(snapshot["Name"]) == len(snapshot["Known"])
        assert all(len(snapshot["Name"].where(id=i)) == 1 for i in (0, 7, 4999))
        try:
            with db.transaction() as tx:
                tx.upsert("Name", [(-1, "of the child")])
        except tidelog.SessionError:
            return 0  # a commit was at work
        return int(len(db["Name"]) != len(ids) + 1)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        return 1


def expect_end(child: int) -> None:
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit("a child failed")


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    main(int(sys.argv[1]))
