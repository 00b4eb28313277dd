"""The first candidates of a stratum with a best value per key: for a bootstrap and for an update."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.local.extrema.best import Improvement
from tidelog.maintain.elastic import rederivation
from tidelog.maintain.script import Derive, Mode, View
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.typed import Absent, Match

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["Candidates"]


class Candidates:
    """Applies the first candidates."""

    def __init__(self, engine: LocalEngine, stratum: Stratum, work: Improvement) -> None:
        self.engine = engine
        self.stratum = stratum
        self.work = work

    def from_nothing(self) -> None:
        """Asserted facts, and heads that follow from lower strata alone."""
        for name in self.stratum.relations:
            table = self.engine.tables[name]
            self.work.take(name, table.codes(np.flatnonzero(table.given[: table.rows])))
        for rule in self.stratum.rules:
            if not self.work.inner(rule):
                self._all(rule)

    def from_changes(self, kept: Iterable[FlatRule], inserted: Iterable[FlatRule]) -> None:
        """Candidates for the keys of suspects, and from inserted rows and facts and `inserted` rules."""
        best = dict(self.stratum.best)
        doubted = {name: self.engine.change(name).suspects for name in self.stratum.relations}
        for name, rows in doubted.items():
            self.work.take(name, self.work.given(name, rows))
            self.work.take(name, self.engine.tables[name].codes(self.engine.change(name).given_inserted))
        for rule in kept:
            if len(doubted[rule.head]):
                asked = rederivation(rule, best[rule.head].column if rule.head in best else None)
                tests = [View.NEW] * (len(asked.body) - len(rule.body) - 1)
                views = [View.SUSPECTS, *self.work.views(rule, View.NEW), *tests]
                self.work.derive(asked, 0, doubted[rule.head], views)
            self._entering(rule)
        for rule in inserted:
            self._all(rule)

    def _all(self, rule: FlatRule) -> None:
        self.work.derive(rule, None, None, self.work.views(rule, View.NEW))

    def _entering(self, rule: FlatRule) -> None:
        """The heads of instances that use a row inserted into a lower stratum."""
        for i in _atoms_below(rule, self.stratum.relations):
            views = self.work.views(rule, View.NEW)
            views[i] = View.INSERTED
            driver = self.engine.driver(Derive(rule, i, tuple(views), Mode.INSERT))
            if driver is not None and len(driver):
                self.work.derive(rule, i, driver, views)


def _atoms_below(rule: FlatRule, relations: Iterable[str]) -> list[int]:
    own = set(relations)
    return [i for i, x in enumerate(rule.body) if isinstance(x, Match | Absent) and x.relation not in own]
