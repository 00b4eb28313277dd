"""Threads: the number of threads changes nothing but the order of new rows."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any

import numpy as np
import pytest

import tidelog
from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from engine.local.snapshot import visible_state
from oracle.generator import Generator
from sizes import size
from tally import tally
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.limits import Limits
from tidelog.engine.local.kernels.layout import INSTANCE
from tidelog.engine.local.native import calls as calls_of_kernels
from tidelog.engine.local.rules import bytecode, fusion, sharing
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.program.draft import load

COMPLETION = """
input relation Below(x: int, y: int)
input relation Has(x: int, r: int, z: int)
input relation Ordered(r: int, q: int)
output relation P(x: int, y: int)
output relation Q(x: int, r: int, z: int)
P(x, y) :- Below(x, y).
Q(x, r, z) :- Has(x, r, z).
P(x, z) :- P(x, y), P(y, z).
Q(x, r, z) :- P(x, y), Q(y, r, z).
Q(x, q, z) :- Q(x, r, z), Ordered(r, q).
P(x, z) :- Q(x, r, z), Q(z, r, x).
"""


@pytest.fixture(params=["a few heads", "many heads"])
def tiny(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share even the smallest work; they meet after a few heads, or after many."""
    monkeypatch.setattr(fusion, "LARGE", -1)
    monkeypatch.setattr(bytecode, "STEPS", 3)
    few = {"_STEPS": 5, "_KNOWN": 4, "_EMITTED": 3, "_PARTS": 2, "_FEW": 1, "_MANY": 1}
    many = {"_STEPS": 1000, "_KNOWN": 64, "_EMITTED": 500, "_PARTS": 1, "_FEW": 1, "_MANY": 1}
    for name, value in (few if request.param == "a few heads" else many).items():
        monkeypatch.setattr(sharing, name, value)


def reasoner(threads: int) -> LocalReasoner:
    made = LocalReasoner(lambda engine: Scheduler(engine, switch=None))
    made.engine.runner.threads = threads
    return made


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("flavour", ["positive", "negated", "guarded", "large"])
def test_rows_ranks_and_counts_are_the_same_with_any_number_of_threads(flavour: str) -> None:
    shared = 0

    def counted(*args: Any, original: Any = sharing.run_shared) -> bool:
        nonlocal shared
        shared += 1
        is_worthwhile: bool = original(*args)
        return is_worthwhile

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bytecode, "run_shared", counted)
        for seed in range(max(3, size(3, 15))):  # fewer may share nothing
            # all of the work is shared, or as much as is worthwhile, or the least possible
            patch.setattr(sharing, "_MOST_NEW", [2.0, 0.6, -1.0][seed % 3])
            one, several = reasoner(1), [reasoner(2), reasoner(8)]
            for step in Generator(seed, flavour).steps():
                tally("commits with one, two and eight threads")
                try:
                    changes = one.commit(step.program, step.facts)
                except EngineError:
                    for other in several:
                        with pytest.raises(EngineError):
                            other.commit(step.program, step.facts)
                    break
                for other in several:
                    assert other.commit(step.program, step.facts) == changes, (flavour, seed)
                    assert visible_state(other) == visible_state(one), (flavour, seed)
                    check_state(other)
    assert shared


@pytest.mark.usefixtures("tiny")
def test_instances_of_one_head_count_by_their_own_ranks() -> None:
    """Of two instances that one thread emits for a head from an earlier commit, only one supports it."""
    program = load(
        """
        input relation B(x: int, z: int)
        input relation E(x: int, y: int)
        output relation P(x: int, z: int)
        P(x, z) :- B(x, z).
        P(x, z) :- E(x, y), P(y, z).
        """,
        "paths.dl",
    )
    chain: list[Row] = [(1, 11), (11, 12), (12, 2), *((i, i + 1) for i in range(30, 36)), (36, 2)]
    one, several = reasoner(1), reasoner(2)
    padding: list[Row] = [(100 + i, 200 + i) for i in range(20)]  # so that there is something to share
    edges: list[Row] = [(1, 2), (1, 30), (1, 31), (1, 32)]
    given: list[Row] = [(2, 9)]
    steps = [
        {"B": ZSet.of(given), "E": ZSet.of(chain)},
        {"E": ZSet.of([*padding, *edges])},
        {"E": -ZSet.of(edges)},
        {"E": -ZSet.of(chain[:1])},
    ]
    for facts in steps:
        changes = one.commit(program, facts)
        assert several.commit(program, facts) == changes
        assert visible_state(several) == visible_state(one)
        check_state(several)


