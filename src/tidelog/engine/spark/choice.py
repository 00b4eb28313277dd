"""Where a unit runs, and why.

- *shuffled*: by joins of frames. Any unit can, and units without recursion do: they are one pass of joins.
- *tasks*: a recursion that passes some column through unchanged falls apart by that column's values. Each
  partition is then a recursion of its own, worked out whole by a local engine, with everything else that the
  rules read beside it. Recursive `min` and `max` always run in tasks, in a single one if no column passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Final, Literal, NamedTuple, TypeAlias

from tidelog.plan.flat import FlatRule, Unit
from tidelog.program.typed import Match, Var

__all__ = ["Placed", "Placement", "passed_through", "place"]

Placement: TypeAlias = Literal["tasks", "shuffled"]

_BESIDE: Final = 5_000_000  # rows that every task may be given in addition to its own
_TRIES: Final = 4096


class Placed(NamedTuple):
    where: Placement
    why: str


def place(unit: Unit, wanted: Placement | None, beside: int) -> Placed:
    """The place of a unit; `beside` are the rows that its recursion reads from below."""
    through = passed_through(unit)
    if unit.best:
        parts = "one" if through is None else "each partition on its own"
        return Placed("tasks", f"min and max in recursion are kept by local engines, {parts}")
    if not unit.rules or unit.grouping is not None or not unit.recursive:
        return Placed("shuffled", "it is not recursive")
    if wanted == "shuffled":
        return Placed("shuffled", "as asked")
    if through is None:
        return Placed("shuffled", "no column passes through its recursion unchanged")
    shown = ", ".join(f"column {column} of {name}" for name, column in sorted(through.items()))
    if wanted is None and beside > _BESIDE:
        return Placed("shuffled", f"its recursion reads {beside:,} rows, too many for every task")
    return Placed("tasks", f"its recursion passes {shown} through")


def passed_through(unit: Unit) -> Mapping[str, int] | None:
    """For each relation of a recursive unit a column whose value no recursive rule changes; None if not all.

    Whatever follows from a tuple then has the tuple's value in that column.
    """
    inner = [rule for rule in unit.rules if any(_inner(rule, unit))]
    if not inner:
        return None
    arity = {rule.head: len(rule.values) for rule in unit.rules}
    names = sorted(unit.relations)
    if any(not arity.get(name) for name in names):
        return None
    for columns in islice(product(*(range(arity[name]) for name in names)), _TRIES):
        chosen = dict(zip(names, columns, strict=True))
        if all(_passes(rule, unit, chosen) for rule in inner):
            return chosen
    return None


def _inner(rule: FlatRule, unit: Unit) -> Iterator[Match]:
    return (x for x in rule.body if isinstance(x, Match) and x.relation in unit.relations)


def _passes(rule: FlatRule, unit: Unit, columns: Mapping[str, int]) -> bool:
    value = rule.values[columns[rule.head]]
    return isinstance(value, Var) and all(
        atom.terms[columns[atom.relation]] == value for atom in _inner(rule, unit)
    )
