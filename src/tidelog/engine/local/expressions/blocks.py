"""Blocks of statements, on whole columns.

All rows execute the same statements together. A *frame* holds the values of the variables in its rows. A
statement is executed in those rows that reach it, and returns those that go on behind it: a `return` writes
the result of its rows, `break` and `continue` put theirs aside, and an `if` gives each of its bodies the rows
that take it. A loop executes its body for the first items of all collections, then for the second ones, in
the rows that have them. Once they are few, it goes on in a smaller frame with these rows alone.

A variable may fail in some rows like any other value; where a condition, a collection or a returned value
fails, the row has that failure as its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

import numpy as np

from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.codes.structures import Rows as Items
from tidelog.engine.local.expressions.operations import Pulse
from tidelog.engine.local.expressions.scopes import Name, Scope
from tidelog.engine.local.expressions.vectors import Rows, Vector
from tidelog.program.steps import Assign, Branch, Jump, Loop, Return, Steps, assigned
from tidelog.program.traversal import variables
from tidelog.program.typed import Block, Expr

__all__ = ["Blocks"]

_Evaluate: TypeAlias = Callable[[Expr, Scope], Vector]
_Items: TypeAlias = Callable[[Type, Codes], Items]

_NOTHING: Final = np.zeros(0, np.int64)


class Blocks:
    """Evaluates blocks.

    `evaluate` evaluates an expression in a scope, and `read` a name; `items` are those of collections.
    """

    def __init__(
        self, evaluate: _Evaluate, read: Callable[[Name], Vector], items: _Items, pulse: Pulse
    ) -> None:
        self._items = items
        self._evaluate = evaluate
        self._read = read
        self._pulse = pulse

    def value(self, block: Block, scope: Scope) -> Vector:
        outside = dict.fromkeys(v.name for v in variables(block))
        values = {name: self._read(scope.find(name)) for name in outside}
        run = _Run(self._evaluate, self._items, self._pulse, scope.size)
        left = run.execute(block.steps, _Frame(scope.size, values), np.arange(scope.size), _Jumps())
        assert not len(left), "elaboration finds blocks without a result"
        return Vector(run.codes, run.failures if run.failures.any() else None)


@dataclass(slots=True)
class _Jumps:
    """The rows that left the body of a loop, in one execution of it."""

    broken: list[Rows] = field(default_factory=list)
    continued: list[Rows] = field(default_factory=list)


class _Frame:
    """The values of variables in some rows; `places` are the rows of the block, None if these are all."""

    __slots__ = ("places", "size", "values")

    def __init__(self, size: int, values: Mapping[str, Vector], places: Rows | None = None) -> None:
        self.size = size
        self.values = dict(values)
        self.places = places

    def put(self, name: str, value: Vector, rows: Rows) -> None:
        """Give a variable other values in some rows."""
        if len(rows) < self.size:
            value = self.values.get(name, _UNSET).put(rows, value, self.size)
        self.values[name] = value

    def scope(self, rows: Rows) -> Scope:
        return _Now(self.values, rows, is_whole=len(rows) == self.size)

    def part(self, rows: Rows) -> _Frame:
        places = rows if self.places is None else self.places[rows]
        return _Frame(len(rows), {name: v.take(rows) for name, v in self.values.items()}, places)


_UNSET: Final = Vector(np.zeros(1, np.int64))


class _Now(Scope):
    """The variables of a frame in some rows, as they are now."""

    __slots__ = ("rows", "values")

    def __init__(self, values: Mapping[str, Vector], rows: Rows, *, is_whole: bool) -> None:
        super().__init__({}, len(rows))
        self.values = dict(values)
        self.rows = None if is_whole else rows

    def find(self, name: str) -> Name:
        if name not in self.names:
            value = self.values[name]
            self.names[name] = Name(None, None, value if self.rows is None else value.take(self.rows))
        return self.names[name]


class _Run:
    """One evaluation of a block, with the results so far."""

    def __init__(self, evaluate: _Evaluate, items: _Items, pulse: Pulse, size: int) -> None:
        self._evaluate = evaluate
        self._items = items
        self._pulse = pulse
        self.codes = np.zeros(size, np.int64)
        self.failures = np.zeros(size, np.int32)

    def execute(self, steps: Steps, frame: _Frame, rows: Rows, jumps: _Jumps) -> Rows:
        """Execute steps in some rows; returns those that reach the end, in order."""
        for step in steps:
            if not len(rows):
                break
            self._pulse.beat()
            match step:
                case Assign(variable, value):
                    frame.put(variable.name, self._evaluate(value, frame.scope(rows)), rows)
                case Branch():
                    rows = self._branch(step, frame, rows, jumps)
                case Loop():
                    rows = self._loop(step, frame, rows)
                case Jump(word):
                    (jumps.broken if word == "break" else jumps.continued).append(rows)
                    return _NOTHING
                case Return(value):
                    self._finish(frame, rows, self._evaluate(value, frame.scope(rows)))
                    return _NOTHING
                case _:
                    assert_never(step)
        return rows

    def _finish(self, frame: _Frame, rows: Rows, result: Vector) -> None:
        places = rows if frame.places is None else frame.places[rows]
        self.codes[places] = result.codes
        self.failures[places] = 0 if result.failures is None else result.failures

    def _sound(self, expr: Expr, frame: _Frame, rows: Rows) -> tuple[Rows, Codes]:
        """The rows in which an expression has a value, and the values; the others have their result."""
        found = self._evaluate(expr, frame.scope(rows))
        codes = np.broadcast_to(found.codes, len(rows))
        if found.failures is None or not found.failures.any():
            return rows, codes
        failures = np.broadcast_to(found.failures, len(rows))
        failed = failures != 0
        self._finish(frame, rows[failed], Vector(codes[failed], failures[failed]))
        return rows[~failed], codes[~failed]

    def _branch(self, step: Branch, frame: _Frame, rows: Rows, jumps: _Jumps) -> Rows:
        ends: list[Rows] = []
        for condition, body in zip(step.conditions, step.bodies, strict=False):
            if not len(rows):
                break
            rows, codes = self._sound(condition, frame, rows)
            ends.append(self.execute(body, frame, rows[codes != 0], jumps))
            rows = rows[codes == 0]
        ends.append(self.execute(step.bodies[-1], frame, rows, jumps))
        return _together(ends)

    def _loop(self, step: Loop, frame: _Frame, rows: Rows) -> Rows:
        rows, codes = self._sound(step.collection, frame, rows)
        found = self._items(step.collection.type, np.ascontiguousarray(codes))
        assert found.starts is not None
        starts, lengths = found.starts, np.diff(found.starts)
        ends = [rows[lengths == 0]]
        owners = np.flatnonzero(lengths > 0)  # of the collections with an item, by their places in `rows`
        active, position = rows[owners], 0
        outer: list[tuple[_Frame, Rows]] = []  # frames that this one is a part of
        while len(active):
            if 2 * len(active) < frame.size:
                outer.append((frame, active))
                frame, active = frame.part(active), np.arange(len(active))
            frame.put(step.variable.name, Vector(found.content[starts[owners] + position]), active)
            jumps = _Jumps()
            left = self.execute(step.body, frame, active, jumps)
            for broken in jumps.broken:
                ends.append(rows[owners[np.searchsorted(active, broken)]])
            active, before = _together([left, *jumps.continued]), active
            owners, position = owners[np.searchsorted(before, active)], position + 1
            has_next = lengths[owners] > position
            ends.append(rows[owners[~has_next]])
            active, owners = active[has_next], owners[has_next]
        for wider, places in reversed(outer):
            for variable in assigned((step,)):
                if variable.name in frame.values:
                    wider.put(variable.name, frame.values[variable.name], places)
            frame = wider
        return _together(ends)


def _together(parts: list[Rows]) -> Rows:
    """Some rows, in order."""
    some = [part for part in parts if len(part)]
    if len(some) == 1:
        return some[0]
    return np.sort(np.concatenate(some)) if some else _NOTHING
