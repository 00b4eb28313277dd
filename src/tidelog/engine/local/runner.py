"""Running a compiled variant: descriptors filled in, tables grown when full, columns computed between stages.

Rows whose computation fails: a removal passes them over (what was derived before did not fail). Otherwise
the variant is run once more without its shortcuts, all atoms first, to see whether such a row satisfies
everything else; only then is it an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Option
from tidelog.engine.local import kernels
from tidelog.engine.local.codec import NONE, Codec, Codes
from tidelog.engine.local.expressions import Evaluator
from tidelog.engine.local.rows import ALIVE, CUR, OLD, ROWS
from tidelog.engine.local.table import WIDTH, Rows, Table
from tidelog.engine.local.variant import Level, Stage, Variant, compile_variant
from tidelog.errors import EngineError
from tidelog.maintain.script import Mode, View
from tidelog.plan.order import Compute, Filter, Join, Order, Refute
from tidelog.program.typed import Absent, Binary, Bind, Expr, Match, Test, Var, Wildcard, variables

__all__ = ["Failed", "Runner", "Working"]

_MODES = {Mode.INSERT: kernels.INSERT, Mode.REMOVE: kernels.REMOVE, Mode.REDERIVE: kernels.REDERIVE}
_START = 1024


def _mask(visible: Callable[[int], bool]) -> int:
    return sum(1 << tag for tag in range(32) if visible(tag))


_NEW = _mask(lambda t: bool(t & ALIVE))
_MASKS = {
    View.OLD: _mask(lambda t: bool(t & OLD)),
    View.MIDDLE: _mask(lambda t: t & (ALIVE | OLD) == ALIVE | OLD),
    View.NEW: _NEW,
    View.LEAVING: _mask(lambda t: t & (ALIVE | OLD) == OLD),
    View.ENTERING: _mask(lambda t: t & (ALIVE | OLD) == ALIVE),
    View.FULL: _NEW,
    View.REST: _mask(lambda t: t & (ALIVE | CUR) == ALIVE),
    View.DELTA: _mask(lambda t: t & (ALIVE | CUR) == ALIVE | CUR),
    View.SUSPECTS: _mask(lambda t: True),
}
# the rows that contradict a negated atom, or as its delta make or break it
_NEGATED = {
    View.OLD: _MASKS[View.OLD],
    View.MIDDLE: _mask(lambda t: bool(t & (ALIVE | OLD))),
    View.NEW: _NEW,
    View.LEAVING: _MASKS[View.ENTERING],
    View.ENTERING: _MASKS[View.LEAVING],
}


@dataclass(slots=True)
class Working:
    """A table in a commit: what was written down of it, and the rows listed in this round."""

    name: str
    table: Table
    undo: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((4, 64), np.int64))
    logs: int = 0
    listed: Rows = field(default_factory=lambda: np.empty(64, np.int64))
    count: int = 0
    ranked: bool = False  # whether the unit at work is this table's own

    def grow_lists(self) -> None:
        self.undo = np.concatenate([self.undo, np.empty_like(self.undo)], axis=1)
        self.listed = np.concatenate([self.listed, np.empty_like(self.listed)])

    def take_list(self) -> Rows:
        rows = self.listed[: self.count].copy()
        self.count = 0
        return rows


class Failed(Exception):
    """A value could not be computed on the short way."""


@dataclass(slots=True)
class Bindings:
    """Instances written down: a column for each slot, then the highest rank and the first atom's row."""

    slots: list[int]
    data: Codes

    @property
    def size(self) -> int:
        return int(self.data.shape[1])


