"""Names in backticks: any characters, everywhere a name can be."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tidelog
from tidelog.data.file_names import file_name
from tidelog.errors import ProgramError
from tidelog.program.describe import describe_program

PROGRAM = """
typedef `my type` = `a case`{`the field`: int} | `Other Case`
typedef Box = Box{`Item No.`: int}
input relation `my table`(`unit price`: int, `Größe`: string) primary key (`unit price`)
output relation `out put`(`Größe`: string, total: int)
output relation `..`(`/`: int)
output relation Kind(t: `my type`)
function `double it`(`x y`: int): int { var `Z` = `x y` * 2; `Z` }
function `is good`(x: int): bool { x > 3 }
`out put`(`S`, `double it`(`unit price`)) :- `my table`(`unit price`, `S`), `is good`(`unit price`).
`out put`(s, p.`double it`()) :- `my table`(.`Größe` = s, .`unit price` = p), not `is good`(p).
`..`(b.`Item No.`) :- `my table`(p, _), var b = Box{p}.
Kind(`a case`{p}) :- `my table`(p, _), p > 3.
Kind(`Other Case`{}) :- `my table`(p, _), not (`is good`(p)).
"""


@pytest.fixture
def db() -> tidelog.Session:
    session = tidelog.open(text=PROGRAM)
    with session.transaction() as tx:
        tx.insert("my table", [{"unit price": 5, "Größe": "a"}, {"unit price": 1, "Größe": "b"}])
    return session


def test_sessions_know_names_as_they_are(db: tidelog.Session) -> None:
    assert sorted(db["out put"]) == [("a", 10), ("b", 2)]
    assert sorted(db[".."]) == [(1,), (5,)]
    assert db["out put"].to_arrow().schema.names == ["Größe", "total"]
    assert sorted(str(row[0]) for row in db["Kind"]) == ["Other Case()", "a case(the field=5)"]


def test_queries_have_columns_with_quoted_names(db: tidelog.Session) -> None:
    found = db.query("`out put`(`The S`, n), `is good`(n)")
    assert found.to_arrow().to_pylist() == [{"The S": "a", "n": 10}]


def test_printed_programs_load_again(db: tidelog.Session) -> None:
    printed = describe_program(tidelog.load(PROGRAM))
    again = tidelog.load(printed)
    assert again.rules.keys() == db.program.rules.keys()
    assert again.relations == db.program.relations
    assert describe_program(again) == printed


def test_files_have_headers_with_the_names(db: tidelog.Session, tmp_path: Path) -> None:
    with db.transaction() as tx:
        tx.remove_rule("Kind(`Other Case`{}) :- `my table`(p, _), not (`is good`(p)).")
        tx.remove_rule("Kind(`a case`{p}) :- `my table`(p, _), p > 3.")
        tx.drop("Kind")
    written = db.write_folder(tmp_path)
    assert [path.name for path in written] == ["out put.csv", "%2E%2E.csv"]
    assert written[0].read_text(encoding="utf-8").splitlines()[0] == "Größe,total"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "my table.csv").write_text("Größe,unit price\nc,7\n", encoding="utf-8")
    with db.transaction() as tx:
        tx.insert_folder(tmp_path / "in")
    assert ("c", 14) in db["out put"]


def test_no_name_of_a_relation_leaves_its_folder() -> None:
    names = ["a/b", "..", "a::b", "a.b", "C:\\x", "%2F", "a%2Fb", " ", "x ", "nul\0"]
    made = [file_name(name) for name in names]
    assert len(set(made)) == len(names)
    assert not [name for name in made if "/" in name or "\\" in name or name.startswith(".")]


def test_frames_may_have_any_column_names() -> None:
    db = tidelog.open()
    table = pa.table({"a b": [1, 2], "c.d": [1.5, 2.5], "`": ["x", "y"], "_": [True, False]})
    db.relation_from("my data", table)
    assert db["my data"].to_arrow().select(table.schema.names).to_pylist() == table.to_pylist()
    assert list(db.query("`my data`(.`c.d` = x, .`a b` = 2)")) == [(2.5,)]


def test_a_relation_and_a_function_of_one_name_are_an_error() -> None:
    text = "input relation a::b(x: int)\nfunction a::b(x: int): bool { x > 1 }\n"
    with pytest.raises(ProgramError, match="`a::b` is already the name of a relation"):
        tidelog.load(text)


def test_a_literal_is_a_function_if_there_is_no_relation_of_its_name() -> None:
    text = """
    input relation In(x: int)
    output relation Out(x: int)
    function a::big(x: int): bool { x > 1 }
    Out(x) :- In(x), (a::big(x); x == 0), not a::big(x - 1).
    """
    assert sorted(tidelog.run(text, In=[(0,), (1,), (2,), (3,)])["Out"]) == [(0,), (2,)]
