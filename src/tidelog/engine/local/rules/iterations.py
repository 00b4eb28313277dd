"""Iterations: the operators of differential maintenance (see `storage.trace`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.maintain.script import View
from tidelog.plan.flat import FlatRule

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["Iterations"]


class Iterations:
    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._iteration = 0

    def enter(self) -> None:
        """Begin work on a stratum."""
        self._iteration = 0

    def pending(self, relations: Iterable[str]) -> int:
        return sum(self._engine.change(name).trace.waiting for name in relations)

    def depart(self, relations: Iterable[str]) -> int:
        """Go to the next iteration with changes; returns how many rows are deleted there."""
        changes = [self._engine.change(name) for name in relations]
        self._iteration = min(change.trace.soonest(self._iteration) for change in changes)
        return sum(change.depart(self._iteration) for change in changes)

    def arrive(self, relations: Iterable[str]) -> int:
        return sum(self._engine.change(name).arrive(self._iteration) for name in relations)

    def examine(self, rules: Iterable[FlatRule]) -> None:
        """If failures were skipped since the stratum was entered, raise if an instance fails."""
        if self._engine.runner.passed_over:
            for rule in rules:
                self._engine.examine(rule, [View.NEW] * len(rule.body))
