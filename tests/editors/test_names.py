"""Names in texts that are edited. Laws: an edited document is the one that is read anew; a name that is
changed and changed back leaves the text as it was; and a program whose names are changed means the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tidelog.editors.names.document import Document, Place
from tidelog.editors.names.occurrences import Role
from tidelog.editors.names.renaming import Change, Refused, renamed
from tidelog.editors.names.symbols import Symbol, symbol_at
from tidelog.editors.names.workspace import Workspace
from tidelog.errors import Diagnostic, Source
from tidelog.syntax import tree
from tidelog.syntax.parser import parse, read

CASES = sorted((Path(__file__).parents[1] / "conformance" / "cases").rglob("program.dl"))
NEW = {
    Role.RELATION: "Zfresh",
    Role.TYPE: "zfresh_type",
    Role.CONSTRUCTOR: "Zfresh",
    Role.FUNCTION: "zfresh",
    Role.INDEX: "Zfresh",
    Role.FIELD: "zfresh",
    Role.VARIABLE: "zfresh",
    Role.PARAMETER: "Zfresh",
    Role.MODULE: "zfresh",
}
NAME = "untitled:program"


def applied(text: str, changes: list[Change]) -> str:
    for change in sorted(changes, key=lambda c: -c.start):
        text = text[: change.start] + change.text + text[change.end :]
    return text


def only(text: str) -> tuple[Workspace, Document]:
    workspace = Workspace()
    return workspace, workspace.put(NAME, text, None)


def symbols(workspace: Workspace, document: Document) -> dict[Symbol, Place]:
    found: dict[Symbol, Place] = {}
    for place in document.names():
        symbol = symbol_at(workspace, place)
        if symbol is not None:
            found.setdefault(symbol, place)
    return found


def after_renaming(text: str, offset: int, new: str) -> str:
    workspace, document = only(text)
    place = document.name_at(offset)
    symbol = None if place is None else symbol_at(workspace, place)
    assert symbol is not None
    return applied(text, renamed(workspace, symbol, new))


# -- documents


def names(document: Document) -> list[object]:
    return [
        (document.starts[number] + n.start, n) for number, b in enumerate(document.blocks) for n in b.names
    ]


@pytest.mark.parametrize("seed", range(40))
def test_an_edited_document_is_the_one_that_is_read_anew(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice(CASES).read_text() for _ in range(chance.randint(1, 2)))
    document = Document(NAME, text)
    for _ in range(8):
        start = chance.randrange(len(document.text) + 1)
        end = min(len(document.text), start + chance.choice([0, 0, 1, 3, 20]))
        new = chance.choice(
            ["x", "\n", "// c\n", "A", ".", '"', "/*", "*/", "A(x) :- B(x).\n", text[start:end]]
        )
        if chance.random() < 0.6:
            start = end = chance.choice([0, *(i + 1 for i, c in enumerate(document.text) if c == "\n")])
        wanted = document.text[:start] + new + document.text[end:]
        document.edit(start, end, new)
        anew = Document(NAME, wanted)
        assert document.text == wanted
        if document.is_settled:
            assert names(document) == names(anew)
        elif chance.random() < 0.3:
            document.settle()
            assert names(document) == names(anew)


def test_an_edit_in_a_large_document_parses_little(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [f"Reach{i}(x, z) :- Edge(x, y), Reach{i + 1}(y, z).\n" for i in range(2000)]
    document = Document(NAME, "".join(rules))
    parsed: list[int] = []

    def counted(source: Source) -> tuple[tree.Program, list[Diagnostic]]:
        parsed.append(len(source.text))
        return read(source)

    monkeypatch.setattr("tidelog.editors.names.document.read", counted)
    place = document.text.index("Reach1000")
    document.edit(place, place, "X")
    document.edit(place, place + 1, "")
    assert document.is_settled
    assert max(parsed) < 500


# -- renaming


@pytest.mark.parametrize("file", CASES, ids=lambda f: f.parent.name)
def test_a_name_that_is_changed_and_changed_back_is_the_same_program(file: Path) -> None:
    text = file.read_text()
    workspace, document = only(text)
    chance = random.Random(file.parent.name)
    by_role: dict[Role, list[tuple[Symbol, Place]]] = {}
    for symbol, place in symbols(workspace, document).items():
        by_role.setdefault(symbol.role, []).append((symbol, place))
    before = tidelog.load(text) if "import " not in text else None
    for role, found in by_role.items():
        symbol, place = chance.choice(found)
        try:
            changes = renamed(workspace, symbol, NEW[role])
        except Refused:
            assert role is Role.FIELD or before is None
            continue
        new = applied(text, changes)
        program = tidelog.load(new)
        assert before is not None
        assert len(program.rules) == len(before.rules)
        old = text[place.name.start : place.name.end].rpartition("::")[2]
        assert parse(after_renaming(new, min(c.start for c in changes), old)) == parse(text)


GRAPH = """typedef Kind = Road{km: int} | Rail
input relation Edge(src: string, dst: string, kind: Kind)
output relation Reach(src: string, dst: string)
output relation Far(src: string, n: int)
function length(k: Kind): int { match (k) { Road{km} -> km, Rail -> 1 } }
Reach(x, y) :- Edge(x, y, _).
Reach(x, z) :- Reach(x, y), Edge(y, z, _).
Far(x, n) :- e in Edge(.src = x), length(e.kind) > 3, var n = count { Reach(x, _) }.
""".replace("length", "size_of")


def results(text: str, names: dict[str, str]) -> dict[str, set[tuple[object, ...]]]:
    db = tidelog.open(text=text)
    road = getattr(db.types, names["Kind"])
    with db.transaction() as tx:
        rows = [
            ("a", "b", getattr(road, names["Road"])(5)),
            ("b", "c", getattr(road, names["Rail"])()),
            ("c", "a", getattr(road, names["Rail"])()),
        ]
        tx.insert(names["Edge"], rows)
    return {old: set(db[names[old]]) for old in ("Reach", "Far")}


def test_renaming_keeps_the_results() -> None:
    old = ["Kind", "Road", "Rail", "Edge", "Reach", "Far"]
    same = {name: name for name in old}
    expected = results(GRAPH, same)
    workspace, document = only(GRAPH)
    for symbol in symbols(workspace, document):
        text = applied(GRAPH, renamed(workspace, symbol, NEW[symbol.role]))
        assert text != GRAPH
        given = {**same, symbol.name: NEW[symbol.role]} if symbol.name in same else same
        if symbol.role in (Role.RELATION, Role.TYPE, Role.CONSTRUCTOR):
            assert results(text, given) == expected
        else:
            assert results(text, same) == expected


@pytest.mark.parametrize(
    ("text", "piece", "new"),
    [
        ("A(x) :- B(x, y), not (C(y, z), D(z, w)).", "z", "w"),
        ("A(x) :- B(x, y), not (C(y, z), D(z, w)).", "z", "x"),
        ("A(x) :- B(x), var n = count { C(x, y) }.", "y", "n"),
        ("function f(a: int): int { var b = a; { var c = b; c + b } }", "c + b", "b"),
        ("typedef T = A\ninput relation R(x: T)", "T", "R"),
        ("input relation R(x: int)\ninput relation S(y: int)", "R", "S"),
        ("input relation R(x: int, y: int)", "x", "y"),
        ("function f(a: int): int { a }", "f(", "length"),
    ],
)
def test_a_name_that_is_taken_is_refused(text: str, piece: str, new: str) -> None:
    with pytest.raises(Refused, match="already used"):
        after_renaming(text, text.index(piece), new)


def test_names_in_backticks_are_written_as_each_place_needs() -> None:
    text = (
        "input relation Price(item: string, cents: int)\noutput relation B(x: int)\n"
        "B(c) :- Price(.cents = c), p in Price(.item = _), p.cents == c.\n"
    )
    done = after_renaming(text, text.index("cents"), "`unit price`")
    assert "`unit price`: int" in done
    assert ".`unit price` = c" in done
    assert "p.`unit price` == c" in done
    assert "`price list`(item: string" in after_renaming(text, text.index("Price"), "`price list`")


def test_a_text_with_syntax_errors_is_not_renamed() -> None:
    text = "input relation R(x: int)\nA(x) :- R(x.\n"
    with pytest.raises(Refused, match="syntax errors"):
        after_renaming(text, text.index("R("), "S")


def test_a_field_of_unknown_type_is_not_guessed() -> None:
    text = (
        "typedef P = P{id: int}\ntypedef Q = Q{id: int}\ninput relation R(p: P, q: Q)\n"
        "output relation S(x: int)\nS(p.id) :- R(p, _).\n"
    )
    with pytest.raises(Refused, match="may be this field or another one"):
        after_renaming(text, text.index("id"), "key")
