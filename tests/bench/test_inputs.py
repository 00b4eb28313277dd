"""The made-up inputs are what they say, and the same every time."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import files, software
from tidelog.bench import graphs

SHAPES: dict[str, Callable[[], graphs.Edges]] = {
    "rmat": lambda: graphs.rmat(50, 200, seed=3),
    "gnp": lambda: graphs.gnp(50, 3.0, seed=3),
    "grid": lambda: graphs.grid(5, 4),
    "tree": lambda: graphs.tree(40, 3),
    "chain": lambda: graphs.chain(30),
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
    assert graphs.chain(4).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert len(graphs.gnp(1000, 3.0)) == pytest.approx(3000, rel=0.1)


def test_power_law_graphs_have_hubs() -> None:
    degrees = Counter(graphs.rmat(1000, 4000)[:, 0].tolist())
    assert max(degrees.values()) > 10 * 4


@pytest.mark.parametrize("make", [software.aliases, software.dataflow, software.points_to])
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
