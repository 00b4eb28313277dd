"""Computes the best value per key. Only values are considered here, not their support.

*Improvement* runs in rounds. Each round finds the candidates that follow from the values improved in the
round before. The best candidate of a key replaces the key's current row if it is better. Intermediate values
may be superseded, so a failing computation counts only if it also fails on the final values. At the end the
rows are restored, and the rows to insert and to delete are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codec, Codes, is_direct
from tidelog.engine.local.kernels.layout import ALIVE, CUR
from tidelog.engine.local.rules.groups import distinct
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.maintain.script import View
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.typed import Best, Match

__all__ = ["Collect", "Found", "Improvement"]

Found = Iterable[tuple[str, Codes]]  # a relation and its candidates, one column per candidate


class Collect(Protocol):
    """Returns the heads of a rule's instances over these views, starting from rows of literal `driver`."""

    def __call__(
        self, rule: FlatRule, driver: int | None, rows: Rows | None, views: Sequence[View]
    ) -> Codes: ...


@dataclass(slots=True)
class _Kept:
    """A relation of the stratum. `columns` are its key columns if it keeps a best value.

    `before` holds its tags at the start, `touched` the rows whose tags may have changed since.
    """

    table: Table
    best: Best | None
    type: Type | None
    columns: tuple[int, ...]
    before: npt.NDArray[np.uint8]
    delta: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    touched: list[Rows] = field(default_factory=list)


class Improvement:
    """Finds the best values of a stratum. `note` is called with the rows of a relation about to change."""

    def __init__(
        self,
        stratum: Stratum,
        tables: Mapping[str, Table],
        types: Mapping[str, tuple[Type, ...]],
        codec: Codec,
        note: Callable[[str, Rows], None],
    ) -> None:
        best = dict(stratum.best)
        self.stratum = stratum
        self.codec = codec
        self.note = note
        self.candidates = 0
        self.kept = {
            name: _Kept(
                tables[name],
                best.get(name),
                types[name][best[name].column] if name in best else None,
                tuple(i for i in range(tables[name].arity) if name in best and i != best[name].column),
                tables[name].tags[: tables[name].rows].copy(),
            )
            for name in stratum.relations
        }

    # -- improvement

    def run(self, found: Found, collect: Collect, check_round: Callable[[], None]) -> None:
        """Run rounds from the first candidates until nothing improves."""
        first = list(found)
        while first:
            check_round()
            for kept in self.kept.values():
                kept.table.tags[kept.delta] &= ~np.uint8(CUR)
                kept.delta = kept.delta[:0]
            for name, kept in self.kept.items():
                heads = [h for n, h in first if n == name]
                if heads:
                    kept.delta = self._take(name, kept, np.concatenate(heads, axis=1))
            first = list(self._later(collect))

    def _later(self, collect: Collect) -> Iterator[tuple[str, Codes]]:
        for rule in self.stratum.rules:
            for position in self.inner(rule):
                literal = rule.body[position]
                assert isinstance(literal, Match)
                delta = self.kept[literal.relation].delta
                if len(delta):
                    yield rule.head, collect(rule, position, delta, self.views(rule, View.NEW))

    def inner(self, rule: FlatRule) -> list[int]:
        """The positions of a rule's atoms over the stratum's own relations."""
        return [i for i, x in enumerate(rule.body) if isinstance(x, Match) and x.relation in self.kept]

    def views(self, rule: FlatRule, below: View) -> list[View]:
        own = set(self.inner(rule))
        return [View.FULL if i in own else below for i in range(len(rule.body))]

    def _take(self, name: str, kept: _Kept, heads: Codes) -> Rows:
        """Apply candidates; returns the rows that are new or better than the previous row of their key."""
        self.candidates += heads.shape[1]
        table = kept.table
        candidates = np.ascontiguousarray(heads.T)
        if kept.best is None:
            rows = np.unique(table.add(candidates))
            rows = rows[table.tags[rows] & ALIVE == 0]
            self.note(name, rows)
        else:
            rows = self._improve(name, kept, kept.best, candidates)
        kept.touched.append(rows)
        table.tags[rows] |= np.uint8(ALIVE | CUR)
        return rows

    def _improve(self, name: str, kept: _Kept, best: Best, candidates: Codes) -> Rows:
        table, column = kept.table, best.column
        keys, numbers = distinct(candidates[:, kept.columns])
        ranked = np.lexsort((self._order(kept, best, candidates[:, column]), numbers))
        first = np.ones(len(ranked), np.bool_)
        first[1:] = numbers[ranked][1:] != numbers[ranked][:-1]
        rows = table.add(np.ascontiguousarray(candidates[ranked[first]]))  # one per key, in key order
        held = np.full(len(rows), -1, np.int64)
        which, holding = self._holding(kept, keys)
        held[which] = holding
        old = self._order(kept, best, table.column(column, np.maximum(held, 0)))
        better = (held < 0) | (self._order(kept, best, table.column(column, rows)) < old)
        rows, held = rows[better], held[better & (held >= 0)]
        self.note(name, np.concatenate([rows, held]))
        kept.touched.append(held)
        table.tags[held] &= ~np.uint8(ALIVE | CUR)
        return rows

    def _holding(self, kept: _Kept, keys: Codes) -> tuple[Rows, Rows]:
        """The keys that have a row, and their rows."""
        which, rows = lookup(kept.table, kept.columns, keys)
        alive = (kept.table.tags[rows] & ALIVE) != 0
        return which[alive], rows[alive]

    def _order(self, kept: _Kept, best: Best, codes: Codes) -> npt.NDArray[np.int64]:
        """Numbers that are smaller for better values."""
        assert kept.type is not None
        if is_direct(kept.type) or not len(codes):
            places = codes
        else:
            places = self.codec.dictionary(kept.type).ranks()[codes]
        return places if best.function == "min" else ~places

    def put_back(self, name: str) -> tuple[Rows, Rows]:
        """Restore a relation's rows; returns the rows to insert and the rows to delete."""
        kept = self.kept[name]
        tags = kept.table.tags
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *kept.touched]))
        known = rows < len(kept.before)
        was = np.zeros(len(rows), np.bool_)
        was[known] = kept.before[rows[known]] & ALIVE != 0
        now = tags[rows] & ALIVE != 0
        tags[rows] &= ~np.uint8(ALIVE | CUR)
        tags[rows[was]] |= np.uint8(ALIVE)
        return rows[now & ~was], rows[was & ~now]

    def given(self, name: str, rows: Rows) -> Codes:
        """The asserted facts with the same keys as these rows."""
        kept = self.kept[name]
        if kept.best is not None and len(rows):
            rows = lookup(kept.table, kept.columns, kept.table.codes(rows)[:, kept.columns])[1]
        return kept.table.codes(rows[kept.table.given[rows] == 1]).T