class Runner:
    def __init__(self, working: Callable[[str], Working], codec: Codec) -> None:
        self.working = working
        self.codec = codec
        self.evaluator = Evaluator(codec, {})
        self.instances = 0
        self.passed_over = False  # whether `collect` left out what failed

    def run(
        self, variant: Variant, views: Sequence[View], driver: Rows | None, mode: Mode, rank: int
    ) -> None:
        """Find all instances and do with their heads what the mode says."""
        try:
            self._run(variant, views, driver, mode, rank)
        except Failed:
            self._carefully(variant, views, driver, mode, rank)

    def _run(
        self, variant: Variant, views: Sequence[View], driver: Rows | None, mode: Mode, rank: int
    ) -> None:
        target = self.working(variant.rule.head)
        bindings = Bindings([], np.array([[-1], [-1]], np.int64))
        slots = self._slots(variant)
        for number, stage in enumerate(variant.stages):
            last = number == len(variant.stages) - 1
            head = variant.head if last else None
            if stage.levels:
                call = _Call(self, variant, stage, views, driver if number == 0 else None, bindings)
                bindings = call.run(target, mode, rank, slots, head)
                self.instances += call.instances if last else 0
            if head is not None and stage.levels:
                return
            bindings = self._compute(variant, stage, views, bindings, slots, mode)
        self._apply(variant, target, bindings, slots, mode, rank)

    def collect(self, variant: Variant, views: Sequence[View], driver: Rows | None) -> Codes:
        """The heads of all instances, a column each, without those that fail."""
        bindings, slots = self._bindings(variant, views, driver, Mode.REMOVE)
        return self._collect_sound(variant, bindings, slots)

    def _collect_sound(self, variant: Variant, bindings: Bindings, slots: Codes) -> Codes:
        """The heads of bindings; from fewer of them, until none fails."""
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
        """All instances, written down."""
        target = self.working(variant.rule.head)
        bindings = Bindings([], np.array([[-1], [-1]], np.int64))
        slots = self._slots(variant)
        for number, stage in enumerate(variant.stages):
            if stage.levels:
                call = _Call(self, variant, stage, views, driver if number == 0 else None, bindings)
                bindings = call.run(target, mode, 0, slots, None)
            bindings = self._compute(variant, stage, views, bindings, slots, mode)
        return bindings, slots

    def _slots(self, variant: Variant) -> Codes:
        slots = np.empty(variant.size, np.int64)
        for slot, constant in variant.constants:
            slots[slot] = self.codec.encode(constant.type, constant.value)
        return slots

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

    def _compute(
        self,
        variant: Variant,
        stage: Stage,
        views: Sequence[View],
        bindings: Bindings,
        slots: Codes,
        mode: Mode,
    ) -> Bindings:
        for step in stage.computed:
            if not bindings.size:
                continue
            if isinstance(step, Refute):
                exprs = [t for t in step.terms if not isinstance(t, Wildcard)]
                known = self.columns(variant, bindings, slots, exprs)
                keep = self._clear_of(step, views[step.position], known, bindings.size)
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
            if isinstance(s, Compute) and variant.slots[s.variable.name] not in bindings.slots
        ]
        for slot in missing:  # nothing was left to compute
            bindings = _with(bindings, slot, np.empty(0, np.int64))
        return bindings

    def _value(
        self, variant: Variant, expr: Expr, bindings: Bindings, slots: Codes, mode: Mode
    ) -> tuple[Codes, Bindings]:
        """A computed column, and the bindings for which it could be computed."""
        outcome = self.evaluator.evaluate(expr, self.columns(variant, bindings, slots, [expr]), bindings.size)
        if outcome.failures is None or not outcome.failures.any():
            return outcome.codes, bindings
        if mode is Mode.INSERT:
            raise Failed
        self.passed_over = True
        keep = outcome.failures == 0
        return outcome.codes[keep], Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, keep]))

    def _same(self, variant: Variant, expr: Binary, bindings: Bindings, slots: Codes, mode: Mode) -> Bindings:
        """The bindings in which both sides are one element."""
        right, bindings = self._value(variant, expr.right, bindings, slots, mode)
        left, bindings = self._value(variant, expr.left, bindings, slots, mode)
        return Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, left == right]))

    def _clear_of(
        self, step: Refute, view: View, columns: Mapping[str, Codes], size: int
    ) -> npt.NDArray[np.bool_]:
        """Which rows a negated atom does not contradict."""
        codes = [
            columns[t.name] if isinstance(t, Var) else np.full(size, self.codec.encode(t.type, t.value))
            for t in step.terms
            if not isinstance(t, Wildcard)
        ]
        table = self.working(step.relation).table
        data = np.array(codes, np.int64).reshape(len(codes), size).T
        rows = table.find(np.ascontiguousarray(data))
        visible = (_NEGATED[view] >> table.tags[np.maximum(rows, 0)].astype(np.int64)) & 1
        terms = [t for t in step.terms if not isinstance(t, Wildcard)]
        optional = [i for i, t in enumerate(terms) if isinstance(t.type, Option)]
        missing = np.asarray(data[:, optional] == NONE).any(axis=1)
        return np.asarray((rows < 0) | (visible == 0) | missing)

    def _apply(
        self, variant: Variant, target: Working, bindings: Bindings, slots: Codes, mode: Mode, rank: int
    ) -> None:
        """Compute the heads and do with them what the mode says."""
        heads: list[Codes] = []
        for value in variant.rule.values if mode is not Mode.REDERIVE else ():
            codes, kept = self._value(variant, value, bindings, slots, mode)
            if kept.size != bindings.size:  # a removal passed some over: begin again with what is left
                self._apply(variant, target, kept, slots, mode, rank)
                return
            heads.append(codes)
        self.instances += bindings.size
        self.apply(target, np.array(heads, np.int64).reshape(len(heads), bindings.size), bindings, mode, rank)

    def apply(self, target: Working, heads: Codes, bindings: Bindings, mode: Mode, rank: int) -> None:
        done = 0
        while done < bindings.size:
            described = target.table.describe()
            state = np.array([0, target.count, 0, 0, target.logs], np.int64)
            done = kernels.apply_heads(
                described,
                0,
                _MODES[mode],
                rank,
                heads,
                bindings.data[-2],
                bindings.data[-1],
                done,
                state,
                target.listed,
                target.undo,
            )
            target.table.rows = int(described[0, ROWS])
            target.count, target.logs = int(state[1]), int(state[4])
            if done < bindings.size:
                target.grow_lists()
                target.table.grow()

    # -- the careful way

    def check(self, variant: Variant, views: Sequence[View]) -> None:
        """Raise if an instance fails that satisfies everything else; do nothing with the others."""
        self._carefully(variant, views, None, None, 0)

    def _carefully(
        self, variant: Variant, views: Sequence[View], driver: Rows | None, mode: Mode | None, rank: int
    ) -> None:
        """All atoms first; then a failure is an error where everything else holds."""
        rule = variant.rule
        first = (
            next(step for step in variant.stages[0].levels if step.join).join if driver is not None else None
        )
        joins = compile_variant(rule, _atoms_only(rule.body, first))
        joins.head = None
        slots = self._slots(joins)
        bindings = Bindings([], np.array([[-1], [-1]], np.int64))
        if joins.stages[0].levels:
            call = _Call(self, joins, joins.stages[0], views, driver, bindings)
            bindings = call.run(self.working(rule.head), Mode.INSERT, rank, slots, None)
        self._decide(joins, views, bindings, slots, mode, rank)

    def _decide(
        self,
        variant: Variant,
        views: Sequence[View],
        bindings: Bindings,
        slots: Codes,
        mode: Mode | None,
        rank: int,
    ) -> None:
        size = bindings.size
        holds = np.ones(size, np.bool_)
        failures = np.zeros(size, np.int32)
        columns = self._all_columns(variant, bindings)
        broken: dict[str, npt.NDArray[np.int32]] = {}

        def value(expr: Expr) -> tuple[Codes, npt.NDArray[np.int32]]:
            outcome = self.evaluator.evaluate(expr, columns, size, broken)
            return outcome.codes, np.zeros(size, np.int32) if outcome.failures is None else outcome.failures

        for position, literal in enumerate(variant.rule.body):
            match literal:
                case Bind(variable, bound):
                    columns[variable.name], broken[variable.name] = value(bound)
                    failures = np.where(failures == 0, broken[variable.name], failures)
                case Test(condition):
                    codes, failed = value(condition)
                    holds &= (codes != 0) | (failed != 0)
                    failures = np.where(failures == 0, failed, failures)
                case Absent(relation, terms) if views[position] in _NEGATED and not self._is_driver(
                    views[position]
                ):
                    step = Refute(position, relation, terms)
                    clear = self._clear_of(step, views[position], columns, size)
                    unknown = np.zeros(size, np.bool_)
                    for t in terms:
                        if isinstance(t, Var) and t.name in broken:
                            unknown |= broken[t.name] != 0
                    holds &= clear | unknown
        heads: list[Codes] = []
        for expr in variant.rule.values:
            codes, failed = value(expr)
            heads.append(codes)
            failures = np.where(failures == 0, failed, failures)
        wrong = np.flatnonzero(holds & (failures != 0))
        if len(wrong):
            raise self._error(variant, columns, broken, int(wrong[0]), int(failures[wrong[0]]))
        if mode is None:
            return
        keep = Bindings(bindings.slots, np.ascontiguousarray(bindings.data[:, holds]))
        self.instances += keep.size
        made = np.array(heads, np.int64).reshape(len(heads), size)[:, holds]
        self.apply(self.working(variant.rule.head), np.ascontiguousarray(made), keep, mode, rank)

    @staticmethod
    def _is_driver(view: View) -> bool:
        return view in (View.LEAVING, View.ENTERING)

    @staticmethod
    def _all_columns(variant: Variant, bindings: Bindings) -> dict[str, Codes]:
        made: dict[str, Codes] = {}
        for name, slot in variant.slots.items():
            if slot in bindings.slots:
                made[name] = bindings.data[bindings.slots.index(slot)]
        return made

    def _error(
        self,
        variant: Variant,
        columns: Mapping[str, Codes],
        broken: Mapping[str, npt.NDArray[np.int32]],
        row: int,
        failure: int,
    ) -> EngineError:
        types = {v.name: v.type for x in variant.rule.body for v in _variables_of(x)}
        known = [
            f"{name} = {self.codec.decode(types[name], int(codes[row]))!r}"
            for name, codes in columns.items()
            if name in types and not name.startswith("$") and not (name in broken and broken[name][row])
        ]
        where = f", where {', '.join(known)}" if known else ""
        return EngineError(f"{self.evaluator.reason(failure)}{where}, in the rule `{variant.rule.origin}`")


