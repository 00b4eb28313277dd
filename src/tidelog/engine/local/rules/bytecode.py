"""Bytecode: a stage of a variant in the form that kernels read, built once and run many times.

Bytecode refers to tables and indexes by the addresses of their descriptors, which do not move. So it is valid
until one of its tables is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Option
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.matrix import BitRelation
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import address, run
from tidelog.engine.local.rules.compiler import Arithmetic, Comparison, Level, Refutation, Stage, Variant
from tidelog.engine.local.rules.sharing import cover_shared, run_shared
from tidelog.engine.local.rules.twins import add_twins
from tidelog.engine.local.storage.index import Buckets, Ordered
from tidelog.engine.local.storage.pending import MASKS, NEGATED, Bindings, Working
from tidelog.engine.local.storage.table import Rows, Table
from tidelog.engine.protocol import Check
from tidelog.maintain.script import Mode, View
from tidelog.plan.join_order import Join
from tidelog.program.typed import Absent, Var

__all__ = ["FIRST_STEPS", "MODES", "STEPS", "Bytecode", "Request", "TooMany", "make_room"]

MODES: Final = {
    Mode.INSERT: layout.INSERT,
    Mode.REMOVE: layout.REMOVE,
    Mode.REDERIVE: layout.REDERIVE,
    Mode.SETTLE: layout.SETTLE,
    Mode.OVERDELETE: layout.OVERDELETE,
    Mode.ADD: layout.ADD,
    Mode.SUBTRACT: layout.SUBTRACT,
    Mode.IMPROVE: layout.IMPROVE,
    Mode.REPLACE: layout.REPLACE,
}
STEPS: Final = 1_000_000  # of a kernel before it pauses: some hundredths of a second
FIRST_STEPS: Final = 100_000  # steps before other threads help
_START: Final = 1024  # initial capacity for bindings
_MANY: Final = 64  # rows per key from which on a range lookup pays off
_SAMPLE: Final = 4096
_FUSED: Final = (
    layout.INSERT,
    layout.REMOVE,
    layout.OVERDELETE,
    layout.ADD,
    layout.SUBTRACT,
    layout.SETTLE,
    layout.IMPROVE,
    layout.REPLACE,
)
_SHARED: Final = (layout.INSERT, layout.REMOVE, layout.OVERDELETE)
_COMPARISONS: Final = range(layout.EQ, layout.ABSENT + 1)  # and negations
_DIVIDED: Final = (layout.LIST, layout.DELTA, layout.SCAN)
_SWEPT: Final = (
    layout.LIST,
    layout.DELTA,
    layout.SCAN,
    layout.LOOKUP,
    layout.PLACES_LIST,
    layout.PAIRS,
    layout.ROW,
    layout.COLUMN,
)


class TooMany(Exception):
    """There are more bindings than allowed; none was applied."""


class Request(NamedTuple):
    """The parameters that bytecode is built for.

    `first` is LIST or DELTA if rows of the first atom are given, or -1. `inside` holds the relations of the
    current stratum, whose ranks count. `entered` holds the slots of the initial bindings. If there is no head
    to apply, the mode is EMIT.
    """

    stage: int
    views: tuple[View, ...]
    first: int
    mode: int
    inside: frozenset[str]
    entered: tuple[int, ...]


class Bytecode:
    def __init__(
        self,
        variant: Variant,
        request: Request,
        codes: Codes,
        tables: Mapping[str, Table],
        bits: Mapping[str, BitRelation],
    ) -> None:
        self.variant = variant
        self.stage: Stage = variant.stages[request.stage]
        self.request = request
        self.tables: dict[str, Table] = {variant.rule.head: tables[variant.rule.head]}
        self.bits: dict[str, tuple[BitRelation, bool]] = {}  # and whether they were turned
        self._searched: list[tuple[int, BitRelation]] = []  # levels that look up columns of bit rows
        self.indexes: list[tuple[Buckets | Ordered, Table]] = []
        for level in self.stage.levels:
            names = [test.refute.relation for test in level.tests if isinstance(test, Refutation)]
            names += [level.join.relation] if level.join else []
            self.tables.update((name, tables[name]) for name in names)
            self.bits.update((name, (bits[name], bits[name].turned)) for name in names if name in bits)
        emits = request.mode == layout.EMIT
        self.shape = self.stage.emitted if emits or variant.head is None else variant.head
        count = len(self.stage.levels)
        self._slots = layout.HEADER + (count + 1) * layout.LEVEL_WIDTH
        self._words = [0] * self._slots + [int(c) for c in codes]
        width = max(t.arity for t in self.tables.values())
        self._header(layout.TUPLE, self._place([0] * max(width, len(self.shape), 1)))
        self._header(layout.HEAD, self._place([self._slots + s for s in self.shape]))
        self._header(layout.WIDTH, len(self.shape))
        self._header(layout.LEVELS, count)
        self._header(layout.MODE, request.mode)
        self._header(layout.TARGET, tables[variant.rule.head].at)
        for number, level in enumerate(self.stage.levels):
            self._fill(layout.HEADER + number * layout.LEVEL_WIDTH, level, number == 0)
        self._header(layout.SOURCE, self._sources())
        self._header(layout.TWINS, self._twins())
        self._header(layout.HINTS, self._hints(layout.HEADER + layout.LEVEL_WIDTH))
        self._header(layout.JOINED, self._block())
        pending = layout.MOST_PENDING * (len(self.shape) + layout.PENDING_MORE)
        self._header(layout.PENDING, self._place([0] * pending))
        self._header(layout.HALVES, self._place([0] * layout.MOST_HASHED))
        self.examined = 0  # rows, by the last run
        self._array = np.array(self._words, np.int64)
        self._view = self._array.data
        self.at = address(self._array)

    # -- building

    def _header(self, field: int, value: int) -> None:
        self._words[field] = value

    def _place(self, words: Sequence[int]) -> int:
        """Add words; returns their position."""
        self._words += words
        return len(self._words) - len(words)

    def _fill(self, at: int, level: Level, is_first: bool) -> None:
        if level.join is None:
            columns = self._fill_bindings(at)
        elif level.join.relation in self.bits:
            columns = self._fill_pairs(at, level, level.join, is_first)
        else:
            columns = self._fill_atom(at, level, level.join, is_first)
        self._span(at + layout.COL_FROM, [x for c in columns for x in c])
        filters = [self._filter(test) for test in level.tests]
        self._span(at + layout.FIL_FROM, [word for words in filters for word in words])

    def _filter(self, test: Comparison | Arithmetic | Refutation) -> tuple[int, int, int, int]:
        if isinstance(test, Refutation):
            mask = NEGATED[self.request.views[test.refute.position]]
            if test.refute.relation in self.bits:
                kept, turned = self.bits[test.refute.relation]
                return (
                    layout.ABSENT_PAIR,
                    kept.at,
                    mask,
                    self._place(self._keys(test.keys[:: 1 - 2 * turned])),
                )
            table = self.tables[test.refute.relation]
            return layout.ABSENT, table.at, mask, self._place(self._keys(test.keys))
        result = 0
        if isinstance(test, Arithmetic):
            result = self._place([self._slots + test.slot, test.low, test.high])
        return test.op, self._slots + test.left, self._slots + test.right, result

    def _span(self, at: int, words: Sequence[int]) -> None:
        """Add words and store where they begin and end."""
        self._words[at] = self._place(words)
        self._words[at + 1] = len(self._words)

    def _keys(self, keys: Sequence[tuple[int, int, int]]) -> list[int]:
        return [x for column, slot, checks in keys for x in (column, self._slots + slot, checks)]

    def _fill_bindings(self, at: int) -> list[tuple[int, int, int]]:
        entered = self.request.entered
        self._words[at + layout.KIND] = layout.TEMP
        self._words[at + layout.RANKED] = len(entered) + 1
        return [(i, layout.BIND, self._slots + slot) for i, slot in enumerate(entered)]

    def _fill_atom(self, at: int, level: Level, join: Join, is_first: bool) -> list[tuple[int, int, int]]:
        """Fill in the source of an atom's rows; returns the columns to bind or compare."""
        words, table, view = self._words, self.tables[join.relation], self.request.views[join.position]
        words[at + layout.REL] = table.at
        words[at + layout.RANKED] = int(join.relation in self.request.inside and view is not View.SUSPECTS)
        words[at + layout.MASK] = MASKS[view]
        negated = isinstance(self.variant.rule.body[join.position], Absent)
        columns: list[tuple[int, int, int]] = []
        for column, op, slot in level.columns:
            term = join.terms[column]
            refuses = negated and isinstance(term, Var) and isinstance(term.type, Option)
            known = layout.BIND_SOME if refuses and op == layout.BIND else op
            columns.append((column, known, self._slots + slot))
        if is_first and self.request.first >= 0:
            if view in (View.DELETED, View.INSERTED):
                words[at + layout.MASK] = MASKS[View.DELETED] | MASKS[View.INSERTED]
            words[at + layout.KIND] = self.request.first
            # the key of a first atom consists of constants, which are compared
            return [(column, layout.EQUAL, self._slots + slot) for column, slot, _ in level.keys] + columns
        self._span(at + layout.KEY_FROM, self._keys(level.keys))
        self._fill_kind(at, level, table)
        return columns

    def _fill_pairs(self, at: int, level: Level, join: Join, is_first: bool) -> list[tuple[int, int, int]]:
        """Fill in an atom over bit rows; returns its columns: 0 is PLACE, 1 the place that is found."""
        words, view = self._words, self.request.views[join.position]
        kept, turned = self.bits[join.relation]
        negated = isinstance(self.variant.rule.body[join.position], Absent)
        words[at + layout.REL], words[at + layout.MASK] = kept.at, (NEGATED if negated else MASKS)[view]
        listed = is_first and self.request.first >= 0
        columns = [(column ^ turned, op, self._slots + slot) for column, op, slot in level.columns]
        # the key of a first atom consists of constants, which are compared
        if listed:
            is_diagonal = _kind_of_pairs(level, turned) == layout.DIAGONAL
            words[at + layout.KIND] = layout.DIAGONAL_LIST if is_diagonal else layout.PLACES_LIST
            return [(c ^ turned, layout.EQUAL, self._slots + slot) for c, slot, _ in level.keys] + columns
        self._span(at + layout.KEY_FROM, self._keys(level.keys[:: 1 - 2 * turned]))
        words[at + layout.KIND] = kind = _kind_of_pairs(level, turned)
        if kind == layout.COLUMN:
            self._searched.append((at, kept))
        return [(1 - c, op, slot) for c, op, slot in columns] if kind == layout.COLUMN else columns

    def _fill_kind(self, at: int, level: Level, table: Table) -> None:
        words = self._words
        key = tuple(column for column, _, _ in level.keys)
        if level.keys and len(key) == table.arity:
            words[at + layout.KIND] = layout.MEMBER
        elif level.bounds is not None and (not key or _rows_per_key(table, key) >= _MANY):
            column, low, after_low, high, after_high = level.bounds
            order = table.ordered((*key, column))
            words[at + layout.KIND], words[at + layout.INDEX] = layout.RANGE, order.at
            slots = [0 if s is None else self._slots + s for s in (low, high)]
            words[at + layout.BOUNDS] = self._place([column, slots[0], after_low, slots[1], after_high])
            self.indexes.append((order, table))
        elif level.keys:
            index = table.index(key)
            words[at + layout.KIND], words[at + layout.INDEX] = layout.LOOKUP, index.at
            self.indexes.append((index, table))
        else:
            words[at + layout.KIND] = layout.SCAN

    def _sources(self) -> int:
        """The position of the sources of head values, if the last level can be swept; otherwise 0."""
        words, last = self._words, layout.HEADER + (len(self.stage.levels) - 1) * layout.LEVEL_WIDTH
        if self.request.mode not in _FUSED or words[last] not in _SWEPT:
            return 0
        first, end = words[last + layout.COL_FROM], words[last + layout.COL_TO]
        columns = [words[i : i + 3] for i in range(first, end, 3)]
        if any(op != layout.BIND for _, op, _ in columns):
            return 0
        places = {slot: column for column, _, slot in columns}
        return self._place([places.get(self._slots + s, -1) for s in self.shape])

    def _twins(self) -> int:
        """The position of the list of twins, or 0; values that change cannot be tested for."""
        if self.request.mode in (layout.IMPROVE, layout.REPLACE):
            return 0
        twins, indexes = add_twins(self._words, self.stage.levels, self.tables, self._slots)
        self.indexes += indexes
        twin = self._words[twins + 1] if twins else 0
        if twin:
            hints = self._hints(twin)
            self._words[twin + layout.TWIN_HINTS] = hints
        return twins

    def _hints(self, second: int) -> int:
        """The position of the columns of the first level that are the key of the second, -1 for constants.

        0 unless the first level lists rows, accepts all of them, and the second looks them up.
        """
        words, first = self._words, layout.HEADER
        listing = (*_DIVIDED, layout.TEMP)
        if len(self.stage.levels) < 2 or words[first] not in listing or words[second] != layout.LOOKUP:
            return 0
        columns = range(words[first + layout.COL_FROM], words[first + layout.COL_TO], layout.COL_WIDTH)
        picks = any(words[i + layout.COL_OP] != layout.BIND for i in columns)
        if picks or words[first + layout.FIL_FROM] != words[first + layout.FIL_TO]:
            return 0
        bound = {words[i + layout.COL_SLOT]: words[i + layout.COL_COLUMN] for i in columns}
        keys = range(words[second + layout.KEY_FROM], words[second + layout.KEY_TO], layout.KEY_WIDTH)
        return self._place([bound.get(words[i + layout.KEY_SLOT], -1) for i in keys])

    def _block(self) -> int:
        """The position of the block in which the last two levels are joined; 0 if they are not of this kind.

        Values must not change meanwhile. The first of them may have no conditions if the second is looked up,
        and only comparisons, which have no effects, if it is tested.
        """
        words, count, mode = self._words, len(self.stage.levels), self.request.mode
        first, second = (layout.HEADER + (count - i) * layout.LEVEL_WIDTH for i in (2, 1))
        changes = mode not in _FUSED or mode in (layout.IMPROVE, layout.REPLACE)
        if count < 2 or changes or words[first] not in (*_DIVIDED, layout.LOOKUP):
            return 0
        filters = range(words[first + layout.FIL_FROM], words[first + layout.FIL_TO], layout.FIL_WIDTH)
        if words[second] == layout.MEMBER:
            joins = all(words[at + layout.FIL_OP] in _COMPARISONS for at in filters)
        else:
            joins = words[second] == layout.LOOKUP and words[layout.SOURCE] != 0 and not filters
        if not joins:
            return 0
        self._key_sources(first, second)
        twins = words[layout.TWINS]
        if twin := words[twins + count - 2] if twins else 0:
            self._key_sources(twin, twin + layout.LEVEL_WIDTH)
        return self._place([0] * (1 + layout.JOINED_WIDTH * layout.MOST_JOINED))

    def _key_sources(self, first: int, second: int) -> None:
        """Store where the values that the second level looks up or tests come from."""
        words = self._words
        columns = range(words[first + layout.COL_FROM], words[first + layout.COL_TO], layout.COL_WIDTH)
        is_plain = all(words[i + layout.COL_OP] == layout.BIND for i in columns)
        is_plain &= words[first + layout.FIL_FROM] == words[first + layout.FIL_TO]
        bound = {
            words[i + layout.COL_SLOT]: words[i + layout.COL_COLUMN]
            for i in columns
            if words[i + layout.COL_OP] in (layout.BIND, layout.BIND_SOME)
        }
        keys = range(words[second + layout.KEY_FROM], words[second + layout.KEY_TO], layout.KEY_WIDTH)
        sources = [bound.get(words[i + layout.KEY_SLOT], -1) for i in keys]
        varying = {source for source in sources if source >= 0}
        only = varying.pop() if len(varying) == 1 else -1
        words[second + layout.BOUNDS] = self._place([int(is_plain), only, *sources])

    # -- running

    def fits(self, tables: Mapping[str, Table], bits: Mapping[str, BitRelation]) -> bool:
        """Whether it refers to the current tables and bit rows."""
        return all(tables.get(name) is table for name, table in self.tables.items()) and all(
            bits.get(name) is kept and kept.turned == turned for name, (kept, turned) in self.bits.items()
        )

    @property
    def instances(self) -> int:
        """How many instances the last run found."""
        return int(self._view[layout.INSTANCES])

    @property
    def failures(self) -> int:
        """How many instances the last run skipped because a value could not be computed."""
        return int(self._view[layout.FAILURES])

    def forget_results(self) -> None:
        """Forget how many instances and failures the last run found."""
        self._view[layout.INSTANCES] = self._view[layout.FAILURES] = 0

    def run(
        self,
        target: Working,
        rank: int,
        given: Rows | None,
        bindings: Bindings,
        check: Check,
        most: int | None = None,
        threads: int = 1,
    ) -> Bindings:
        """Run to the end; returns the bindings if there is no head. `check` is called regularly.

        If it takes long, several threads share the work. Raises TooMany if there are more than about `most`
        bindings.
        """
        held = given
        size = 0 if given is None else len(given)
        if self.stage.levels[0].join is None:
            held = np.ascontiguousarray(bindings.data)
            size = bindings.size
        emits = self.request.mode == layout.EMIT
        self.transpose(check)
        out = np.empty((len(self.shape) + 2, _START if emits else 0), np.int64)
        self._write_to(out)
        # other threads help at once if the rows to start from take as many steps
        steps = min(1 if size >= FIRST_STEPS and threads > 1 else FIRST_STEPS, STEPS)
        self._view[layout.STEPS] = steps
        status = run(self.at, rank, 0 if held is None else address(held), size, steps, False)
        taken = 0
        while status != layout.DONE:
            taken += steps - self._view[layout.STEPS]
            if status == layout.GROW_OUT:
                if most is not None and out.shape[1] >= most:
                    raise TooMany
                check(2 * out.nbytes)
                out = np.concatenate([out, np.empty_like(out)], axis=1)
                self._write_to(out)
            else:
                threads = self.serve(status, target, check, threads)
            steps = self._view[layout.STEPS] = STEPS
            status = run(self.at, rank, 0, 0, steps, True)
        # what other threads examined is known only by the instances that they found
        self.examined = max(taken + steps - self._view[layout.STEPS], self._view[layout.INSTANCES])
        emitted = self._view[layout.EMITTED]
        return Bindings(list(self.shape), np.ascontiguousarray(out[:, :emitted]))

    def serve(self, status: int, target: Working, check: Check, threads: int) -> int:
        """Do what a kernel stopped for, on several threads if it can be shared.

        Returns how many threads may be used from now on.
        """
        if status == layout.GROW_INDEX:
            check(0)
            cover_shared(((i, t) for t in self.tables.values() for i in t.indexes.values()), threads)
        make_room(status, target, check, self)
        if status == layout.PAUSE and threads > 1 and self._is_divisible:
            room = partial(make_room, target=target, check=check, bytecode=self)
            return threads if run_shared(self._array, target, threads, room) else 1
        return threads

    @property
    def _is_divisible(self) -> bool:
        """Whether several threads can share what is left to do."""
        first = layout.HEADER
        if not all(kept.is_transposed for _, kept in self._searched):  # only one thread can transpose
            return False
        if self.request.mode not in _SHARED or self._view[first + layout.KIND] not in _DIVIDED:
            return False
        return bool(self._view[first + layout.END] - self._view[first + layout.CURSOR] > 1)

    def transpose(self, check: Check) -> None:
        """Transpose bit rows whose columns were searched for as long as that takes."""
        for level, kept in self._searched:
            if self._view[level + layout.SCANNED] > kept.worth_transposing:
                self._view[level + layout.SCANNED] = 0
                if not kept.is_transposed:
                    kept.transpose(check)

    def _write_to(self, out: npt.NDArray[np.int64]) -> None:
        self._view[layout.OUT_AT], self._view[layout.OUT_CAP] = address(out), out.shape[1]

    def cover(self) -> None:
        """Bring its indexes up to date."""
        for index, table in self.indexes:
            if isinstance(index, Buckets):
                index.cover(table.at, table.rows)
            else:
                index.cover(table.at, table.rows, table.data)


