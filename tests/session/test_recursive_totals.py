"""Recursive sums and counts in sessions: previews, queries, limits, errors, saved states, and other types."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path

import pytest

import tidelog
from tidelog import EngineError, ProgramError, Session
from tidelog.engine.local.storage.record import read_record, write_record

PARTS = """
input relation Uses(whole: string, part: string, pieces: int)
output relation Needs(whole: string, part: string, pieces: int)
Needs(p, q, n) :- Uses(p, q, k), var n = k.group_by(p, q).sum().
Needs(p, r, n) :- Needs(p, q, m), Uses(q, r, k), var n = (m * k).group_by(p, r).sum().
"""
CONTROL = """
input relation Owns(owner: string, company: string, percent: int)
relation Held(owner: string, company: string, percent: int)
output relation Control(owner: string, company: string)
Held(x, y, s) :- Owns(x, y, p), var s = p.group_by(x, y).sum().
Held(x, y, s) :- Control(x, z), Owns(z, y, p), var s = p.group_by(x, y).sum().
Control(x, y) :- Held(x, y, s), s > 50.
"""
CAR = [("car", "wheel", 4), ("wheel", "bolt", 5), ("car", "bolt", 3)]


@pytest.fixture
def db() -> Session:
    return tidelog.open(text=PARTS, facts={"Uses": CAR})


def test_a_commit_reports_exactly_the_totals_that_changed(db: Session) -> None:
    assert sorted(db["Needs"]) == [("car", "bolt", 23), ("car", "wheel", 4), ("wheel", "bolt", 5)]
    with db.transaction() as tx:
        tx.delete("Uses", [("car", "wheel", 4)])
        tx.insert("Uses", [("car", "wheel", 3)])
    assert sorted(tx.changes["Needs"]) == [
        (("car", "bolt", 18), 1),
        (("car", "bolt", 23), -1),
        (("car", "wheel", 3), 1),
        (("car", "wheel", 4), -1),
    ]
    assert [s.strategy for s in db.stats.strata if s.name == "Needs"] == ["update"]


def test_totals_that_stay_equal_are_no_change(db: Session) -> None:
    with db.transaction() as tx:
        tx.delete("Uses", [("car", "bolt", 3)])
        tx.insert("Uses", [("car", "bolt", 1), ("car", "bolt", 2)])
    assert "Needs" not in [name for name in tx.changes if len(tx.changes[name])]


def test_a_cycle_is_shown_and_changes_nothing(db: Session) -> None:
    before = sorted(db["Needs"])
    with pytest.raises(EngineError) as caught, db.transaction() as tx:
        tx.insert("Uses", [("wheel", "car", 1)])
    cycle = 'Needs("wheel", "car") depends on Needs("wheel", "wheel") depends on Needs("wheel", "car")'
    assert cycle in str(caught.value)
    assert sorted(db["Needs"]) == before
    assert sorted(db["Uses"]) == sorted(CAR)


def test_a_preview_and_a_rollback_leave_everything_as_it_was(db: Session) -> None:
    with db.transaction() as tx:
        tx.insert("Uses", [("bolt", "iron", 2)])
        tx.add_rule('Needs("car", q, n) :- Uses(_, q, k), var n = k.group_by(q).sum().')
        preview = sorted(tx.preview()["Needs"].inserted)
        tx.rollback()
    assert ("car", "iron", 2 * (3 + 5 + 4 * 5) + 2) not in db["Needs"]
    assert preview
    with db.transaction() as tx:
        tx.insert("Uses", [("bolt", "iron", 2)])
        tx.add_rule('Needs("car", q, n) :- Uses(_, q, k), var n = k.group_by(q).sum().')
    assert sorted(tx.changes["Needs"].inserted) == preview


def test_queries_read_totals(db: Session) -> None:
    assert sorted(db.query('Needs("car", q, n), n > 3')) == [("bolt", 23), ("wheel", 4)]


def test_asserted_rows_are_contributions_also_if_they_were_there_before_the_rules() -> None:
    db = tidelog.open(
        text=PARTS.splitlines()[1] + "\ninput relation Needs(whole: string, part: string, n: int)"
    )
    with db.transaction() as tx:
        tx.insert("Needs", [("car", "bolt", 1), ("car", "bolt", 2)])
        tx.insert("Uses", CAR)
    assert sorted(db["Needs"]) == [("car", "bolt", 1), ("car", "bolt", 2)]
    with db.transaction() as tx:
        for rule in PARTS.strip().splitlines()[2:]:
            tx.add_rule(rule)
    assert ("car", "bolt", 26) in db["Needs"]
    assert sorted(tx.changes["Needs"].deleted) == [("car", "bolt", 1), ("car", "bolt", 2)]
    with db.transaction() as tx:
        tx.delete("Needs", [("car", "bolt", 1)])
    assert ("car", "bolt", 25) in db["Needs"]
    with db.transaction() as tx:
        for rule in PARTS.strip().splitlines()[2:]:
            tx.remove_rule(rule)
    assert sorted(db["Needs"]) == [("car", "bolt", 2)]


def test_a_rule_that_makes_totals_recursive_adds_them_up(db: Session) -> None:
    with db.transaction() as tx:
        tx.remove_rule(PARTS.strip().splitlines()[3])
        tx.add_rule("Needs(p, q, n) :- Uses(p, q, k), k > 4, var n = k.group_by(p, q).sum().")
    assert sorted(db["Needs"]) == sorted(CAR)
    with db.transaction() as tx:
        tx.add_rule(PARTS.strip().splitlines()[3])
    assert ("wheel", "bolt", 10) in db["Needs"]


def test_a_sum_that_overflows_names_its_key(db: Session) -> None:
    with (
        pytest.raises(EngineError, match=r'in the total of Needs\("wheel", "bolt"\)'),
        db.transaction() as tx,
    ):
        tx.insert("Uses", [("wheel", "bolt", 2**63 - 1)])
    assert ("car", "bolt", 23) in db["Needs"]


def test_intermediate_sums_may_exceed_the_type() -> None:
    db = tidelog.open(text=PARTS)
    with db.transaction() as tx:
        tx.insert("Uses", [("a", "b", 2**62), ("a", "b", 2**62 - 1), ("a", "b", -(2**62))])
    assert list(db["Needs"]) == [("a", "b", 2**62 - 1)]


def test_limits_apply() -> None:
    chain = [(str(i), str(i + 1), 1) for i in range(30)]
    with pytest.raises(EngineError, match="exceeded the iteration limit"):
        tidelog.open(text=PARTS, facts={"Uses": chain}, max_iterations=10)
    with pytest.raises(EngineError, match="exceeded the limit of 100 rows"):
        tidelog.open(text=PARTS, facts={"Uses": chain}, max_rows=100)


def test_cycles_of_companies_are_no_error_but_do_not_keep_each_other_alive() -> None:
    db = tidelog.open(text=CONTROL, facts={"Owns": [("a", "b", 60), ("b", "c", 60), ("c", "b", 60)]})
    assert ("a", "c") in db["Control"]
    assert ("c", "c") in db["Control"]
    with db.transaction() as tx:
        tx.delete("Owns", [("a", "b", 60)])
    assert sorted(tx.changes["Control"].deleted) == [("a", "b"), ("a", "c")]
    negative = r'the contribution Held\("b", "d", -1\) is negative'
    with pytest.raises(EngineError, match=negative), db.transaction() as tx:
        tx.insert("Owns", [("b", "d", -1)])
    assert ("b", "d") not in db.query("Owns(x, y, _)")


def test_unsigned_shares_cannot_be_negative() -> None:
    db = tidelog.open(text=CONTROL.replace("percent: int", "percent: bit<8>"))
    with db.transaction() as tx:
        tx.insert("Owns", [("a", "b", 60), ("b", "a", 60)])
    assert len(db["Control"]) == 4
    with pytest.raises(EngineError, match=r'in the total of Held\("a", "b"\)'), db.transaction() as tx:
        tx.insert("Owns", [("a", "b", 255)])


@pytest.mark.parametrize(
    ("type_", "values", "total"),
    [
        ("double", [0.1] * 3, 0.30000000000000004),
        ("decimal(12, 2)", [Decimal("0.10"), Decimal("0.25")], Decimal("0.35")),
        ("bigint", [2**70, 1], 2**70 + 1),
        ("signed<8>", [100, 27], 127),
    ],
)
def test_totals_of_other_types_are_exact_or_rounded_once(
    type_: str, values: list[object], total: object
) -> None:
    text = f"""
        input relation Flow(src: int, dst: int, id: int, amount: {type_})
        output relation Level(node: int, amount: {type_})
        Level(y, n) :- Flow(0, y, _, a), var n = a.group_by(y).sum().
        Level(y, n) :- Level(x, m), Flow(x, y, _, _), x > 0, var n = m.group_by(y).sum().
    """
    db = tidelog.open(text=text)
    with db.transaction() as tx:
        tx.insert("Flow", [(0, 1, i, value) for i, value in enumerate(values)])
        tx.insert("Flow", [(1, 2, 0, values[0])])
    assert sorted(db["Level"]) == [(1, total), (2, total)]
    with db.transaction() as tx:
        tx.delete("Flow", [(0, 1, 0, values[0])])
    with db.transaction() as tx:
        tx.insert("Flow", [(0, 1, 0, values[0])])
    assert sorted(db["Level"]) == [(1, total), (2, total)]


def test_sums_of_floats_do_not_depend_on_the_order_of_commits() -> None:
    text = """
        input relation Flow(src: int, dst: int, amount: double)
        output relation Level(node: int, amount: double)
        Level(y, n) :- Flow(0, y, a), var n = a.group_by(y).sum().
        Level(y, n) :- Level(x, m), Flow(x, y, _), x > 0, var n = m.group_by(y).sum().
    """
    values = [1e16, 1.0, -1e16, 1e-5, 3.0]
    once = tidelog.open(text=text, facts={"Flow": [(1, 2, 0.0), *((0, 1, v) for v in values)]})
    db = tidelog.open(text=text, facts={"Flow": [(1, 2, 0.0)]})
    for value in reversed(values):
        with db.transaction() as tx:
            tx.insert("Flow", [(0, 1, value), (0, 1, value + 7.0)])
        with db.transaction() as tx:
            tx.delete("Flow", [(0, 1, value + 7.0)])
    assert sorted(db["Level"]) == sorted(once["Level"]) == [(1, 4.00001), (2, 4.00001)]


@pytest.mark.parametrize("text", [PARTS, CONTROL])
def test_a_saved_state_is_continued(text: str, tmp_path: Path) -> None:
    name, result = ("Uses", "Needs") if text is PARTS else ("Owns", "Control")
    db = tidelog.open(text=text, facts={name: [(x, y, 60 * n) for x, y, n in CAR]})
    out = io.BytesIO()
    write_record(out, db._state.saved().record())
    again = tidelog.open(text=text)
    assert again._state.resume(again._state.program, read_record(out.getvalue()))
    assert sorted(again[result]) == sorted(db[result])
    for session in (db, again):
        with session.transaction() as tx:
            tx.delete(name, [("car", "wheel", 240)])
            tx.insert(name, [("car", "wheel", 60)])
        assert [s.strategy for s in session.stats.strata][-1] == "update"
    assert sorted(again[result]) == sorted(db[result])


def test_a_relation_cannot_mix_sums_and_counts(db: Session) -> None:
    with pytest.raises(ProgramError, match="E503"), db.transaction() as tx:
        tx.add_rule("Needs(p, q, n) :- Uses(p, q, k), var n = k.group_by(p, q).count().")


def test_the_strata_and_the_script_say_what_is_kept(db: Session) -> None:
    assert "keeps the total pieces of Needs per key" in db.plan()
    assert "Needs" in str(db.explain())