@pytest.mark.usefixtures("tiny")
def test_computed_heads_are_the_same_with_any_number_of_threads() -> None:
    program = load(
        """
        input relation Document(id: int, items: vec<int>)
        output relation Item(id: int, item: int)
        output relation Seen()
        output relation Later(item: int)
        Item(i % 3, x + 1) :- Document(i, items), var x in items.
        Item(i, y) :- Item(i, x), var y = x * 2, y < 40.
        Seen() :- Document(_, items), var x in items, x * x > 4.
        Later(x + 2) :- Item(_, x), not Document(x * 5, _).
        """,
        "documents.dl",
    )
    rng = random.Random(1)
    one, several = reasoner(1), [reasoner(2), reasoner(8)]
    given: dict[int, Row] = {}
    for _ in range(12):
        old = ZSet.of(given.pop(i) for i in rng.sample(sorted(given), len(given) // 3))
        new: dict[int, Row] = {
            i: (i, tuple(rng.choices(range(12), k=rng.randrange(9)))) for i in rng.sample(range(40), 8)
        }
        facts = {"Document": ZSet.of(row for i, row in new.items() if i not in given) - old}
        given = new | given
        changes = one.commit(program, facts)
        for other in several:
            assert other.commit(program, facts) == changes
            assert visible_state(other) == visible_state(one)
            check_state(other)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("failing", [0, 1, 2, 5])
def test_nothing_remains_of_rows_that_could_not_be_inserted(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tidelog.open(text=COMPLETION, max_threads=2)
    edges = [(i, i + 1) for i in range(20)]
    calls, original = count(), calls_of_kernels.insert_share

    def insert(*args: Any) -> tuple[int, int]:
        if next(calls) == failing:
            raise MemoryError
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(sharing, "insert_share", insert)
        with pytest.raises(EngineError, match="out of memory"), db.transaction() as tx:
            tx.insert("Below", edges)
    assert not list(db["P"])
    with db.transaction() as tx:
        tx.insert("Below", edges)
    assert set(db["P"]) == {(i, j) for i in range(20) for j in range(i + 1, 21)}
    assert len(tx.changes["P"]) == 210


@pytest.mark.usefixtures("tiny")
def test_one_thread_does_everything_if_no_other_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def submit(*args: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    db = tidelog.open(text=COMPLETION, max_threads=8, facts={"Below": [(i, i + 1) for i in range(30)]})
    assert len(db["P"]) == 31 * 30 // 2


def test_an_index_stays_whole_if_there_is_no_memory_to_group_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    db = tidelog.open(text=COMPLETION)
    edges = [(i, i + 1) for i in range(40)]
    with db.transaction() as tx:
        tx.insert("Below", edges[:10])
    made = np.empty
    for failing in range(6):
        calls = count()

        def empty(
            shape: Any, dtype: Any = float, failing: int = failing, calls: Any = calls, **more: Any
        ) -> Any:
            if dtype is np.int32 and next(calls) == failing:
                raise MemoryError
            return made(shape, dtype, **more)

        with monkeypatch.context() as patch:
            patch.setattr(np, "empty", empty)
            with suppress(EngineError), db.transaction() as tx:
                tx.insert("Below", edges[10:])
                tx.commit()
        with db.transaction() as tx:
            tx.delete("Below", edges[10:])
        assert len(db["P"]) == 55
    with db.transaction() as tx:
        tx.insert("Below", edges[10:])
    assert len(db["P"]) == 41 * 40 // 2


@pytest.mark.parametrize("strategy", ["elastic", "dred", "differential", "recompute"])
def test_a_large_commit_is_the_same_with_eight_threads(strategy: str) -> None:
    concepts = size(100, 200)
    below = [(i, int(i * share)) for i in range(1, concepts) for share in (0.5, 0.8)]
    has = [(i, i % 5, (i * 7) % concepts) for i in range(concepts)]
    roles = [(r, r - 1) for r in range(1, 5)]
    facts = {"Below": below, "Has": has, "Ordered": roles}
    found = []
    for threads in (1, 8):
        db = tidelog.open(text=COMPLETION, facts=facts, strategy=strategy, max_threads=threads)
        with db.transaction() as tx:
            tx.delete("Below", below[::7])
        found.append((set(db["P"]), set(db["Q"]), {name: set(tx.changes[name]) for name in "PQ"}))
    assert found[0] == found[1]


@pytest.mark.usefixtures("tiny")
def test_a_count_that_outgrows_its_cell_widens_the_table() -> None:
    program = load(
        "input relation M(g: int, x: int)\noutput relation G(g: int)\nG(g) :- M(g, _).", "groups.dl"
    )
    work = reasoner(8)
    rows = [(1, x) for x in range(50)]
    work.commit(program, {"M": ZSet.of(rows[:1])})
    table = work.engine.tables["G"]
    count = 2**30 - 5
    table.set_support(table.alive(), 1, count * INSTANCE)
    work.commit(program, {"M": ZSet.of(rows[1:])})
    assert table.counts(table.alive()) // INSTANCE == count + 49


@pytest.mark.usefixtures("tiny")
def test_a_limit_ends_the_work_of_all_threads() -> None:
    facts = {"Below": [(i, i + 1) for i in range(60)]}
    db = tidelog.open(text=COMPLETION, max_rows=200, max_threads=8)
    before = threading.active_count()
    with pytest.raises(EngineError, match="max_rows"), db.transaction() as tx:
        tx.insert("Below", facts["Below"])
    assert threading.active_count() == before
    assert not list(db["P"])


def test_by_default_there_is_a_thread_for_each_core() -> None:
    assert Limits().threads >= 1
    assert Limits(max_threads=3).threads == 3
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(tidelog.SessionError, match="give a whole number above 0"):
            tidelog.open(text=COMPLETION, max_threads=wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("threads", [2, 8])
def test_threads_emit_all_heads_while_most_of_them_are_new(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitted: list[bool] = []
    original = sharing._Searcher.emit

    def emit(searcher: sharing._Searcher, everything: bool) -> None:
        emitted.append(everything)
        original(searcher, everything)

    monkeypatch.setattr(sharing._Searcher, "emit", emit)
    # each node of a tree is below all nodes on its path, in one way; then shortcuts make many ways
    tree: list[Row] = [(x, x // 2) for x in range(2, 300)]
    shortcuts: list[Row] = [(x, x // 4) for x in range(8, 300)]
    program = load(COMPLETION, "completion.dl")
    one, several = reasoner(1), reasoner(threads)
    for edges in (tree, shortcuts):
        facts = {"Below": ZSet.of(edges)}
        assert several.commit(program, facts) == one.commit(program, facts)
        assert visible_state(several) == visible_state(one)
        check_state(several)
    assert set(emitted) == {True, False}
