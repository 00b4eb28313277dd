"""Of two atoms that agree on variables, the one with fewer rows is looked up, and the result is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tidelog
from tidelog.bench.database import Database
from tidelog.program.draft import load
from tidelog.reference.chibi import consequences

FACTS = """
input relation E(a: int, b: int)
input relation F(a: int, b: int)
"""
PROGRAMS = {
    "triangles": "output relation R(a: int, b: int, c: int)\nR(a, b, c) :- E(a, b), E(b, c), E(a, c).",
    "two relations": "output relation R(a: int, b: int)\nR(a, b) :- E(a, b), E(b, c), F(c, a).",
    "conditions": """
    output relation R(a: int, b: int, c: int)
    R(a, b, c) :- E(a, b), E(b, c), E(a, c), a < c, not F(b, c), c != 3.
    """,
    "constants": "output relation R(a: int, c: int)\nR(a, c) :- E(a, 0), E(0, c), E(a, c).",
    "four nodes": """
    output relation R(a: int, b: int, c: int, d: int)
    R(a, b, c, d) :- E(a, b), E(b, c), E(a, c), F(a, d), F(b, d), F(c, d).
    """,
    "recursive": """
    output relation R(a: int, b: int)
    R(a, b) :- F(a, b).
    R(a, c) :- R(a, b), R(b, c), E(a, c).
    """,
    "wide": """
    relation T(a: int, b: int, c: int)
    output relation R(a: int, b: int, c: int, d: int)
    T(a, b, c) :- E(a, b), F(b, c).
    R(a, b, c, d) :- E(a, b), T(b, c, d), T(a, c, d).
    """,
}


def skewed(rng: np.random.Generator, count: int) -> Any:
    """Pairs of which many have one of few values, on either side."""
    pairs = np.minimum(rng.integers(0, 40, (count, 2)), rng.integers(0, 40, (count, 2)))
    pairs[rng.random(len(pairs)) < 0.4, 0] = 0
    pairs[rng.random(len(pairs)) < 0.2, 1] = 1
    pairs = np.unique(pairs, axis=0)
    return pa.table({"a": pairs[:, 0].copy(), "b": pairs[:, 1].copy()})


def rows(table: Any) -> frozenset[tuple[int, ...]]:
    return frozenset(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("strategy", ["elastic", "dred", "differential"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_histories_give_what_the_reference_gives(name: str, strategy: str) -> None:
    rng = np.random.default_rng(11)
    text = FACTS + PROGRAMS[name]
    db = Database(text, strategy)
    facts: dict[str, frozenset[tuple[int, ...]]] = {"E": frozenset(), "F": frozenset()}
    for count in (120, 3, 60, 200):
        added = {relation: skewed(rng, count) for relation in facts}
        removed = {relation: skewed(rng, count // 2) for relation in facts}
        db.commit(None, removed)
        db.commit(added)
        facts = {r: (known - rows(removed[r])) | rows(added[r]) for r, known in facts.items()}
        expected = consequences(load(text), facts)
        assert rows(db.table("R")) == expected.get("R", frozenset())


def test_the_shorter_list_is_searched() -> None:
    hub = [(0, i) for i in range(1, 500)] + [(i, 0) for i in range(1, 500)]
    db = tidelog.open(text=FACTS + PROGRAMS["triangles"])
    with db.transaction() as tx:
        tx.insert("E", [*hub, (7, 8)])
    assert len(db["R"]) == 3
    done = sum(rule.examined for rule in db.stats.by_rule.values())
    assert done < 10 * len(hub)  # and not the square of the length of the long list
