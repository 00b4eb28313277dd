"""What readers and the writer share: who may be at it, and when."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import tidelog
from session.routes import reach
from session.threads import in_threads, switching
from sizes import size
from tidelog.data.types import STRING, Decimal
from tidelog.engine.local.codes import columns
from tidelog.engine.local.codes import garbage as collecting
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.codes.interning import Dictionary
from tidelog.engine.local.codes.texts import Texts
from tidelog.engine.local.storage import index
from tidelog.program.declared import Column, Relation, Role
from tidelog.session.backends.local import readers as reading
from tidelog.session.backends.local.decoding import Decoder

PRICES = "input relation Price(item: int, cents: int) primary key (item)"
NAMES = Relation("Name", (Column("name", STRING),), Role.INPUT)


@contextmanager
def one_at_a_time(monkeypatch: pytest.MonkeyPatch, owner: type, method: str) -> Iterator[None]:
    """Notices two threads in one method of one object."""
    inside: Counter[int] = Counter()
    met: list[str] = []
    original = getattr(owner, method)

    def watched(self: object, *arguments: object) -> object:
        inside[id(self)] += 1
        time.sleep(0.002)
        if inside[id(self)] > 1:
            met.append(method)
        try:
            return original(self, *arguments)
        finally:
            inside[id(self)] -= 1

    with monkeypatch.context() as patched:
        patched.setattr(owner, method, watched)
        yield
    assert not met


@pytest.mark.parametrize("column", ["item", "cents"])
def test_readers_and_a_transaction_are_never_at_one_index_together(
    monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    monkeypatch.setattr(reading, "_LARGE", 1)
    db = tidelog.open(text=PRICES)
    with db.transaction() as tx:
        tx.insert("Price", [(i, i) for i in range(100)])
    view = db["Price"]

    def read() -> None:
        for i in range(20):
            assert list(view.where(**{column: i + 50})) == [(i + 50, i + 50)]

    def write() -> None:
        with db.transaction() as tx:
            for i in range(20):
                tx.delete_keys("Price", [i])
                tx.upsert("Price", [(i, i + 1)])
            tx.rollback()

    with one_at_a_time(monkeypatch, index.Buckets, "cover"):
        in_threads(read, write, read)


def test_a_dictionary_that_decoders_share_gives_the_values_of_all_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codec = Codec()
    known = codec.dictionary(STRING)
    known.code("begin")
    decoders = [Decoder(codec.keeping({})) for _ in range(4)]
    original = columns._arrow_values

    def slowly(*arguments: Any) -> list[object]:
        time.sleep(0.001)  # for others to meet this one here
        return original(*arguments)

    monkeypatch.setattr(columns, "_arrow_values", slowly)

    def decode(decoder: Decoder) -> None:
        for i in range(40):
            known.code(f"s{i}")
            size = len(known)
            table = decoder.table(NAMES, np.arange(size)[:, None])
            assert table.column("name").to_pylist() == known.values[:size]

    with switching(1e-6):
        in_threads(*(lambda d=d: decode(d) for d in decoders))


@pytest.mark.parametrize("make", [Dictionary, lambda: Texts(True)])
def test_threads_that_intern_the_same_values_get_the_same_codes(make: Callable[[], Dictionary]) -> None:
    known = make()
    values = [f"v{i}" for i in range(3000)]
    found: list[list[int]] = []

    def many() -> None:
        found.append([int(c) for i in range(0, 3000, 50) for c in known.intern_many(values[i : i + 50])])

    def single() -> None:
        found.append([known.code(value) for value in values])

    with switching(1e-6):
        in_threads(many, single, many, single)
    assert all(codes == found[0] for codes in found)
    assert [known.values[code] for code in found[0]] == values
    assert len(known) == 3000


@pytest.mark.parametrize("make", [Dictionary, lambda: Texts(True)])
def test_the_order_of_a_dictionary_has_all_values_while_readers_ask_for_ranges(
    make: Callable[[], Dictionary],
) -> None:
    known = make()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            size = len(known)
            assert len(known.between(None, None)) >= size

    def write() -> None:
        try:
            for i in range(1500):
                code = known.code(f"{(i * 7919) % 1500:05}")
                assert len(known.ranks()) > code
        finally:
            done.set()

    with switching(1e-6):
        in_threads(write, read, read)


def test_a_reader_may_ask_for_a_type_of_which_there_is_no_value_yet() -> None:
    codec = Codec()
    collector = collecting.Collector({}, {}, {})
    done = threading.Event()
    types = [Decimal(precision, 0) for precision in range(19, 39)]

    def read() -> None:
        try:
            for type_ in types * 5:
                codec.dictionaries.pop(type_, None)
                codec.dictionary(type_)
        finally:
            done.set()

    def collect() -> None:
        while not done.is_set():
            assert not collector.unused(codec)

    with switching(1e-6):
        in_threads(read, collect)


def test_views_that_are_dropped_while_a_commit_is_published_do_no_harm() -> None:
    db = tidelog.open(text=PRICES)
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            views = [db["Price"] for _ in range(20)]
            assert len({len(view) for view in views}) >= 1
            del views

    def write() -> None:
        try:
            for i in range(150):
                with db.transaction() as tx:
                    tx.insert("Price", [(i, i)])
        finally:
            done.set()

    with switching(1e-6):
        in_threads(write, read, read)
    assert len(db["Price"]) == 150


class Tried:
    """What functions of rules did, and to which session."""

    db: tidelog.Session
    seen: ClassVar[list[int]] = []


def peek(x: int) -> int:
    Tried.seen.append(len(Tried.db["P"]))
    with pytest.raises(tidelog.SessionError, match="the session is busy"):
        Tried.db.query("P(x)")
    return x


def write(x: int) -> int:
    tx = Tried.db.transaction()
    tx.insert("P", [(x + 10,)])
    with pytest.raises(tidelog.SessionError, match="the session is busy"):
        tx.commit()
    return x


def test_a_function_of_a_rule_can_read_but_not_query() -> None:
    text = "input relation P(x: int)\noutput relation Q(x: int)\nQ(peek(x)) :- P(x)."
    Tried.db = db = tidelog.open(text=text, functions=[peek])
    Tried.seen.clear()
    with db.transaction() as tx:
        tx.insert("P", [(1,), (2,)])
    with db.transaction() as tx:
        tx.insert("P", [(3,)])
    assert sorted(db["Q"]) == [(1,), (2,), (3,)]
    assert set(Tried.seen) == {0, 2}
    assert tx.changes["Q"].inserted == [(3,)]


def test_a_function_of_a_query_cannot_commit() -> None:
    text = "input relation P(x: int)\noutput relation Q(x: int)\nQ(x) :- P(x)."
    Tried.db = db = tidelog.open(text=text, functions=[write])
    with db.transaction() as tx:
        tx.insert("P", [(1,), (2,)])
    assert sorted(db.query("P(x), var y = write(x)")) == [(1, 1), (2, 2)]
    assert sorted(db["Q"]) == [(1,), (2,)]
    with db.transaction() as tx:
        tx.insert("P", [(3,)])
    assert sorted(db["Q"]) == [(1,), (2,), (3,)]


def test_a_subscription_hears_only_of_commits_after_it() -> None:
    db = reach()
    heard: list[tuple[str, int]] = []

    def first(_: object, commit: int) -> None:
        heard.append(("first", commit))
        if commit == 2:
            with db.transaction() as tx:
                tx.insert("Edge", [("c", "d")])
            db.subscribe("Edge", lambda _, commit: heard.append(("second", commit)))

    db.subscribe("Edge", first)
    with db.transaction() as tx:
        tx.insert("Edge", [("b", "c")])
    with db.transaction() as tx:
        tx.insert("Edge", [("d", "e")])
    assert db.commit == 4
    assert heard == [("first", 2), ("first", 3), ("first", 4), ("second", 4)]


def test_a_commit_that_cannot_keep_what_readers_hold_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    db = reach(("a", "b"))
    view = db["Edge"]

    def fail(_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(reading.Source, "detach", fail)
        with pytest.raises(MemoryError), db.transaction() as tx:
            tx.insert("Edge", [("b", "c")])
    assert list(view) == [("a", "b")]
    with db.transaction() as tx:
        tx.insert("Edge", [("c", "d")])
    assert sorted(db["Reach"]) == [("a", "b"), ("c", "d")]


def run_probe(name: str, *arguments: int) -> None:
    """Run one of the programs beside this file to its end."""
    file = Path(__file__).with_name(name)
    command = [sys.executable, str(file), *map(str, arguments)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_lookups_beside_a_deletion_by_keys_come_to_an_end() -> None:
    run_probe("lookup_probe.py", size(100_000, 1_600_000), size(3, 10))


def test_the_children_of_a_process_find_its_session_whole() -> None:
    run_probe("fork_probe.py", size(20, 500))
