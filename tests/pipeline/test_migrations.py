"""Other columns and other definitions: the store is migrated, and the results are those of a new store."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelog
from pipeline.places import Place, Rows, rows
from sizes import size
from tidelog import pipeline
from tidelog.errors import PipelineError, StoreError
from tidelog.pipeline.expecting import expect_relations
from tidelog.pipeline.migrating import migrated, unexplained
from tidelog.pipeline.migrations import Migration
from tidelog.pipeline.sources.by_offsets import repositioned
from tidelog.pipeline.sources.fingerprints import digest
from tidelog.pipeline.spec import Source
from tidelog.program.declared import Relation
from tidelog.program.draft import load
from tidelog.program.text import print_relation
from tidelog.tables.given import to_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD = """input relation Edge(src: int, dst: int)
input relation Blocked(node: int)
function far(d: int): int { d + 1 }
output relation Reach(src: int, dst: int)
output relation Fan(src: int, n: int)
Reach(x, y) :- Edge(x, y), not Blocked(y).
Reach(x, far(z) - 1) :- Reach(x, y), Edge(y, z), not Blocked(z).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
"""
NEW = """input relation Edge(src: int, km: int, to: int, note: option<string>)
input relation Blocked(node: int)
function far(d: int): int { d + 2 }
output relation Reach(src: int, dst: int, km: int)
output relation Fan(src: int, n: int)
Reach(x, y, k) :- Edge(x, k, y, _), not Blocked(y).
Reach(x, far(z) - 2, k) :- Reach(x, y, k), Edge(y, _, z, _), not Blocked(z).
Fan(x, n) :- Reach(x, y, _), var n = y.group_by(x).count().
"""
SPEC = """program = "reach.dl"
store = "store"
history = 30

[streams.Edge]
format = "json"
path = "edges"

[sources.Blocked]
path = "Blocked.json"

[outputs.Reach]
path = "out/Reach"

[outputs.Fan]
path = "out/Fan"
mode = "merge"

