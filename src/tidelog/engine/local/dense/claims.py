"""Evaluates strata as bit matrices, and decides when a relation changes its form.

A recursive binary relation whose rules fit a pattern is stored as a matrix while it is dense. Its table then
holds only asserted facts. A relation that changes its form must be bootstrapped, since the support of its
rows is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.conversion import (
    WHY,
    Below,
    asserted_only,
    domain_size,
    run_whole,
    with_rows,
)
from tidelog.engine.local.dense.estimate import begins_dense
from tidelog.engine.local.dense.matrix import BitRelation, pays, sparse
from tidelog.engine.local.dense.patterns import Pattern, pattern
from tidelog.engine.local.kernels.layout import OLD
from tidelog.engine.local.storage.pending import Change, Working
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import Claimed
from tidelog.errors import EngineError
from tidelog.maintain.script import View
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["DenseForms"]


class DenseForms:
    """The relations stored as matrices (`bits`), and the old form of those that changed it (`before`)."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self.is_allowed = True
        self.bits: dict[str, BitRelation] = {}
        self.before: dict[str, tuple[Change, BitRelation | None]] = {}
        self._patterns: dict[str, Pattern] = {}
        self._patterns_before: dict[str, Pattern] = {}
        self._booting: frozenset[str] = frozenset()
        self._domains: dict[str, int] = {}

    # -- programs

    def prepare(self, program: FlatProgram, before: FlatProgram | None) -> None:
        """Find the strata of a program that can be matrices; convert others back to rows."""
        self._patterns = dict(self._patterns) if self.is_allowed else {}
        for name in _changed(program, before or FlatProgram()) if self.is_allowed else ():
            self._patterns.pop(name, None)
            stratum = program.stratum_of(name)
            fits = None if stratum is None else pattern(stratum, program)
            if fits is not None:
                self._patterns[name] = fits
        for name in [n for n in self.bits if n not in self._patterns and _is_used(program, n)]:
            self._to_rows(name, self.bits[name])

    def forbid(self) -> None:
        """From now on, no relation becomes a matrix."""
        self.is_allowed = False
        self._patterns, self._patterns_before = {}, {}

    def fitting(self) -> set[str]:
        """The dense relations whose bit rows were computed from the program's current rules."""
        return {name for name, bits in self.bits.items() if bits.pattern == self._patterns.get(name)}

    def have_fitting(self, names: Iterable[str]) -> None:
        """Restore the result of `fitting`: the bit rows of these relations match the program's rules."""
        for name in names:
            if name in self.bits:
                self.bits[name].pattern = self._patterns.get(name)

    # -- bootstraps

    def enter(self) -> None:
        """Begin work on a stratum."""
        self._booting = frozenset()

    def clear(self, relations: frozenset[str]) -> bool:
        """Begin a bootstrap; returns true if the stratum should be a matrix from the start."""
        self._booting = relations
        self._domains.clear()
        return any(self._begins_dense(name) for name in relations)

    def _begins_dense(self, name: str) -> bool:
        fits, engine = self._patterns.get(name), self._engine
        if fits is None:
            return False
        table = engine.tables[name]
        asserted = table.codes(np.flatnonzero(table.given[: table.rows]))
        return begins_dense(fits, engine.size_now, engine.rows_now, asserted, engine.runner.check)

    def wants(self, relations: Iterable[str]) -> bool:
        """Whether a relation that is being bootstrapped is dense enough to be a matrix."""
        return any(self._is_dense(name) for name in relations if name in self._booting)

    def _is_dense(self, name: str) -> bool:
        fits = self._patterns.get(name)
        rows = self._engine.tables[name].rows
        if fits is None or not pays(rows, 0):  # too small to count the values
            return False
        if name not in self._domains:
            self._domains[name] = domain_size(self._below(other) for other in {*fits.below(), name})
        return pays(rows, self._domains[name])

    # -- claims

    def claim(self, stratum: Stratum, start: bool = False) -> Claimed | None:
        """Evaluate a stratum as a bit matrix, if it is one or, with `start`, becomes one."""
        if len(stratum.relations) != 1:
            return None
        (name,) = stratum.relations
        fits = self._patterns.get(name)
        if start:
            if fits is None:
                raise EngineError(f"internal error: {stratum.name} cannot be evaluated as a matrix")
            self._to_bits(name, fits)
        kept = self.bits.get(name)
        if kept is None:
            return None
        if fits is None or (not start and sparse(kept.size)):
            self._to_rows(name, kept)
            return None
        engine = self._engine
        below = {other: self._below(other) for other in stratum.reads}
        rounds = run_whole(kept, fits, engine.change(name), below, self._all_heads, engine.runner.check)
        return Claimed(rounds, WHY, rows=kept.next_size)

    def _below(self, name: str) -> Below:
        return Below(self._engine.tables[name], self._engine.pending.get(name), self.bits.get(name))

    def _all_heads(self, rule: FlatRule) -> Codes:
        """The heads that a rule derives from the new state, one per row; raises if an instance fails."""
        views = [View.NEW] * len(rule.body)
        self._engine.runner.passed_over = False
        heads = self._engine.collect(rule, None, None, views)
        if self._engine.runner.passed_over:
            self._engine.examine(rule, views)
        return heads.T

    def _to_bits(self, name: str, fits: Pattern) -> None:
        """Convert a relation to a matrix; its table keeps only asserted facts."""
        table = self._engine.tables[name]
        self.before.setdefault(name, (self._engine.change(name), self.bits.get(name)))
        kept = self.bits[name] = BitRelation()
        kept.load(table.codes(np.flatnonzero(table.tags[: table.rows] & OLD)), fits.turned)
        self._replace(name, asserted_only(table))

    def _to_rows(self, name: str, kept: BitRelation) -> None:
        """Convert a relation back to rows."""
        self.before.setdefault(name, (self._engine.change(name), kept))
        del self.bits[name]
        self._replace(name, with_rows(self._engine.tables[name], kept.rows()))

    def _replace(self, name: str, table: Table) -> None:
        self._engine.tables[name] = table
        self._engine.pending[name] = Change(Working(name, table))

    # -- the end

    def replaced(self) -> list[Change]:
        """The changes made to relations before they changed their form."""
        return [change for change, _ in self.before.values()]

    def commit(self) -> None:
        for kept in self.bits.values():
            kept.commit()
        self.before.clear()
        self._patterns_before = self._patterns

    def rollback(self) -> None:
        for kept in self.bits.values():
            kept.rollback()
        for name, (change, kept_before) in self.before.items():
            self._engine.tables[name] = change.working.table
            self.bits.pop(name, None)
            if kept_before is not None:
                self.bits[name] = kept_before
        self.before.clear()
        self._patterns = self._patterns_before


def _changed(program: FlatProgram, before: FlatProgram) -> set[str]:
    """The relations whose strata differ, and those that have none any more."""
    change = program.since(before)
    changed = {name for number in change.strata for name in program.strata[number].relations}
    changed.update(before.rules[id_].head for id_ in change.removed)
    return changed


def _is_used(program: FlatProgram, name: str) -> bool:
    """Whether a program derives or reads a relation."""
    return name in program.index.order.number or bool(program.index.readers.get(name))
