"""Profiles: what is counted is what happened, looking changes nothing, and the slow rule is named."""

from __future__ import annotations

import json
import random
from xml.etree import ElementTree

import pytest

import tidelog
from tidelog import Session

REACH = """input relation Edge(a: int, b: int)
output relation Reach(a: int, b: int)
output relation Alone(a: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Alone(x) :- Edge(x, _), not Reach(_, x).
"""
STRATEGIES = ["elastic", "recompute", "differential", "dred"]


def twice(x: int) -> int:
    return 2 * x


def edges(seed: int, count: int = 60) -> list[tuple[int, int]]:
    numbers = random.Random(seed)
    return [(numbers.randrange(25), numbers.randrange(25)) for _ in range(count)]


def filled(strategy: str = "elastic", seed: int = 1) -> Session:
    return tidelog.open(text=REACH, strategy=strategy, facts={"Edge": edges(seed)})


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
def test_a_first_commit_counts_each_instance_and_each_row_once(strategy: str, seed: int) -> None:
    db = filled(strategy, seed)
    edge, reach = set(db["Edge"]), set(db["Reach"])
    (found,) = (s for s in db.profile().strata if s.name == "Reach")
    by_text = {rule.text: rule for rule in found.rules}
    once, joined = by_text["Reach(x, y) :- Edge(x, y)."], by_text["Reach(x, z) :- Reach(x, y), Edge(y, z)."]
    assert once.instances == len(edge)
    assert joined.instances == sum(y == z for _, y in reach for z, _ in edge)
    assert (found.inserted, found.deleted, found.rows) == (len(reach), 0, len(reach))
    if strategy != "differential":  # whose derivations wait for their iteration
        assert once.rows is not None
        assert joined.rows is not None
        assert once.rows + joined.rows == len(reach)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_commits_add_up_from_a_reset_on(strategy: str) -> None:
    db = filled(strategy)
    assert db.profile(reset=True).last == 0
    total, instances = 0.0, 0
    for edge in edges(7, 6):
        with db.transaction() as tx:
            tx.insert("Edge", [edge])
        with db.transaction() as tx:
            tx.delete("Edge", [edge])
        total, instances = total + db.stats.seconds, instances + db.stats.instances
        assert db.profile(last=True).seconds == db.stats.seconds
    found = db.profile()
    assert (found.first, found.last) == (1, 12)
    assert found.seconds > total
    assert sum(s.instances for s in found.strata) >= instances
    assert sum(r.seconds for r in found.rules) <= found.seconds
    assert all(r.divided <= r.seconds + 1e-9 for r in found.rules)
    assert db.profile(reset=True).commits == 12
    assert db.profile().commits == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_looking_changes_nothing(strategy: str) -> None:
    db, other = filled(strategy), filled(strategy)
    for step in range(6):
        str(db.profile())
        for each in (db, other):
            with each.transaction() as tx:
                tx.insert("Edge", edges(step, 4))
                tx.delete("Edge", edges(step + 1, 3))
        assert {name: set(db[name]) for name in db} == {name: set(other[name]) for name in other}
    assert db.profile().last == 6


def test_fan_outs_of_few_rows_are_exact() -> None:
    db = filled()
    edge, reach = set(db["Edge"]), set(db["Reach"])
    (rule,) = (r for r in db.profile().rules if r.text.startswith("Reach(x, z)"))
    atom = rule.orders[0].atoms[1]
    assert (atom.literal, atom.by) == ("Edge(y, z)", "a")
    assert atom.measured is not None
    expected = sum(y == z for _, y in reach for z, _ in edge) / len(reach)
    if atom.measured.probes == len(reach):
        assert atom.measured.rows == pytest.approx(expected)
    else:
        assert atom.measured.rows == pytest.approx(expected, rel=0.5)


def test_conditions_negations_values_and_functions_are_part_of_a_fan_out() -> None:
    db = tidelog.open(
        text="""input relation A(x: int, tags: vec<int>)
        input relation B(x: int, y: option<int>)
        input relation C(y: int)
        output relation R(x: int, z: int)
        R(x, z) :- A(x, tags), var t in tags, B(x, y), var w = y.unwrap_or(0), not C(w),
            var z = twice(t + w), z > 3.
        """,
        functions=[twice],
        facts={"A": [(i, [i, i + 1]) for i in range(9)], "B": [(i % 5, i) for i in range(20)], "C": [(3,)]},
    )
    (rule,) = db.profile().rules
    measured = [atom.measured for atom in rule.orders[0].atoms]
    assert all(m is not None for m in measured)
    assert rule.instances >= len(db["R"]) > 0


def test_a_rule_that_finds_its_rows_again_and_again_is_named_with_the_reason() -> None:
    db = tidelog.open(
        text="""input relation Member(person: int, team: int)
        input relation Uses(team: int, system: int, how: int)
        output relation Access(person: int, system: int)
        Access(p, s) :- Member(p, t), Uses(t, s, _).
        """,
        facts={
            "Member": [(i, 1) for i in range(100)],
            "Uses": [(1, i % 7, i) for i in range(2000)],
        },
    )
    (advice,) = (text for text in db.profile().advice if text.startswith("Rule 1 "))
    assert "finds 286 instances for each row it adds" in advice
    assert "its second literal, `Uses(t, s, _)`, matches 2,000 rows per probe" in advice
    assert "project it away first" in advice


def test_profiles_are_text_json_and_pages_that_escape_names() -> None:
    db = tidelog.open(
        text="""input relation `a <b>&`(x: string)
        output relation R(x: string)
        R(x) :- `a <b>&`(x), x != "<i>".
        """,
        facts={"a <b>&": [("x",), ("y",)]},
    )
    found = db.profile()
    assert str(found).startswith("profile of commit 0: ")
    assert json.loads(found.to_json())["strata"][0]["rules"] is not None
    ElementTree.fromstring(found.to_svg())
    for page in (found.to_html(), found._repr_html_()):
        assert "<b>" not in page
        assert "<i>" not in page
        assert "&lt;b&gt;&amp;" in page


SHORTEST = """input relation Road(a: string, b: string, d: int)
relation Dist(b: string, d: int)
Dist(b, m) :- Road("a", b, d), var m = d.group_by(b).min().
Dist(c, m) :- Dist(b, d), Road(b, c, e), var m = (d + e).group_by(c).min().
"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "input relation E(x: int)",
        "relation F()\nF() :- F().",
        "input multiset M(x: int)\noutput multiset N(x: int)\nN(x) :- M(x).",
        "input stream S(x: int)\noutput stream R(x: int)\nR(x) :- S(x).",
        SHORTEST,
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_program_has_a_profile(text: str, strategy: str) -> None:
    db = tidelog.open(text=text, strategy=strategy)
    found = db.profile(reset=True)
    with db.transaction():
        pass
    for each in (found, db.profile(), db.profile(last=True)):
        assert str(each)
        assert each.to_html()
        assert json.loads(each.to_json())["first"] == each.first


def test_rules_that_are_gone_are_still_in_the_profile() -> None:
    db = filled()
    db.profile(reset=True)
    with db.transaction() as tx:
        rule = tx.add_rule("Reach(y, x) :- Reach(x, y).")
    with db.transaction() as tx:
        tx.remove_rule(rule)
    found = next(r for r in db.profile().rules if r.text == "Reach(y, x) :- Reach(x, y).")
    assert found.instances > 0
    assert found.orders == ()
