"""Runs compiled variants: fills in descriptors, grows full tables and computes columns between stages.

If a computation fails in a row, a removal skips the row, since earlier derivations did not fail. Otherwise
`fallback` runs the variant again, joining all atoms first, to determine whether the row satisfies all other
literals; only then is it an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Option
from tidelog.engine.local.codes.codec import NONE, Codec, Codes
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.expressions.evaluator import Evaluator, Functions
from tidelog.engine.local.expressions.structures import each_item
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import apply_heads, apply_rows
from tidelog.engine.local.rules.bytecode import MODES, Bytecode, Request, TooMany, make_room
from tidelog.engine.local.rules.compiler import Stage, Variant
from tidelog.engine.local.rules.fallback import carefully
from tidelog.engine.local.rules.sharing import insert_shared
from tidelog.engine.local.storage.pending import NEGATED, Bindings, Working
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.engine.protocol import Check
from tidelog.errors import EngineError
from tidelog.maintain.script import Mode, View
from tidelog.plan.flat import Role
from tidelog.plan.join_order import Compute, Expand, Filter, Refute
from tidelog.program.traversal import variables
from tidelog.program.typed import Binary, Expr, Var, Wildcard

__all__ = ["MOST", "Runner"]

MOST: Final = 2**20  # bindings materialized at once
_FIRST_PART: Final = 1024  # rows
_AT_ONCE: Final = 2**20  # heads between two checks of the limits
_MANY: Final = 2**16  # rows from which on a table had better not grow often
_MOST_EXPECTED: Final = 7  # times the rows that there are
_STRICT: Final = (Mode.INSERT, Mode.SETTLE)  # in which a failure may be an error
_LISTED: Final = (View.DELETED, View.INSERTED)  # views that need a list of rows


class _Failed(Exception):
    """The computation of a value failed; the fallback is needed."""


class Runner:
    """Runs variants. `inside` holds the relations of the current stratum; `check` is called regularly.

    Relations in `bits` are read as bit rows. Then the rows of a first atom are given as places.
    """

    def __init__(
        self,
        working: Callable[[str], Working],
        tables: Mapping[str, Table],
        bits: Mapping[str, BitRelation],
        codec: Codec,
    ) -> None:
        self.working = working
        self.tables = tables
        self.bits = bits
        self.codec = codec
        self.inside: frozenset[str] = frozenset()
        self.check: Check = lambda ahead=None: None
        self.evaluate_with({})
        self.instances = 0
        self.examined = 0  # rows, by kernels
        self.threads = 1
        self.passed_over = False  # whether instances that failed were skipped

    def run(
        self, variant: Variant, views: Sequence[View], driver: Rows | None, mode: Mode, rank: int
    ) -> None:
        """Find all instances and apply their heads according to the mode.

        If many bindings must be materialized between stages, the instances are found in parts, each for some
        rows of the first atom. This bounds the memory, and the work between two checks of the limits.
        """
        first = variant.stages[0].levels[0].join if variant.stages[0].levels else None
        is_written = len(variant.stages) > 1 or variant.head is None
        if first is None or not is_written or (driver is None and views[first.position] in _LISTED):
            self._run_part(variant, views, driver, mode, rank, None)
            return
        try:
            self._run_part(variant, views, driver, mode, rank, MOST)
        except TooMany:
            rows = self._all_rows(first.relation) if driver is None else driver
            self._run_parts(variant, views, rows, mode, rank)

    def _all_rows(self, relation: str) -> Rows:
        """All rows of a relation, or, if it is stored as bits, all places."""
        bits = self.bits.get(relation)
        return np.arange(self.tables[relation].rows if bits is None else bits.names.rows)

    def _run_parts(
        self, variant: Variant, views: Sequence[View], driver: Rows, mode: Mode, rank: int
    ) -> None:
        table = self.working(variant.rule.head).table
        done, size = 0, _FIRST_PART
        while done < len(driver):
            self.check()
            before = table.rows
            part = driver[done : done + size]
            try:
                self._run_part(variant, views, part, mode, rank, MOST if len(part) > 1 else None)
            except TooMany:
                size = max(1, size // 16)
                continue
            done += len(part)
            size *= 2
            if mode is Mode.INSERT:
                self._expect(table, (len(driver) - done) * (table.rows - before) // len(part))

    def _expect(self, table: Table, more: int) -> None:
        """Make room for rows that may come, if that is several times as many and limits allow it."""
        more = min(more, _MOST_EXPECTED * table.rows)
        if table.rows < more and table.rows > _MANY and not table.has_room(more):
            with suppress(EngineError):
                self.check(table.nbytes * more // table.rows)
                table.reserve(more)

    def _run_part(
        self,
        variant: Variant,
        views: Sequence[View],
        driver: Rows | None,
        mode: Mode,
        rank: int,
        most: int | None,
    ) -> None:
        start = Bindings([], np.array([[-1], [-1]], np.int64))
        try:
            self._run(variant, views, driver, mode, rank, start, most)
        except _Failed:
            carefully(self, variant, views, driver, mode, rank)

    def evaluate_with(self, functions: Functions) -> None:
        """Use these functions from now on."""
        self.evaluator = Evaluator(self.codec, functions, check=lambda: self.check(0))

    def rediscover(
        self, variant: Variant, views: Sequence[View], values: Mapping[str, Codes], rank: int
    ) -> None:
        """Find all instances with these values of variables, and re-derive suspects among their heads."""
        size = len(next(iter(values.values())))
        nothing = np.full((2, size), -1, np.int64)
        data = np.concatenate([np.array(list(values.values()), np.int64).reshape(-1, size), nothing])
        start = Bindings([variant.slots[name] for name in values], data)
        self._run(variant, views, None, Mode.REDERIVE, rank, start)

    def _run(
        self,
        variant: Variant,
        views: Sequence[View],
        driver: Rows | None,
        mode: Mode,
        rank: int,
        bindings: Bindings,
        most: int | None = None,
    ) -> None:
        """Run all stages. Raises TooMany, without effect, if over `most` bindings must be materialized."""
        target = self.working(variant.rule.head)
        slots = self.slots(variant)
        for number, stage in enumerate(variant.stages):
            last = number == len(variant.stages) - 1
            head = variant.head if last else None
            if stage.levels:
                does = layout.EMIT if head is None else MODES[mode]
                given = driver if number == 0 else None
                bytecode = self.bytecode(variant, number, views, given, does, bindings)
                if target.best is not None:  # values that a stage before computed may be new
                    target.best.prepare()
                bindings = bytecode.run(target, rank, given, bindings, self.check, most, self.threads)
                self.instances += bytecode.instances if head is not None else 0
                self.examined += bytecode.examined
                if bytecode.failures and does == layout.EMIT:
                    self._skip(mode)
                elif bytecode.failures:
                    self.judge(variant, views, driver, mode)
            if head is not None and stage.levels:
                return
            bindings = self._compute(variant, stage, views, bindings, slots, mode, most)
        self._apply(variant, target, bindings, slots, mode, rank)

    def judge(self, variant: Variant, views: Sequence[View], driver: Rows | None, mode: Mode) -> None:
        """Decide what instances with failures mean, which a kernel has skipped: nothing, or an error."""
        if mode in _STRICT:
            carefully(self, variant, views, driver, None, 0)
        else:
            self.passed_over = True

    def _skip(self, mode: Mode) -> None:
        """Skip instances with failures. Raises _Failed if they may be errors."""
        if mode in _STRICT:
            raise _Failed
        self.passed_over = True

    def collect(self, variant: Variant, views: Sequence[View], driver: Rows | None) -> Codes:
        """The heads of all instances that do not fail, one column per head."""
        bindings, slots = self._bindings(variant, views, driver, Mode.REMOVE)
        return self._collect_sound(variant, bindings, slots)

    def _collect_sound(self, variant: Variant, bindings: Bindings, slots: Codes) -> Codes:
        """The heads of bindings; starts over without the failed bindings until none fails."""
        heads: list[Codes] = []
        for value in variant.rule.values:
            codes, kept = self._value(variant, value, bindings, slots, Mode.REMOVE)
            if kept.size < bindings.size:
                return self._collect_sound(variant, kept, slots)
            heads.append(codes)
        return np.array(heads, np.int64).reshape(len(heads), bindings.size)

    def _bindings(
        self, variant: Variant, views: Sequence[View], driver: Rows | None, mode: Mode
    ) -> tuple[Bindings, Codes]:
        """All instances, materialized."""
        target = self.working(variant.rule.head)
        bindings = Bindings([], np.array([[-1], [-1]], np.int64))
        slots = self.slots(variant)
        for number, stage in enumerate(variant.stages):
            if stage.levels:
                given = driver if number == 0 else None
                bytecode = self.bytecode(variant, number, views, given, layout.EMIT, bindings)
                bindings = bytecode.run(target, 0, given, bindings, self.check)
                if bytecode.failures:
                    self._skip(mode)
            bindings = self._compute(variant, stage, views, bindings, slots, mode)
        return bindings, slots

    def slots(self, variant: Variant) -> Codes:
        """The slots, filled with the codes of constants."""
        if variant.codes is None:
            variant.codes = np.zeros(variant.size, np.int64)
            for slot, constant in variant.constants:
                variant.codes[slot] = self.codec.encode(constant.type, constant.value)
        return variant.codes

    def bytecode(
        self,
        variant: Variant,
        stage: int,
        views: Sequence[View],
        given: Rows | None,
        mode: int,
        bindings: Bindings | None = None,
    ) -> Bytecode:
        """The bytecode of a stage, created if there is none for the current tables."""
        first = -1 if given is None else layout.LIST
        entered = () if bindings is None else tuple(bindings.slots)
        return self.bytecode_for(variant, Request(stage, tuple(views), first, mode, self.inside, entered))

    def first_bytecode(
        self, variant: Variant, views: Sequence[View], driver: Rows, mode: Mode
    ) -> Bytecode | None:
        """The bytecode that a run begins with, given rows of the first literal."""
        if not variant.stages[0].levels:
            return None
        does = MODES[mode] if len(variant.stages) == 1 and variant.head is not None else layout.EMIT
        return self.bytecode(variant, 0, views, driver, does)

    def bytecode_for(self, variant: Variant, request: Request) -> Bytecode:
        known = variant.bytecodes.get(request)
        if known is None or not known.fits(self.tables, self.bits):
            known = Bytecode(variant, request, self.slots(variant), self.tables, self.bits)
            variant.bytecodes[request] = known
        return known

    # -- columns

    def columns(
        self, variant: Variant, bindings: Bindings, slots: Codes, exprs: Sequence[Expr]
    ) -> dict[str, Codes]:
        """The columns of the variables that expressions read."""
        known: dict[str, Codes] = {}
        for name in {v.name for e in exprs for v in variables(e)}:
            slot = variant.slots[name]
            if slot in bindings.slots:
                known[name] = bindings.data[bindings.slots.index(slot)]
            else:
                known[name] = np.full(bindings.size, slots[slot])
        return known

    def compute(self, variant: Variant, stage: Stage, views: Sequence[View], bindings: Bindings) -> Bindings:
        """What a stage computes on columns, without the rows for which that fails."""
        return self._compute(variant, stage, views, bindings, self.slots(variant), Mode.REMOVE)

    def _compute(
        self,
        variant: Variant,
        stage: Stage,
        views: Sequence[View],
        bindings: Bindings,
        slots: Codes,
        mode: Mode,
        most: int | None = None,
    ) -> Bindings:
        for step in stage.computed:
            if not bindings.size:
                continue
            if isinstance(step, Expand):
                bindings = self._expand(variant, step, bindings, slots, mode, most)
                continue
            if isinstance(step, Refute):
                exprs = [t for t in step.terms if not isinstance(t, Wildcard)]
                known = self.columns(variant, bindings, slots, exprs)
                keep = self.clear_of(step, views[step.position], known, bindings.size)
                bindings = Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, keep]))
                continue
            expr = step.value if isinstance(step, Compute) else step.condition
            if isinstance(expr, Binary) and expr.op == "is":
                bindings = self._same(variant, expr, bindings, slots, mode)
                continue
            codes, bindings = self._value(variant, expr, bindings, slots, mode)
            if isinstance(step, Filter):
                bindings = Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, codes != 0]))
            else:
                bindings = _with(bindings, variant.slots[step.variable.name], codes)
        missing = [
            variant.slots[s.variable.name]
            for s in stage.computed
            if isinstance(s, Compute | Expand) and variant.slots[s.variable.name] not in bindings.slots
        ]
        for slot in missing:  # no bindings were left, so nothing was computed
            bindings = _with(bindings, slot, np.empty(0, np.int64))
        return bindings

    def _expand(
        self, variant: Variant, step: Expand, bindings: Bindings, slots: Codes, mode: Mode, most: int | None
    ) -> Bindings:
        """The bindings, repeated for each item of a collection."""
        codes, bindings = self._value(variant, step.collection, bindings, slots, mode)
        pool = self.codec.pool(step.collection.type)
        total = int(pool.lengths(codes).sum())
        if most is not None and total > most:
            raise TooMany
        self.check(2 * total * len(bindings.data) * codes.itemsize)
        rows, items = each_item(self.codec, step.collection.type, codes)
        data = np.empty((len(bindings.data) + 1, len(rows)), np.int64)
        data[0] = items
        for column, repeated in zip(bindings.data, data[1:], strict=True):
            np.take(column, rows, out=repeated, mode="clip")  # all are within, and "raise" would copy
        return Bindings([variant.slots[step.variable.name], *bindings.slots], data)

    def _value(
        self, variant: Variant, expr: Expr, bindings: Bindings, slots: Codes, mode: Mode
    ) -> tuple[Codes, Bindings]:
        """A computed column, and the bindings for which it did not fail."""
        outcome = self.evaluator.evaluate(expr, self.columns(variant, bindings, slots, [expr]), bindings.size)
        if outcome.failures is None or not outcome.failures.any():
            return outcome.codes, bindings
        self._skip(mode)
        keep = outcome.failures == 0
        return outcome.codes[keep], Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, keep]))

    def _same(self, variant: Variant, expr: Binary, bindings: Bindings, slots: Codes, mode: Mode) -> Bindings:
        """The bindings in which both sides have the same code, `none` included."""
        right, bindings = self._value(variant, expr.right, bindings, slots, mode)
        left, bindings = self._value(variant, expr.left, bindings, slots, mode)
        return Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, left == right]))

    def clear_of(
        self, step: Refute, view: View, columns: Mapping[str, Codes], size: int
    ) -> npt.NDArray[np.bool_]:
        """The rows that satisfy a negated atom."""
        codes = [
            columns[t.name] if isinstance(t, Var) else np.full(size, self.codec.encode(t.type, t.value))
            for t in step.terms
            if not isinstance(t, Wildcard)
        ]
        table, bits = self.working(step.relation).table, self.bits.get(step.relation)
        data = np.array(codes, np.int64).reshape(len(codes), size).T
        if bits is not None:
            return ~bits.shows(data, NEGATED[view])
        rows = table.find(np.ascontiguousarray(data))
        visible = (NEGATED[view] >> table.tags[np.maximum(rows, 0)].astype(np.int64)) & 1
        terms = [t for t in step.terms if not isinstance(t, Wildcard)]
        optional = [i for i, t in enumerate(terms) if isinstance(t.type, Option)]
        missing = np.asarray(data[:, optional] == NONE).any(axis=1)
        return np.asarray((rows < 0) | (visible == 0) | missing)

    def _apply(
        self, variant: Variant, target: Working, bindings: Bindings, slots: Codes, mode: Mode, rank: int
    ) -> None:
        """Compute the heads and apply them according to the mode."""
        heads: list[Codes] = []
        asked = mode is Mode.REDERIVE and variant.rule.role is not Role.DERIVE  # the head is known
        for value in variant.rule.values if not asked else ():
            codes, kept = self._value(variant, value, bindings, slots, mode)
            if kept.size != bindings.size:  # some failed and were skipped: start over with the others
                self._apply(variant, target, kept, slots, mode, rank)
                return
            heads.append(codes)
        self.instances += bindings.size
        self.apply(target, np.array(heads, np.int64).reshape(len(heads), bindings.size), bindings, mode, rank)

    def apply(self, target: Working, heads: Codes, bindings: Bindings, mode: Mode, rank: int) -> None:
        """Apply heads according to the mode, one column per head."""
        if bindings.size > _AT_ONCE:
            for at in range(0, bindings.size, _AT_ONCE):
                part = Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, at : at + _AT_ONCE]))
                self.apply(target, np.ascontiguousarray(heads[:, at : at + _AT_ONCE]), part, mode, rank)
                self.check()
            return
        if target.best is not None:
            target.best.prepare()
        highest, origins = bindings.data[-2], bindings.data[-1]
        room = partial(make_room, target=target, check=self.check)
        if mode is Mode.INSERT and insert_shared(heads, highest, target, rank, self.threads, room):
            return
        done = 0
        while done < bindings.size:
            done, status = apply_heads(target.table.at, MODES[mode], rank, heads, highest, origins, done)
            make_room(status, target, self.check)

    def apply_rows(self, target: Working, rows: Rows, mode: Mode, rank: int) -> None:
        """Apply asserted rows according to the mode."""
        for at in range(0, len(rows), _AT_ONCE):
            part, done = rows[at : at + _AT_ONCE], 0
            while done < len(part):
                done, status = apply_rows(target.table.at, MODES[mode], rank, part, done)
                make_room(status, target, self.check)

    def examine(self, variant: Variant, views: Sequence[View]) -> None:
        """Raise if an instance fails that satisfies all other literals; applies nothing."""
        carefully(self, variant, views, None, None, 0)


def _with(bindings: Bindings, slot: int, codes: Codes) -> Bindings:
    return Bindings([slot, *bindings.slots], np.concatenate([codes[None, :], bindings.data]))
