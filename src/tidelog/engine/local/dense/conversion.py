"""Conversion between tables and matrices: when to store a relation as bits, and the inputs of its matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import BitRelation, Pattern, Source
from tidelog.engine.local.kernels.layout import ALIVE, OLD
from tidelog.engine.local.storage.pending import Change
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import Check
from tidelog.plan.flat import FlatRule

__all__ = ["WHY", "asserted_only", "domain_size", "run_whole", "with_rows"]

WHY: Final = "the relation is dense and stored as a bit matrix"


def domain_size(fits: Pattern, tables: Mapping[str, Table]) -> int:
    """How many values occur in the inputs of a recursion and in the relation so far."""
    values = Table(1)
    for name in {*fits.below(), fits.relation}:
        values.add(tables[name].codes().reshape(-1, 1))
    return values.rows


def run_whole(
    kept: BitRelation,
    fits: Pattern,
    change: Change,
    below: Mapping[str, tuple[Table, Change | None]],
    heads: Callable[[FlatRule], Codes],
    check: Check,
) -> int:
    """Bring a relation stored as bits to its new state; returns the number of rounds.

    `change` holds the changes of its asserted facts, `below` the tables and changes of all other relations.
    `heads` returns the heads of a rule outside the recursion.
    """
    table = change.working.table
    given = Source(
        np.concatenate([table.codes(np.flatnonzero(table.given[: table.rows])), *map(heads, fits.others)]),
        table.codes(change.given_inserted),
        table.codes(change.given_deleted),
    )
    read = {name for rule in fits.others for name in rule.reads}
    starts_over = any(other is not None and other.moves for name in read for other in [below[name][1]])
    sources = {name: _source(*below[name]) for name in fits.below()}
    return kept.update(fits, given, sources, starts_over=starts_over, check=check)


def _source(table: Table, change: Change | None) -> Source:
    now = table.codes(table.alive())
    if change is None:
        return Source(now, now[:0], now[:0])
    return Source(now, table.codes(change.inserted), table.codes(change.deleted))


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
