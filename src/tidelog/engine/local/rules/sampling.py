"""Measures the fan-outs of a join order on a sample of rows.

The atoms run one by one: each on some of the rows that the atom before has found. Nothing is applied.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidelog.engine.local.kernels import layout
from tidelog.engine.local.rules.bytecode import TooMany
from tidelog.engine.local.rules.compiler import Variant, compile_variant
from tidelog.engine.local.rules.runner import Runner
from tidelog.engine.local.storage.pending import Bindings
from tidelog.engine.local.storage.table import Rows
from tidelog.maintain.script import View
from tidelog.plan.fan_outs import Measured
from tidelog.plan.flat import FlatRule
from tidelog.plan.join_order import Order

__all__ = ["measure"]

_STARTS: Final = 4096  # rows that are looked at to start from
_PLACES: Final = 16  # of bit rows
_PROBES: Final = 256
_FOUND: Final = 2**14  # rows after which there are no more probes
_MOST: Final = 2**17  # rows that one run may find


def measure(runner: Runner, rule: FlatRule, order: Order, first: int | None) -> list[Measured | None]:
    """The fan-outs of the atoms that are looked up, as far as there are rows to probe with.

    It must be called inside a commit that changes nothing.
    """
    return _Sampling(runner, compile_variant(rule, order, apart=True), first).run()


class _Sampling:
    def __init__(self, runner: Runner, variant: Variant, first: int | None) -> None:
        self.runner = runner
        self.variant = variant
        self.first = first
        self.views = [View.NEW] * len(variant.rule.body)
        self.random = np.random.default_rng(0)

    def run(self) -> list[Measured | None]:
        bindings = Bindings([], np.array([[-1], [-1]], np.int64))
        measured: list[Measured | None] = []
        for number, stage in enumerate(self.variant.stages):
            joins = [level.join for level in stage.levels if level.join is not None]
            if not joins:
                bindings = self._stage(number, None, bindings)
                continue
            (join,) = joins
            try:
                if number == 0 and not join.key:
                    bindings = self._stage(0, self._starts(join.relation), bindings)
                    measured += [] if join.position == self.first else [self._whole(join.relation)]
                    bindings = self._some(bindings)
                    continue
                found, bindings = self._probe(number, bindings)
            except TooMany:
                return [*measured, None if number == 0 else Measured(_MOST, 1, is_bound=True)]
            if join.position != self.first:
                measured.append(found)
        return measured

    def _whole(self, relation: str) -> Measured:
        """All rows of a relation, since rows are counted."""
        bits = self.runner.bits.get(relation)
        return Measured(self.runner.tables[relation].live if bits is None else bits.size, 1)

    def _probe(self, number: int, bindings: Bindings) -> tuple[Measured | None, Bindings]:
        """Look up an atom by some bindings: the fan-out, and some of the rows that were found."""
        found: list[Bindings] = []
        total = done = 0
        size = 1
        while done < bindings.size and total < _FOUND:
            part = _part(bindings, np.arange(done, min(done + size, bindings.size)))
            try:
                found.append(self._stage(number, None, part))
            except TooMany:
                if done:
                    break
                raise
            done, total, size = done + part.size, total + found[-1].size, 4 * size
        if not done:
            return None, bindings
        whole = Bindings(found[0].slots, np.concatenate([f.data for f in found], axis=1))
        return Measured(total / done, done), self._some(whole)

    def _stage(self, number: int, given: Rows | None, bindings: Bindings) -> Bindings:
        runner, variant, stage = self.runner, self.variant, self.variant.stages[number]
        if stage.levels:
            bytecode = runner.bytecode(variant, number, self.views, given, layout.EMIT, bindings)
            target = runner.working(variant.rule.head)
            bindings = bytecode.run(target, 0, given, bindings, runner.check, _MOST)
        return runner.compute(variant, stage, self.views, bindings)

    def _starts(self, relation: str) -> Rows:
        """Some rows of a relation, or places of bit rows."""
        bits = self.runner.bits.get(relation)
        rows = self.runner.tables[relation].rows if bits is None else bits.names.rows
        most = _STARTS if bits is None else _PLACES
        if rows <= most:
            return np.arange(rows)
        return np.sort(self.random.choice(rows, most, replace=False))

    def _some(self, bindings: Bindings) -> Bindings:
        if bindings.size <= _PROBES:
            return bindings
        return _part(bindings, self.random.choice(bindings.size, _PROBES, replace=False))


def _part(bindings: Bindings, places: Rows) -> Bindings:
    return Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, places]))
