"""Conversion between tables and matrices: when to store a relation as bits, and the inputs of its matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import BitRelation, Source
from tidelog.engine.local.dense.patterns import Pattern
from tidelog.engine.local.kernels.layout import ALIVE, OLD
from tidelog.engine.local.storage.pending import Change
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import Check
from tidelog.plan.flat import FlatRule

__all__ = ["WHY", "Below", "asserted_only", "domain_size", "run_whole", "with_rows"]

WHY: Final = "the relation is dense and stored as a bit matrix"


@dataclass(frozen=True, slots=True)
class Below:
    """A relation of a lower stratum in the current commit: its rows and their change, or its bits."""

    table: Table
    change: Change | None
    bits: BitRelation | None

    def values(self) -> Codes:
        """The values that occur in it, and perhaps others that did."""
        return self.table.codes() if self.bits is None else self.bits.names.codes()

    @property
    def moves(self) -> bool:
        """Whether any row was inserted or deleted."""
        if self.bits is not None:
            return len(self.bits.changed) > 0
        return self.change is not None and self.change.moves

    def source(self, check: Check) -> Source:
        """Its pairs, which a matrix has to list to be the operand of another one."""
        if self.bits is not None:
            check(2 * 8 * (self.bits.next_size + sum(self.bits.changed_sizes())))
            inserted, deleted = self.bits.inserted().codes(), self.bits.deleted().codes()
            return Source(self.bits.rows_now(), inserted, deleted)
        now = self.table.codes(self.table.alive())
        if self.change is None:
            return Source(now, now[:0], now[:0])
        return Source(now, self.table.codes(self.change.inserted), self.table.codes(self.change.deleted))


def domain_size(relations: Iterable[Below]) -> int:
    """How many values occur in relations."""
    values = Table(1)
    for relation in relations:
        values.add(relation.values().reshape(-1, 1))
    return values.rows


def run_whole(
    kept: BitRelation,
    fits: Pattern,
    change: Change,
    below: Mapping[str, Below],
    heads: Callable[[FlatRule], Codes],
    check: Check,
) -> int:
    """Bring a relation stored as bits to its new state; returns the number of rounds.

    `change` holds the changes of its asserted facts, `below` all relations that its rules read.
    `heads` returns the heads of a rule outside the recursion.
    """
    table = change.working.table
    given = Source(
        np.concatenate([table.codes(np.flatnonzero(table.given[: table.rows])), *map(heads, fits.others)]),
        table.codes(change.given_inserted),
        table.codes(change.given_deleted),
    )
    read = {name for rule in fits.others for name in rule.reads}
    starts_over = any(below[name].moves for name in read)
    sources = {name: below[name].source(check) for name in fits.below()}
    return kept.update(fits, given, sources, starts_over=starts_over, check=check)


def asserted_only(table: Table) -> Table:
    """A table with only the asserted facts, for a relation stored as bits."""
    smaller = Table(table.arity)
    rows = smaller.add(table.codes(np.flatnonzero(table.given[: table.rows])))  # may replace the arrays
    smaller.given[rows] = 1
    return smaller


def with_rows(table: Table, present: Codes) -> Table:
    """A table of these rows, as of before the commit, and of the asserted facts of another table."""
    larger = Table(table.arity)
    rows = larger.add(present)
    larger.tags[rows] = ALIVE | OLD
    larger.live = len(rows)
    asserted = larger.add(table.codes(np.flatnonzero(table.given[: table.rows])))
    larger.given[asserted] = 1
    larger.base = larger.rows
    return larger
