"""Computes the best value per key. Only values are considered here, not their support.

*Improvement* runs in rounds. Each round finds the candidates that follow from the values improved in the
round before. A candidate that is better than the key's row takes its place.

Intermediate values may be superseded, so a failing computation counts only if it also fails on the final
values. At the end the rows are restored, and the rows to insert and to delete are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.extrema.replacing import keep_best_rows
from tidelog.engine.local.extrema.waiting import next_delta
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.kernels.layout import ALIVE, CUR, NEXT
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.pending import Bindings, Working
from tidelog.engine.local.storage.table import Rows
from tidelog.maintain.script import Mode, View
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.typed import Match

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["Improvement"]

_LIST: Final = (layout.LISTED, layout.DELTA_FROM, layout.DELTA_TO)


class _Improved:
    """A relation of the stratum. While values are improved, the end of its worklist holds the better rows."""

    def __init__(self, working: Working) -> None:
        self.working = working
        words = working.table.words
        self._before = [words[i] for i in _LIST]
        working.begin_delta()

    def put_back(self) -> tuple[Rows, Rows]:
        """Restore the rows; returns those to insert and those to delete."""
        working, table = self.working, self.working.table
        if working.best is None:
            better, superseded = working.worklist[self._before[0] :].copy(), np.empty(0, np.int64)
        else:
            better, superseded = working.best.rows()
        table.tags[better] &= ~np.uint8(ALIVE | CUR | NEXT)
        table.tags[superseded] |= np.uint8(ALIVE)
        for i, word in zip(_LIST, self._before, strict=True):
            table.words[i] = word
        return better, superseded


class Improvement:
    """Finds the best values of a stratum, from nothing if it `is_empty`."""

    def __init__(self, engine: LocalEngine, stratum: Stratum, *, is_empty: bool) -> None:
        self.stratum = stratum
        self._engine = engine
        keep_best_rows(engine, stratum, is_empty=is_empty)
        self._improved = {name: _Improved(engine.change(name).working) for name in stratum.relations}

    # -- candidates

    def take(self, name: str, candidates: Codes) -> None:
        """Apply tuples as candidates, one per row."""
        working = self._improved[name].working
        none = Bindings([], np.full((2, len(candidates)), -1, np.int64))
        self._engine.runner.apply(working, np.ascontiguousarray(candidates.T), none, Mode.IMPROVE, 0)

    def derive(self, rule: FlatRule, driver: int | None, rows: Rows | None, views: Sequence[View]) -> None:
        """Apply the heads of a rule's instances over these views, starting from rows of literal `driver`."""
        engine = self._engine
        engine.runner.run(engine.variants.first(rule, driver), views, rows, Mode.IMPROVE, 0)

    # -- improvement

    def run(self, check_round: Callable[[], None]) -> None:
        """Run rounds from the first candidates until nothing improves."""
        for number in count(1):
            check_round()
            for improved in self._improved.values():
                next_delta(improved.working, number)
            if not any(improved.working.delta_size for improved in self._improved.values()):
                return
            for rule in self.stratum.rules:
                for position in self.inner(rule):
                    literal = rule.body[position]
                    assert isinstance(literal, Match)
                    delta = self._improved[literal.relation].working.delta
                    if len(delta):
                        self.derive(rule, position, delta, self.views(rule, View.NEW))

    def inner(self, rule: FlatRule) -> list[int]:
        """The positions of a rule's atoms over the stratum's own relations."""
        return [i for i, x in enumerate(rule.body) if isinstance(x, Match) and x.relation in self._improved]

    def views(self, rule: FlatRule, below: View) -> list[View]:
        own = set(self.inner(rule))
        return [View.FULL if i in own else below for i in range(len(rule.body))]

    def put_back(self, name: str) -> tuple[Rows, Rows]:
        """Restore a relation's rows; returns the rows to insert and the rows to delete."""
        return self._improved[name].put_back()

    def end(self) -> None:
        """Forget the best values."""
        for improved in self._improved.values():
            improved.working.keep_best(None)

    def given(self, name: str, rows: Rows) -> Codes:
        """The asserted facts with the same keys as these rows."""
        working = self._improved[name].working
        table = working.table
        if not table.given[: table.rows].any():
            rows = rows[:0]
        elif working.best is not None and len(rows):
            columns = working.best.columns
            rows = lookup(table, columns, table.codes(rows)[:, columns])[1]
        return table.codes(rows[table.given[rows] == 1])