def _variables_of(literal: object) -> list[Var]:
    match literal:
        case Match(terms=terms) | Absent(terms=terms):
            return [t for t in terms if isinstance(t, Var)]
        case Bind(variable=variable):
            return [variable]
        case _:
            return []


def _atoms_only(body: Sequence[object], first: Join | None) -> Order:
    steps: list[Join] = []
    bound: set[str] = set()
    positions = [i for i, x in enumerate(body) if isinstance(x, Match)]
    if first is not None:
        positions = [first.position, *(p for p in positions if p != first.position)]
    for position in positions:
        literal = body[position]
        assert isinstance(literal, Match | Absent)
        key = tuple(
            i
            for i, t in enumerate(literal.terms)
            if not isinstance(t, Wildcard) and (not isinstance(t, Var) or t.name in bound)
        )
        bound |= {t.name for t in literal.terms if isinstance(t, Var)}
        steps.append(Join(position, literal.relation, literal.terms, key))
    return tuple(steps)


def _with(bindings: Bindings, slot: int, codes: Codes) -> Bindings:
    return Bindings([slot, *bindings.slots], np.concatenate([codes[None, :], bindings.data]))


class _Call:
    """One run of `derive`: a stage's descriptors with addresses filled in."""

    def __init__(
        self,
        runner: Runner,
        variant: Variant,
        stage: Stage,
        views: Sequence[View],
        driver: Rows | None,
        bindings: Bindings,
    ) -> None:
        self.runner = runner
        self.variant = variant
        self.views = views
        self.driver = driver
        self.bindings = bindings
        self.stage = stage
        self.instances = 0
        self.names: list[str] = []
        self.levels = np.zeros((len(stage.levels), kernels.LEVEL_WIDTH), np.int64)
        self.keys: list[tuple[int, int, int]] = []
        self.columns: list[tuple[int, int, int]] = []
        self.filters: list[tuple[int, int, int, int]] = []
        self.held: list[object] = []
        for number, level in enumerate(stage.levels):
            self._fill(number, level, driver if number == 0 else None)

    def _relation(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _fill(self, number: int, level: Level, driver: Rows | None) -> None:
        row = self.levels[number]
        row[kernels.KEY_FROM], row[kernels.COL_FROM] = len(self.keys), len(self.columns)
        row[kernels.FIL_FROM] = len(self.filters)
        if level.join is None:
            self._fill_bindings(row)
        else:
            self._fill_atom(row, level, level.join, driver)
        row[kernels.KEY_TO], row[kernels.COL_TO] = len(self.keys), len(self.columns)
        for op, x, y in level.comparisons:
            self.filters.append((op, x, y, 0))
        for refute, keys in level.refutes:
            mask = _NEGATED[self.views[refute.position]]
            self.filters.append((kernels.ABSENT, self._relation(refute.relation), mask, len(self.keys)))
            self.keys += keys
        row[kernels.FIL_TO] = len(self.filters)

    def _fill_bindings(self, row: npt.NDArray[np.int64]) -> None:
        data = np.ascontiguousarray(self.bindings.data)
        self.held.append(data)
        row[kernels.KIND] = kernels.TEMP
        row[kernels.LIST_AT], row[kernels.LIST_LEN] = data.ctypes.data, data.shape[1]
        row[kernels.RANKED] = len(self.bindings.slots) + 1
        self.columns += [(i, kernels.BIND, slot) for i, slot in enumerate(self.bindings.slots)]

    def _fill_atom(self, row: npt.NDArray[np.int64], level: Level, join: Join, driver: Rows | None) -> None:
        working = self.runner.working(join.relation)
        table = working.table
        view = self.views[join.position]
        row[kernels.REL] = self._relation(join.relation)
        row[kernels.RANKED] = int(working.ranked and view is not View.SUSPECTS)
        row[kernels.MASK] = _MASKS[view]
        negated = isinstance(self.variant.rule.body[join.position], Absent)
        for column, op, slot in level.columns:
            term = join.terms[column]
            refuses = negated and isinstance(term, Var) and isinstance(term.type, Option)
            self.columns.append((column, kernels.BIND_SOME if refuses and op == kernels.BIND else op, slot))
        if driver is not None:
            if view in (View.LEAVING, View.ENTERING):
                row[kernels.MASK] = _MASKS[View.LEAVING] | _MASKS[View.ENTERING]
            self.held.append(driver)
            row[kernels.KIND] = kernels.LIST
            row[kernels.LIST_AT], row[kernels.LIST_LEN] = driver.ctypes.data, len(driver)
            # the key of a first atom are its constants: they are compared
            self.columns += [(column, kernels.EQUAL, slot) for column, slot, _ in level.keys]
        elif len(level.keys) == table.arity:
            row[kernels.KIND] = kernels.MEMBER
            self.keys += level.keys
        elif level.keys:
            index = table.index(tuple(column for column, _, _ in level.keys))
            row[kernels.KIND] = kernels.INDEX
            row[kernels.HEADS_AT], row[kernels.NEXT_AT] = index.heads.ctypes.data, index.following.ctypes.data
            row[kernels.INDEX_MASK] = len(index.heads) - 1
            self.keys += level.keys
        else:
            row[kernels.KIND], row[kernels.LIST_LEN] = kernels.SCAN, table.rows

    def run(self, target: Working, mode: Mode, rank: int, slots: Codes, head: list[int] | None) -> Bindings:
        """Run to the end; the bindings written down if there is no head."""
        number = self._relation(target.name)
        described = np.empty((len(self.names), WIDTH), np.int64)
        tables = [self.runner.working(n).table for n in self.names]
        for table, line in zip(tables, described, strict=True):
            table.describe_into(line)
        shape = np.array(head if head is not None else self.stage.emitted, np.int64)
        count = len(self.stage.levels)
        cursor, rows = np.zeros(count + 1, np.int64), np.full(count + 1, -1, np.int64)
        highest = np.full(count + 1, -1, np.int64)
        state = np.array([0, target.count, 0, 0, target.logs], np.int64)
        out = np.empty((len(shape) + 2, _START if head is None else 0), np.int64)
        keys, columns, filters = _matrix(self.keys, 3), _matrix(self.columns, 3), _matrix(self.filters, 4)
        kernels.enter(self.levels, keys, described, slots, cursor)
        while True:
            status = kernels.derive(
                self.levels,
                keys,
                columns,
                filters,
                described,
                shape,
                number,
                _MODES[mode] if head is not None else kernels.EMIT,
                rank,
                slots,
                cursor,
                rows,
                highest,
                state,
                target.listed,
                target.undo,
                out,
            )
            target.table.rows = int(described[number, ROWS])
            target.count, target.logs = int(state[1]), int(state[4])
            if status == kernels.DONE:
                break
            out = self._grow(status, target, tables, described, out)
        self.instances = int(state[2])
        return Bindings(list(map(int, shape)), np.ascontiguousarray(out[:, : state[3]]))

    def _grow(
        self,
        status: int,
        target: Working,
        tables: list[Table],
        described: npt.NDArray[np.int64],
        out: Codes,
    ) -> Codes:
        if status == kernels.GROW_OUT:
            return np.concatenate([out, np.empty_like(out)], axis=1)
        if status == kernels.GROW_LIST:
            target.grow_lists()
            return out
        target.table.grow()
        for table, line in zip(tables, described, strict=True):
            table.describe_into(line)
        for row, level in zip(self.levels, self.stage.levels, strict=True):
            if row[kernels.KIND] == kernels.INDEX and level.join is not None:
                table = self.runner.working(level.join.relation).table
                index = table.indexes[tuple(column for column, _, _ in level.keys)]
                row[kernels.NEXT_AT] = index.following.ctypes.data
        return out


def _matrix(rows: Sequence[tuple[int, ...]], width: int) -> npt.NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(len(rows), width)