[changes.Fan]
path = "out/changes"
"""
MIGRATION = """
[migrations.Edge]
added = { km = 7 }
renamed = { dst = "to" }
"""


def edge(columns: str) -> Relation:
    return load(f"input relation Edge({columns})").relations["Edge"]


# -- columns


@pytest.mark.parametrize(
    ("columns", "migration", "remedies"),
    [
        ("src: int, dst: int, km: int", Migration(), ["+ km: int  give stored rows a value"]),
        ("src: int, dst: int, km: int", Migration(added={"km": 1}), []),
        ("src: int, dst: int, note: option<string>", Migration(), []),
        ("src: int", Migration(), ["- dst: int  write [migrations.Edge] removed"]),
        ("src: int", Migration(removed=("dst",)), []),
        ("src: int, to: int", Migration(renamed={"dst": "to"}), []),
        ("dst: int, src: int", Migration(), []),
        ("dst: int, src: int", Migration(renamed={"dst": "src", "src": "dst"}), []),
        ("src: int", Migration(renamed={"dst": "src"}), ["  src: two stored columns would have this name"]),
        ("src: string, dst: int", Migration(), ["  src: int  is now  src: string; the type of a stored"]),
        ("src: int, to: double", Migration(renamed={"dst": "to"}), ["  dst: int  is now  to: double"]),
    ],
)
def test_what_a_migration_does_not_cover_is_listed(
    columns: str, migration: Migration, remedies: list[str]
) -> None:
    found = unexplained(edge("src: int, dst: int"), edge(columns), migration)
    assert [line.startswith(remedy) for line, remedy in zip(found, remedies, strict=True)] == [True] * len(
        remedies
    )


@pytest.mark.parametrize(
    ("columns", "migration", "wanted"),
    [
        ("a: int, b: string, c: double", Migration(added={"c": 1.5}), [(1, "x", 1.5), (1, "y", 1.5)]),
        ("b: string, n: option<int>, a: int", Migration(), [("x", None, 1), ("y", None, 1)]),
        ("a: int", Migration(removed=("b",)), [(1,)]),
        ("c: int, d: vec<string>", Migration({"d": ["u"]}, {"a": "c"}, ("b",)), [(1, ("u",))]),
        ("", Migration(removed=("a", "b")), [()]),
    ],
)
def test_rows_get_the_new_columns(
    columns: str, migration: Migration, wanted: list[tuple[object, ...]]
) -> None:
    old, new = edge("a: int, b: string"), edge(columns)
    assert not unexplained(old, new, migration)
    made = migrated(to_table(old, [(1, "x"), (1, "y")]), old, new, migration)
    db = tidelog.open(text=f"input relation Edge({columns})")
    with db.transaction() as tx:
        tx.insert("Edge", made)
    assert sorted(db["Edge"]) == wanted
    assert migrated(to_table(old, []), old, new, migration).num_rows == 0


@pytest.mark.parametrize("seed", range(size(40, 400)))
def test_rows_are_converted_as_dictionaries_would_be(seed: int) -> None:
    dice = random.Random(seed)
    kinds: dict[str, list[object]] = {"int": [0, 1, 2], "string": ["x", "y"], "option<int>": [None, 5]}
    before = {name: dice.choice([*kinds]) for name in dice.sample("abcdef", dice.randrange(1, 5))}
    renamed = {name: name.upper() for name in before if dice.random() < 0.3}
    removed = tuple(name for name in before if name not in renamed and dice.random() < 0.3)
    added = {name: dice.choice([*kinds]) for name in dice.sample("uvw", dice.randrange(3))}
    values = {name: dice.choice(kinds[kind][:1]) for name, kind in added.items()}
    kept = {renamed.get(n, n): kind for n, kind in before.items() if n not in removed}
    after = dice.sample([*{**kept, **added}.items()], len(kept) + len(added))
    old = edge(", ".join(f"{name}: {kind}" for name, kind in before.items()))
    new = edge(", ".join(f"{name}: {kind}" for name, kind in after))
    given = {n: v for n, v in values.items() if v is not None}
    migration = Migration(given, renamed, removed)
    assert not unexplained(old, new, migration)
    rows = [{name: dice.choice(kinds[kind]) for name, kind in before.items()} for _ in range(6)]
    wanted = {
        tuple({**{renamed.get(n, n): v for n, v in row.items()}, **values}[name] for name, _ in after)
        for row in rows
    }
    table = to_table(old, [*{tuple(row.values()) for row in rows}])
    made = migrated(table, old, new, migration)
    db = tidelog.open(text=f"input relation Edge({', '.join(f'{n}: {kind}' for n, kind in after)})")
    with db.transaction() as tx:
        tx.insert("Edge", made)
    assert (set(db["Edge"]), made.num_rows) == (wanted, len(wanted))


def test_a_migration_must_fit_the_program(tmp_path: Path) -> None:
    place = Place(tmp_path, SPEC, NEW)
    place.spec.write_text(
        SPEC
        + """
