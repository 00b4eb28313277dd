"""Short names in programs, and wherever results are shown to people; data has whole terms."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import tidelog
from tidelog import rdf
from tidelog.cli import main
from tidelog.errors import ProgramError
from tidelog.notebooks.pictures import explanation, relation
from tidelog.program.modules import bundled
from tidelog.rdf.terms import TYPE
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

PROGRAM = """prefix : <http://e/>
prefix ex: <http://x.org/>

input relation T(s: string, p: string, o: string)
output relation P(x: string)
output relation Said(x: string, all: vec<string>)

function f(a: string): bool { a == "ex:no" }

P(x) :- T(x, rdf:type, :Person).
P(x) :- T(.s = x, .p = ex:knows, .o = :input), x != ex:bob.  // :Person
Said(x, [:a, x]) :- T(x, _, _), x in [:a, :b].
"""
LONG = f"""
input relation T(s: string, p: string, o: string)
output relation P(x: string)
output relation Said(x: string, all: vec<string>)
function f(a: string): bool {{ a == "ex:no" }}
P(x) :- T(x, "{TYPE}", "<http://e/Person>").
P(x) :- T(.s = x, .p = "<http://x.org/knows>", .o = "<http://e/input>"), x != "<http://x.org/bob>".
Said(x, ["<http://e/a>", x]) :- T(x, _, _), x in ["<http://e/a>", "<http://e/b>"].
"""
FIVE = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
FACTS = [
    ("<http://e/a>", "<http://x.org/knows>", "<http://e/input>"),
    ("<http://e/b>", TYPE, "<http://e/Person>"),
    ("<http://e/b>", "<http://x.org/age>", FIVE),
]


@pytest.fixture
def db() -> tidelog.Session:
    return tidelog.open(text=PROGRAM, facts={"T": FACTS})


def test_a_program_with_short_names_is_the_one_with_whole_terms(db: tidelog.Session) -> None:
    long = tidelog.open(text=LONG)
    assert db.program.rules.keys() == long.program.rules.keys()
    assert print_program(parse(PROGRAM)) == PROGRAM
    assert print_program(parse(PROGRAM.replace("prefix :", "@PREFIX  : ").replace("e/>", "e/> ."))) == PROGRAM


def test_rows_and_files_have_whole_terms(db: tidelog.Session, tmp_path: Path) -> None:
    assert sorted(db["P"]) == [("<http://e/a>",), ("<http://e/b>",)]
    assert db["P"].to_arrow().column("x").to_pylist() == [row for (row,) in db["P"]]
    assert "<http://e/b>" in (db["P"].to_csv() or "")
    assert ("<http://e/b>", "<http://x.org/age>", FIVE) in db["T"]
    proof = db.why("P", ("<http://e/b>",))
    assert "<http://e/b>" in proof.to_json()


def test_relations_changes_and_answers_are_shown_with_short_names(db: tidelog.Session) -> None:
    for text in (repr(db["T"]), db["T"]._repr_html_(), repr(db.query("T(x, ex:knows, y)"))):
        assert ":a" in text
        assert "http://" not in text
    assert "ex:age" in repr(db["T"])
    assert "  5" in repr(db["T"])
    assert "[:a, :b]" in repr(db["Said"])
    with db.transaction() as tx:
        tx.add_rule("P(x) :- T(x, ex:age, _), T(:zoe, rdf:type, :Person).")
        tx.insert("T", [("<http://e/zoe>", TYPE, "<http://e/Person>")])
        assert ":zoe" in repr(tx.preview()["P"])
    assert ":zoe" in repr(tx.changes["P"])
    assert ":zoe" in tx.changes["P"]._repr_html_()
    assert ":zoe" in str(tx.changes.why("P", ("<http://e/zoe>",)))


def test_explanations_and_pictures_have_short_names(db: tidelog.Session) -> None:
    proof, absence = db.why("P", ("<http://e/a>",)), db.why_not("P", ("<http://e/zoe>",))
    assert str(proof).splitlines()[1:] == [
        "├─ T(:a, ex:knows, :input)  asserted",
        "└─ x != ex:bob (with x = :a)",
    ]
    for drawing in (proof, absence):
        for text in (str(drawing), drawing.to_html(), drawing.to_svg(), explanation(drawing).svg):
            assert "http://e/" not in text
        assert "http://e/" not in repr(drawing)
    assert "it would be there if T(:zoe, rdf:type, :Person) were asserted" in str(absence)
    proof.check()
    absence.check()
    assert "http://e/" not in relation(db["T"]).svg


def test_commands_show_short_names_and_write_whole_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text(PROGRAM)
    Path("facts").mkdir()
    rdf.write(rdf.graph(FACTS), Path("facts/T.nt"))

    def run(*words: str, given: str | None = None) -> str:
        done = CliRunner().invoke(main, words, input=given)
        assert done.exit_code == 0, done.output
        return done.output

    assert "P(:a)" in run("why", "p.dl", "P(:a)", "-F", "facts")
    assert "no P(ex:bob)" in run("why-not", "p.dl", "P(ex:bob)", "-F", "facts")
    run("run", "p.dl", "-F", "facts", "-D", "out")
    assert "<http://e/a>" in Path("out/P.csv").read_text()
    assert "<http://e/a>" in run("query", "p.dl", "P(x), T(x, ex:knows, _)", "-F", "facts", "--csv")
    typed = """prefix z: <http://z/>
