"""Calls of functions that call themselves, level by level instead of in depth.

The calls that are one level deeper than those of the rows are gathered for all rows, and each distinct one is
evaluated once. A body that needs a value which is not known yet has a stand-in for it: a failure, which
spreads to whatever reads it. Where a body ends with it, the row *waits*: once the calls of the next level are
known, it is evaluated again. So neither the depth of calls nor their number grows a stack, and calls are as
fast as columns. A body is evaluated as many times as it has calls one after another whose arguments, or
whether they are made, depend on the ones before.

Calls deeper than `MAX_CALL_DEPTH` fail. A call has the same value on each level, unless it is too deep from
there; therefore a level has values of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.expressions.scopes import Name, Scope
from tidelog.engine.local.expressions.vectors import Reasons, Rows, Vector, distinct
from tidelog.errors import EngineError
from tidelog.program.declared import Function
from tidelog.program.folds import written_name
from tidelog.program.library.catalog import MAX_CALL_DEPTH, TOO_DEEP

__all__ = ["MOST_CALLS", "Recursion"]

MOST_CALLS: Final = 10_000_000  # evaluated in one recursion, with those that wait


class _Calls:
    """The calls of a function on one level, and their values as far as they are known."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._places: dict[tuple[int, ...], int] = {}
        self._arguments: list[tuple[int, ...]] = []
        self._codes = np.zeros(0, np.int64)
        self._failures = np.zeros(0, np.int32)

    def places(self, arguments: Sequence[Vector], size: int, waiting: int) -> Rows:
        """Where the calls with these arguments are; those that are new wait for their values."""
        columns = [column for vector in arguments for column in _columns(vector, size)]
        if not columns:
            columns = [np.zeros(size, np.int64)]
        rows, back = distinct(columns)
        known = self._places
        found = np.empty(len(rows), np.int64)
        for i, key in enumerate(zip(*(column[rows].tolist() for column in columns), strict=True)):
            found[i] = place = known.setdefault(key, len(known))
            if place == len(self._arguments):
                self._arguments.append(key)
        more = len(known) - len(self._codes)
        if more:
            self._codes = np.concatenate([self._codes, np.zeros(more, np.int64)])
            self._failures = np.concatenate([self._failures, np.full(more, waiting, np.int32)])
        return found[back]

    def values(self, places: Rows) -> Vector:
        return Vector(self._codes[places], self._failures[places])

    def waiting(self, number: int) -> Rows:
        return np.flatnonzero(self._failures == number)

    def scope(self, places: Rows) -> Scope:
        table = np.array([self._arguments[i] for i in places.tolist()], np.int64)
        names = {
            p.name: Name(None, None, Vector(table[:, 2 * i], table[:, 2 * i + 1].astype(np.int32)))
            for i, p in enumerate(self.function.parameters)
        }
        return Scope(names, len(places))

    def put(self, places: Rows, values: Vector) -> None:
        self._codes[places] = values.codes
        self._failures[places] = 0 if values.failures is None else values.failures


def _columns(vector: Vector, size: int) -> tuple[Codes, Codes]:
    """The codes and failures of an argument; where it fails, its code does not matter."""
    codes = np.broadcast_to(vector.codes, size)
    if vector.failures is None:
        return np.ascontiguousarray(codes), np.zeros(size, np.int64)
    failures = np.broadcast_to(vector.failures, size).astype(np.int64)
    return np.where(failures == 0, codes, 0), failures


class _Solution:
    """The values of calls of mutually recursive functions. `waiting` is the number of its stand-in."""

    def __init__(
        self,
        cycle: tuple[str, ...],
        waiting: int,
        evaluate: Callable[[Function, Scope], Vector],
        reasons: Reasons,
    ) -> None:
        self.cycle = frozenset(cycle)
        self._waiting = waiting
        self._evaluate = evaluate
        self._reasons = reasons
        self._levels: list[dict[str, _Calls]] = []
        self._level = -1  # of the bodies that are being evaluated
        self._made = 0

    def ask(self, function: Function, arguments: Sequence[Vector], size: int) -> Vector:
        """The values of calls one level below those that are being evaluated, as far as they are known."""
        level = self._level + 1
        if level == MAX_CALL_DEPTH:
            reason = self._reasons.number(TOO_DEEP.format(written_name(function.name)))
            return Vector(np.zeros(1, np.int64), np.array([reason], np.int32))
        if level == len(self._levels):
            self._levels.append({})
        calls = self._levels[level].setdefault(function.name, _Calls(function))
        return calls.values(calls.places(arguments, size, self._waiting))

    def solve(self, function: Function, arguments: Sequence[Vector], size: int) -> Vector:
        self.ask(function, arguments, size)
        level = 0
        while level >= 0:
            self._advance(level)
            if self._waits(level + 1):
                level += 1
            elif not self._waits(level):
                level -= 1
        self._level = -1
        return self.ask(function, arguments, size)

    def _waits(self, level: int) -> bool:
        if level >= len(self._levels):
            return False
        return any(len(calls.waiting(self._waiting)) for calls in self._levels[level].values())

    def _advance(self, level: int) -> None:
        """Evaluate the bodies of the calls of a level that wait."""
        self._level = level
        for calls in list(self._levels[level].values()):
            places = calls.waiting(self._waiting)
            if len(places):
                self._made += len(places)
                if self._made > MOST_CALLS:
                    self._too_many(calls.function)
                calls.put(places, self._evaluate(calls.function, calls.scope(places)))

    def _too_many(self, function: Function) -> None:
        raise EngineError(
            f"the function `{written_name(function.name)}` calls itself too often: "
            f"more than {MOST_CALLS:,} calls were evaluated at once"
        )


class Recursion:
    """Evaluates calls of recursive functions; `evaluate` evaluates the body of a function in a scope."""

    def __init__(self, evaluate: Callable[[Function, Scope], Vector], reasons: Reasons) -> None:
        self._evaluate = evaluate
        self._reasons = reasons
        self._solutions: list[_Solution] = []  # those that are being computed, each inside the one before

    def call(self, function: Function, arguments: Sequence[Vector], size: int) -> Vector:
        if self._solutions and function.name in self._solutions[-1].cycle:
            return self._solutions[-1].ask(function, arguments, size)
        waiting = self._reasons.number(f"waits for a call, {len(self._solutions)} inside another recursion")
        solution = _Solution(function.cycle, waiting, self._evaluate, self._reasons)
        self._solutions.append(solution)
        try:
            return solution.solve(function, arguments, size)
        finally:
            self._solutions.pop()
