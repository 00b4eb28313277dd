"""Estimates from samples: close to what counting all rows gives, also for the rows with some constants."""

from __future__ import annotations

import numpy as np
import pytest

import tidelog
from tidelog.engine.local.storage.sample import Fixed, Sample

RANDOM = np.random.default_rng(7)
ROWS = 100_000
# most rows have the property 0, a hundred have 3, none has 9; objects are skewed
TRIPLES = np.stack(
    [
        RANDOM.integers(0, 20_000, ROWS),
        np.where(np.arange(ROWS) % 1000 == 0, 3, RANDOM.integers(0, 3, ROWS)),
        np.minimum(RANDOM.geometric(0.01, ROWS), 500),
    ],
    axis=1,
)


@pytest.mark.parametrize("fixed", [(), ((1, 0),), ((1, 3),), ((1, 0), (2, 1))])
@pytest.mark.parametrize("columns", [(0,), (1,), (2,), (1, 2)])
def test_estimates_are_within_a_factor(columns: tuple[int, ...], fixed: Fixed) -> None:
    rows = TRIPLES
    for column, code in fixed:
        rows = rows[rows[:, column] == code]
    _, counts = np.unique(rows[:, columns], axis=0, return_counts=True)
    alike = float((counts * counts).sum()) / len(rows)
    sample = Sample(TRIPLES, fixed)
    assert sample.share == pytest.approx(len(rows) / ROWS, rel=0.6)
    assert alike / 4 < sample.alike(columns) < alike * 4 + 1


def test_rare_codes_may_have_a_few_rows() -> None:
    sample = Sample(TRIPLES, ((1, 9),))
    assert 0 < sample.share * ROWS < 10
    assert 1 <= sample.alike((0, 1)) < 10


def test_no_rows_are_a_sample() -> None:
    sample = Sample(TRIPLES[:0], ((1, 9),))
    assert sample.alike((0,)) == 1


def test_an_index_is_made_when_enough_rows_have_asked_for_it() -> None:
    """Deleting one fact makes no index; deleting many, one by one, makes it."""
    text = """
    input relation Sub(a: int, b: int)
    input relation Type(x: int, c: int)
    output relation Is(x: int, c: int)
    Is(x, c) :- Type(x, c).
    Is(x, d) :- Is(x, c), Sub(c, d).
    """
    db = tidelog.open(text=text)
    with db.transaction() as tx:
        tx.insert("Sub", [(i, i + 1) for i in range(40)])
        tx.insert("Type", [(i, i % 30) for i in range(3000)])
    indexes = db._state.engine.tables["Is"].indexes  # type: ignore[attr-defined]
    before = set(indexes)
    for i in range(200):
        with db.transaction() as tx:
            tx.delete("Type", [(i, i % 30)])
    assert set(indexes) >= before
    fresh = tidelog.open(text=text)
    with fresh.transaction() as tx:
        tx.insert("Sub", [(i, i + 1) for i in range(40)])
        tx.insert("Type", [(i, i % 30) for i in range(200, 3000)])
    assert set(db["Is"]) == set(fresh["Is"])
