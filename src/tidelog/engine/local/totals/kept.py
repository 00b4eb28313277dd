"""A relation of a recursion with totals: its instances, counted exactly, and the rows that follow from them.

Invariant: between rounds, the rows of keys that are not touched are those that the instances add up to.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes, is_direct
from tidelog.engine.local.expressions.aggregates import aggregate
from tidelog.engine.local.kernels.layout import ALIVE, CUR, INSTANCE
from tidelog.engine.local.rules.groups import distinct
from tidelog.engine.local.storage.lookup import lookup
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.errors import EngineError
from tidelog.plan.flat import Kept
from tidelog.program.text import print_value
from tidelog.program.typed import Constant

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["KeptRows", "Negative"]

_NO_ROWS = np.empty(0, np.int64)


class Negative(Exception):
    """A contribution is negative, though totals may only grow. Raised and caught in this folder."""

    def __init__(self, contribution: str) -> None:
        self.contribution = contribution


class KeptRows:
    """With `grows`, no contribution may be negative."""

    def __init__(self, engine: LocalEngine, kept: Kept, *, grows: bool) -> None:
        self.kept = kept
        self._engine = engine
        self._grows = grows and kept.total is not None and not kept.unsigned
        self._change = engine.change(kept.relation)
        self._instances = engine.change(kept.instances)
        self._touched: list[Codes] = []
        self._deleted = self._inserted = _NO_ROWS
        self.grown = 0  # rows and instances, by how many

    @property
    def _table(self) -> Table:
        return self._change.working.table

    # -- instances

    def count(self, heads: Codes, sign: int) -> None:
        """Add or take away instances, one column of `heads` each."""
        if not heads.shape[1]:
            return
        codes, numbers = distinct(np.ascontiguousarray(heads.T))
        table, counts = self._instances.working.table, np.bincount(numbers, minlength=len(codes))
        if sign > 0 and self._grows:
            self._expect_growth(codes)
        rows = table.add(codes)
        self._instances.working.log(rows)
        was_alive = table.tags[rows] & ALIVE != 0
        counts = np.where(was_alive, table.counts(rows), 0) + sign * INSTANCE * counts
        alive = counts > 0
        table.tags[rows[alive]] |= np.uint8(ALIVE)
        table.tags[rows[~alive]] &= ~np.uint8(ALIVE)
        table.set_support(rows, 0, np.maximum(counts, 0))
        self.grown += int(alive.sum()) - int(was_alive.sum())
        self._touched.append(codes[:, : len(self.kept.keys)])

    def take_touched(self) -> Codes:
        """The keys whose instances have changed since this was last called."""
        if not self._touched:
            return np.empty((0, len(self.kept.keys)), np.int64)
        found, self._touched = np.concatenate(self._touched), []
        return distinct(np.ascontiguousarray(found))[0]

    def groups(self, keys: Codes) -> Codes:
        """The groups of keys."""
        places = [self.kept.keys.index(i) for i in self.kept.group]
        return np.ascontiguousarray(keys[:, places])

    # -- rows

    def rows_of(self, keys: Codes) -> Rows:
        """The rows with these keys."""
        return _alive(self._table, self.kept.keys, keys)

    def rows_in(self, groups: Codes) -> Rows:
        """The rows of these groups."""
        return _alive(self._table, self.kept.group, groups)

    def plan(self, keys: Codes) -> None:
        """Find how the rows with these keys must change."""
        old = self.rows_of(keys)
        new = self._table.add(self._totalled(keys))
        self.plan_moves(np.setdiff1d(old, new), np.setdiff1d(new, old))

    def plan_moves(self, deleted: Rows, inserted: Rows) -> None:
        self._deleted, self._inserted = deleted, inserted

    def _totalled(self, keys: Codes) -> Codes:
        """The rows that instances with these keys add up to."""
        table = self._instances.working.table
        places = tuple(range(len(self.kept.keys)))
        rows = _alive(table, places, keys)
        codes = table.codes(rows)
        if self.kept.total is None:
            return codes
        found, numbers = distinct(np.ascontiguousarray(codes[:, : len(places)]))
        total = self._total(found, numbers, codes[:, len(places)], table.counts(rows) // INSTANCE)
        made = np.empty((len(found), len(places) + 1), np.int64)
        made[:, self.kept.keys], made[:, self.kept.total] = found, total
        return made

    def _total(
        self, keys: Codes, numbers: npt.NDArray[np.int64], values: Codes, weights: npt.NDArray[np.int64]
    ) -> Codes:
        assert self.kept.total is not None
        codec, type_ = self._engine.codec, self._engine.types[self.kept.relation][self.kept.total]
        check = self._engine.runner.check
        outcome = aggregate(
            "sum",
            numbers,
            [np.ascontiguousarray(values)],
            [type_],
            type_,
            weights,
            False,
            len(keys),
            codec,
            check=lambda: check(0),
        )
        if outcome.failures is not None and outcome.failures.any():
            first = int(np.flatnonzero(outcome.failures)[0])
            reason = outcome.reason(int(outcome.failures[first]))
            raise EngineError(f"{reason}, in the total of {self.shown(self.kept.keys, keys[first])}")
        return outcome.codes

    # -- moving rows, as deltas of a round

    def begin_deletion(self) -> Rows:
        """Make the rows to delete the delta; returns them."""
        if len(self._deleted):
            self._change.working.log(self._deleted)
            self._table.tags[self._deleted] |= np.uint8(CUR)
        return self._deleted

    def end_deletion(self) -> None:
        self._table.tags[self._deleted] &= ~np.uint8(ALIVE | CUR)
        self.grown -= len(self._deleted)
        self._deleted = _NO_ROWS

    def begin_insertion(self) -> Rows:
        """Insert rows as the delta; returns them."""
        if len(self._inserted):
            self._change.working.log(self._inserted)
            self._table.tags[self._inserted] |= np.uint8(ALIVE | CUR)
            self._table.set_support(self._inserted, 0, INSTANCE)
        return self._inserted

    def end_insertion(self) -> None:
        self._table.tags[self._inserted] &= ~np.uint8(CUR)
        self.grown += len(self._inserted)
        self._inserted = _NO_ROWS

    # -- contributions that are negative

    def has_negative(self) -> bool:
        """Whether there is a negative contribution."""
        table = self._instances.working.table
        return self._grows and len(self._negative(table.codes(table.alive()))) > 0

    def _expect_growth(self, instances: Codes) -> None:
        negative = self._negative(instances)
        if len(negative):
            assert self.kept.total is not None
            columns = (*self.kept.keys, self.kept.total)
            row = np.empty(len(columns), np.int64)
            row[list(columns)] = instances[negative[0]]
            raise Negative(self.shown(range(len(row)), row))

    def _negative(self, instances: Codes) -> Rows:
        """Which instances have a negative contribution."""
        type_ = self._engine.types[self.kept.instances][-1]
        codes = instances[:, -1]
        if not is_direct(type_):
            values, numbers = np.unique(codes, return_inverse=True)
            decoded = self._engine.codec.decode_column(type_, values)
            least = np.array([isinstance(v, int | Decimal) and v < 0 for v in decoded], np.bool_)
            codes = np.where(least[numbers], -1, 0)
        return np.flatnonzero(codes < 0)

    def shown(self, columns: Iterable[int], codes: Codes) -> str:
        """Values of some columns of the relation, as an atom."""
        types = self._engine.types[self.kept.relation]
        values = [
            print_value(Constant(self._engine.codec.decode(types[i], int(code)), types[i]))
            for i, code in zip(columns, codes.tolist(), strict=True)
        ]
        return f"{self.kept.relation}({', '.join(values)})"


def _alive(table: Table, columns: tuple[int, ...], keys: Codes) -> Rows:
    """The live rows with these keys in these columns."""
    if not columns:
        return table.alive() if len(keys) else _NO_ROWS
    if not len(keys):
        return _NO_ROWS
    rows = lookup(table, columns, keys)[1]
    return np.asarray(rows[table.tags[rows] & ALIVE != 0])
