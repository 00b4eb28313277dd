"""Multisets, streams and earlier commits, as users of sessions see them."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import tidelog
from tidelog.errors import DataError, EngineError, ProgramError, SessionError
from tidelog.session import Session

SALES = """
    input multiset Sale(item: string, price: double)
    output multiset Sold(item: string)
    Sold(i) :- Sale(i, _).
    """


def committed(db: Session, **facts: object) -> tidelog.Changes:
    with db.transaction() as tx:
        for name, rows in facts.items():
            tx.insert(name, rows)
    return tx.changes


def test_deleting_more_copies_than_there_are_leaves_none() -> None:
    db = tidelog.open(text=SALES)
    committed(db, Sale=[("tea", 1.0)] * 3)
    with db.transaction() as tx:
        tx.delete("Sale", [("tea", 1.0)] * 5 + [("pot", 1.0)])
        tx.insert("Sale", [("tea", 1.0)])
    assert list(tx.changes["Sale"]) == [(("tea", 1.0), -2)]
    assert tx.changes["Sale"].deleted == [("tea", 1.0)] * 2
    assert tx.changes["Sale"].inserted == []
    assert list(db["Sold"]) == [("tea", 1)]


def test_clearing_forgets_earlier_insertions_but_not_later_ones() -> None:
    db = tidelog.open(text=SALES)
    committed(db, Sale=[("tea", 1.0), ("cup", 2.0)])
    with db.transaction() as tx:
        tx.insert("Sale", [("pot", 1.0)])
        tx.clear("Sale")
        tx.insert("Sale", [("tea", 1.0)] * 2)
    assert sorted(db["Sale"]) == [("tea", 1.0, 2)]
    assert sorted(tx.changes["Sale"]) == [(("cup", 2.0), -1), (("tea", 1.0), 1)]


def test_odd_values_are_counted_as_the_values_they_are() -> None:
    db = tidelog.open(
        text="input multiset M(x: double, o: option<int>)\noutput multiset N(x: double)\nN(x) :- M(x, _)."
    )
    rows = [(math.nan, None), (float("nan"), None), (0.0, 1), (-0.0, 1)]
    committed(db, M=rows)
    assert sorted((str(x), o, w) for x, o, w in db["M"]) == [("0.0", 1, 2), ("nan", None, 2)]
    with db.transaction() as tx:
        tx.delete("M", [(float("nan"), None), (-0.0, 1)])
    assert sorted((str(x), w) for x, w in db["N"]) == [("0.0", 1), ("nan", 1)]


def test_many_rows_and_few_are_counted_alike() -> None:
    db = tidelog.open(text="input multiset M(self: int)")
    committed(db, M=[(i % 100,) for i in range(1000)])
    with db.transaction() as tx:
        tx.delete("M", [(7,)])
    assert dict(db["M"]) == {i: 10 - (i == 7) for i in range(100)}


def test_tables_and_views_have_the_weights() -> None:
    db = tidelog.open(
        text="""
    input multiset M(weight: int, origin: string)
    output multiset N(weight: int)
    N(x) :- M(x, _).
    N(1).
    """
    )
    changes = committed(db, M=pa.table({"weight": [1, 1], "origin": ["a", "a"]}), N=[(1,)])
    assert changes["M"].to_arrow().to_pylist() == [{"weight": 1, "origin": "a", "weight_": 2}]
    assert db["N"].to_arrow().to_pylist() == [{"weight": 1, "weight_": 4}]
    assert list(db["N"].given) == [(1, 1)]
    assert list(db["N"].derived) == [(1, 3)]
    assert (1, 4) in db["N"]
    assert list(db["N"].where(weight_=4)) == [(1, 4)]
    assert "M: 2 rows added, 0 removed" in repr(changes)
    assert "+2" in repr(changes["M"])
    assert len(db["N"].given.where(weight=2)) == 0
    assert list(db["N"].given.between("weight", 0, 5)) == [(1, 1)]


def test_a_relation_without_columns_can_be_a_multiset() -> None:
    db = tidelog.open(
        text="input multiset Tick()\noutput relation Ticks(n: int)\nTicks(n) :- var n = count { Tick() }."
    )
    committed(db, Tick=[(), ()])
    assert list(db["Tick"]) == [(2,)]
    assert list(db["Ticks"]) == [(2,)]


def test_a_multiset_takes_no_keys_and_bad_rows_leave_it_as_it_was() -> None:
    db = tidelog.open(text=SALES)
    with db.transaction() as tx:
        with pytest.raises(DataError):
            tx.upsert("Sale", [("a", 1.0)])
        with pytest.raises(DataError):
            tx.insert("Sale", [("a", 1.0), ("b", "x")])
    assert len(db["Sale"]) == 0


def test_weights_that_exceed_64_bits_fail_the_commit() -> None:
    squares = "".join(f"multiset M{i}(x: int)\nM{i}(x) :- M{i - 1}(x), M{i - 1}(x).\n" for i in range(1, 8))
    db = tidelog.open(text=f"input multiset M0(x: int)\n{squares}")
    with pytest.raises(EngineError):
        committed(db, M0=[(1,)] * 2)
    assert all(len(db[name]) == 0 for name in db)
    committed(db, M0=[(1,)])
    assert list(db["M7"]) == [(1, 1)]


def test_sums_are_those_of_the_copies() -> None:
    text = """
    input multiset M(k: int, x: int, d: double, e: decimal(10, 2), b: u8)
    output relation R(k: int, s: int, t: double, u: decimal(10, 2), v: u8, m: double)
    R(k, s, t, u, v, m) :-
        M(k, x, d, e, b),
        var s = x.group_by(k).sum(), var t = d.group_by(k).sum(), var u = e.group_by(k).sum(),
        var v = b.group_by(k).sum(), var m = x.group_by(k).avg().
    output relation Q(k: int, s: int, v: u8)
    Q(k, s, v) :- M(k, x, _, _, b), var s = x.group_by(k).sum(), var v = b.group_by(k).sum().
    """
    db = tidelog.open(text=text)
    committed(
        db,
        M=[
            (1, 2**62, 0.1, Decimal("0.10"), 100),
            (1, 2**62, 0.1, Decimal("0.10"), 100),
            (1, -(2**62), 0.2, Decimal(1), 1),
        ],
    )
    (row,) = db["R"]
    assert row[:3] == (1, 2**62, 0.4)
    assert str(row[3]) == "1.20"
    assert row[4] == 201
    assert list(db["Q"]) == [(1, 2**62, 201)]
    with pytest.raises(EngineError):
        committed(db, M=[(1, 2**62, 0.1, Decimal("0.10"), 100)])
    assert list(db["Q"]) == [(1, 2**62, 201)]


def test_recursive_sums_count_copies() -> None:
    text = """
    input multiset Part(whole: string, part: string, n: int)
    output relation Needs(whole: string, part: string, n: int)
    Needs(w, p, n) :- Part(w, p, k), var n = k.group_by(w, p).sum().
    Needs(w, q, n) :- Needs(w, p, m), Part(p, q, k), var n = (m * k).group_by(w, q).sum().
    """
    db = tidelog.open(text=text)
    committed(db, Part=[("a", "b", 2), ("a", "b", 2), ("b", "c", 3)])
    assert sorted(db["Needs"]) == [("a", "b", 4), ("a", "c", 12), ("b", "c", 3)]


def test_recursion_through_min_reads_multisets() -> None:
    text = """
    input multiset Edge(a: int, b: int, d: int)
    output relation Dist(b: int, d: int)
    Dist(b, d) :- Edge(0, b, e), var d = e.group_by(b).min().
    Dist(c, d) :- Dist(b, e), Edge(b, c, f), var d = (e + f).group_by(c).min().
    """
    db = tidelog.open(text=text)
    committed(db, Edge=[(0, 1, 1), (0, 1, 1), (1, 0, 1), (1, 2, 5), (0, 2, 9)])
    assert sorted(db["Dist"]) == [(0, 2), (1, 1), (2, 6)]
    with db.transaction() as tx:
        tx.delete("Edge", [(0, 1, 1), (1, 2, 5)])
    assert sorted(db["Dist"]) == [(0, 2), (1, 1), (2, 9)]


def test_a_stream_reports_its_rows_even_if_it_had_them_before() -> None:
    db = tidelog.open(text="input stream S(x: int)\noutput relation P(x: int)\nP(x) :- S'(x).")
    heard: list[object] = []
    db.subscribe("S", lambda changes, commit: heard.append((commit, list(changes))))
    for _ in range(2):
        changes = committed(db, S=[(1,), (1,)])
        assert list(changes["S"]) == [((1,), 2)]
    assert "P" not in changes
    changes = committed(db)
    assert "S" not in changes
    assert list(changes["P"]) == [((1,), -1)]
    assert heard == [(1, [((1,), 2)]), (2, [((1,), 2)])]


def test_a_failed_commit_a_preview_and_a_rollback_leave_streams_and_history() -> None:
    text = """
    input stream S(x: int)
    input relation R(x: int)
    output relation Q(x: int)
    output relation F(y: int)
    Q(x) :- R-1(x).
    F(1 / x) :- R(x).
    """
    db = tidelog.open(text=text)
    committed(db, S=[(1,)], R=[(1,)])
    with pytest.raises(EngineError):
        committed(db, R=[(0,)])
    tx = db.transaction()
    assert list(tx.preview()["Q"]) == [((1,), 1)]
    assert list(tx.preview()["Q"]) == [((1,), 1)]
    tx.rollback()
    assert list(db["S"]) == [(1, 1)]
    assert list(db["Q"]) == []
    committed(db)
    assert list(db["S"]) == []
    assert list(db["Q"]) == [(1,)]


def test_relations_of_other_kinds_come_and_go() -> None:
    db = tidelog.open(text="input relation R(x: int)")
    committed(db, R=[(1,), (2,)])
    with db.transaction() as tx:
        tx.load("multiset M(x: int)\nM(x) :- R(x).\noutput relation D(x: int)\nD(x) :- R-1(x).")
        tx.insert("M", [(1,)])
    assert list(tx.changes["M"]) == [((1,), 2), ((2,), 1)] or sorted(tx.changes["M"]) == [
        ((1,), 2),
        ((2,), 1),
    ]
    assert list(db["D"]) == []
    committed(db)
    assert sorted(db["D"]) == [(1,), (2,)]
    tx = db.transaction()
    tx.remove_rule("M(x) :- R(x).")
    with pytest.raises(ProgramError, match="E114"):
        tx.drop("R")
    tx.rollback()
    with db.transaction() as tx:
        tx.remove_rule("M(x) :- R(x).")
        tx.drop("M")
    assert sorted(tx.changes["M"]) == [((1,), -2), ((2,), -1)]
    with db.transaction() as tx:
        tx.remove_rule("D(x) :- R-1(x).")
    assert sorted(tx.changes["D"]) == [((1,), -1), ((2,), -1)]
    assert set(db) == {"R", "D"}
    assert db["R"].to_arrow().num_rows == 2
    with db.transaction() as tx:
        tx.load("stream M(x: string)")
        tx.insert("M", [("a",)])
    assert list(db["M"]) == [("a", 1)]


def test_a_relation_keeps_its_kind_within_a_transaction() -> None:
    db = tidelog.open(text="relation R(x: int)")
    tx = db.transaction()
    tx.drop("R")
    with pytest.raises(SessionError):
        tx.load("multiset R(x: int)")
    tx.rollback()


def test_replacing_the_program_keeps_weights_and_history() -> None:
    text = "input multiset M(x: int)\noutput multiset D(x: int)\nD(x) :- M-1(x).\n"
    db = tidelog.open(text=text)
    committed(db, M=[(1,), (1,)])
    with db.transaction() as tx:
        tx.replace_program(text + "output relation N(n: int)\nN(n) :- var n = count { D(_) }.")
    assert list(db["M"]) == [(1, 2)]
    assert list(db["D"]) == [(1, 2)]
    assert list(db["N"]) == [(2,)]


def test_queries_read_weights_streams_and_earlier_commits() -> None:
    db = tidelog.open(
        text="input multiset M(x: int)\ninput stream S(x: int)\nrelation R(x: int)\nR(x) :- M-1(x)."
    )
    committed(db, M=[(1,), (1,), (2,)], S=[(5,), (5,)])
    assert sorted(db.query("M(x)")) == [(1,), (2,)]
    assert list(db.query("M(x), var n = x.group_by().count()")) == [(3,)]
    assert list(db.query("M'(x), var n = x.group_by().count()")) == [(2,)]
    assert list(db.query("S(x), var n = count { S(x), M(_) }")) == [(5, 6)]
    assert list(db.query("M(x), not M-1(x), x > y", y=1)) == [(2,)]
    with pytest.raises(ProgramError, match="E509"):
        db.query("M-2(x)")
    plain = tidelog.open(text="input relation R(x: int)")
    with pytest.raises(ProgramError, match="E509"):
        plain.query("R-1(x)")


def test_files_with_equal_rows_count_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "M.csv").write_text("x\n1\n1\n2\n")
    db = tidelog.open(
        text="input multiset M(x: int)\noutput multiset N(x: int)\nN(x) :- M(x).", facts=tmp_path
    )
    assert sorted(db["N"]) == [(1, 2), (2, 1)]
    db.write_folder(tmp_path / "out")
    assert sorted((tmp_path / "out" / "N.csv").read_text().split()) == ["1,2", "2,1", "x,weight"]


def test_structured_rows_are_counted_and_delayed() -> None:
    text = """
    typedef T = Leaf | Node{left: T, right: T}
    input multiset M(t: T, v: vec<int>, s: set<string>)
    output multiset D(t: T, v: vec<int>, s: set<string>)
    D(t, v, s) :- M-1(t, v, s).
    """
    db = tidelog.open(text=text)
    node, leaf = db.types.T.Node, db.types.T.Leaf
    row = (node(leaf(), leaf()), [1, 2], {"a", "b"})
    committed(db, M=[row, row])
    committed(db)
    assert [r[-1] for r in db["D"]] == [2]
    assert next(iter(db["D"]))[:-1] == next(iter(db["M"]))[:-1]


def test_an_old_program_still_means_what_it_meant() -> None:
    text = """
    typedef R = R{x: int} | Q
    input relation E(stream: int, multiset: int)
    output relation P(x: int)
    P(stream - 1) :- E(stream, multiset), var n = stream -1, n > multiset -1.
    """
    db = tidelog.open(text=text)
    committed(db, E=[(3, 1)])
    assert list(db["P"]) == [(2,)]


def test_a_program_that_replaces_range_cannot_repeat_rows() -> None:
    own = "function range(a: int, b: int): vec<int> { [a, b] }\n"
    rule = "input multiset M(x: int)\noutput relation A(m: double)\nA(m) :- M(x), var m = x.group_by().avg()."
    with pytest.raises(ProgramError, match="E510"):
        tidelog.open(text=own + rule)