[migrations.Edge]
added = { kmm = 1, km = "far" }
renamed = { dst = "too" }
removed = ["src"]
extra = 1
"""
    )
    with pytest.raises(PipelineError, match=r"migrations\.Edge\.extra: unknown key; the keys are added"):
        pipeline.read_spec(place.spec)
    place.spec.write_text(
        place.spec.read_text().replace("extra = 1", "").replace("[sources", "[migrations.X]\n[sources")
    )
    with pytest.raises(PipelineError) as error:
        expect_relations(pipeline.read_spec(place.spec), load(NEW))
    said = [line.removeprefix(f"{place.spec}: ") for line in str(error.value).splitlines()]
    assert said[2].startswith("migrations.Edge.added.km: 'far' is not of type int; give an int")
    assert said == [
        "migrations.X: the program has no input relation `X`; it has Edge, Blocked",
        "migrations.Edge.added: unknown column kmm of Edge; did you mean `km`?",
        said[2],
        "migrations.Edge.renamed.dst: unknown column too of Edge; did you mean `to`?",
        "migrations.Edge.removed: Edge still has src; remove it from the declaration",
    ]


def test_a_topic_keeps_its_position() -> None:
    source, old, new = Source("Edge", "kafka"), edge("src: int"), edge("src: int, km: int")
    known = json.dumps({"described": digest(source, old), "offsets": {"t": {"0": 7}}})
    moved = json.loads(repositioned(known, source, old, new))
    assert moved == {"described": digest(source, new), "offsets": {"t": {"0": 7}}}
    assert not repositioned(known, replace(source, columns={"src": "from"}), old, new)


# -- stores

Days = tuple[tuple[list[tuple[int, int, int, str | None]], list[int]], ...]


class Case:
    """A pipeline whose edges arrive as lines of JSON."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.place = Place(folder, SPEC, OLD)
        self.folder, self.spark = folder, spark
        (folder / "edges").mkdir()
        self.block([])
        self.number = 0

    def block(self, nodes: list[int]) -> None:
        (self.folder / "Blocked.json").write_text("".join(f'{{"node": {n}}}\n' for n in nodes))

    def arrive(self, *lines: str) -> list[pipeline.Outcome]:
        if lines:
            self.number += 1
            (self.folder / "edges" / f"{self.number}.json").write_text("\n".join(lines))
        told: list[pipeline.Outcome] = []
        pipeline.stream(self.place.spec, spark=self.spark, once=True, report=told.append)
        return told

    def program(self, text: str, migration: str = "", spec: str = SPEC) -> None:
        (self.folder / "reach.dl").write_text(text)
        self.place.spec.write_text(spec + migration)

    def fan(self) -> Rows:
        found = pipeline.read(self.folder / "out" / "Fan")
        return set(zip(*found.to_pydict().values(), strict=True))

    def sums(self) -> Rows:
        frame = self.spark.read.parquet(str(self.folder / "out" / "changes"))
        return rows(frame.groupBy("src", "n").sum("sign").where("`sum(sign)` = 1").select("src", "n"))


def scratch(edges: list[tuple[object, ...]], blocked: list[int], relation: str) -> set[tuple[object, ...]]:
    db = tidelog.open(text=NEW)
    with db.transaction() as tx:
        tx.insert("Edge", edges)
        tx.insert("Blocked", [(node,) for node in blocked])
    return set(db[relation])


@pytest.fixture
def case(tmp_path: Path, spark: SparkSession) -> Case:
    return Case(tmp_path, spark)


