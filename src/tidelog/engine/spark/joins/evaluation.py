"""Evaluates what Spark does not compute as Tidelog does: in tasks, with the local evaluator, batch by batch.

A row for which an evaluation fails is passed on with the reason. It is an error only if everything else about
the row holds, including the negations that are still to come. A generator repeats a row for each item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.data.types import BOOL, Option, Type
from tidelog.engine.local.codes.codec import NONE, Codec, Codes
from tidelog.engine.local.expressions.evaluator import Evaluator
from tidelog.engine.local.expressions.structures import each_item
from tidelog.engine.spark.frames.checkpoints import Checkpoints
from tidelog.engine.spark.frames.layout import PROBLEM, columns, decode, encode, spark_type
from tidelog.errors import shown
from tidelog.plan.flat import FlatRule
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.typed import Binary, Bind, Each, Expr, Test, Var

__all__ = ["Remainder", "evaluate"]


@dataclass(frozen=True, slots=True)
class Remainder:
    """The part of a rule that is left to compute: `body`, values before conditions, then the head's values.

    `bound` has the columns of bound variables; `asked` are the variables that later steps need, as columns
    `x0`, `x1`, …
    """

    rule: FlatRule
    body: tuple[Bind | Test | Each, ...]
    bound: Mapping[str, str]
    types: Mapping[str, Type]
    asked: tuple[Var, ...]
    functions: Mapping[str, Function | PythonFunction]

    @property
    def given(self) -> tuple[Type, ...]:
        return tuple(self.types[name] for name in self.bound)

    @property
    def made(self) -> tuple[Type, ...]:
        """The types of the head's values and of the variables in `asked`."""
        heads = tuple(v.type for v in self.rule.values) or (BOOL,)
        return (*heads, *(_optional(v.type) for v in self.asked))

    @property
    def names(self) -> list[str]:
        heads = columns(len(self.rule.values))
        return [*heads, *(f"x{i}" for i in range(len(self.asked)))]


def _optional(type_: Type) -> Type:
    """The type with none, for a variable whose value may have failed."""
    return type_ if isinstance(type_, Option) else Option(type_)


def evaluate(
    given: DataFrame, most: int | None, remainder: Remainder, checkpoints: Checkpoints
) -> DataFrame | pa.Table:
    """The heads of bindings, the variables in `asked`, `top`, and the problem, if there is one.

    `given` has the columns of the bound variables, then `top`, and at most `most` rows, if that is known.
    Few bindings are evaluated in the driver, because starting tasks would take longer; then the result is an
    Arrow table, unless it is empty.
    """
    made = zip(remainder.names, remainder.made, strict=True)
    schema = ", ".join(f"{name} {spark_type(type_)}" for name, type_ in made)
    schema = f"{schema}, top bigint, {PROBLEM} string"
    if most is None or most > checkpoints.small:
        checkpoint = checkpoints.make(given)
        given, most = checkpoint.frame, checkpoint.size
    if most > checkpoints.small:
        return given.mapInArrow(partial(_run, remainder), schema)
    batches = list(_run(remainder, checkpoints.arrow(given).to_batches(), checkpoints.check))
    return pa.Table.from_batches(batches) if batches else checkpoints.empty(schema).frame


def _run(
    remainder: Remainder, batches: Iterable[Any], check: Callable[[], None] = lambda: None
) -> Iterator[Any]:
    work = _Work(remainder, check)
    for batch in batches:
        if batch.num_rows:
            yield from work.rows(batch).to_batches()


class _Work:
    """One evaluator for all batches."""

    def __init__(self, remainder: Remainder, check: Callable[[], None]) -> None:
        self.remainder = remainder
        self.codec = Codec()
        self.evaluator = Evaluator(self.codec, remainder.functions, check=check)

    def rows(self, batch: Any) -> Any:
        """The results for a batch of bindings."""
        given = self.remainder.given
        table = pa.Table.from_batches([batch])
        size = table.num_rows
        values = table.select(range(len(given))).rename_columns(columns(len(given))[: len(given)])
        codes = encode(self.codec, given, values) if given else np.empty((0, size), np.int64)
        judged = _Judged(self, dict(zip(self.remainder.bound, codes, strict=True)), size)
        made = judged.run()
        holds = judged.holds
        problems = pa.array([judged.problem(i) for i in np.flatnonzero(holds).tolist()], pa.string())
        rows = decode(self.codec, self.remainder.made, made[:, holds])
        rows = rows.rename_columns(self.remainder.names)
        top = table.column(table.num_columns - 1).take(pa.array(judged.rows[holds]))
        return rows.append_column("top", top.cast(pa.int64())).append_column(PROBLEM, problems)


