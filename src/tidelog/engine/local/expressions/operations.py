"""An operation on columns, in two forms: *plain* on Python values, and *fast* on whole vectors.

The plain form is complete: it returns the value of one row, or raises `Undefined` or `BadValue` with the
reason. It runs once for each distinct combination of arguments. The fast form, if there is one, returns the
codes of all rows at once, and a mask of the rows that it leaves to the plain form: those it cannot compute
exactly, and those that fail. So a fast form need only be correct on the rows it does not mask, and never has
to explain a failure.

Operations are strict: a row in which an argument failed fails for the same reason, and is passed to neither
form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any, Final, TypeAlias

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type, present
from tidelog.data.values import NAN, BadValue, Value, canonical
from tidelog.engine.local.codes.codec import NONE, Codec, Codes, double_codes, doubles, is_direct
from tidelog.engine.local.expressions.vectors import Failures, Mask, Reasons, Vector, distinct, first_failures
from tidelog.program.library.catalog import MAX_BIGINT_BITS

__all__ = ["Fast", "Ledger", "Operation", "Plain", "Pulse", "Undefined", "checked"]

Plain: TypeAlias = Callable[..., object]
Fast: TypeAlias = Callable[..., tuple[Vector, Mask | None]]


_BEAT: Final = 0.05  # seconds
_BETWEEN: Final = 7  # mask: one beat every 8 rows; operations that may take long on one row beat themselves


class Undefined(Exception):
    """An operation has no value for these operands; the message tells users why."""


@dataclass(frozen=True, slots=True)
class Operation:
    arguments: tuple[Type, ...]
    result: Type
    plain: Plain
    fast: Fast | None = None


def checked(type_: Type, value: object) -> Value:
    """The canonical value. Raises if it does not have its type or exceeds the size of a bigint."""
    if isinstance(value, int) and value.bit_length() > MAX_BIGINT_BITS:
        raise Undefined(f"the number exceeds {MAX_BIGINT_BITS} bits")
    return canonical(type_, value)


class Pulse:
    """Calls `check` during evaluation, at most every `_BEAT` seconds."""

    __slots__ = ("_check", "_clock", "_next")

    def __init__(self, check: Callable[[], None], clock: Callable[[], float] = perf_counter) -> None:
        self._check = check
        self._clock = clock
        self._next = 0.0

    def beat(self) -> None:
        now = self._clock()
        if now >= self._next:
            self._next = now + _BEAT
            self._check()


@dataclass(frozen=True, slots=True)
class Ledger:
    """Runs operations, and assigns the codes of values and the numbers of reasons."""

    codec: Codec
    reasons: Reasons
    pulse: Pulse = field(default_factory=lambda: Pulse(lambda: None))

    def run(self, operation: Operation, vectors: Sequence[Vector]) -> Vector:
        """Run an operation on vectors of at least one row."""
        self.pulse.beat()
        failed = first_failures(vectors)
        if failed is not None:
            return self._around(failed, operation, vectors)
        if operation.fast is None:
            return self._each(operation, vectors)
        found, left = operation.fast(*vectors)
        if left is None or not left.any():
            return found
        rows = np.flatnonzero(left)
        return found.put(rows, self._each(operation, [v.take(rows) for v in vectors]), len(left))

    def _around(self, failed: Failures, operation: Operation, vectors: Sequence[Vector]) -> Vector:
        """Run an operation on the rows where no argument failed."""
        size = max(map(len, vectors))
        everywhere = np.array(np.broadcast_to(failed, size))
        outside = Vector(np.zeros(size, np.int64), everywhere)
        rows = np.flatnonzero(everywhere == 0)
        if not len(rows):
            return outside
        sound = [Vector(v.codes) if len(v) == 1 else Vector(v.codes[rows]) for v in vectors]
        return outside.put(rows, self.run(operation, sound), size)

    def _each(self, operation: Operation, vectors: Sequence[Vector]) -> Vector:
        """Run the plain form, once for each distinct combination of arguments."""
        varying = [v.codes for v in vectors if len(v) > 1]
        if not varying:
            return self._plain(operation, vectors, 1)
        rows, places = distinct(varying)
        found = self._plain(operation, [v.take(rows) for v in vectors], len(rows))
        return Vector(found.codes[places], None if found.failures is None else found.failures[places])

    def _plain(self, operation: Operation, vectors: Sequence[Vector], size: int) -> Vector:
        columns = [self.values(t, v.codes) for t, v in zip(operation.arguments, vectors, strict=True)]
        spread = (repeat(c[0], size) if len(c) == 1 else c for c in columns)
        rows = zip(*spread, strict=True) if columns else [()]
        return self.tabulate(operation.plain, rows, operation.result)

    def tabulate(self, plain: Plain, rows: Iterable[tuple[Any, ...]], result: Type) -> Vector:
        """Apply a plain form to each row of arguments."""
        values: list[Value] = []
        failures: dict[int, int] = {}
        stand_in = _stand_in(result)
        encode, beat = self._code_of(result), self.pulse.beat
        for number, row in enumerate(rows):
            if not number & _BETWEEN:
                beat()
            try:
                values.append(encode(checked(result, plain(*row))))
            except (Undefined, BadValue) as problem:
                failures[len(values)] = self.reasons.number(str(problem))
                values.append(stand_in)
        codes = self._codes(result, values)
        if not failures:
            return Vector(codes)
        marks = np.zeros(len(codes), np.int32)
        marks[list(failures)] = list(failures.values())
        return Vector(codes, marks)

    def _code_of(self, type_: Type) -> Callable[[Any], Value]:
        """The function that encodes a canonical value.

        Floats, strings and structured values are returned as they are, to be encoded together.
        """
        item = present(type_)
        if types.is_float(item) or types.is_structured(item) or isinstance(type_, types.String | types.Bytes):
            return _itself
        if is_direct(type_) or isinstance(type_, types.Option):
            return partial(self.codec.encode, type_)
        return self.codec.dictionary(type_).code

    def _codes(self, type_: Type, values: Sequence[Any]) -> Codes:
        """The codes of what `_code_of` made of values."""
        if types.is_float(present(type_)):
            return _float_codes(values)
        if isinstance(type_, types.String | types.Bytes):
            return self.codec.dictionary(type_).intern_many(values)
        if types.is_structured(present(type_)):
            return self.codec.encode_column(type_, values)
        return np.array(values, np.int64)

    def values(self, type_: Type, codes: Codes) -> list[Value]:
        """Decode codes; floats are decoded together."""
        if not types.is_float(present(type_)):
            return self.codec.decode_column(type_, codes)
        numbers: list[Value] = [NAN if x != x else x for x in doubles(codes).tolist()]
        if isinstance(type_, types.Option):
            return [None if c == NONE else x for c, x in zip(codes.tolist(), numbers, strict=True)]
        return numbers


def _stand_in(type_: Type) -> Value:
    """What stands for a value that could not be computed."""
    if types.is_structured(present(type_)):
        return None
    if types.is_float(present(type_)):
        return 0.0
    return "" if isinstance(type_, types.String) else b"" if isinstance(type_, types.Bytes) else 0


def _itself(value: Value) -> Value:
    return value


def _float_codes(values: Sequence[Any]) -> Codes:
    codes = double_codes(np.array([0.0 if v is None else v for v in values], np.float64))
    codes[[v is None for v in values]] = NONE
    return codes
