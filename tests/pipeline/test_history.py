"""The changes of earlier commits of a store are explained as long as it has their facts, without Spark."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

import tidelog
from tidelog import pipeline
from tidelog.cli import main
from tidelog.errors import PipelineError, StoreError
from tidelog.pipeline.inspection import status
from tidelog.pipeline.spec import Spec, read_spec
from tidelog.session import Session
from tidelog.store.durable import Store, Update
from tidelog.store.history import explainable, history_file
from tidelog.tables.signed import SIGN

PROGRAM = """
input relation Edge(x: int, y: int)
input relation Blocked(x: int)
output relation Reach(x: int, y: int)
Reach(x, y) :- Edge(x, y).
"""
STEP = "Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(z).\n"
SHORT = "Reach(x, z) :- Edge(x, y), Edge(y, z).\n"
SPEC = 'program = "p.dl"\nstore = "store"\nhistory = {}\n[sources.Edge]\npath = "e.csv"\n'


def described(folder: Path, history: int = 0) -> Spec:
    (folder / "p.dl").write_text(PROGRAM + STEP)
    (folder / "p.toml").write_text(SPEC.format(history))
    return read_spec(folder / "p.toml")


class Runs:
    """Commits of a pipeline, made by a session and a store. `made` has what each of them changed."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.db: Session = tidelog.open(text="")
        self.made: list[dict[str, set[Any]]] = []
        self.rows: list[dict[str, set[Any]]] = []

    def run(self, store: Store, text: str, inserted: Any, deleted: Any, blocked: Any = ()) -> None:
        with self.db.transaction() as tx:
            tx.replace_program(text)
            tx.delete("Edge", deleted)
            tx.insert("Edge", inserted)
            tx.clear("Blocked")
            tx.insert("Blocked", blocked)
        tables = {name: tx.changes[name].to_arrow() for name in self.db}
        signed = {n: t.rename_columns([*t.column_names[:-1], SIGN]) for n, t in tables.items()}
        store.commit(Update(text, self.db.program.relations, signed))
        self.made.append({name: set(tx.changes[name]) for name in self.db})
        self.rows.append({name: set(self.db[name]) for name in self.db})

    def check(self) -> list[int]:
        """Explain the changes of all commits that can be explained; returns these."""
        known = explainable(self.spec.store)
        for commit in known:
            changes = pipeline.stored_changes(self.spec, commit)
            assert {name: set(changes[name]) for name in self.made[commit]} == self.made[commit]
            for relation in changes:
                for row, _ in list(changes[relation])[:3]:
                    changes.why(relation, row).check()
            db = pipeline.stored_session(self.spec, commit=commit)
            assert {name: set(db[name]) for name in db} == self.rows[commit]
        return known


def history_of(runs: Runs, count: int, seed: int) -> None:
    dice = Random(seed)
    edges = {(i, i + 1) for i in range(12)}
    for number in range(count):
        before, text = set(edges) if number else set(), PROGRAM + dice.choice([STEP, STEP, SHORT])
        edges ^= {(dice.randrange(13), dice.randrange(13)) for _ in range(9 if dice.random() < 0.2 else 1)}
        with Store(runs.spec.store, history=runs.spec.history) as store:
            runs.run(store, text, edges - before, before - edges, [(dice.randrange(13),)])


@pytest.mark.parametrize("seed", range(3))
def test_the_changes_of_commits_that_a_store_still_has_are_explained(tmp_path: Path, seed: int) -> None:
    runs = Runs(described(tmp_path))
    history_of(runs, 9, seed)
    known = runs.check()
    assert known[-1] == 8


def test_a_store_keeps_as_much_history_as_the_spec_says(tmp_path: Path) -> None:
    runs = Runs(described(tmp_path, history=6))
    history_of(runs, 14, 1)
    assert set(runs.check()) >= set(range(9, 14))
    assert "explains the changes of commits" in status(runs.spec)


def test_a_commit_that_the_store_no_longer_has_is_an_error(tmp_path: Path) -> None:
    spec = described(tmp_path)
    with pytest.raises(PipelineError, match="no commits yet"):
        pipeline.stored_changes(spec, 0)
    runs = Runs(spec)
    history_of(runs, 20, 2)
    with pytest.raises(
        StoreError, match=r"no longer has the facts of commit 1; it has those since commit \d+"
    ):
        pipeline.stored_changes(spec, 1)
    with pytest.raises(StoreError, match="has no commit 20; the last one is 19"):
        pipeline.stored_session(spec, commit=20)


def test_a_damaged_manifest_of_the_history_is_forgotten(tmp_path: Path) -> None:
    runs = Runs(described(tmp_path, history=9))
    history_of(runs, 5, 3)
    (tmp_path / "store" / history_file(1)).write_text("{}")
    with pytest.raises(StoreError, match="is corrupt; the next run removes it"):
        pipeline.stored_changes(runs.spec, 2)
    with Store(runs.spec.store, history=9):
        pass
    assert 2 not in explainable(runs.spec.store)
    assert 4 in runs.check()


def asked(*words: str) -> tuple[str, str]:
    done = CliRunner().invoke(main, ["pipeline", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def test_the_command_explains_a_commit(tmp_path: Path) -> None:
    runs, spec = Runs(described(tmp_path, history=9)), str(tmp_path / "p.toml")
    for inserted, deleted in (([(1, 2), (2, 3)], []), ([(3, 4)], []), ([], [(2, 3)])):
        with Store(runs.spec.store, history=9) as store:
            runs.run(store, PROGRAM + STEP, inserted, deleted)
    assert "Edge(3, 4)  asserted  (new)" in asked("why", spec, "Reach(1, 4)", "--commit", "1")[0]
    assert asked("why", spec, "Reach(1, 4)", "--commit", "2")[0].startswith("Reach(1, 4) was deleted\n")
    shown, said = asked("why", spec, "Reach(1, 2)", "--commit", "1")
    assert said == "commit 1 did not change Reach(1, 2); this is about the rows after it\n"
    assert "Edge(1, 2)  asserted" in shown
    assert asked("why-not", spec, "Reach(1, 4)", "--commit", "0")[0].startswith("no Reach(1, 4)")