def _kind_of_pairs(level: Level, turned: bool) -> int:
    """How the pairs of an atom over bit rows are found."""
    keys = [column ^ turned for column, _, _ in level.keys]
    if keys:
        return layout.PAIR if len(keys) == 2 else layout.COLUMN if keys[0] else layout.ROW
    slots = [slot for _, _, slot in level.columns]
    return layout.DIAGONAL if len(slots) == 2 and slots[0] == slots[1] else layout.PAIRS


def make_room(status: int, target: Working, check: Check, bytecode: Bytecode | None = None) -> None:
    """Do what a kernel stopped for. Grow only what is full: lists that grew with the table would outgrow it.

    `check` is called before memory is allocated.
    """
    if status == layout.GROW_LIST:
        check(target.growth)
        target.grow_lists()
    elif status == layout.GROW_TABLE:
        check(target.table.growth)
        target.table.grow()
    elif status == layout.GROW_TRACE:
        target.grow_trace()
    elif status == layout.GROW_BEST:
        assert target.best is not None
        check(target.best.growth)
        target.best.grow()
    elif status == layout.WIDEN:
        check(2 * target.table.cells.nbytes)
        target.table.widen()
    elif status == layout.GROW_INDEX and bytecode is not None:
        check(0)
        bytecode.cover()
    elif status == layout.PAUSE:
        check()
        if bytecode is not None:
            bytecode.transpose(check)
    elif status != layout.DONE:
        raise AssertionError(f"a kernel stopped at an unknown operation, with status {status}")


def _rows_per_key(table: Table, key: tuple[int, ...]) -> float:
    """Estimate from a sample how many rows have the same values in some columns."""
    rows = table.rows
    if rows <= _SAMPLE:
        return rows / max(len(np.unique(table.data[:rows, key], axis=0)), 1)
    sample = table.codes(np.arange(0, rows, rows / _SAMPLE).astype(np.int64))[:, key]
    different = len(np.unique(sample, axis=0))
    if 2 * different < len(sample):  # most keys are in the sample
        return rows / different
    return 2 * rows * (len(sample) - different) / len(sample) ** 2  # the birthday problem
