"""Aggregates with a state: the states of groups, and how instances change them.

If `insert` only adds to the state (see `program.analysis.linear`), a state is the initial one plus exact sums
of its terms. Otherwise the groups take their instances one by one, in the order of their values: all groups
their first, then all their second, … An instance that fails is tried again after the others, as long as that
helps any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import BadValue
from tidelog.engine.local.codes.codec import Codec, Codes, is_direct
from tidelog.engine.local.expressions.aggregates import exact_sums
from tidelog.engine.local.expressions.arithmetic import limits
from tidelog.engine.local.expressions.comparisons import keys
from tidelog.engine.local.expressions.operations import Ledger, Pulse, Undefined, checked
from tidelog.engine.local.expressions.vectors import Failures, Mask, Outcome, Reasons, Rows, distinct
from tidelog.program.analysis.linear import Linear, Term, linear, variables_of
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.folds import part
from tidelog.program.typed import Call, Expr, Get, Make, Var

__all__ = ["Folds", "Instances"]

_SAFE: Final = 2**62
_STATE: Final = "$state"
_Sums: TypeAlias = Codes | list[int]


@dataclass(frozen=True, slots=True)
class Instances:
    """Rows of groups: the number of each one's group, its values, and how many instances it stands for."""

    groups: int
    numbers: Codes
    args: tuple[Codes, ...]
    weights: Codes

    def chosen(self, rows: Rows | Mask, weights: Codes) -> Instances:
        """Some of the rows, with other weights."""
        args = tuple(a[rows] for a in self.args)
        return Instances(self.groups, self.numbers[rows], args, weights[rows])

    def once(self) -> Instances:
        """Each combination of values once in a group."""
        if not len(self.numbers):
            return self
        return self.chosen(distinct([self.numbers, *self.args])[0], np.ones(len(self.numbers), np.int64))

    def as_ones(self) -> Instances:
        """The number 1 in place of their values."""
        return Instances(self.groups, self.numbers, (np.ones(len(self.numbers), np.int64),), self.weights)


class Evaluating(Protocol):
    """What evaluates the functions of an aggregate."""

    @property
    def codec(self) -> Codec: ...

    @property
    def functions(self) -> Mapping[str, Function | PythonFunction]: ...

    @property
    def reasons(self) -> Reasons: ...

    def evaluate(self, expr: Expr, columns: Mapping[str, Codes], size: int) -> Outcome: ...


