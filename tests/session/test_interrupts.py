"""Ctrl-C ends a commit wherever it is: each of these would take years."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from time import sleep
from typing import Any

import pytest

import tidelog
from sizes import size
from tidelog.engine.local.codes import arrow as columns
from tidelog.session import interrupt

QUADS = """
input relation P(x: int)
output relation Q(x: int)
Q(x) :- P(x), P(y), P(z), P(u), P(v), x + y + z + u + v == -1.
"""
COMPARED = """
input relation P(x: int)
output relation Q(x: int)
Q(x) :- P(x), P(y), P(z), P(u), P(v), y < x, z < y, x < z.
Q(0) :- P(x), P(y), P(z), P(u), P(v).
"""
DOUBLING = "\n".join(
    [
        "input relation P(x: int)",
        "output relation Q(x: int)",
        "function f0(x: int): int { x }",
        *(
            f"function f{n}(x: int): int {{ (f{n - 1}(2 * x % 1000003) + f{n - 1}(2 * x + 1)) % 7 }}"
            for n in range(1, 61)
        ),
        "Q(f60(x)) :- P(x).",
    ]
)
ENDLESS = """
input relation P(x: int)
output relation Q(x: bigint)
Q(0) :- P(_).
Q(x + 1) :- Q(x).
"""
ROUNDS = """
input relation P(x: int)
output relation Q(x: int, y: int)
Q(x, x) :- P(x).
Q(x, z) :- Q(x, y), P(z), z < 0.
Q(x, y) :- Q(y, x), P(z), P(u), P(v), P(w).
"""


PROGRAMS = {
    "conditions on columns": QUADS,
    "conditions in kernels": COMPARED,
    "functions": DOUBLING,
    "a recursion of values": ENDLESS,
    "a recursion of joins": ROUNDS,
}


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    """Python's own handler; a process that a shell started in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def interrupt_soon() -> Iterator[None]:
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.mark.parametrize("strategy", ["elastic", "differential"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_commit_is_interrupted_inside_its_steps(program: str, strategy: str) -> None:
    db = tidelog.open(text=program, max_iterations=None, strategy=strategy)
    with pytest.raises(KeyboardInterrupt), interrupt_soon(), db.transaction() as tx:
        tx.insert("P", [(i,) for i in range(1000)])
    assert (len(db["P"]), len(db["Q"])) == (0, 0)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_timeout_acts_inside_steps(program: str) -> None:
    with pytest.raises(
        tidelog.EngineError, match=r"exceeded the time limit of 0\.3 s; .*raise it with `timeout`"
    ):
        tidelog.open(text=program, facts={"P": [(i,) for i in range(1000)]}, timeout=0.3, max_iterations=None)


def test_the_rule_that_runs_is_named_also_where_several_run_in_turn() -> None:
    with pytest.raises(tidelog.EngineError, match=r"the running rule was `Q\(x, y\) :- Q\(y, x\), P\(z\)"):
        tidelog.open(text=ROUNDS, facts={"P": [(i,) for i in range(1000)]}, timeout=0.3)


def test_an_insert_is_interrupted_between_parts_of_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "AT_ONCE", 10)
    db = tidelog.open(text="input relation P(x: string)")
    encoded: list[int] = []
    encode = columns._encoded

    def interrupted(*args: Any) -> Any:
        encoded.append(1)
        signal.raise_signal(signal.SIGINT)
        return encode(*args)

    monkeypatch.setattr(columns, "_encoded", interrupted)
    with db.transaction() as tx:
        with pytest.raises(KeyboardInterrupt):
            tx.insert("P", [(str(i),) for i in range(100)])
        assert len(encoded) == 1
        monkeypatch.undo()
        tx.insert("P", [("a",)])
    assert list(db["P"]) == [("a",)]
    assert not interrupt.is_interrupted()


BEGUN, OVER = threading.Event(), threading.Event()


def wait(x: int) -> int:
    BEGUN.set()
    OVER.wait()
    return x


def test_a_commit_that_waits_for_a_query_of_another_thread_is_interrupted() -> None:
    db = tidelog.open(text="input relation P(x: int)", functions=[wait])
    with db.transaction() as tx:
        tx.insert("P", [(1,)])
    asking = threading.Thread(target=lambda: list(db.query("P(x), var y = wait(x)")))
    tx = db.transaction()
    tx.insert("P", [(2,)])
    asking.start()
    try:
        BEGUN.wait()
        with pytest.raises(KeyboardInterrupt), interrupt_soon():
            tx.commit()
    finally:
        OVER.set()
        asking.join()
    assert list(db["P"]) == [(1,)]


PATHS = """
input relation E(x: int, y: int)
output relation R(x: int, y: int)
R(x, y) :- E(x, y).
R(x, z) :- R(x, y), E(y, z).
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
def test_an_interrupt_at_any_moment_of_a_small_commit_leaves_no_trace() -> None:
    """Each transaction is interrupted after some microseconds, or ends before that."""
    db, random, hits = tidelog.open(text=PATHS, facts={"E": [(i, i + 1) for i in range(20)]}), Random(1), 0
    handler = signal.getsignal(signal.SIGINT)
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        for number in range(size(400, 5000)):
            tx = db.transaction()
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + 5e-4 * random.random())
                (tx.insert if number % 2 else tx.delete)("E", [(number % 7, number % 11)])
                tx.commit()
                signal.setitimer(signal.ITIMER_REAL, 0)
                sleep(0)  # an alarm that has just gone off interrupts here
            except KeyboardInterrupt:
                hits += 1
            if tx.is_open:
                tx.rollback()
            assert (interrupt._checks, interrupt._noted) == ([], [])
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hits
    assert sorted(db["R"]) == sorted(tidelog.open(text=PATHS, facts={"E": list(db["E"])})["R"])
