"""Every program that is measured means on the engine, and in SQL, what the reference says it means."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from bench.data import Dataset, Tables, code, graph, numbers, ontology, roads, table, universities
from bench.programs import PROGRAMS
from bench.report import batch_table, to_json, update_table
from bench.result import Batch, Missing, Update
from bench.single_facts import measure as measure_single_facts
from bench.souffle import translate
from bench.updates import measure_updates

from tidelog.bench.database import Database
from tidelog.program.draft import load
from tidelog.reference.chibi import consequences


def _some_triples() -> Tables:
    """A small part of a department, with all of the schema."""
    triples = universities("one", 1, (1, 1)).make()["T"]
    return {
        "T": triples.take(np.unique(np.concatenate([np.arange(40), np.arange(40, triples.num_rows, 23)])))
    }


def _some_edits() -> Tables:
    """Sixty characters, each after an earlier one, of three replicas; every third is removed."""
    rng = Random(5)
    ids = [(0, 0)]
    inserts = []
    for counter in range(1, 61):
        parent = rng.choice(ids[-6:])
        ids.append((counter - rng.randrange(2), 10 * counter + rng.randrange(3)))
        inserts.append((*ids[-1], *parent))
    return {
        "Insert": table("Insert", np.array(inserts, np.int64)),
        "Remove": table("Remove", np.array(ids[1::3], np.int64)),
    }


SMALL: dict[str, Dataset] = {
    "closure": graph("rmat", "rmat", 20, 40),
    "closure, read": graph("rmat", "rmat", 20, 40),
    "nonlinear": graph("grid", "grid", 4, 4),
    "same generation": graph("tree", "tree", 30, 2),
    "points-to": code("software", "points_to", 4),
    "CSPA": code("software", "aliases", 2),
    "CSDA": code("software", "dataflow", 3),
    "RDFS": Dataset("some triples", _some_triples),
    "completion": ontology("ontology", 12),
    "shortest paths": roads("roads", 12, 2.0),
    "counting": numbers("numbers", 30),
    "CRDT": Dataset("some edits", _some_edits),
}


def _rows(facts: Any) -> frozenset[tuple[Any, ...]]:
    return frozenset(zip(*(column.to_pylist() for column in facts.columns), strict=True))


def test_every_program_has_a_small_input() -> None:
    assert SMALL.keys() == PROGRAMS.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_the_reference_gives(name: str) -> None:
    program, tables = PROGRAMS[name], SMALL[name].make()
    db = Database(program.text)
    db.commit(tables)
    expected = consequences(load(program.text), {n: _rows(t) for n, t in tables.items()})
    assert {n: _rows(db.table(n)) for n in db.relations if db.size(n)} == {
        n: r for n, r in expected.items() if r
    }
    assert len(expected[program.result]) > len(tables)


@pytest.mark.parametrize("name", [name for name, p in PROGRAMS.items() if p.sql is not None])
def test_sql_gives_what_the_reference_gives(name: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    program, tables = PROGRAMS[name], SMALL[name].make()
    with duckdb.connect() as connection:
        for relation, facts in tables.items():
            connection.register(relation, facts)
        found = frozenset(connection.execute(program.sql).fetchall())
    expected = consequences(load(program.text), {n: _rows(t) for n, t in tables.items()})
    assert found == expected[program.result]


@pytest.mark.parametrize("name", PROGRAMS)
def test_updates_are_compared_with_a_recomputation(name: str) -> None:
    found = measure_updates(PROGRAMS[name], SMALL[name], repeat=1, singles=3)
    checked = [u for u in found if u.equal is not None]
    assert len(checked) == 8
    assert all(u.equal for u in checked)
    assert all(u.seconds <= u.worst for u in found)


def test_programs_are_translated_for_souffle() -> None:
    text = """
    input relation P(a: int, b: string)
    relation Q(a: int)
    Q(x) :- P(x, "not p"), not R(x), x != 3.
    """
    lines = [line.strip() for line in translate(text, "Q").splitlines() if line.strip()]
    assert lines == [
        ".decl P(c_a: number, c_b: symbol)",
        ".input P",
        ".decl Q(c_a: number)",
        ".printsize Q",
        'Q(x) :- P(x, "not p"), !R(x), x != 3.',
    ]


def test_reports_show_ratios_and_what_is_missing() -> None:
    ours = Batch("p", "d", "tidelog", 0.5, 7, 2**20, tuples=10, instances=20, state=500)
    theirs = Batch("p", "d", "duckdb", 1.0, 8, 2**20)
    update = Update("p", "d", "delete 1.0%", 3, 0.01, 0.02, 0.5, 4, 5, 20, "update", equal=False)
    gap = Missing("p", "d", "souffle", "not installed")
    shown = batch_table([ours, theirs], [gap])
    assert "2.00 (differs)" in shown
    assert "not installed" in shown
    assert "NO" in update_table([update])
    assert '"ratio": 0.02' in to_json([ours], [update], [gap])


def test_single_facts_are_deleted_and_inserted_again() -> None:
    for times in measure_single_facts(_some_triples()["T"], facts=10, repeat=2):
        assert 0 < times.best <= times.median <= times.late