class Folds:
    def __init__(self, evaluator: Evaluating, check: Callable[[], None] = lambda: None) -> None:
        self.codec = evaluator.codec
        self.functions = evaluator.functions
        self.reasons = evaluator.reasons
        self._evaluator = evaluator
        self._ledger = Ledger(self.codec, self.reasons, Pulse(check))

    # -- what is known of an aggregate

    def can_update(self, state: str) -> bool:
        """Whether instances can be added to a state, and taken away."""
        insert = self._function(state, "insert")
        has_delete = part(state, "delete") in self.functions
        return linear_form(insert) is not None or (has_delete and not _has_floats(insert.result))

    def is_certain(self, state: str) -> bool:
        """Whether updates of states are known to be right, since the aggregate only adds."""
        return linear_form(self._function(state, "insert")) is not None

    def _function(self, state: str, name: str) -> Function:
        found = self.functions[part(state, name)]
        assert isinstance(found, Function)
        return found

    # -- states

    def states(self, state: str, given: Instances) -> Outcome:
        """The state of each group, or the reason of its failure."""
        insert = self._function(state, "insert")
        start = self._evaluator.evaluate(Call(part(state, "start"), (), insert.result), {}, 1)
        failures = np.zeros(given.groups, np.int32)
        if start.failures is not None:
            failures[:] = start.failures[0]
            return Outcome(np.zeros(given.groups, np.int64), failures, self.reasons)
        codes = np.full(given.groups, start.codes[0])
        terms = linear_form(insert)
        if terms is None:
            failures = self._take(insert, codes, self._one_by_one(insert, given))
        else:
            codes, failures = self._summed(insert, terms, codes, [(1, given)])
        return Outcome(codes, failures if failures.any() else None, self.reasons)

    def updated(
        self, state: str, codes: Codes, inserted: Instances, deleted: Instances
    ) -> tuple[Codes, Mask]:
        """The states with some instances more and others less, and where that failed."""
        insert = self._function(state, "insert")
        terms = linear_form(insert)
        if terms is not None:
            codes, failures = self._summed(insert, terms, codes, [(1, inserted), (-1, deleted)])
            return codes, failures != 0
        codes = codes.copy()
        failed: Mask = np.zeros(len(codes), np.bool_)
        for name, given in (("insert", inserted), ("delete", deleted)):
            function = self._function(state, name)
            failed |= self._take(function, codes, self._one_by_one(function, given)) != 0
        return codes, failed

    def total(self, type_: Type, old: Codes, inserted: Instances, deleted: Instances) -> tuple[Codes, Mask]:
        """Sums of integers with some more and others less, and where they do not fit."""
        failures = np.zeros(len(old), np.int32)
        sums: list[tuple[int, _Sums]] = []
        for sign, given in ((1, inserted), (-1, deleted)):
            if len(given.numbers):
                added = exact_sums(
                    type_, given.args[0], given.numbers, given.weights, given.groups, self._ledger
                )
                sums.append((sign, added))
        return self._added(type_, old, sums, failures), failures != 0

    # -- sums

    def _summed(
        self, insert: Function, terms: Linear, codes: Codes, changes: Sequence[tuple[int, Instances]]
    ) -> tuple[Codes, Failures]:
        """States to which the terms of instances are added, or from which they are taken."""
        failures = np.zeros(len(codes), np.int32)
        columns: dict[str, Codes] = {}
        variables = list(variables_of(insert.result, len(terms)))
        for i, (own, type_) in enumerate(zip(terms, variables, strict=True)):
            sums: list[tuple[int, _Sums]] = []
            for term in own:
                for sign, given in changes:
                    if len(given.numbers):
                        sums.append((sign * term.sign, self._sums(insert, term, given, failures)))
            columns[f"${i}"] = self._added(
                type_, self._variable(insert.result, i, type_, codes), sums, failures
            )
        return self._whole(insert.result, columns, variables, len(codes)), failures

    def _variable(self, state: Type, i: int, type_: Type, codes: Codes) -> Codes:
        if state == type_:
            return codes
        return self._evaluator.evaluate(
            Get(Var(_STATE, state), "", i, type_), {_STATE: codes}, len(codes)
        ).codes

    def _whole(self, state: Type, columns: dict[str, Codes], variables: list[Type], size: int) -> Codes:
        if variables == [state]:
            return columns["$0"]
        parts = tuple(Var(f"${i}", t) for i, t in enumerate(variables))
        return self._evaluator.evaluate(Make("", parts, state), columns, size).codes

    def _sums(self, insert: Function, term: Term, given: Instances, failures: Failures) -> _Sums:
        """The sum of a term in each group; groups in which it fails are noted."""
        found = self._evaluator.evaluate(term.value, _columns(insert, given), len(given.numbers))
        if found.failures is not None:
            failed = np.flatnonzero(found.failures)
            failures[given.numbers[failed[::-1]]] = found.failures[failed[::-1]]
            found.codes[failed] = self.codec.encode(term.value.type, 0)
        codes = np.ascontiguousarray(found.codes)
        return exact_sums(term.value.type, codes, given.numbers, given.weights, given.groups, self._ledger)

    def _added(self, type_: Type, old: Codes, sums: list[tuple[int, _Sums]], failures: Failures) -> Codes:
        """The values of a variable with sums added; what does not fit fails."""
        if not sums:
            return old
        arrays = [s for _, s in sums if isinstance(s, np.ndarray)]
        if is_direct(type_) and len(arrays) == len(sums):
            largest = int(np.abs(old).max()) + sum(int(np.abs(s).max()) for s in arrays)
            if largest < _SAFE and int(old.min()) > -_SAFE:
                total = old + sum(sign * s for (sign, _), s in zip(sums, arrays, strict=True))
                low, high = limits(type_)
                self._fail((total < low) | (total > high), type_, failures)
                return np.ascontiguousarray(total)
        exact: list[Any] = list(self._ledger.values(type_, old))
        for sign, added in sums:
            exact = [x + sign * y for x, y in zip(exact, _listed(added), strict=True)]
        fits = np.array([_fits(type_, x) for x in exact])
        self._fail(~fits, type_, failures)
        return self.codec.encode_column(
            type_, [x if fit else 0 for x, fit in zip(exact, fits.tolist(), strict=True)]
        )

    def _fail(self, wrong: Mask, type_: Type, failures: Failures) -> None:
        if wrong.any():
            number = self.reasons.number(f"the state of the aggregate does not fit `{type_}`")
            failures[wrong & (failures == 0)] = number

    # -- one instance after the other

    def _one_by_one(self, function: Function, given: Instances) -> Instances:
        """Single instances, by group and in the order of their values."""
        wanted = [p.type for p in function.parameters[1:]]
        places = [
            keys(self.codec, type_, [codes])[0][0] for type_, codes in zip(wanted, given.args, strict=True)
        ]
        order = np.lexsort((*reversed(places), given.numbers)) if len(given.numbers) else given.numbers
        rows = np.repeat(order, given.weights[order])
        return given.chosen(rows, np.ones(len(given.weights), np.int64))

    def _take(self, function: Function, codes: Codes, given: Instances) -> Failures:
        """Let states take instances, in place; the reasons of groups that fail."""
        failures = np.zeros(given.groups, np.int32)
        waiting = np.arange(len(given.numbers))
        while len(waiting):
            failed, reasons = self._pass(function, codes, given, waiting)
            before = np.bincount(given.numbers[waiting], minlength=given.groups)
            after = np.bincount(given.numbers[failed], minlength=given.groups)
            is_stuck = (before == after) & (after > 0)
            stuck = is_stuck[given.numbers[failed]]
            failures[given.numbers[failed[stuck]][::-1]] = reasons[stuck][::-1]
            waiting = failed[~stuck]
        return failures

    def _pass(
        self, function: Function, codes: Codes, given: Instances, waiting: Rows
    ) -> tuple[Rows, Failures]:
        """Let states take these instances; the rows that failed, in order, with their reasons."""
        failed: list[Rows] = []
        reasons: list[Failures] = []
        for rows in _rounds(given.numbers[waiting]):
            places = waiting[rows]
            groups = given.numbers[places]
            found = self._step(function, codes[groups], [a[places] for a in given.args])
            if found.failures is None:
                codes[groups] = found.codes
                continue
            wrong = found.failures != 0
            codes[groups[~wrong]] = found.codes[~wrong]
            failed.append(places[wrong])
            reasons.append(found.failures[wrong])
        if not failed:
            return waiting[:0], np.zeros(0, np.int32)
        rows, numbers = np.concatenate(failed), np.concatenate(reasons)
        order = np.argsort(rows, kind="stable")
        return rows[order], numbers[order]

    def _step(self, function: Function, states: Codes, args: list[Codes]) -> Outcome:
        names = [_STATE, *(f"${i}" for i in range(len(args)))]
        parts: tuple[Expr, ...] = tuple(
            Var(name, p.type) for name, p in zip(names, function.parameters, strict=True)
        )
        columns = dict(zip(names, [states, *args], strict=True))
        return self._evaluator.evaluate(Call(function.name, parts, function.result), columns, len(states))


@lru_cache(maxsize=256)
def linear_form(insert: Function) -> Linear | None:
    """The terms that `insert` adds, if it only adds."""
    return linear(insert)


def _columns(insert: Function, given: Instances) -> dict[str, Codes]:
    names = (p.name for p in insert.parameters[1:])
    return dict(zip(names, given.args, strict=True))


def _rounds(numbers: Codes) -> Iterator[Rows]:
    """The first rows of all groups, then their second ones, and so on; groups are beside each other."""
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    lengths = np.diff(starts, append=len(numbers))
    position = 0
    while len(starts):
        yield starts + position
        position += 1
        going = lengths > position
        starts, lengths = starts[going], lengths[going]


def _listed(sums: _Sums) -> list[int]:
    return sums.tolist() if isinstance(sums, np.ndarray) else sums


def _fits(type_: Type, value: int) -> bool:
    try:
        checked(type_, value)
    except (Undefined, BadValue):
        return False
    return True


def _has_floats(type_: Type, seen: frozenset[Type] = frozenset()) -> bool:
    if types.is_float(type_):
        return True
    if type_ in seen:
        return False
    return any(_has_floats(t, seen | {type_}) for t in types.parts(types.present(type_)))
