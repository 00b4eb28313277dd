"""The operators of strata that keep the best value per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tidelog.engine.local.extrema.best import Improvement
from tidelog.engine.local.extrema.candidates import Candidates
from tidelog.engine.local.extrema.replacing import Replacing
from tidelog.maintain.script import Compare, Conclude, Improve, View
from tidelog.plan.flat import Stratum

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["LocalExtrema"]


class LocalExtrema:
    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self.replacing = Replacing(engine)

    def doubt(self, relations: Iterable[str]) -> None:
        for name in relations:
            self._engine.change(name).doubt()

    def improve(self, stratum: Stratum, step: Improve, check_round: Callable[[], None]) -> int:
        """Find the best values; returns the number of instances of rules examined."""
        engine = self._engine
        work = Improvement(engine, stratum, is_empty=step.all)
        try:
            return self._improve(stratum, step, work, check_round)
        finally:
            work.end()

    def _improve(
        self, stratum: Stratum, step: Improve, work: Improvement, check_round: Callable[[], None]
    ) -> int:
        engine = self._engine
        before = engine.runner.instances
        engine.runner.passed_over = False
        candidates = Candidates(engine, stratum, work)
        if step.all:
            candidates.from_nothing()
        else:
            candidates.from_changes(step.kept, step.added)
        work.run(check_round)
        if engine.runner.passed_over:  # a failure counts unless its inputs were superseded
            for rule in stratum.rules:
                engine.examine(rule, work.views(rule, View.NEW))
        for name in stratum.relations:
            change = engine.change(name)
            change.aims, superseded = work.put_back(name)
            change.working.list_rows(superseded)
            change.doubted = len(change.working.worklist)
        return engine.runner.instances - before

    def aim(self, relations: Iterable[str]) -> None:
        for name in relations:
            self._engine.change(name).aim()

    def rest(self, relations: Iterable[str]) -> None:
        for name in relations:
            self._engine.change(name).rest()

    def compare(self, stratum: Stratum, step: Compare) -> None:
        self.replacing.begin(stratum, is_empty=step.all)

    def conclude(self, step: Conclude) -> None:
        self.replacing.end(step)
