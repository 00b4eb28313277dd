"""One run of `derive`: descriptors with addresses filled in, and tables grown when they are full."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Option
from tidelog.engine.local import kernels
from tidelog.engine.local.codec import Codes
from tidelog.engine.local.rows import ROWS
from tidelog.engine.local.table import WIDTH, Rows, Table
from tidelog.engine.local.variant import Level, Stage, Variant
from tidelog.engine.local.working import MASKS, NEGATED, Bindings, Working
from tidelog.maintain.script import Mode, View
from tidelog.plan.order import Join
from tidelog.program.typed import Absent, Var

__all__ = ["MODES", "Call"]

MODES = {Mode.INSERT: kernels.INSERT, Mode.REMOVE: kernels.REMOVE, Mode.REDERIVE: kernels.REDERIVE}
_START = 1024  # bindings that there is room for at first


class Call:
    """One run of `derive`: a stage's descriptors with addresses filled in."""

    def __init__(
        self,
        working: Callable[[str], Working],
        variant: Variant,
        stage: Stage,
        views: Sequence[View],
        driver: Rows | None,
        bindings: Bindings,
    ) -> None:
        self.working = working
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
            mask = NEGATED[self.views[refute.position]]
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
        working = self.working(join.relation)
        table = working.table
        view = self.views[join.position]
        row[kernels.REL] = self._relation(join.relation)
        row[kernels.RANKED] = int(working.ranked and view is not View.SUSPECTS)
        row[kernels.MASK] = MASKS[view]
        negated = isinstance(self.variant.rule.body[join.position], Absent)
        for column, op, slot in level.columns:
            term = join.terms[column]
            refuses = negated and isinstance(term, Var) and isinstance(term.type, Option)
            self.columns.append((column, kernels.BIND_SOME if refuses and op == kernels.BIND else op, slot))
        if driver is not None:
            if view in (View.LEAVING, View.ENTERING):
                row[kernels.MASK] = MASKS[View.LEAVING] | MASKS[View.ENTERING]
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
        tables = [self.working(n).table for n in self.names]
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
                MODES[mode] if head is not None else kernels.EMIT,
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
                table = self.working(level.join.relation).table
                index = table.indexes[tuple(column for column, _, _ in level.keys)]
                row[kernels.NEXT_AT] = index.following.ctypes.data
        return out


def _matrix(rows: Sequence[tuple[int, ...]], width: int) -> npt.NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(len(rows), width)
