"""Strata that are evaluated as bit matrices, and when a relation changes its form.

A recursive binary relation whose rules fit a pattern is a matrix while it is dense. Its table then holds only
what is asserted. A relation that changes its form must be bootstrapped: the support of its rows is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.conversion import (
    WHY,
    asserted_only,
    domain_size,
    is_cyclic,
    run_whole,
    with_rows,
)
from tidelog.engine.local.dense.matrix import BitRelation, Pattern, pattern, pays, sparse
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
    """`bits` are the relations that are matrices; `before` is the old form of those that changed theirs."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self.is_allowed = True
        self.bits: dict[str, BitRelation] = {}
        self.before: dict[str, tuple[Change, BitRelation | None]] = {}
        self.read: frozenset[str] = frozenset()  # relations whose rows a rule of the old program reads
        self._patterns: dict[str, Pattern] = {}
        self._booting: frozenset[str] = frozenset()
        self._domains: dict[str, int] = {}

    # -- programs

    def prepare(self, program: FlatProgram) -> None:
        """Find the strata of a program that can be matrices; others become rows again."""
        found = (pattern(stratum, program) for stratum in program.strata if self.is_allowed)
        self._patterns = {fits.relation: fits for fits in found if fits is not None}
        for name in [n for n in self.bits if n not in self._patterns and n in program.used()]:
            self._to_rows(name, self.bits[name])

    def fitting(self) -> set[str]:
        """The dense relations whose bit rows follow from the rules that the program has for them."""
        return {name for name, bits in self.bits.items() if bits.pattern == self._patterns.get(name)}

    def have_fitting(self, names: Iterable[str]) -> None:
        """Take the bit rows of these relations for those of the program's rules, as `fitting` said."""
        for name in names:
            if name in self.bits:
                self.bits[name].pattern = self._patterns.get(name)

    # -- bootstraps

    def enter(self) -> None:
        """Begin with a stratum."""
        self._booting = frozenset()

    def clear(self, relations: frozenset[str]) -> bool:
        """Begin to bootstrap; true if the form of a matrix is wanted at once."""
        self._booting = relations
        self._domains.clear()
        for name in relations:
            fits = self._patterns.get(name)
            if fits is not None and name not in self.read and is_cyclic(fits, self._engine.tables):
                return True
        return False

    def wants(self, relations: Iterable[str]) -> bool:
        """Whether a relation that is being bootstrapped is dense enough to be a matrix."""
        return any(self._is_dense(name) for name in relations if name in self._booting)

    def _is_dense(self, name: str) -> bool:
        fits = None if name in self.read else self._patterns.get(name)
        rows = self._engine.tables[name].rows
        if fits is None or not pays(rows, 0):  # too small to ask what values there are
            return False
        if name not in self._domains:
            self._domains[name] = domain_size(fits, self._engine.tables)
        return pays(rows, self._domains[name])

    # -- claims

    def claim(self, stratum: Stratum, start: bool = False) -> Claimed | None:
        """Evaluate a stratum on a bit matrix, if it is one or should be one from now on."""
        if len(stratum.relations) != 1:
            return None
        (name,) = stratum.relations
        fits = self._patterns.get(name)
        if start:
            if fits is None:
                raise EngineError(f"{stratum.name} does not fit the form of a matrix")
            self._to_bits(name, fits)
        kept = self.bits.get(name)
        if kept is None:
            return None
        if fits is None or (not start and sparse(kept.size)):
            self._to_rows(name, kept)
            return None
        engine = self._engine
        below = {other: (table, engine.pending.get(other)) for other, table in engine.tables.items()}
        rounds = run_whole(kept, fits, engine.change(name), below, self._all_heads, engine.runner.check)
        return Claimed(rounds, WHY, rows=kept.next_size)

    def _all_heads(self, rule: FlatRule) -> Codes:
        """What a rule gives over the new state, a row each; an error if it fails."""
        views = [View.NEW] * len(rule.body)
        self._engine.runner.passed_over = False
        heads = self._engine.collect(rule, None, None, views)
        if self._engine.runner.passed_over:
            self._engine.examine(rule, views)
        return heads.T

    def _to_bits(self, name: str, fits: Pattern) -> None:
        """Keep a relation as a matrix from now on; its table holds only what is asserted."""
        table = self._engine.tables[name]
        self.before.setdefault(name, (self._engine.change(name), self.bits.get(name)))
        kept = self.bits[name] = BitRelation()
        kept.load(table.data[: table.rows][(table.tags[: table.rows] & OLD) != 0], fits.turned)
        self._replace(name, asserted_only(table))

    def _to_rows(self, name: str, kept: BitRelation) -> None:
        """Keep a relation as rows again."""
        self.before.setdefault(name, (self._engine.change(name), kept))
        del self.bits[name]
        self._replace(name, with_rows(self._engine.tables[name], kept.rows()))

    def _replace(self, name: str, table: Table) -> None:
        self._engine.tables[name] = table
        self._engine.pending[name] = Change(Working(name, table))

    # -- the end

    def replaced(self) -> list[Change]:
        """The changes of relations before they got another form."""
        return [change for change, _ in self.before.values()]

    def commit(self) -> None:
        for kept in self.bits.values():
            kept.commit()
        self.before.clear()
        self.read = frozenset(self._engine.tables) - frozenset(self._patterns)

    def rollback(self) -> None:
        for kept in self.bits.values():
            kept.rollback()
        for name, (change, kept_before) in self.before.items():
            self._engine.tables[name] = change.working.table
            self.bits.pop(name, None)
            if kept_before is not None:
                self.bits[name] = kept_before
        self.before.clear()
