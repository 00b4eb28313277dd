"""Aggregates in the reference: standard ones, and those of the program, by their state.

The state takes the instances in the order of their values. One that fails waits and is tried again after the
others, as long as that helps any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.data.types import Type
from tidelog.data.values import Row, Value, order_key
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.folds import fold_of, part
from tidelog.program.typed import Aggregate, Call, Nested, Var
from tidelog.reference import aggregates
from tidelog.reference.evaluate import Failure, evaluate

__all__ = ["aggregate", "over_nothing"]

_Functions = Mapping[str, Function | PythonFunction]


def aggregate(what: Aggregate | Nested, rows: Sequence[Row], functions: _Functions) -> Value | Failure:
    """An aggregate over the values of its arguments, which are canonical."""
    function, types, result = what.function, tuple(a.type for a in what.args), what.result.type
    if fold_of(function) is None:
        return aggregates.aggregate(function, rows, types, result, distinct=what.distinct)
    start = evaluate(Call(part(function, "start"), (), result), {}, functions)
    if isinstance(start, Failure):
        return start
    waiting = list(set(rows)) if what.distinct else list(rows)
    waiting.sort(key=lambda row: [order_key(t, v) for t, v in zip(types, row, strict=True)])
    return _folded(part(function, "insert"), start, waiting, types, result, functions)


def _folded(
    insert: str,
    state: Value,
    waiting: list[Row],
    types: tuple[Type, ...],
    result: Type,
    functions: _Functions,
) -> Value | Failure:
    args = tuple(Var(f"x{i}", t) for i, t in enumerate(types))
    call = Call(insert, (Var("state", result), *args), result)
    while waiting:
        failed: list[Row] = []
        reason: Failure | None = None
        for row in waiting:
            found = evaluate(call, {"state": state, **{f"x{i}": v for i, v in enumerate(row)}}, functions)
            if isinstance(found, Failure):
                failed.append(row)
                reason = reason or found
            else:
                state = found
        if reason is not None and len(failed) == len(waiting):
            return reason
        waiting = failed
    return state


def over_nothing(function: str, result: Type, functions: _Functions) -> list[Value | Failure]:
    """The value of an aggregate over no instances, or no value."""
    if fold_of(function) is None:
        return aggregates.over_nothing(function, result)
    return [evaluate(Call(part(function, "start"), (), result), {}, functions)]