class _Judged:
    """The bindings of a batch, and which of them satisfy the rest of the body or fail in it."""

    def __init__(self, work: _Work, given: dict[str, Codes], size: int) -> None:
        self.work = work
        self.known = given
        self.size = size
        self.rows = np.arange(size)  # of the batch; one row for each item of a collection
        self.holds = np.ones(size, np.bool_)
        self.failures: npt.NDArray[np.int32] = np.zeros(size, np.int32)
        self.broken: dict[str, npt.NDArray[np.int32]] = {}

    def run(self) -> Codes:
        """The codes of the heads and of the variables in `asked`, one row of codes for each column."""
        for literal in self.work.remainder.body:
            match literal:
                case Bind(variable, value) if variable.name not in self.known:
                    codes, failed = self._value(value)
                    self.known[variable.name], self.broken[variable.name] = codes, failed
                case Bind(variable, value):  # bound already, by the negated atom that drives the rule
                    self._test(Binary("==", variable, value, BOOL))
                case Each(variable, collection):
                    self._expand(variable, collection)
                case Test(condition):
                    self._test(condition)
                case _ as never:
                    assert_never(never)
        rule = self.work.remainder.rule
        made = [self._value(v)[0] for v in rule.values] or [np.ones(self.size, np.int64)]
        made += [self._asked(v) for v in self.work.remainder.asked]
        return np.array(made, np.int64).reshape(len(made), self.size)

    def _expand(self, variable: Var, collection: Expr) -> None:
        """Repeat every row for each item; a row whose collection failed is kept, without an item."""
        codes, failed = self._value(collection)
        sound = np.flatnonzero(failed == 0)
        owners, items = each_item(self.work.codec, collection.type, codes[sound])
        rows = np.concatenate([sound[owners], np.flatnonzero(failed)])
        found = np.concatenate([items, np.zeros(len(rows) - len(items), np.int64)])
        self.rows, self.holds, self.failures = self.rows[rows], self.holds[rows], self.failures[rows]
        self.known = {name: column[rows] for name, column in self.known.items()}
        self.broken = {name: marks[rows] for name, marks in self.broken.items()}
        self.size = len(rows)
        bound = self.known.pop(variable.name, None)  # by the negated atom that drives the rule
        self.known[variable.name], self.broken[variable.name] = found, failed[rows]
        if bound is not None:
            same = bound == found
            if isinstance(variable.type, Option):
                same &= found != NONE
            self.holds &= same | (failed[rows] != 0)

    def _test(self, condition: Expr) -> None:
        codes, failed = self._value(condition)
        self.holds &= (codes != 0) | (failed != 0)

    def _value(self, expr: Expr) -> tuple[Codes, npt.NDArray[np.int32]]:
        outcome = self.work.evaluator.evaluate(expr, self.known, self.size, self.broken)
        failed = np.zeros(self.size, np.int32) if outcome.failures is None else outcome.failures
        self.failures = np.where(self.failures == 0, failed, self.failures)
        return outcome.codes, failed

    def _asked(self, variable: Var) -> Codes:
        """The values of a variable; none where it failed, which matches no negated atom."""
        type_ = _optional(variable.type)
        none = self.work.codec.encode(type_, None)
        codes = self.known[variable.name]
        broken = self.broken.get(variable.name)
        return codes if broken is None else np.where(broken != 0, none, codes)

    def problem(self, row: int) -> str | None:
        """Why a row has no head, with its known values, in the words of the local engine."""
        number = int(self.failures[row])
        if number == 0:
            return None
        remainder, codec = self.work.remainder, self.work.codec
        types = {
            **remainder.types,
            **{b.variable.name: b.variable.type for b in remainder.body if isinstance(b, Bind | Each)},
        }
        known = [
            f"{name} = {shown(codec.decode(types[name], int(codes[row])))}"
            for name, codes in self.known.items()
            if name[0] != "$" and not (name in self.broken and self.broken[name][row])
        ]
        where = f", where {', '.join(known)}" if known else ""
        return f"{self.work.evaluator.reason(number)}{where}, in the rule `{remainder.rule.origin}`"
