"""Readers look up keys while a transaction deletes by keys, in a table whose indexes have just been dropped.

Run as a program with the number of rows; a hang ends with the stacks of all threads.
"""

from __future__ import annotations

import faulthandler
import sys
import threading

import numpy as np

import tidelog

PATIENCE = 3600  # seconds; only so that a hang ends


def main(rows: int, times: int) -> None:
    db = tidelog.open(text="input relation P(k: int, v: int) primary key (k)")
    keys, gone = np.arange(rows), rows * 9 // 16
    for time in range(times):
        with db.transaction() as tx:
            tx.clear("P")
            tx.insert("P", {"k": keys, "v": keys + time})
        with db.transaction() as tx:
            tx.delete("P", {"k": keys[:gone], "v": keys[:gone] + time})
        look_up_and_delete(db, gone, time)


def look_up_and_delete(db: tidelog.Session, first: int, more: int) -> None:
    view, together, failures = db["P"], threading.Barrier(2), []

    def read() -> None:
        together.wait()
        for k in range(first, first + 500):
            if list(view.where(k=k)) != [(k, k + more)]:
                failures.append(k)

    reader = threading.Thread(target=read)
    reader.start()
    with db.transaction() as tx:
        together.wait()
        tx.delete_keys("P", list(range(first, first + 500)))
        reader.join()
        assert not failures
        assert len(tx.preview()["P"].deleted) == 500
        tx.rollback()


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    main(int(sys.argv[1]), int(sys.argv[2]))