@pytest.mark.spark
def test_a_store_with_other_columns_has_the_results_of_a_new_one(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(7)
    for _ in range(size(1, 4)):
        pairs = [(dice.randrange(6), dice.randrange(6)) for _ in range(8)]
        case.arrive(*(f'{{"src": {a}, "dst": {b}}}' for a, b in pairs))
    stored: list[tuple[object, ...]] = [(a, 7, b, None) for a, b in _all(case)]
    case.block([3])
    case.program(NEW)
    with pytest.raises(StoreError) as refused:
        case.arrive()
    assert str(refused.value).splitlines()[1:] == [
        "  input relation Edge(src: int, dst: int)  is now  " + print_relation(load(NEW).relations["Edge"]),
        *(
            f"    + {name}: int  give stored rows a value, by [migrations.Edge] added = {{ {name} = … }}, "
            "or rename a column"
            for name in ("km", "to")
        ),
        '    - dst: int  write [migrations.Edge] removed = ["dst"], or renamed = { dst = "…" }',
    ]
    case.program(NEW, MIGRATION)
    with monkeypatch.context() as patch:  # it is killed before the commit
        patch.setattr("tidelog.store.durable.Store.commit", _stop)
        with pytest.raises(KeyboardInterrupt):
            case.arrive()
    before = case.fan()
    case.program(OLD)
    case.block([])
    assert not any(told.reworked or told.changes["Fan"] for told in case.arrive())  # it is as it was
    assert case.fan() == before
    case.block([3])
    case.program(NEW, MIGRATION)
    (told,) = case.arrive()
    assert (
        told.reworked == "the columns of Edge, Reach changed and the definition of the function far changed"
    )
    assert case.fan() != before
    days: Days = (([], [3]), ([(2, 9, 1, "x"), (5, 1, 0, None)], []), ([(0, 2, 5, None)], [1]))
    for more, blocked in days[: size(2, 3)]:
        case.block(blocked)
        case.arrive(*(f'{{"src": {a}, "km": {k}, "to": {b}, "note": {_json(n)}}}' for a, k, b, n in more))
        stored += more
        wanted = scratch(stored, blocked, "Reach")
        assert case.place.output(case.spark) == wanted
        assert case.fan() == case.sums() == scratch(stored, blocked, "Fan")
    with pipeline.open(case.place.spec, spark=case.spark) as work:
        assert set(work.session()["Edge"]) == set(stored)
    with pytest.raises(StoreError, match="computed all results again, since the columns of Edge"):
        pipeline.stored_changes(pipeline.read_spec(case.place.spec), told.commit)
    pipeline.stored_changes(pipeline.read_spec(case.place.spec), told.commit + 1)  # those after it can be


def _all(case: Case) -> set[tuple[int, int]]:
    with pipeline.open(case.place.spec, spark=case.spark) as work:
        return set(work.session()["Edge"])


def _json(note: str | None) -> str:
    return "null" if note is None else f'"{note}"'


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.spark
def test_a_sink_with_changes_must_move_if_its_columns_change(case: Case) -> None:
    case.arrive('{"src": 1, "dst": 2}')
    fan = OLD.replace("Fan(src: int, n: int)", "Fan(src: int, n: int, twice: int)")
    case.program(fan.replace("Fan(x, n) :-", "Fan(x, n, 2 * n) :-"))
    with pytest.raises(StoreError) as refused:
        case.arrive()
    said = [line for line in str(refused.value).splitlines() if "write another path or table" in line]
    assert [line.split()[0] for line in said] == ["outputs.Fan", "changes.Fan"]
    spec = SPEC.replace("out/Fan", "out/Fan2").replace("out/changes", "out/changes2")
    case.program(fan.replace("Fan(x, n) :-", "Fan(x, n, 2 * n) :-"), spec=spec)
    (told,) = case.arrive()
    assert (told.reworked, told.sizes["Fan"]) == ("the columns of Fan changed", 1)
    assert pipeline.read(case.folder / "out" / "Fan2").to_pylist() == [{"src": 1, "n": 1, "twice": 2}]
    assert case.place.output(case.spark) == {(1, 2)}


@pytest.mark.spark
def test_roles_of_relations_do_not_leave_rows_behind(tmp_path: Path, spark: SparkSession) -> None:
    """A relation whose facts were asserted, and is derived now, has only what is derived."""
    given = "input relation R(x: int)\noutput relation Q(x: int)\nQ(x) :- R(x).\n"
    derived = (
        given.replace("input relation R", "input relation S(x: int)\noutput relation R") + "R(x) :- S(x).\n"
    )
    base = pipeline.define(program="p.dl", store="store", folder=tmp_path).output("Q", "Q")
    (tmp_path / "p.dl").write_text(given)
    base.source("R", spark.createDataFrame([(1,), (2,)], "x long")).run()
    (tmp_path / "p.dl").write_text(derived)
    told = base.source("S", spark.createDataFrame([(2,), (5,)], "x long")).run()
    assert told.reworked == "R is derived now"
    assert (str(told.changes["R"]), told.sizes["Q"]) == ("1 added, 1 removed", 2)
    assert rows(spark.read.parquet(str(tmp_path / "Q" / "current"))) == {(2,), (5,)}
    (tmp_path / "p.dl").write_text(given)
    with pytest.raises(StoreError, match="derived rows of what is an input relation now; rename each"):
        base.source("R", spark.createDataFrame([(1,)], "x long")).run()
