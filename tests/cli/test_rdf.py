"""`tidelog rdf`."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tidelog import rdf
from tidelog.cli import main
from tidelog.rdf.commands import infer
from tidelog.rdf.terms import TYPE

ONTOLOGY = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .
:owns rdfs:range :Animal ; owl:inverseOf :ownedBy .
:Animal rdfs:subClassOf [ owl:onProperty :eats ; owl:someValuesFrom :Food ] .
"""
DATA = f"""<http://example.org/rex> {TYPE} <http://example.org/Dog> .
<http://example.org/ann> <http://example.org/owns> <http://example.org/rex> .
<http://example.org/ann> <http://example.org/owns> "a cat" .
"""


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["rdf", *(str(a) for a in args)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "data.nt").write_text(DATA)
    return tmp_path


def test_infer_counts_and_writes(folder: Path) -> None:
    out = folder / "out.nt"
    result = run("infer", folder / "data.nt", "--ontology", folder / "o.ttl", "--profile", "owlrl", "-o", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "9 triples read",
        "2 triples inferred by 4 rules",
        f"{out}: 11 triples",
    ]
    assert "1 statement of the ontology has no rules; --verbose lists them" in result.stderr
    assert "2 more triples left out: RDF does not allow a literal" in result.stderr
    assert len(rdf.read(out)) == 11


@pytest.mark.parametrize("command", [("infer", "--profile", "owlrl"), ("rules",)])
def test_words_of_owl_that_are_not_known_are_told_once(command: tuple[str, ...], tmp_path: Path) -> None:
    prefixes = "@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
    (tmp_path / "o.ttl").write_text(f"{prefixes} :A owl:subClassOf :B, :C . :p a owl:TransitivProperty .")
    result = run(*command, tmp_path / "o.ttl")
    assert result.exit_code == 0, result.output
    told = "ignored: owl:subClassOf (2 times), owl:TransitivProperty (1 time); check the spelling"
    assert result.stderr.count(told) == 1


def test_infer_writes_only_what_is_new_if_asked(folder: Path) -> None:
    out = folder / "out.nt"
    result = run("infer", folder / "data.nt", folder / "o.ttl", "-o", out, "--only-inferred")
    assert result.exit_code == 0, result.output
    assert len(rdf.read(out)) == int(result.stdout.splitlines()[1].split()[0])
    assert "<http://example.org/rex>" in out.read_text()


def test_infer_tells_what_has_no_rules(folder: Path) -> None:
    result = run("infer", folder / "o.ttl", "--profile", "owlrl", "--verbose")
    assert "Animal rdfs:subClassOf (eats some Food): " in result.stderr
    assert result.exit_code == 0


def test_rules_prints_a_program(folder: Path) -> None:
    result = run("rules", folder / "o.ttl")
    assert result.exit_code == 0, result.output
    assert "class::Animal(x) :- class::Dog(x).\n" in result.stdout
    assert "property::ownedBy(y, x) :- property::owns(x, y).\n" in result.stdout
    assert run("rules", folder / "o.ttl", "--profile", "rdfs").stdout.count(":-") == 3


def test_universities_are_written(folder: Path) -> None:
    result = run("universities", 1, "-o", folder / "u.nt.gz")
    assert result.exit_code == 0, result.output
    assert len(rdf.read(folder / "u.nt.gz")) > 90_000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["infer", "bad.nt"], 1, "bad.nt:2: invalid N-Triples: "),
        (["infer", "relative.ttl"], 1, "relative.ttl:1: invalid Turtle: a relative IRI"),
        (["infer", "data.csv"], 1, "data.csv: unknown extension for triples; use .nt, .ttl"),
        (["infer", "data.nt", "-o", "nowhere/out.nt"], 1, "nowhere/out.nt: No such file or directory"),
        (["infer", "data.nt", "-o", "out.ttl"], 2, "name the file .nt or .nt.gz"),
        (["infer", "missing.nt"], 2, "does not exist"),
        (["infer", "data.nt", "--profile", "owl"], 2, "'owl' is not one of"),
        (["infer"], 2, "Missing argument"),
        (["universities", "0", "-o", "u.nt"], 2, "is not in the range"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistakes_are_named(
    arguments: list[str], code: int, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "bad.nt").write_text("<a> <b> <c> .\n<a> <b>\n")
    (folder / "relative.ttl").write_text("<a> <b> <c> .")
    (folder / "data.csv").write_text("")
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_base_resolves_what_is_relative(folder: Path) -> None:
    (folder / "relative.ttl").write_text("<a> <b> <c> .")
    assert run("infer", folder / "relative.ttl", "--base", "http://example.org/").exit_code == 0


def test_the_profiles_of_the_command_are_those_of_the_package() -> None:
    option = next(p for p in infer.params if p.name == "profile")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == rdf.PROFILES
