"""Graphs from files, and into one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog import rdf
from tidelog.errors import DataError


def test_a_graph_has_each_triple_once_in_the_order_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<b> <p> <c> .\n<a> <p> <c> .\n<b> <p> <c> .\n")
    (tmp_path / "b.ttl").write_text("<http://x> <http://p> 1 .")
    graph = rdf.read(tmp_path / "a.nt", tmp_path / "b.ttl", tmp_path / "a.nt")
    assert rdf.triples(graph) == [
        ("<b>", "<p>", "<c>"),
        ("<a>", "<p>", "<c>"),
        ("<http://x>", "<http://p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ]


def test_blank_nodes_of_different_files_are_different(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("_:x <p> _:y .\n")
    (tmp_path / "b.nt").write_text("_:x <p> _:z .\n_:x_2 <p> <x> .\n")
    graph = rdf.read(tmp_path / "a.nt", tmp_path / "b.nt", tmp_path / "a.nt")
    assert rdf.triples(graph) == [
        ("_:x", "<p>", "_:y"),
        ("_:x_3", "<p>", "_:z"),
        ("_:x_2", "<p>", "<x>"),
        ("_:x_4", "<p>", "_:y_2"),
    ]


def test_a_graph_of_nothing_has_no_triples() -> None:
    assert rdf.triples(rdf.read()) == rdf.triples(rdf.graph([])) == []


def test_a_graph_is_written_and_read_again(tmp_path: Path) -> None:
    graph = rdf.graph([("<a>", "<p>", '"x\\ny"@en'), ("_:b", "<p>", "<a>")])
    for name in ("out.nt", "out.nt.gz"):
        rdf.write(graph, tmp_path / name)
        assert rdf.read(tmp_path / name).equals(graph)


def test_a_mistake_names_the_file_and_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<a> <p> <b> .\n<a> <p .\n")
    with pytest.raises(DataError, match=r"a\.nt:2: invalid N-Triples"):
        rdf.read(tmp_path / "a.nt")
    with pytest.raises(DataError, match=r"missing\.nt: No such file"):
        rdf.read(tmp_path / "missing.nt")


def test_every_public_name_is_there() -> None:
    for name in rdf.__all__:
        assert getattr(rdf, name) is not None
    assert dir(rdf) == sorted(rdf.__all__)
    with pytest.raises(AttributeError, match="no attribute 'reason'"):
        _ = rdf.reason
