"""Random histories of programs: columns, functions, rules and roles change, and so do facts; runs fail.

After each run the store has what a new store would have. The facts are Arrow tables that are taken as batches
are, so no Spark is needed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelog
from sizes import size
from tidelog import pipeline
from tidelog.errors import StoreError
from tidelog.pipeline.opening import Opening
from tidelog.pipeline.runner import Pipeline
from tidelog.pipeline.sources.taking import Found, Taking
from tidelog.store.durable import Store
from tidelog.store.places import place_of
from tidelog.store.reading import StoredVersion, latest
from tidelog.tables.given import to_table

pytest.importorskip("pyspark")

Row = dict[str, Any]
DEFAULTS: dict[str, Any] = {"int": 7, "string": "new", "option<int>": None}
VALUES: dict[str, list[Any]] = {"int": [1, 2, 3], "string": ["x", "y"], "option<int>": [None, 1]}


class NoSpark:
    """What a pipeline asks of a session, if neither sources nor sinks need it."""

    version = "0"
    sparkContext = None  # noqa: N815

    def addTag(self, _: str) -> None: ...  # noqa: N802

    def removeTag(self, _: str) -> None: ...  # noqa: N802


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.pipeline.runner.default_file_system", lambda _: "file:")
    monkeypatch.setattr("tidelog.pipeline.sources.intake.spark_listing", lambda _: None)
    monkeypatch.setattr(
        "tidelog.pipeline.runner.Opening",
        lambda spec, functions, _, *rest: Opening(spec, functions, None, *rest),
    )


@dataclass
class World:
    """A program in parts, the facts of its inputs, and the migrations that the last edits need."""

    dice: random.Random
    columns: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"A": {"k": "int", "v": "int"}, "B": {"k": "int"}, "X": {"k": "int"}}
    )
    facts: dict[str, list[Row]] = field(default_factory=lambda: {"A": [], "B": [], "X": []})
    migrations: dict[str, dict[str, Any]] = field(default_factory=dict)
    shift: int = 1
    wide: bool = False
    more: bool = False
    x_is_derived: bool = False
    names: Iterator[str] = field(default_factory=lambda: iter(f"c{i}" for i in range(1000)))

    @property
    def inputs(self) -> list[str]:
        return [name for name in self.columns if not (name == "X" and self.x_is_derived)]

    def text(self) -> str:
        lines = [
            f"input relation {name}({', '.join(f'{c}: {t}' for c, t in self.columns[name].items())})"
            for name in self.inputs
        ]
        if self.x_is_derived:
            lines += ["output relation X(k: int)", "X(k) :- B(.k = k), k > 1."]
        r = "x: int, y: int, n: int" if self.wide else "x: int, y: int"
        n = ", 0" if self.wide else ""
        lines += [
            f"function f(x: int): int {{ x + {self.shift} }}",
            f"output relation R({r})",
            "output relation S(x: int)",
            f"R(k, f(k){n}) :- A(.k = k), not B(.k = k).",
            f"R(a, c{n}) :- R(a, b{', _' * self.wide}), R(b, c{', _' * self.wide}).",
            "S(f(k)) :- X(.k = k).",
        ]
        return "\n".join([*lines, "S(k) :- A(.k = k)."] if self.more else lines)

    # -- edits

    def edit(self) -> None:
        self.migrations = {}
        edits = [self.add, self.rename, self.remove, self.permute, self.redefine, self.widen, self.extend]
        for edit in self.dice.sample([*edits, self.derive], self.dice.randrange(3)):
            edit()

    def migration(self, name: str, part: str) -> Any:
        return self.migrations.setdefault(name, {}).setdefault(part, [] if part == "removed" else {})

    def some(self) -> str | None:
        """An input that has not been migrated in this edit."""
        free = [name for name in self.inputs if name not in self.migrations]
        return self.dice.choice(free) if free else None

    def add(self) -> None:
        name = self.some()
        if name is not None:
            column, kind = next(self.names), self.dice.choice([*DEFAULTS])
            self.columns[name][column] = kind
            added = self.migration(name, "added")
            if kind != "option<int>":
                added[column] = DEFAULTS[kind]
            for row in self.facts[name]:
                row[column] = DEFAULTS[kind]

    def others(self, name: str | None) -> list[str]:
        return [] if name is None else [c for c in self.columns[name] if c != "k"]

    def rename(self) -> None:
        name = self.some()
        for old in self.others(name)[:1]:
            assert name is not None
            new = next(self.names)
            self.migration(name, "renamed")[old] = new
            self.columns[name] = {new if c == old else c: t for c, t in self.columns[name].items()}
            for row in self.facts[name]:
                row[new] = row.pop(old)

    def remove(self) -> None:
        name = self.some()
        for column in self.others(name)[-1:]:
            assert name is not None
            self.migration(name, "removed").append(column)
            del self.columns[name][column]
            for row in self.facts[name]:
                del row[column]

    def permute(self) -> None:
        name = self.some()
        if name is not None:
            columns = [*self.columns[name].items()]
            self.columns[name] = dict(self.dice.sample(columns, len(columns)))

    def redefine(self) -> None:
        self.shift = self.dice.randrange(4)

    def widen(self) -> None:
        self.wide = not self.wide

    def extend(self) -> None:
        self.more = not self.more

    def derive(self) -> None:
        """What was an input is derived from now on."""
        if "X" not in self.migrations and self.columns["X"] == {"k": "int"}:
            self.x_is_derived = True

    # -- facts

    def tuples(self, name: str) -> set[tuple[Any, ...]]:
        return {tuple(row[c] for c in self.columns[name]) for row in self.facts[name]}

    def changes(self) -> dict[str, tuple[list[Row], list[Row]]]:
        """Rows to insert and to delete, not yet in the facts."""
        made = {}
        for name in self.dice.sample(self.inputs, self.dice.randrange(len(self.inputs) + 1)):
            new = [
                {c: self.dice.choice(VALUES[t]) for c, t in self.columns[name].items()}
                for _ in range(self.dice.randrange(4))
            ]
            gone = self.dice.sample(self.facts[name], min(self.dice.randrange(3), len(self.facts[name])))
            made[name] = new, gone
        return made

    def apply(self, changes: dict[str, tuple[list[Row], list[Row]]]) -> None:
        for name, (new, gone) in changes.items():
            kept = [row for row in self.facts[name] if row not in gone]
            self.facts[name] = [*kept, *(row for row in new if row not in kept)]

    def expected(self) -> dict[str, set[tuple[Any, ...]]]:
        db = tidelog.open(text=self.text())
        with db.transaction() as tx:
            for name in self.inputs:
                tx.insert(name, [*self.tuples(name)])
        return {name: set(db[name]) for name in db.program.relations}


def definition(world: World, folder: Path) -> pipeline.Definition:
    made = pipeline.define(text=world.text(), store="store", folder=folder, migrations=world.migrations)
    for name in world.inputs:
        made = made.source(name, table="nowhere")
    return made


def taken(work: Pipeline, changes: dict[str, tuple[list[Row], list[Row]]], found: Found) -> None:
    """Take changes as an intake does."""
    taking = Taking(work.spark, work.store, found)
    for name, (new, gone) in changes.items():
        relation = work.program.relations[name]
        columns = [c.name for c in relation.columns]
        tables = (to_table(relation, [tuple(r[c] for c in columns) for r in rows]) for rows in (new, gone))
        taking.set_aside(work.spec.sources[name], name, None)
        taking.report(relation, *tables)


def stored(folder: Path) -> dict[str, set[tuple[Any, ...]]]:
    place = place_of("store", folder, {})
    version = StoredVersion(place, latest(place))
    assert version.current is not None
    program = tidelog.open(text=version.current.program).program
    return {
        name: set(zip(*version.table(program.relations[name]).to_pydict().values(), strict=True))
        for name in version.current.relations
    }


@contextmanager
def failing(dice: random.Random) -> Iterator[bool]:
    """Perhaps the commit of a run fails, before or after it is made."""
    how = dice.choice(["not", "not", "before", "after"])
    commit = Store.commit

    def fail(store: Store, update: Any) -> Any:
        if how == "after":
            commit(store, update)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        if how != "not":
            patch.setattr(Store, "commit", fail)
        yield how != "not"


@pytest.mark.parametrize("seed", range(size(4, 200)))
def test_a_store_follows_its_programs(seed: int, tmp_path: Path) -> None:
    world = World(random.Random(seed))
    spark: Any = NoSpark()
    for _ in range(6):
        with definition(world, tmp_path).open(spark=spark) as work:
            for _ in range(world.dice.randrange(1, 3)):
                changes = world.changes()
                with failing(world.dice) as is_failing, suppress(KeyboardInterrupt):
                    if is_failing:
                        work._observed(partial(taken, work, changes))
                work._observed(partial(taken, work, changes))  # perhaps again, which changes nothing more
                world.apply(changes)
                assert stored(tmp_path) == (wanted := world.expected())
                assert {name: set(work.session()[name]) for name in wanted} == wanted
        again = pipeline.stored_session(definition(world, tmp_path).spec())
        assert {name: set(again[name]) for name in wanted} == wanted
        world.edit()


def test_what_was_derived_is_not_an_input_later(tmp_path: Path) -> None:
    world = World(random.Random(0))
    spark: Any = NoSpark()
    world.derive()
    with definition(world, tmp_path).open(spark=spark) as work:
        work._observed(lambda _: None)
    world.x_is_derived = False
    with pytest.raises(StoreError, match="derived rows of what is an input relation now"):
        definition(world, tmp_path).open(spark=spark)
