"""One writes, many read, and nobody sees half a commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import tidelog
from session.routes import reach
from session.threads import in_threads
from tidelog import Session

TWINS = """
input relation A(x: int)
output relation B(x: int)
output relation Pairs(x: int, y: int)
B(x) :- A(x).
Pairs(x, y) :- A(x), A(y), x < y.
"""


def write(db: Session, commits: int, done: threading.Event) -> None:
    try:
        for i in range(commits):
            with db.transaction() as tx:
                tx.clear("A")
                tx.insert("A", [(n,) for n in range(i % 7 * 10, i % 7 * 10 + 40 + i % 5)])
    finally:
        done.set()


def test_readers_see_whole_commits() -> None:
    db = tidelog.open(text=TWINS)
    done = threading.Event()
    seen: set[int] = set()

    def read() -> None:
        while not done.is_set():
            snapshot = db.snapshot()
            a, b, pairs = (sorted(snapshot[name]) for name in ("A", "B", "Pairs"))
            assert a == b == sorted(snapshot["A"].given)
            assert pairs == [(x, y) for (x,) in a for (y,) in a if x < y]
            assert len(snapshot["Pairs"]) == len(pairs)
            seen.add(snapshot.commit)

    in_threads(lambda: write(db, 60, done), read, read)
    assert db.commit == 60
    assert len(seen) > 1


def test_lookups_and_frames_agree_while_a_writer_works() -> None:
    db = tidelog.open(text=TWINS)
    done = threading.Event()

    def look_up() -> None:
        while not done.is_set():
            view = db["Pairs"]
            rows = set(view)
            assert {tuple(r.values()) for r in view.to_arrow().to_pylist()} == rows
            for x, y in list(rows)[:5]:
                assert (x, y) in view
                assert set(view.where(x=x)) == {r for r in rows if r[0] == x}

    in_threads(lambda: write(db, 60, done), look_up)


def test_questions_and_new_strings_take_turns() -> None:
    db = reach(("a", "b"))
    done = threading.Event()

    def write_strings() -> None:
        try:
            for i in range(40):
                with db.transaction() as tx:
                    tx.insert("Edge", [(f"s{i}", f"t{i}-{j}") for j in range(20)])
        finally:
            done.set()

    def ask() -> None:
        number = 0
        while not done.is_set():
            number += 1
            assert list(db.query(f'Edge("a", x), var y = x ++ "{number}"')) == [("b", f"b{number}")]

    in_threads(write_strings, ask)
    assert set(db["Edge"]) == {("a", "b"), *((f"s{i}", f"t{i}-{j}") for i in range(40) for j in range(20))}


def test_a_second_writer_waits_for_the_first() -> None:
    db = reach()
    order: list[str] = []
    begun = threading.Event()

    def second() -> None:
        begun.set()
        with db.transaction() as tx:
            order.append("second")
            tx.insert("Edge", [("b", "c")])

    with db.transaction() as tx:
        thread = threading.Thread(target=second)
        thread.start()
        begun.wait()
        thread.join(timeout=0.05)  # time to overtake, if it could
        order.append("first")
        tx.insert("Edge", [("a", "b")])
    thread.join()
    assert order == ["first", "second"]
    assert len(db["Reach"]) == 3


@pytest.mark.parametrize("writers", [4])
def test_callbacks_run_in_the_order_of_commits(writers: int) -> None:
    db = reach()
    heard: list[int] = []
    db.subscribe("Edge", lambda _, commit: heard.append(commit))

    def work(name: str) -> None:
        for i in range(10):
            with db.transaction() as tx:
                tx.insert("Edge", [(name, str(i))])

    in_threads(*(lambda name=f"w{n}": work(name) for n in range(writers)))
    assert heard == list(range(2, 2 + 10 * writers))


@pytest.mark.parametrize("end", [tidelog.Transaction.commit, tidelog.Transaction.rollback])
def test_data_that_comes_too_late_for_a_transaction_is_an_error(
    end: Callable[[tidelog.Transaction], object],
) -> None:
    db = reach(("a", "b"))
    tx = db.transaction()
    begun, ended = threading.Event(), threading.Event()

    def rows() -> Iterator[tuple[str, str]]:
        begun.set()
        assert ended.wait(30)
        yield "b", "c"

    def load() -> str:
        with pytest.raises(tidelog.SessionError, match="ended while data was being loaded") as failed:
            tx.insert("Edge", rows())
        return str(failed.value)

    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(load)
        assert begun.wait(30)
        end(tx)
        ended.set()
        loading.result()
    assert ("b", "c") not in db["Edge"]
    with db.transaction() as again:
        again.insert("Edge", [("b", "c")])
    assert ("a", "c") in db["Reach"]
