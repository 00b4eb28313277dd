"""What `:save` writes, `:load` reads: the same program and the same asserted facts."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path

import tidelog
from cli.repl.consoles import Repl

TYPES = """typedef Shape = Circle{radius: double} | Square{side: u8, name: string} | Point
typedef Tree = Leaf{value: int} | Node{left: Tree, right: Tree}
typedef Pair<A, B> = Pair{first: A, second: B}
function area(s: Shape): double {
    match (s) { Circle{r} -> r * r, _ -> 0.0 }
}
function last<T>(v: vec<T>): option<T> { v.get(v.len() - 1) }
input relation Scalar(b: bool, i: int, g: bigint, u: u64, s: s8, f: float, d: double, t: string, x: bytes)
input relation Other(m: decimal(20, 3), day: date, moment: timestamp, long: duration,
    o: option<int>, e: option<string>)
input relation Made(s: Shape, t: Tree, p: Pair<int, option<string>>, v: vec<option<int>>,
    k: set<string>, m: map<int, vec<double>>)
output relation Area(a: double)
index ByArea(a) on Area(a)
Area(area(s)) :- Made(s, _, _, _, _, _).
Area(1.5).
"""


def test_values_of_all_types_survive(tmp_path: Path) -> None:
    repl = Repl(TYPES)
    t = repl.db.types
    texts = ['"', "\\", "${x}", "a\nb\r\t\0", "é\u2028😀", "", "//", "`"]
    rows = [
        (b, i, 10**30 * i, u, -128, float("inf"), d, text, text.encode())
        for b, i, u in ((True, -(2**63), 2**64 - 1), (False, 0, 0))
        for d in (math.nan, -0.5, 1e300, 1e-300, -math.inf, 0.1)
        for text in texts
    ]
    moment = datetime.datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=datetime.UTC)
    leaf = t.Tree.Leaf(value=1)
    with repl.db.transaction() as tx:
        tx.insert("Scalar", rows)
        tx.insert(
            "Other",
            [
                (
                    Decimal("-12345678901234567.125"),
                    datetime.date(9999, 12, 31),
                    moment,
                    datetime.timedelta(-1),
                    None,
                    "",
                ),
                (
                    Decimal("0"),
                    datetime.date(1, 1, 1),
                    moment,
                    datetime.timedelta(days=9, microseconds=1),
                    3,
                    None,
                ),
            ],
        )
        tx.insert(
            "Made",
            [
                (
                    t.Shape.Point(),
                    leaf,
                    t.Pair.Pair(first=1, second=None),
                    [None, 1],
                    {"b", "a"},
                    {2: [1.5], 1: []},
                ),
                (
                    t.Shape.Square(side=255, name='"'),
                    t.Tree.Node(left=leaf, right=t.Tree.Node(left=leaf, right=leaf)),
                    t.Pair.Pair(first=-1, second="x"),
                    [],
                    set(),
                    {},
                ),
                (t.Shape.Circle(radius=math.nan), leaf, t.Pair.Pair(first=0, second=""), [], {""}, {}),
            ],
        )
    file = tmp_path / "saved.dl"
    repl(f":save {file}")
    again = Repl()
    again(f":load {file}")
    _expect_equal(again.db, repl.db)
    again(f":save {tmp_path / 'again.dl'}")
    assert (tmp_path / "again.dl").read_text() == file.read_text()


def test_multisets_keep_their_weights_and_derived_relations_their_facts(tmp_path: Path) -> None:
    repl = Repl(
        "input multiset Sale(x: int)\noutput relation P(x: int)\nP(x) :- Sale(x).\nstream Now(x: int)"
    )
    repl("begin\n+Sale(1).\n+Sale(1).\n+Sale(2).\n+P(7).\n+P(1).\n+Now(3).\ncommit")
    repl(f":save {tmp_path / 'saved.dl'}")
    again = Repl()
    again(f":load {tmp_path / 'saved.dl'}")
    assert sorted(again.db["Sale"]) == [(1, 2), (2, 1)]
    assert sorted(again.db["P"].given) == [(1,), (7,)]
    again("-1")
    assert sorted(again.db["P"]) == [(1,), (7,)]


def test_a_program_with_modules_is_saved_as_one_text(tmp_path: Path) -> None:
    (tmp_path / "net.dl").write_text("input relation Link(a: int, b: int)\ntypedef Kind = Up | Down\n")
    (tmp_path / "main.dl").write_text(
        "import net as n\noutput relation Far(a: int)\nFar(a) :- n::Link(a, b), n::Link(b, _).\n"
    )
    repl = Repl(path=tmp_path / "main.dl")
    repl("+net::Link(1, 2). +net::Link(2, 3).")
    repl(f":save {tmp_path / 'saved.dl'}")
    again = Repl()
    again(f":load {tmp_path / 'saved.dl'}")
    assert list(again.db["Far"]) == [(1,)]
    assert sorted(again.db["net::Link"]) == [(1, 2), (2, 3)]


def test_a_file_is_replaced_only_if_it_was_saved_here(tmp_path: Path) -> None:
    mine, saved = tmp_path / "mine.dl", tmp_path / "saved.dl"
    mine.write_text("// my work\n")
    repl = Repl("input relation A(x: int)")
    repl.fails(f":save {mine}", "mine.dl exists already")
    repl(f":save {saved}")
    repl("+A(1).")
    assert repl(f":save {saved}") == [f"{saved}: 3 lines"]
    assert saved.read_text() == "input relation A(x: int)\n\n+A(1).\n"
    repl.fails(f":save {tmp_path / 'nowhere' / 'x.dl'}", "cannot be written: No such file or directory")
    repl("begin")
    repl.fails(f":save {saved}", "a transaction is open")
    repl("rollback")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.dl", "saved.dl"]


def test_loading_is_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "program.dl"
    repl = Repl("input relation A(x: int)")
    for text, problem in (
        ("relation B(x: int)\n+B(1).\n+B(y).\n", "program.dl:3:4: error[E301]"),
        ("relation B(x: int)\n+B(1).\nB(x) :- C(x).\n", "program.dl:3:9: error[E101]"),
        (
            "relation B(x: int)\n+B(1).\n?- B(x).\n",
            "program.dl:3: `:load` takes declarations, rules and + facts",
        ),
        (
            "relation B(x: int)\n+B(1).\n+B(1 / 0).\n",
            "program.dl:3:2: a value of the fact cannot be computed",
        ),
        ("relation B(x: int\n", "program.dl:1:18: error[E003]"),
    ):
        file.write_text(text)
        repl.fails(f":load {file}", problem)
    file.write_bytes(b"\xff")
    repl.fails(f":load {file}", "is not UTF-8 text (at byte 0)")
    file.write_text("relation B(x: int)\n+B(1).\n")
    repl("begin\n+A(0).")
    repl.fails(f":load {file}", "end the open one first")
    repl.fails(f":load {tmp_path}", "end the open one first")
    assert repl("commit") == ["+ A(0)"]


def _expect_equal(found: tidelog.Session, wanted: tidelog.Session) -> None:
    assert found.program == wanted.program
    for name in wanted:
        assert sorted(map(repr, found[name])) == sorted(map(repr, wanted[name])), name
        assert sorted(map(repr, found[name].given)) == sorted(map(repr, wanted[name].given)), name


def test_python_functions_are_named_as_missing(tmp_path: Path) -> None:
    repl = Repl(functions=[doubled])
    assert repl(f":save {tmp_path / 'saved.dl'}")[1] == "Python functions are not saved: doubled"


def doubled(x: int) -> int:
    return 2 * x


def test_the_order_in_a_file_does_not_matter(tmp_path: Path) -> None:
    facts = "+A(0).\n+A(1).\n+A(2).\n"
    (tmp_path / "late.dl").write_text(f"{facts}B(x) :- A(x).\nrelation B(x: int)\ninput relation A(x: int)\n")
    repl = Repl()
    assert repl(f":load {tmp_path / 'late.dl'}")[0].endswith("late.dl: 1 rule, 3 asserted facts")
    assert len(repl.db["B"]) == 3
