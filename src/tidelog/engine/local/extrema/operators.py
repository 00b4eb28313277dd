"""The operators of strata that keep the best value per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tidelog.engine.local.extrema.best import Improvement
from tidelog.engine.local.extrema.candidates import Candidates
from tidelog.engine.local.storage.table import Rows
from tidelog.maintain.script import Improve, View
from tidelog.plan.flat import Stratum

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["LocalExtrema"]


class LocalExtrema:
    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine

    def doubt(self, relations: Iterable[str]) -> None:
        for name in relations:
            self._engine.change(name).doubt()

    def improve(self, stratum: Stratum, step: Improve, check_round: Callable[[], None]) -> int:
        """Find the best values; returns the number of candidates seen."""
        engine = self._engine
        tables = {name: engine.tables[name] for name in stratum.relations}
        work = Improvement(stratum, tables, engine.types, engine.codec, self._log)
        candidates = Candidates(engine, stratum, work)
        found = candidates.from_nothing() if step.all else candidates.from_changes(step.kept, step.added)
        engine.runner.passed_over = False
        work.run(found, engine.collect, check_round)
        if engine.runner.passed_over:  # a failure counts unless its inputs were superseded
            for rule in stratum.rules:
                engine.examine(rule, work.views(rule, View.NEW))
        for name in stratum.relations:
            change = engine.change(name)
            change.aims, superseded = work.put_back(name)
            change.working.list_rows(superseded)
            change.doubted = len(change.working.worklist)
        return work.candidates

    def aim(self, relations: Iterable[str]) -> None:
        for name in relations:
            self._engine.change(name).aim()

    def rest(self, relations: Iterable[str]) -> None:
        for name in relations:
            self._engine.change(name).rest()

    def _log(self, relation: str, rows: Rows) -> None:
        self._engine.change(relation).working.log(rows)
