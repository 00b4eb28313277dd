"""The made-up inputs are what they say, and the same every time."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench.data import facts, numbered, universities
from bench.programs import TERMS

from bench import borrows, files, software
from tidelog.bench import graphs
from tidelog.bench.isolate import Failed

SHAPES: dict[str, Callable[[], graphs.Edges]] = {
    "rmat": lambda: graphs.rmat(50, 200, seed=3),
    "gnp": lambda: graphs.gnp(50, 3.0, seed=3),
    "grid": lambda: graphs.grid(5, 4),
    "tree": lambda: graphs.tree(40, 3),
    "chain": lambda: graphs.chain(30),
    "mesh": lambda: graphs.mesh(6, 5),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_graphs_have_distinct_edges_without_loops(shape: str) -> None:
    edges = SHAPES[shape]()
    assert len(np.unique(edges, axis=0)) == len(edges) > 0
    assert (edges[:, 0] != edges[:, 1]).all()
    assert edges.dtype == np.int64


@pytest.mark.parametrize("shape", SHAPES)
def test_graphs_are_the_same_every_time(shape: str) -> None:
    assert np.array_equal(SHAPES[shape](), SHAPES[shape]())


def test_seeds_give_different_graphs() -> None:
    assert not np.array_equal(graphs.rmat(50, 200, seed=1), graphs.rmat(50, 200, seed=2))


def test_graphs_have_the_sizes_that_were_asked_for() -> None:
    assert len(graphs.rmat(50, 200)) == 200
    assert graphs.rmat(50, 200).max() < 50
    assert len(graphs.grid(5, 4)) == 4 * 4 + 5 * 3
    assert len(graphs.tree(40, 3)) == 39
    assert len(graphs.mesh(5, 4)) == 3 * (5 + 4 + 4) + 2 * 5
    assert graphs.chain(4).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert len(graphs.gnp(1000, 3.0)) == pytest.approx(3000, rel=0.1)


def test_power_law_graphs_have_hubs() -> None:
    degrees = Counter(graphs.rmat(1000, 4000)[:, 0].tolist())
    assert max(degrees.values()) > 10 * 4


MAKERS = [software.aliases, software.dataflow, software.points_to]


@pytest.mark.parametrize("make", MAKERS)
def test_facts_about_software_are_distinct_and_grow_with_it(make: Callable[[int], software.Facts]) -> None:
    small, large = make(10), make(40)
    for name, rows in small.items():
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert np.array_equal(rows, make(10)[name])
        assert 2 * len(rows) < len(large[name]) < 8 * len(rows)


def test_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n2,3\n")
    assert files.read_graph(tmp_path / "g.csv").tolist() == [[1, 2], [2, 3]]
    (tmp_path / "insert.txt.gz").write_bytes(gzip.compress(b"3 0 0 0\n4 0 3 0\n"))
    (tmp_path / "remove.txt.gz").write_bytes(gzip.compress(b"4 0\n"))
    edits = files.read_edits(tmp_path)
    assert edits["Insert"].tolist() == [[3, 0, 0, 0], [4, 0, 3, 0]]
    assert edits["Remove"].tolist() == [[4, 0]]


def test_facts_about_borrows_are_distinct_and_grow_with_the_function() -> None:
    small, large = borrows.borrows(5), borrows.borrows(20)
    for name, rows in small.items():
        assert len(np.unique(rows, axis=0)) == len(rows) > 0
        assert np.array_equal(rows, borrows.borrows(5)[name])
        if name not in ("Universal", "Known", "Drop", "Child", "Invalidated"):
            assert 2 * len(rows) < len(large[name]) < 8 * len(rows)


def test_facts_about_borrows_fit_together() -> None:
    found = borrows.borrows(5)
    points = set(found["Flow"].ravel().tolist())
    for name in ("Define", "Use", "Drop", "Assigned", "Moved", "Issued", "Killed", "Invalidated", "Outlives"):
        assert points.issuperset(found[name][:, -1].tolist())
    defined = set(found["Define"][:, 0].tolist())
    assert defined.issuperset(found["Use"][:, 0].tolist())
    loans = set(found["Issued"][:, 1].tolist())
    assert loans.issuperset(found["Killed"][:, 0].tolist())
    assert loans.issuperset(found["Invalidated"][:, 0].tolist())
    compared = set(found["Outlives"][:, :2].ravel().tolist())
    assert compared.issuperset(found["Issued"][:, 0].tolist())


def test_numbered_triples_are_the_same_triples() -> None:
    words = universities("one", 1, (1, 1))
    triples, numbers = words.make()["T"], numbered(words).make()["T"]
    terms: dict[int, str] = dict(enumerate(TERMS))
    for column in "spo":
        for number, term in zip(numbers[column].to_pylist(), triples[column].to_pylist(), strict=True):
            assert terms.setdefault(number, term) == term
    assert len(set(terms.values())) == len(terms)


def test_a_folder_of_facts_is_read_by_the_names_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "Edge.facts").write_text("1\t2\n2\t3\n")
    (tmp_path / "Last.csv").write_text("7\n")
    (tmp_path / "Road.csv").write_text("")
    (tmp_path / "notes.txt").write_text("not facts")
    tables = facts(tmp_path).make()
    assert {name: table.to_pydict() for name, table in tables.items()} == {
        "Edge": {"src": [1, 2], "dst": [2, 3]},
        "Last": {"n": [7]},
    }
    (tmp_path / "Egde.facts").write_text("1\t2\n")
    with pytest.raises(Failed, match=r"unknown relations in .*: Egde"):
        facts(tmp_path).make()
