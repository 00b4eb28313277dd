"""Modules: files that import each other become one program with full names."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.errors import ProgramError, SessionError
from tidelog.program.draft import check, load
from tidelog.program.library.catalog import FUNCTION_NAMES, STANDARD_MODULES
from tidelog.program.modules import bundled

PACKETS = """module net::packets
import limits
typedef Payload = IPv4{dst: int} | Other
input relation Packet(id: int, p: Payload)
relation Target(d: int)
function is_big(n: int): bool { n > limits::least() }
Target(x) :- Packet(_, IPv4{.dst = x}), is_big(x), x.is_big(), not limits::Bad(x).
"""
LIMITS = """
relation Bad(x: int)
function least(): int { 5 }
Bad(7).
"""
MAIN = """import net::packets
import net::packets as p
import tools::math as m

output relation Out(x: int)
output relation All(p: packets::Payload)
Out(m::square(x)) :- packets::Target(x), p::is_big(x), not net::packets::is_big(x - 100).
All(p::Other) :- packets::Packet(_, packets::IPv4{_}).
Out(std::len([1, 2])) :- p::Packet(_, p::Other).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "net/packets.dl": PACKETS,
        "net/limits.dl": LIMITS,
        "lib/tools/math.dl": "function square(x: int): int { x * x }\n",
        "main.dl": MAIN,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def opened(folder: Path) -> tidelog.Session:
    return tidelog.open(folder / "main.dl", search=[folder / "lib"])


def test_names_of_modules_are_full_everywhere_else(folder: Path) -> None:
    db = opened(folder)
    names = ["net::limits::Bad", "net::packets::Packet", "net::packets::Target", "Out", "All"]
    assert list(db) == names
    with db.transaction() as tx:
        rows = [(1, 9), (3, 7), (4, 2)]
        tx.insert("net::packets::Packet", [(i, {"net::packets::IPv4": {"dst": d}}) for i, d in rows])
        tx.insert("net::packets::Packet", [(2, "net::packets::Other")])
    assert sorted(db["net::packets::Target"]) == [(9,)]
    assert sorted(db["Out"]) == [(2,), (81,)]
    assert len(db["All"]) == 1


def test_a_text_at_run_time_may_import_what_is_there_already(folder: Path) -> None:
    db = opened(folder)
    text = "import tools::math\nimport net::packets\noutput relation Sq(x: int)\nSq(math::square(3)).\n"
    (folder / "lib" / "net").mkdir()
    for name in ("packets", "limits"):
        (folder / "lib" / "net" / f"{name}.dl").write_text((folder / "net" / f"{name}.dl").read_text())
    with db.transaction() as tx:
        tx.load(text)
    assert list(db["Sq"]) == [(9,)]
    assert len(db.rules) == 6


def test_a_bundle_is_the_same_program_without_imports(folder: Path) -> None:
    whole = bundled(MAIN, str(folder / "main.dl"), [folder / "lib"])
    assert "import" not in whole
    before = load(MAIN, str(folder / "main.dl"), search=[folder / "lib"])
    assert load(whole).rules.keys() == before.rules.keys()
    assert bundled("R(x) :- S(x).", "t") == "R(x) :- S(x)."


def test_the_environment_names_folders_to_search(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELOG_PATH", str(folder / "lib"))
    assert not check(MAIN, str(folder / "main.dl"))


def test_problems_are_in_the_file_that_has_them(folder: Path) -> None:
    (folder / "net" / "limits.dl").write_text(LIMITS + "Bad(x) :- Bed(x).\nBad(1\n")
    found = check(MAIN, str(folder / "main.dl"), search=[folder / "lib"])
    assert {(d.code, Path(d.span.source.name).name) for d in found} >= {
        ("E101", "limits.dl"),
        ("E003", "limits.dl"),
    }


def test_a_module_does_not_see_the_names_of_its_importer(folder: Path) -> None:
    (folder / "net" / "limits.dl").write_text(LIMITS + "Bad(x) :- Out(x).\nBad(outer(1)).\n")
    text = MAIN + "function outer(x: int): int { x }\nOut(outer(2)).\n"
    found = check(text, str(folder / "main.dl"), search=[folder / "lib"])
    assert [d.message for d in found] == [
        "unknown relation `net::limits::Out`",
        "unknown function `net::limits::outer`",
    ]


def test_two_modules_with_one_short_name_need_an_alias(folder: Path) -> None:
    (folder / "packets.dl").write_text("relation Packet(x: int)\n")
    text = "import net::packets\nimport packets\n"
    with pytest.raises(ProgramError, match="`packets` is already the name of the module `net::packets`"):
        load(text, str(folder / "main.dl"))
    load("import net::packets\nimport packets as q\n", str(folder / "main.dl"))


def test_missing_modules_list_the_folders_that_were_searched(folder: Path) -> None:
    found = check(MAIN, str(folder / "main.dl"))
    assert [d.code for d in found] == ["E122"]
    assert found[0].note == f"searched in {folder}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relation R(x: int)\nimport a\n", "an import must be at the start of the file"),
        ("import a\nmodule b\n", "the name of the module must be the first line"),
        ("import a as 3\n", "expected another name of the module"),
        ("import a.\n", "an import does not end with"),
    ],
)
def test_the_header_is_at_the_start(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        load(text)


def test_programs_without_imports_keep_their_namespaces() -> None:
    text = "input relation rdf::type(import: string, module: string)\noutput relation Out(x: string)\n"
    program = load(text + "Out(import) :- rdf::type(import, module), module != import.\n")
    assert list(program.relations) == ["rdf::type", "Out"]


def test_queries_may_name_the_standard_library() -> None:
    db = tidelog.open(text="input relation In(x: string)\n")
    with db.transaction() as tx:
        tx.insert("In", [("a",), ("bc",)])
    assert list(db.query('In(x), std::len([x]) == 1, std::starts_with(x, "b")')) == [("bc",)]


def test_a_search_path_is_a_list() -> None:
    with pytest.raises(SessionError, match="give a list of folders"):
        tidelog.open(search="lib")


def test_the_standard_library_has_modules() -> None:
    found = tidelog.run(
        """
        import std::text as t
        import std::collections
        input relation Line(s: string)
        output relation Word(w: string, n: int)
        Word(w, n) :- Line(s), var v = t::split(s, " "), var n = collections::len(v), var w in v.
        Word(w, -1) :- Line(s), var w = std::text::upper(s).
        """,
        Line=[("a b",)],
    )
    assert sorted(found["Word"]) == [("A B", -1), ("a", 2), ("b", 2)]


def test_every_standard_function_is_in_a_module() -> None:
    assert frozenset().union(*STANDARD_MODULES.values()) == frozenset(FUNCTION_NAMES)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import std::txt\n", "E122"),
        ("import std::text\noutput relation B(n: int)\nB(text::len([1])).", "E108"),
    ],
)
def test_unknown_names_of_the_standard_library_are_errors(text: str, problem: str) -> None:
    with pytest.raises(ProgramError) as error:
        tidelog.load(text)
    assert [d.code for d in error.value.diagnostics] == [problem]
