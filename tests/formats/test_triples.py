"""N-Triples in and out, Turtle in."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.errors import DataError
from tidelog.formats.files import read_facts, read_triples, write_facts
from tidelog.formats.triples import TERMS, parse_triples, write_ntriples
from tidelog.program.draft import load

T = load("input relation T(s: string, p: string, o: string)").relations["T"]

_WORDS = st.text("abcXYZ019é", min_size=1, max_size=6)
_IRIS = st.builds("<http://example.org/{}>".format, _WORDS)
_BLANK = st.builds("_:{}".format, _WORDS)
_TAGS = st.sampled_from(["", "@en", "@de-at", "^^<http://www.w3.org/2001/XMLSchema#integer>"])


def _literal(text: str, tag: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
    return f'"{"".join(escapes.get(c, c) for c in text)}"{tag}'


_TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn", "Co"]) | st.sampled_from('\n\t\r\\" '))
_LITERALS = st.builds(_literal, _TEXTS, _TAGS)
_ROWS = st.lists(st.tuples(_IRIS | _BLANK, _IRIS, _IRIS | _BLANK | _LITERALS), max_size=8)


def table(rows: list[tuple[str, str, str]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip("spo", row, strict=True)) for row in rows], schema=TERMS)


def rows(found: pa.Table) -> list[tuple[str, str, str]]:
    return list(zip(*(c.to_pylist() for c in found.columns), strict=True))


@given(_ROWS)
def test_what_is_written_reads_back(given_rows: list[tuple[str, str, str]]) -> None:
    content = b"".join(write_ntriples(table(given_rows)))
    assert rows(parse_triples(content, "test.nt")) == given_rows


@given(_ROWS)
def test_n_triples_are_turtle(given_rows: list[tuple[str, str, str]]) -> None:
    content = b"".join(write_ntriples(table(given_rows)))
    assert rows(parse_triples(content, "test.ttl", extension=".ttl")) == given_rows


def test_terms_are_written_in_one_way() -> None:
    content = b"""<a> <b> "\\u00e9\\n"@EN . # a comment
    <a> <b> "x"^^<http://www.w3.org/2001/XMLSchema#string>."""
    assert [o for _, _, o in rows(parse_triples(content, "test.nt"))] == ['"é\\n"@en', '"x"']


def test_a_mark_before_the_text_is_not_part_of_it() -> None:
    assert rows(parse_triples("\ufeff<a> <b> <c> .".encode(), "test.nt")) == [("<a>", "<b>", "<c>")]


def test_relative_iris_stay_in_n_triples_and_are_resolved_in_turtle() -> None:
    assert rows(parse_triples(b"<> <p> <#o> .", "test.nt")) == [("<>", "<p>", "<#o>")]
    resolved = parse_triples(b"<> <p> <#o> .", "test.ttl", extension=".ttl", base="http://example.org/x")
    assert rows(resolved) == [
        ("<http://example.org/x>", "<http://example.org/p>", "<http://example.org/x#o>")
    ]


def test_nodes_without_a_label_get_the_same_ones_every_time() -> None:
    content = b"@prefix : <http://example.org/> . [ :p ( 1 [] ) ] :q _:b0 ."
    first, second = (rows(parse_triples(content, "test.ttl", extension=".ttl")) for _ in range(2))
    assert first == second
    labels = {t for row in first for t in row if t.startswith("_:")}
    assert labels == {f"_:b{n}" for n in range(5)}


@pytest.mark.parametrize(
    ("content", "turtle", "line", "problem"),
    [
        (b"<a> <b> <c> .\n<a> <b> .", False, 2, "invalid N-Triples: The object of a triple"),
        (b"<a> <b> <c>", False, 1, "must be followed by a dot"),
        (b'"a" <b> <c> .', False, 1, "subject"),
        (b"\n\n<http://a> <http://b> \xff .", True, 3, "invalid Turtle"),
        (b"<a> <b> <c> .", True, 1, "begin the file with @base, or give a base"),
        (b"@prefix : <http://e/> . :a :b :c ; .\nx:a :b :c .", True, 2, "prefix"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(
    content: bytes, turtle: bool, line: int, problem: str
) -> None:
    with pytest.raises(DataError) as caught:
        parse_triples(content, "data", extension=".ttl" if turtle else ".nt")
    assert str(caught.value).startswith(f"data:{line}: ")
    assert problem in str(caught.value)


def test_triples_inside_triples_are_refused() -> None:
    with pytest.raises(DataError, match="triples inside triples are not supported"):
        parse_triples(b"<a> <b> <c> .\n<a> <b> <<( <a> <b> <c> )>> .", "data.nt")


def test_a_base_has_to_be_an_iri() -> None:
    with pytest.raises(DataError, match="is not a valid base IRI"):
        parse_triples(b"<a> <b> <c> .", "data.ttl", extension=".ttl", base="not an IRI")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (('"a"', "<b>", "<c>"), "is not a valid subject of a triple"),
        (("<a>", "_:b", "<c>"), "is not a valid predicate of a triple"),
        (("<a>", "<b>", "c"), "is not a valid object of a triple"),
        (("<a>", "<b>", '"c\n"'), "is not a valid object of a triple"),
    ],
)
def test_what_is_no_triple_is_not_written(row: tuple[str, str, str], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=problem):
        write_facts(table([("<a>", "<b>", "<c>"), row]), tmp_path / "out.nt")
    assert list(tmp_path.iterdir()) == []


def test_only_relations_of_three_texts_are_triples(tmp_path: Path) -> None:
    (tmp_path / "R.nt").write_text("<a> <b> <c> .")
    relation = load("input relation R(a: string, b: int, c: string)").relations["R"]
    with pytest.raises(DataError, match="three columns of type string"):
        read_facts(relation, tmp_path / "R.nt")
    with pytest.raises(DataError, match="three columns of type string"):
        write_facts(pa.table({"a": [1]}), tmp_path / "out.nt")


def test_turtle_is_only_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"writing \.ttl files is not supported; write \.nt"):
        write_facts(table([]), tmp_path / "out.ttl")


def test_other_files_are_not_triples(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"use \.nt, \.ttl"):
        read_triples(tmp_path / "facts.csv")


@pytest.mark.parametrize("name", ["T.nt", "T.nt.gz", "T.ttl", "T.ttl.gz"])
def test_a_folder_of_facts_may_have_triples(name: str, tmp_path: Path) -> None:
    content = b"<http://a> <http://b> 'c' ." if "ttl" in name else b'<http://a> <http://b> "c" .'
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    db = tidelog.open(text="input relation T(s: string, p: string, o: string)")
    with db.transaction() as tx:
        tx.insert_folder(tmp_path)
    assert list(db["T"]) == [("<http://a>", "<http://b>", '"c"')]
