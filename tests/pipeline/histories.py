"""Histories of pipelines that are opened for each commit, beside a session that stays open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

import tidelog
from oracle.generator import Step
from oracle.schema import INPUTS, TYPED_INPUTS
from tidelog import pipeline
from tidelog.errors import EngineError
from tidelog.program.declared import Role
from tidelog.program.text import print_relation
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline.runner import Pipeline

GIVEN = {**INPUTS, **TYPED_INPUTS}


def text_of(step: Step) -> str:
    """A step's program; relations that are no inputs are outputs."""
    roles = {name: Role.INPUT if name in GIVEN else Role.OUTPUT for name in step.program.relations}
    relations = [replace(relation, role=roles[name]) for name, relation in step.program.relations.items()]
    return "\n".join([*map(print_relation, relations), *step.program.rules])


def given_of(step: Step) -> dict[str, tuple[list[Any], list[Any]]]:
    """The facts that a step asserts, and those that it retracts."""
    return {
        name: (
            [row for row, sign in rows.items() if sign > 0],
            [row for row, sign in rows.items() if sign < 0],
        )
        for name, rows in step.facts.items()
        if name in GIVEN
    }


class History:
    """A pipeline that is opened for each commit, beside a session that stays open."""

    def __init__(
        self,
        folder: Path,
        spark: SparkSession,
        choose: Callable[[], tuple[str | None, SparkSession]] | None = None,
    ) -> None:
        self.folder = folder
        self.choose = choose or (lambda: (None, spark))
        self.reworked: list[str] = []
        self.db: tidelog.Session = tidelog.open(text="")
        self.before: dict[str, Any] = {}
        self.told: list[object] = []

    def commit(self, text: str, given: Mapping[str, tuple[list[Any], list[Any]]]) -> bool:
        """Commit to both, and compare what they hold and what they say has changed; false if both refuse."""
        try:
            with self.db.transaction() as tx:
                tx.replace_program(text)
                for name, (inserted, deleted) in given.items():
                    tx.insert(name, inserted)
                    tx.delete(name, deleted)
        except EngineError:
            with pytest.raises(EngineError):
                self._run(text, given)
            return False
        self._run(text, given)
        return True

    def _run(self, text: str, given: Mapping[str, tuple[list[Any], list[Any]]]) -> None:
        from tidelog.pipeline.sources.intake import Found  # needs Spark

        (self.folder / "program.dl").write_text(text)
        spec: dict[str, Any] = {
            "program": str(self.folder / "program.dl"),
            "store": str(self.folder / "store"),
            "sources": {name: {"table": name} for name in GIVEN},
        }
        placement, spark = self.choose()
        if placement is not None:
            spec["placement"] = placement
        with pipeline.open(spec, spark=spark, progress=self.told.append) as work:
            found = Found()
            for name, (inserted, deleted) in given.items():
                relation = work.program.relations[name]
                found.inserted[name], found.deleted[name] = (
                    to_table(relation, inserted),
                    to_table(relation, deleted),
                )
            self.reworked.append(work.commit(found).reworked)
            self._compare(work)

    def _compare(self, work: Pipeline) -> None:
        for name, relation in work.program.relations.items():
            now = self.db[name].to_arrow()
            assert not difference(work.store.table(relation), now).num_rows, name
            changes = difference(self.before.get(name, now[:0]), now)
            files = work.store.paths(work.store.changes_segments(name))
            if not files:
                assert not changes.num_rows, name
            else:
                told = parquet.read_table(*files)
                assert told.num_rows == changes.num_rows, name
                assert rows_of(told) == rows_of(changes), name
            self.before[name] = now


def rows_of(table: Any) -> list[str]:
    """Rows in order, with NaN equal to itself."""
    names = [*(n for n in table.column_names if n != SIGN), SIGN]
    return sorted(repr(row) for row in table.select(names).to_pylist())
