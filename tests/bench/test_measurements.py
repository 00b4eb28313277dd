"""Every program that is measured means on the engine, and in SQL, what the reference says it means."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bench.data import (
    Dataset,
    Tables,
    borrows,
    both_ways,
    code,
    graph,
    numbered,
    numbers,
    ontology,
    roads,
    table,
    universities,
)
from bench.executables import EXECUTABLES, is_installed
from bench.explanations import measure as measure_explanations
from bench.explanations import paths, thicket
from bench.programs import PROGRAMS
from bench.report import batch_table, to_json, update_table, winner_table
from bench.result import Batch, Missing, Update
from bench.single_facts import measure as measure_single_facts
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


def _some_loans() -> Tables:
    """The first points of a function, with an error of each kind: in its parameters, and in a loan to one."""
    tables = borrows("one function", 1).make()
    for name, column in {"Flow": "to", "Outlives": "point"}.items():
        tables[name] = tables[name].filter(tables[name][column].to_numpy() < 60)
    errors = {"Outlives": [3, 0, 5], "Issued": [0, 1000, 5], "Invalidated": [1000, 9]}
    for name, row in errors.items():
        tables[name] = pa.concat_tables([tables[name], table(name, np.array([row], np.int64))])
    return tables


SMALL: dict[str, Dataset] = {
    "closure": graph("rmat", "rmat", 20, 40),
    "closure, read": graph("rmat", "rmat", 20, 40),
    "nonlinear": graph("grid", "grid", 4, 4),
    "same generation": graph("tree", "tree", 30, 2),
    "triangles": both_ways("rmat", "rmat", 20, 40),
    "points-to": code("software", "points_to", 4),
    "CSPA": code("software", "aliases", 2),
    "CSDA": code("software", "dataflow", 3),
    "RDFS": Dataset("some triples", _some_triples),
    "RDFS, numbers": numbered(Dataset("some triples", _some_triples)),
    "completion": ontology("ontology", 12),
    "borrows": Dataset("a small function", _some_loans),
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


@pytest.mark.parametrize("engine", EXECUTABLES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_installed_engines_find_as_much_as_the_reference(name: str, engine: str) -> None:
    if not is_installed(engine):
        pytest.skip(f"{engine} is not on the path")
    program, tables = PROGRAMS[name], SMALL[name].make()
    expected = consequences(load(program.text), {n: _rows(t) for n, t in tables.items()})
    assert EXECUTABLES[engine](program, SMALL[name], 1).size == len(expected[program.result])


@pytest.mark.parametrize("name", PROGRAMS)
def test_updates_are_compared_with_a_recomputation(name: str) -> None:
    found = measure_updates(PROGRAMS[name], SMALL[name], repeat=1, singles=3)
    checked = [u for u in found if u.equal is not None]
    assert len(checked) == 8
    assert all(u.equal for u in checked)
    assert all(u.seconds <= u.worst for u in found)


def test_numbers_instead_of_terms_give_as_many_triples() -> None:
    words, numbers_ = (PROGRAMS[name] for name in ("RDFS", "RDFS, numbers"))
    found = []
    for program in (words, numbers_):
        db = Database(program.text)
        db.commit(SMALL[program.name].make())
        found.append(db.size("T"))
    assert found[0] == found[1]
    assert not any(character in numbers_.text for character in '"<')


def test_errors_of_loans_and_subsets_are_found() -> None:
    db = Database(PROGRAMS["borrows"].text)
    db.commit(SMALL["borrows"].make())
    assert db.size("SubsetError") > 0
    assert db.size("LoanError") > 0


def test_reports_show_ratios_and_what_is_missing() -> None:
    ours = Batch("p", "d", "tidelog", 0.5, 0.75, 7, 2**20, tuples=10, instances=20, state=500)
    theirs = Batch("p", "d", "duckdb", 1.0, 1.5, 8, 2**20)
    update = Update("p", "d", "delete 1.0%", 3, 0.01, 0.02, 0.5, 4, 5, 20, "update", equal=False)
    gap = Missing("p", "d", "souffle", "not installed")
    shown = batch_table([ours, theirs], [gap])
    assert "2.00 (differs)" in shown
    assert "750.0 ms" in shown
    assert "not installed" in shown
    assert "NO" in update_table([update])
    assert '"ratio": 0.02' in to_json([ours], [update], [gap])


def test_the_fastest_engine_with_the_right_result_wins() -> None:
    ours = Batch("p", "d", "tidelog", 0.5, 0.75, 7, 2**20)
    theirs = Batch("p", "d", "souffle", 0.2, 0.9, 7, 2**10)
    wrong = Batch("p", "d", "duckdb", 0.1, 0.1, 8, 1)
    assert winner_table([ours, theirs, wrong]).splitlines()[1].split() == [
        *("p", "d", "souffle", "200.0", "ms", "tidelog", "500.0", "ms", "0.40", "tidelog", "souffle")
    ]
    assert winner_table([ours]).splitlines()[1].split() == [
        *("p", "d", "tidelog", "500.0", "ms", "tidelog", "tidelog")
    ]


def test_single_facts_are_deleted_and_inserted_again() -> None:
    for times in measure_single_facts(_some_triples()["T"], facts=10, repeat=2):
        assert 0 < times.best <= times.median <= times.late


def test_explanations_are_measured_on_closures_of_the_wanted_size() -> None:
    size, why, why_not = measure_explanations(paths(2_000, length=20), asked=3)
    assert 1_000 < size < 4_000
    assert min(why.median, why_not.median) > 0
    assert measure_explanations(thicket(400), "recompute", asked=3)[0] > 100
