"""Values that are not used are forgotten, and nobody who still holds their codes notices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tidelog
from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from oracle.generator import Generator
from session.routes import home
from tidelog.data.types import STRING
from tidelog.engine.local.codes import garbage as collecting
from tidelog.engine.local.codes.pools import Pool
from tidelog.errors import EngineError
from tidelog.reference.chibi import Chibi

NAMES = """
input relation Knows(a: string, b: string)
input relation Age(who: string, years: option<bigint>)
output relation Reach(a: string, b: string)
output relation Eldest(who: string, years: bigint)
output relation Greeting(text: string)
Reach(x, y) :- Knows(x, y).
Reach(x, z) :- Reach(x, y), Knows(y, z).
Eldest(x, m) :- Knows(x, y), Age(y, n), is_some(n), var m = unwrap_or(n, 0).group_by(x).max().
Greeting("hello " ++ x) :- Knows(x, "n0").
"""


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "SMALLEST", 8)


@pytest.mark.usefixtures("soon")
def test_a_session_forgets_what_it_no_longer_holds() -> None:
    db = tidelog.open(text=NAMES)
    names = [f"n{i}" for i in range(40)]
    with db.transaction() as tx:
        tx.insert("Knows", list(itertools.pairwise(names)))
        tx.insert("Age", [(name, 10**30 + i if i % 2 else None) for i, name in enumerate(names)])
    first, before = tx.changes["Reach"], db["Reach"]
    all_pairs = {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}
    codec = home(db).engine.codec
    with db.transaction() as tx:
        tx.delete("Knows", list(itertools.pairwise(names[2:])))
        tx.delete("Age", [(name, 10**30 + i if i % 2 else None) for i, name in enumerate(names) if i > 2])
    assert home(db).engine.codec is not codec
    assert len(home(db).engine.codec.dictionary(STRING)) < 12
    assert set(before) == {row for row, _ in first} == all_pairs
    assert {row for row, sign in tx.changes["Reach"] if sign < 0} == all_pairs - set(db["Reach"])
    assert set(db["Reach"]) == {("n0", "n1"), ("n1", "n2"), ("n0", "n2")}
    assert list(db["Eldest"]) == [("n0", 10**30 + 1)]
    assert before.where(a="n38").to_arrow().to_pylist() == [{"a": "n38", "b": "n39"}]
    with db.transaction() as tx:
        tx.insert("Knows", [("n2", "n0"), ("n39", "n0")])
    assert set(db["Greeting"]) == {("hello n2",), ("hello n39",)}
    assert len(db["Reach"].where(a="n2")) == 3
    assert set(db.query('Reach("n39", x)')) == {("n0",), ("n1",), ("n2",)}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("flavour", ["typed", "full", "deep"])
def test_random_histories_go_on_with_new_codes_after_every_commit(flavour: str) -> None:
    for seed in range(8):
        reasoner, reference = LocalReasoner(), Chibi()
        for step in Generator(seed, flavour).steps():
            try:
                expected = reference.commit(step.program, step.facts)
            except EngineError:
                break
            assert reasoner.commit(step.program, step.facts) == expected, (flavour, seed)
            engine = reasoner.engine
            marks = engine._collector.in_use(engine.codec)
            engine.forget_values({item: np.flatnonzero(mark) for item, mark in marks.items()})
            check_state(reasoner)
            assert reasoner.contents == reference.contents, (flavour, seed)


def test_long_collections_are_forgotten_although_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "SMALLEST", 2_000)
    db = tidelog.open(
        text="""
        input relation Limit(k: int)
        input relation Next(a: int, b: int)
        output relation Reach(a: int, n: int)
        Reach(a, 0) :- Next(a, _).
        Reach(b, n) :- Reach(a, m), Next(a, b), var n = count { Limit(k), k > m }.
        """
    )
    with db.transaction() as tx:
        tx.insert("Limit", [(k,) for k in range(300)])
        tx.insert("Next", [(1, 2)])
    for k in range(300, 350):
        with db.transaction() as tx:
            tx.insert("Limit", [(k,)])
    engine = home(db).engine
    assert max(d.total for d in engine.codec.dictionaries.values() if isinstance(d, Pool)) < 2_500
    assert set(db["Reach"]) == {(1, 0), (2, 349)}