+T(z:new, rdf:type,
  :Person).
?- P(x), T(x, rdf:type, :Person).
:why P(z:new)
:save all.tl
"""
    said = run("repl", "p.dl", "-F", "facts", given=typed)
    assert "+ P(z:new)" in said
    assert "  :b" in said
    assert "http://z/" not in said.replace("prefix z: <http://z/>", "")
    assert "+ P(z:new)" in run("repl", given=":load all.tl\n")


def test_short_names_of_modules_are_their_own(tmp_path: Path) -> None:
    (tmp_path / "m.dl").write_text("prefix : <http://m/>\nrelation A(x: string)\nA(:x).\n")
    main_file = tmp_path / "main.dl"
    main_file.write_text(
        "prefix : <http://main/>\nimport m\noutput relation B(x: string)\nB(x) :- m::A(x).\nB(:y).\n"
    )
    expected = {("<http://m/x>",), ("<http://main/y>",)}
    assert set(tidelog.open(main_file)["B"]) == expected
    assert set(tidelog.open(text=bundled(main_file.read_text(), str(main_file)))["B"]) == expected


def test_prefixes_stay_with_the_program(db: tidelog.Session) -> None:
    program = pickle.loads(pickle.dumps(db.program))
    assert program.names == db.program.names
    with db.transaction() as tx:
        tx.load("prefix ex: <http://other/>\noutput relation Q(x: string)\nQ(ex:a).")
        tx.rollback()
    assert len(db.query("T(x, ex:knows, _)")) == 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("prefix a: <http://a/>\nrelation A(x: string)\nA(z:b).", "3:3"),
        ("prefix a: <http://a/>\nrelation A(x: string)\nA(:b).", "3:3"),
        ("prefix a: <http://a/>\nrelation A(x: string)\nA(y) :- A(x), A(y), y == [x, z:b][0].", "3:30"),
    ],
)
def test_an_unknown_prefix_is_reported_at_its_place(text: str, place: str) -> None:
    with pytest.raises(ProgramError, match="unknown prefix") as caught:
        tidelog.open(text=text)
    assert caught.value.diagnostics[0].code == "E135"
    assert repr(caught.value.diagnostics[0].span).endswith(place)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("prefix ex: http://x/\n", "prefixes are declared as in `prefix ex: <http://example.org/>`"),
        ("relation A(x: string)\nA(ex:b).", "for short names, declare prefixes at the top"),
        ("relation A(x: string)\nA(:b).", "for short names, declare prefixes at the top"),
        ("relation A(x: string)\nA(x) :- A(x), x == ex:b.", "for short names, declare prefixes at the top"),
        ("prefix a: <http://1/>\nprefix a: <http://2/>", "the prefix `a:` already has a namespace"),
    ],
)
def test_a_mistake_in_a_prefix_is_reported_with_its_remedy(text: str, remedy: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(remedy)):
        tidelog.open(text=text)


@pytest.mark.parametrize(
    "text",
    [
        "relation A(x:int, f:vec<int>)\nA(x, v) :- B(x), v == [x], f(|y:int| y).\n",
        "typedef P = P{x:int, y:int}\nrelation A(x:int)\n",
        "function f(x:int, y:int): int { x + y }\n",
    ],
)
def test_colons_of_types_and_fields_mean_the_same_with_and_without_prefixes(text: str) -> None:
    plain, prefixed = parse(text), parse(f"prefix x: <http://x/>\n{text}")
    assert prefixed.items[1:] == plain.items


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("<http://e/a>", ":a"),
        ("<http://e/a/b>", "deep:b"),
        ("<http://e/a b>", "<http://e/a b>"),
        ("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "rdf:type"),
        (FIVE, "5"),
        ('"x"^^<http://e/t>', '"x"^^:t'),
        ('"x"^^<http://f/t>', '"x"^^<http://f/t>'),
        ('"a"@en', '"a"@en'),
        ("_:b", "_:b"),
        ("plain", "plain"),
    ],
)
def test_terms_are_shown_by_the_longest_namespace(term: str, text: str) -> None:
    assert rdf.shown(term, {"": "http://e/", "deep": "http://e/a/"}) == text
