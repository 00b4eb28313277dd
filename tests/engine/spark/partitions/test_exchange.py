"""Tasks that send each other what they find come to what a session in this process comes to.

`test_together` has many more histories, with partitions in this process. With TIDELOG_SPARK=all there are
many here, too; the normal run has a few.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog import EngineError
from tidelog.engine.spark.partitions.routes import BESIDE, Routes, find_routes, is_routable, named
from tidelog.plan.flat import Stratum
from tidelog.plan.flatten import flatten
from tidelog.program.draft import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

ALL = os.environ.get("TIDELOG_SPARK") == "all"
COMMITS = 6 if ALL else 3
SEEDS = range(int(os.environ.get("TIDELOG_SEEDS", "60")) if ALL else 1)
GRAPHS = """
input relation Edge(x: int, y: int)
input relation Begin(x: int)
input relation Closed(x: int)
output relation Reach(x: int)
output relation Level(x: int, y: int)
Reach(x) :- Begin(x).
Reach(y) :- Reach(x), Edge(x, y), not Closed(y).
Level(x, x) :- Begin(x).
Level(x, y) :- Level(a, b), Edge(a, x), Edge(b, y).
"""
REACH = "\n".join(line for line in GRAPHS.splitlines() if "Level" not in line)
TRIPLES = """
input relation T(s: string, p: string, o: string)
T(y, "type", x) :- T(a, "domain", x), T(y, a, _).
T(z, "type", x) :- T(a, "range", x), T(_, a, z).
T(x, "within", z) :- T(x, "within", y), T(y, "within", z).
T(x, "kind", z) :- T(x, "kind", y), T(y, "kind", z).
T(z, "type", y) :- T(x, "kind", y), T(z, "type", x).
T(x, b, y) :- T(a, "within", b), T(x, a, y).
"""
SWITCHED = """
input relation T(s: string, p: string, o: string)
T(x, "likes", z) :- T(_, "on", _), T(x, y, z), T(y, "means", "liking").
"""
TAXONOMY = """
input relation T(s: string, p: string, o: string)
T(x, "kind", z) :- T(x, "kind", y), T(y, "kind", z).
T(z, "type", y) :- T(x, "kind", y), T(z, "type", x).
T(y, "type", x) :- T(x, "type", _), T(y, "same", x).
"""
LABELS = """
input relation Edge(x: int, y: int)
input relation Begin(x: int)
input relation Closed(x: int)
output relation Label(x: int, l: int)
Label(x, l) :- Edge(x, _), var l = x.group_by(x).min().
Label(y, l) :- Label(x, a), Edge(x, y), not Closed(y), var l = a.group_by(y).min().
"""
WIDEST = """
input relation Edge(x: int, y: int)
input relation Begin(x: int)
input relation Closed(x: int)
output relation Lowest(x: int, l: int)
Lowest(x, l) :- Begin(x), var l = x.group_by(x).min().
Lowest(y, l) :- Lowest(x, a), Edge(x, y), not Closed(y), var l = max(a, x).group_by(y).min().
"""
COMPUTED = """
input relation Edge(x: int, y: int)
input relation Begin(x: int)
input relation Closed(x: int)
output relation Count(x: int, n: int)
Count(x, 0) :- Begin(x).
Count(y, n + 1) :- Count(x, n), Edge(x, y), not Closed(y), n < 5.
"""
DOUBLED = """
input relation Edge(x: int, y: int)
input relation Begin(x: int)
input relation Closed(x: int)
output relation Reach(x: int, y: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z), not Closed(y).
"""
MORE = {
    LABELS: "Label(y, l) :- Label(x, a), Edge(y, x), var l = a.group_by(y).min().",
    WIDEST: "Lowest(y, l) :- Lowest(x, a), Edge(y, x), var l = a.group_by(y).min().",
    COMPUTED: "Count(y, n * 2) :- Count(x, n), Edge(y, x), n < 5.",
    DOUBLED: "Reach(y, x) :- Reach(x, y), Begin(x).",
    TAXONOMY: 'T(y, "kind", x) :- T(x, "same", y).',
    GRAPHS: "Reach(y) :- Reach(x), Edge(y, x).",
    TRIPLES: 'T(y, "type", x) :- T(x, "same", y), T(_, "type", y).',
}
WORDS = ("type", "kind", "within", "domain", "range", "same", "p", "q")
THINGS = ("a", "b", "c", "d", "p", "q", "kind", "type")


@pytest.fixture
def parted(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark with three partitions, so that there is more than one other."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert before is not None
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", before)


# -- routes


def recursion(text: str) -> Stratum:
    return next(stratum for stratum in flatten(load(text)).strata if stratum.recursive)


def routes(text: str, large: str = "") -> Routes | None:
    """The routes of a recursion; patterns with a word are large."""
    stratum = recursion(text)
    return find_routes(stratum, lambda _, pattern: None if large and large in repr(pattern) else 1)


def test_what_rules_name_by_constants_is_copied() -> None:
    found = routes(TRIPLES, large="'type'")
    assert found is not None
    assert found.owners == {"T": 0}
    words = {constant.value for pattern in found.copied["T"] for _, constant in pattern}
    assert words == {"domain", "range", "within", "kind"}
    assert len(found.sending) == 1
    assert "range" in next(iter(found.sending))
    assert [p[0][1].value for p in named(recursion(TRIPLES))["T"]] == [
        "domain",
        "range",
        "within",
        "kind",
        "type",
    ]


def test_what_is_large_is_arranged_if_it_can_be_joined_by_a_value() -> None:
    found = routes(TAXONOMY, large="String")
    assert found is not None
    assert not found.copied
    assert {name for name, _ in found.arranged} == {"T"}
    assert routes(SWITCHED) is not None
    assert routes(SWITCHED, large="'on'") is None


def test_heads_that_take_the_value_over_stay() -> None:
    closure = "input relation E(x: int, y: int)\noutput relation R(x: int, y: int)\nR(x, y) :- E(x, y).\n"
    found = routes(f"{closure}R(x, z) :- R(x, y), E(y, z).")
    assert found is not None
    assert found.is_plain
    assert not is_routable(recursion(f"{closure}R(x, w) :- R(x, y), R(y, z), R(z, w)."))
    computed = routes(f"{closure}R(y, x + 1) :- R(x, y), x < 3.")
    assert computed is not None
    assert computed.in_phases
    assert not found.in_phases


def test_whole_relations_are_arranged_only_if_nothing_else_is_possible() -> None:
    edges = "input relation E(x: int, y: int)\noutput relation R(x: int, y: int)\nR(x, y) :- E(x, y).\n"
    doubled = routes(f"{edges}R(x, z) :- R(x, y), R(y, z).")
    assert doubled is not None
    assert list(doubled.arranged.values()) == [((),)]
    star = routes(f"{edges}R(x, z) :- R(x, y), R(x, z).")
    assert star is not None
    assert star.is_plain


def test_large_relations_beside_a_recursion_are_divided_by_the_join_variable() -> None:
    closure = "input relation E(x: int, y: int)\noutput relation R(x: int, y: int)\nR(x, y) :- E(x, y).\n"
    stratum = recursion(f"{closure}R(x, z) :- R(x, y), E(y, z).")
    broadcast = find_routes(stratum, lambda _, pattern: 0, lambda _: BESIDE)
    divided = find_routes(stratum, lambda _, pattern: 0, lambda _: BESIDE + 1)
    assert broadcast is not None
    assert divided is not None
    assert (broadcast.owners["R"], list(broadcast.broadcast)) == (0, ["E"])
    assert (divided.owners["R"], list(divided.broadcast)) == (1, [])
    assert [(beside.relation, beside.column) for beside in divided.beside] == [("E", 0)]


def test_best_values_are_divided_by_their_keys() -> None:
    found = routes(LABELS)
    assert found is not None
    assert found.owners == {"Label": 0}
    assert found.in_phases


# -- histories


def graph_facts(random: Random) -> dict[str, list[tuple[int, ...]]]:
    return {
        "Edge": [(random.randrange(6), random.randrange(6)) for _ in range(random.randrange(8))],
        "Begin": [(random.randrange(6),) for _ in range(random.randrange(3))],
        "Closed": [(random.randrange(6),) for _ in range(random.randrange(2))],
    }


def triple_facts(random: Random) -> dict[str, list[tuple[str, str, str]]]:
    some = [
        (random.choice(THINGS), random.choice(WORDS), random.choice(THINGS))
        for _ in range(random.randrange(8))
    ]
    return {"T": some}


FACTS: dict[str, Any] = dict.fromkeys([GRAPHS, LABELS, WIDEST, COMPUTED, DOUBLED], graph_facts)
FACTS |= {TRIPLES: triple_facts, TAXONOMY: triple_facts}
RESULTS = {
    GRAPHS: ("Reach", "Level"),
    TRIPLES: ("T",),
    TAXONOMY: ("T",),
    LABELS: ("Label",),
    WIDEST: ("Lowest",),
    COMPUTED: ("Count",),
    DOUBLED: ("Reach",),
}
NAMES = {
    GRAPHS: "graphs",
    TRIPLES: "triples",
    TAXONOMY: "taxonomy",
    LABELS: "labels",
    WIDEST: "widest",
    COMPUTED: "computed",
    DOUBLED: "doubled",
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("text", RESULTS if ALL else [TRIPLES, LABELS], ids=NAMES.get)
def test_a_random_history(
    parted: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str, seed: int
) -> None:
    rooms = "tidelog.engine.spark.partitions"
    if text == TAXONOMY:  # nothing is little enough to be copied
        monkeypatch.setattr(f"{rooms}.strata.BROADCAST", -1)
    if text in (LABELS, COMPUTED):  # edges are divided, and the best label comes first
        monkeypatch.setattr(f"{rooms}.routes.WIDE", -1)
        monkeypatch.setattr(f"{rooms}.strata.WIDE", -1)
        monkeypatch.setattr(f"{rooms}.best_first._MANY", 0)
        monkeypatch.setattr(f"{rooms}.best_first._FIRST", (1, 2))
    random = Random(seed)
    here = tidelog.open(text=text)
    there = tidelog.open(text=text, spark=parted, placement="shuffled")
    for number in range(COMMITS):
        came = FACTS[text](random)
        went = {name: random.sample(sorted(here[name]), len(here[name]) // 3) for name in came}
        made = []
        for db in (here, there):
            with db.transaction() as tx:
                for name, rows in came.items():
                    tx.delete(name, [row for row in went[name] if row not in rows])
                    tx.insert(name, rows)
                if number in (1, 2):
                    (tx.add_rule if number == 1 else tx.remove_rule)(MORE[text])
            made.append(tx)
        for name in RESULTS[text]:
            assert sorted(there[name]) == sorted(here[name]), f"commit {number}, {name}"
            assert sorted(made[1].changes[name]) == sorted(made[0].changes[name]), f"commit {number}, {name}"


def test_what_rests_only_on_itself_goes_across_partitions(parted: SparkSession) -> None:
    db = tidelog.open(text=REACH, spark=parted, placement="shuffled")
    ring = [(i, (i + 1) % 6) for i in range(6)]
    with db.transaction() as tx:
        tx.insert("Edge", ring)
        tx.insert("Begin", [(0,), (3,)])
    assert len(db["Reach"]) == 6
    with db.transaction() as tx:
        tx.delete("Begin", [(0,)])
    assert not tx.changes["Reach"]
    with db.transaction() as tx:
        tx.delete("Begin", [(3,)])
    assert len(tx.changes["Reach"]) == 6
    assert sorted(db["Reach"]) == []
    with db.transaction() as tx:
        tx.insert("Begin", [(3,)])
        tx.delete("Edge", [(4, 5)])
    assert sorted(db["Reach"]) == [(3,), (4,)]


def test_a_fact_that_also_follows_stays_where_it_is_copied(parted: SparkSession) -> None:
    db = tidelog.open(text=TRIPLES, spark=parted, placement="shuffled")
    chain = [("a", "kind", "b"), ("b", "kind", "c"), ("a", "kind", "c")]
    things = [(f"x{i}", "type", "a") for i in range(8)]
    with db.transaction() as tx:
        tx.insert("T", [*chain, *things])
    with db.transaction() as tx:
        tx.delete("T", [chain[2]])
    assert not tx.changes["T"]
    with db.transaction() as tx:
        tx.insert("T", [("y", "type", "a")])
    assert {row[2] for row in db["T"] if row[0] == "y"} == {"a", "b", "c"}


@pytest.mark.parametrize("strategy", ["elastic", "recompute"])
def test_it_is_told_how_it_was_done(parted: SparkSession, strategy: str) -> None:
    db = tidelog.open(text=REACH, spark=parted, placement="shuffled", strategy=strategy)
    for begin in (0, 5):
        with db.transaction() as tx:
            tx.insert("Edge", [(i, i + 1) for i in range(6)])
            tx.insert("Begin", [(begin,)])
    assert sorted(db["Reach"]) == [(i,) for i in range(7)]
    stratum = next(stratum for stratum in db.stats.strata if stratum.name == "Reach")
    assert stratum.strategy == ("update" if strategy == "elastic" else "bootstrap")
    assert "tasks send each other what they find" in str(db.explain())


def test_what_is_too_much_for_every_task_is_joined(
    parted: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.engine.spark.partitions.strata.BROADCAST", 1)
    db = tidelog.open(text=SWITCHED, spark=parted, placement="shuffled")
    with db.transaction() as tx:
        tx.insert("T", [("a", "p", "c"), ("p", "means", "liking"), ("x", "on", "a"), ("y", "on", "a")])
    assert ("a", "likes", "c") in db["T"]
    assert "too many rows match the constants" in next(iter(db.stats.strata)).placed
    with db.transaction() as tx:
        tx.delete("T", [("x", "on", "a"), ("y", "on", "a")])
    assert (("a", "likes", "c"), -1) in set(tx.changes["T"])


def test_rounds_are_limited_over_all_steps(parted: SparkSession) -> None:
    db = tidelog.open(text=REACH, spark=parted, placement="shuffled", max_iterations=8)
    tx = db.transaction()
    tx.insert("Edge", [(i, i + 1) for i in range(40)])
    tx.insert("Begin", [(0,)])
    with pytest.raises(EngineError, match="still changed after 8 rounds"):
        tx.commit()
    assert sorted(db["Reach"]) == []


def test_a_deep_graph_continues_in_a_single_task(
    parted: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.engine.spark.placement._ALONE", 0)
    monkeypatch.setattr("tidelog.engine.spark.engine._DEEP", 3)
    db = tidelog.open(text=LABELS, spark=parted, placement="tasks")
    for node in (0, 10):
        with db.transaction() as tx:
            tx.insert("Edge", [(n, n + 1) for n in range(node, node + 10)])
        assert sorted(db["Label"]) == [(n, 0) for n in range(node + 11)]
        (stratum,) = [stratum for stratum in db.stats.strata if stratum.name == "Label"]
        assert stratum.steps == 1
    assert "in a single task" in stratum.placed


# -- what an update may cost


def chain(spark: SparkSession, *, sends: bool) -> Any:
    """A session with a chain of edges, all of it reached."""
    db: Any = tidelog.open(text=REACH, spark=spark, placement="shuffled")
    db._state.engine.sends = sends
    with db.transaction() as tx:
        tx.insert("Begin", [(0,)])
        tx.insert("Edge", [(n, n + 1) for n in range(6)])
    return db


def why_after_a_deletion(db: Any) -> tuple[str, str]:
    """How the last edge's deletion was carried out, and why so."""
    with db.transaction() as tx:
        tx.delete("Edge", [(5, 6)])
    assert sorted(db["Reach"]) == [(n,) for n in range(6)]
    (stratum,) = [stratum for stratum in db.stats.strata if stratum.name == "Reach"]
    return stratum.strategy, stratum.why


@pytest.mark.parametrize("sends", [True, False])
def test_an_update_that_is_held_up_does_not_start_over(
    parted: SparkSession, sends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = chain(parted, sends=sends)
    hours = count(time.perf_counter(), 3600)
    monkeypatch.setattr(time, "perf_counter", lambda: next(hours))
    assert "bootstrap" not in why_after_a_deletion(db)


def test_an_update_that_does_too_much_work_starts_over(
    parted: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = chain(parted, sends=True)
    strata = import_module("tidelog.engine.spark.partitions.strata")
    monkeypatch.setattr(strata, "_LITTLE", 0)
    monkeypatch.setattr(strata, "_PATIENCE", 0.0)
    assert why_after_a_deletion(db)[1] == "the update turned out to cost more"
