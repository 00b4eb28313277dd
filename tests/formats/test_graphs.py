"""RDF/XML, JSON-LD, and named graphs."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest

import tidelog
from tidelog import rdf
from tidelog.errors import DataError

XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
  <e:Person rdf:about="http://e/ann"><e:name xml:lang="EN">Ann</e:name><e:knows rdf:resource="http://e/bob"/></e:Person>
</rdf:RDF>
"""
JSON = """{"@context": {"@vocab": "http://e/", "knows": {"@type": "@id"}}, "@id": "http://e/ann",
  "@type": "Person", "name": {"@value": "Ann", "@language": "EN"}, "knows": "http://e/bob"}"""
TURTLE = '<http://e/ann> a <http://e/Person>; <http://e/name> "Ann"@en; <http://e/knows> <http://e/bob> .'
QUADS = """<http://e/a> <http://e/p> "x" <http://e/g> .
<http://e/a> <http://e/p> "y" .
_:b <http://e/p> "z" _:g .
"""
TRIG = '@prefix e: <http://e/> . e:g { e:a e:p "x" } e:a e:p "y" .'


@pytest.mark.parametrize(
    ("name", "text"), [("d.rdf", XML), ("d.owl", XML), ("d.jsonld", JSON), ("d.ttl", TURTLE)]
)
def test_the_same_graph_in_several_formats(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "known.ttl").write_text(TURTLE)
    known = set(rdf.triples(rdf.read(tmp_path / "known.ttl")))
    assert len(known) == 3
    assert set(rdf.triples(rdf.read(tmp_path / name))) == known
    assert set(rdf.triples(rdf.read(tmp_path / f"{name}.gz"))) == known


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("d.rdf", "<rdf:RDF", "invalid RDF/XML"),
        ("d.jsonld", "{bad", "invalid JSON-LD"),
        (
            "d.jsonld",
            '{"@context": "http://schema.org/", "@id": "a"}',
            "a context in another document is not loaded",
        ),
        ("d.nq", "<a> <b> .", "invalid N-Quads"),
        ("d.trig", "<http://g> {", "invalid TriG"),
    ],
)
def test_what_cannot_be_read_is_reported(name: str, text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        rdf.read(tmp_path / name)
    assert problem in str(caught.value)
    assert name in str(caught.value)


def test_named_graphs_are_a_fourth_column_or_ignored_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "d.nq").write_text(QUADS)
    quads = rdf.read_quads(tmp_path / "d.nq").to_pylist()
    assert [q["g"] for q in quads] == ["<http://e/g>", "", "_:g"]
    with pytest.warns(UserWarning, match="named graphs <http://e/g> and 1 more are read as one"):
        assert len(rdf.read(tmp_path / "d.nq")) == 3
    (tmp_path / "t.ttl").write_text(TURTLE)
    assert set(rdf.read_quads(tmp_path / "t.ttl")["g"].to_pylist()) == {""}


def test_relations_with_four_columns_have_the_names_of_graphs(tmp_path: Path) -> None:
    (tmp_path / "Q.trig").write_text(TRIG)
    db = tidelog.open(text="input relation Q(s: string, p: string, o: string, g: string)", facts=tmp_path)
    assert {row[2:] for row in db["Q"]} == {('"x"', "<http://e/g>"), ('"y"', "")}


def test_a_file_without_named_graphs_has_no_warning(tmp_path: Path) -> None:
    (tmp_path / "d.jsonld").write_text(JSON)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(rdf.read(tmp_path / "d.jsonld")) == 3
