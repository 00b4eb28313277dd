"""Standard functions that take closures, on whole columns.

The items of all collections are put into one column, beside which the variables around the closure are
repeated. The body of a closure is evaluated once on these columns. `fold` does so for one position after the
other, in the rows whose collections have it. A row fails where the first of its items fails that the function
tries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.codes.pools import lengths_to_starts
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.expressions.scopes import Name, Scope, Selection
from tidelog.engine.local.expressions.vectors import Failures, Vector, distinct, first_failures
from tidelog.program.traversal import variables
from tidelog.program.typed import Call, Expr, Lambda

__all__ = ["TAKE_CLOSURES", "Closures"]

_Evaluate: TypeAlias = Callable[[Expr, Scope], Vector]


class Closures:
    """Evaluates calls with closures; `evaluate` evaluates an expression in a scope."""

    def __init__(self, codec: Codec, evaluate: _Evaluate) -> None:
        self._codec = codec
        self._evaluate = evaluate

    def call(self, call: Call, scope: Scope) -> Vector:
        arguments = [self._evaluate(a, scope) for a in call.args]
        failed = first_failures(arguments)
        if failed is None:
            return self._apply(call, arguments, scope)
        everywhere = np.array(np.broadcast_to(failed, scope.size))
        outside = Vector(np.zeros(scope.size, np.int64), everywhere)
        rows = np.flatnonzero(everywhere == 0)
        if not len(rows):
            return outside
        sound = [Vector(v.codes if len(v) == 1 else v.codes[rows]) for v in arguments]
        return outside.put(rows, self._apply(call, sound, Selection(rows).part(scope)), scope.size)

    def _apply(self, call: Call, arguments: Sequence[Vector], scope: Scope) -> Vector:
        """The value of a call, once for distinct arguments if the closure uses nothing else."""
        run = TAKE_CLOSURES[call.function]
        if any(map(_free, call.closures)):
            codes = [np.array(np.broadcast_to(a.codes, scope.size)) for a in arguments]
            return run(self, call, codes, scope)
        varying = [a.codes for a in arguments if len(a) > 1]
        if not varying:
            return run(self, call, [a.codes for a in arguments], Scope({}, 1))
        rows, places = distinct(varying)
        codes = [np.array(np.broadcast_to(a.take(rows).codes, len(rows))) for a in arguments]
        found = run(self, call, codes, Scope({}, len(rows)))
        return Vector(found.codes[places], None if found.failures is None else found.failures[places])

    def _items(self, type_: Type, codes: Codes) -> tuple[Codes, Codes]:
        """The items of vecs, and for each the row that it belongs to."""
        rows = self._codec.pool(type_).items(codes)
        assert rows.starts is not None
        return rows.content, np.repeat(np.arange(len(codes)), np.diff(rows.starts))

    def _body(self, closure: Lambda, items: Sequence[Codes], rows: Codes, scope: Scope) -> Vector:
        """The body of a closure, with these values of its parameters and the rows of a scope for the rest."""
        inner: Scope = Selection(rows).part(scope)
        for parameter, codes in zip(closure.parameters, items, strict=True):
            inner = inner.where(parameter.name, Name(None, None, Vector(codes)))
        found = self._evaluate(closure.body, inner)
        codes = np.array(np.broadcast_to(found.codes, len(rows)))
        failures = None if found.failures is None else np.array(np.broadcast_to(found.failures, len(rows)))
        return Vector(codes, failures)

    # -- functions

    def _map(self, call: Call, arguments: Sequence[Codes], scope: Scope) -> Vector:
        items, owners = self._items(call.args[0].type, arguments[0])
        found = self._body(call.closures[0], [items], owners, scope)
        return self._collected(call, found, np.ones(len(items), np.bool_), found.codes, owners, scope.size)

    def _filter(self, call: Call, arguments: Sequence[Codes], scope: Scope) -> Vector:
        items, owners = self._items(call.args[0].type, arguments[0])
        found = self._body(call.closures[0], [items], owners, scope)
        return self._collected(call, found, found.codes != 0, items, owners, scope.size)

    def _collected(
        self, call: Call, tried: Vector, kept: Codes, items: Codes, owners: Codes, size: int
    ) -> Vector:
        """Vecs of the items that are kept, in the rows in which no item failed."""
        failures = None if tried.failures is None else _first(tried.failures, owners, size)
        if failures is not None:
            kept = kept & (failures[owners] == 0)
        lengths = np.bincount(owners[kept], minlength=size).astype(np.int64)
        rows = Rows(np.ascontiguousarray(items[kept]), lengths_to_starts(lengths))
        return Vector(self._codec.pool(call.type).from_items(rows), failures)

    def _any(self, call: Call, arguments: Sequence[Codes], scope: Scope) -> Vector:
        return self._decided(call, arguments, scope, 1)

    def _all(self, call: Call, arguments: Sequence[Codes], scope: Scope) -> Vector:
        return self._decided(call, arguments, scope, 0)

    def _decided(self, call: Call, arguments: Sequence[Codes], scope: Scope, decisive: int) -> Vector:
        """The decisive value if an item has it; the first item that has it, or fails, counts."""
        items, owners = self._items(call.args[0].type, arguments[0])
        found = self._body(call.closures[0], [items], owners, scope)
        failed = np.zeros(len(items), np.int32) if found.failures is None else found.failures
        decides = np.flatnonzero((failed != 0) | ((found.codes != 0) == decisive))
        rows, firsts = np.unique(owners[decides], return_index=True)
        codes, failures = np.full(scope.size, 1 - decisive), np.zeros(scope.size, np.int32)
        codes[rows], failures[rows] = decisive, failed[decides[firsts]]
        return Vector(codes, failures if failures.any() else None)

    def _fold(self, call: Call, arguments: Sequence[Codes], scope: Scope) -> Vector:
        vecs, results = arguments[0], arguments[1].copy()
        pool = self._codec.pool(call.args[0].type)
        rows = pool.items(vecs)
        assert rows.starts is not None
        starts, lengths = rows.starts, np.diff(rows.starts)
        failures = np.zeros(scope.size, np.int32)
        position, going = 0, np.flatnonzero(lengths > 0)
        while len(going):
            items = rows.content[starts[going] + position]
            found = self._body(call.closures[0], [results[going], items], going, scope)
            results[going] = found.codes
            if found.failures is not None:
                failures[going] = found.failures
            position += 1
            going = going[(lengths[going] > position) & (failures[going] == 0)]
        return Vector(results, failures if failures.any() else None)


TAKE_CLOSURES: Final[Mapping[str, Callable[[Closures, Call, Sequence[Codes], Scope], Vector]]] = {
    "map": Closures._map,
    "filter": Closures._filter,
    "any": Closures._any,
    "all": Closures._all,
    "fold": Closures._fold,
}


def _first(failures: Failures, owners: Codes, size: int) -> Failures:
    """For each row, the failure of the first item that failed, or 0."""
    failed = np.flatnonzero(failures)
    rows, firsts = np.unique(owners[failed], return_index=True)
    found = np.zeros(size, np.int32)
    found[rows] = failures[failed[firsts]]
    return found


def _free(closure: Lambda) -> bool:
    """Whether a closure uses variables around it."""
    own = {p.name for p in closure.parameters}
    return any(v.name not in own for v in variables(closure.body))
