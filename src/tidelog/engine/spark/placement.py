"""Where a stratum runs, and why.

- *driver*: a local engine in the driver, if the stratum and what it reads have few rows.
- *tasks*: a recursion that passes some column through unchanged can be divided by that column's values. Each
  partition is then a recursion of its own, maintained by a local engine in a task, which also gets everything
  else that the rules read. All recursions under strategies that only local engines support run in tasks or in
  the driver: in a single task if no column passes through. Recursive `sum` and `count` run in a single task
  or in the driver; their groups are ordinary recursions.
- *shuffled*: local engines in tasks that send each other what they find, if the tuples that a recursion joins
  can be brought together (see `routes`); otherwise joins of frames. Every stratum without recursive
  aggregates can be shuffled. Large strata without recursion are, because they need only one pass of joins.
  Recursive `min` and `max` are shuffled if tasks can send each other what they find; small ones need not,
  since a single task is faster up to some size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Final, Literal, NamedTuple, TypeAlias

from tidelog.engine.spark.partitions.routes import BESIDE
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.typed import Match, Var

__all__ = ["Placed", "Placement", "Sizes", "passed_through", "place"]

Placement: TypeAlias = Literal["driver", "tasks", "shuffled"]

_ALONE: Final = 2_000_000  # rows up to which a single task is faster than several that exchange tuples
_TRIES: Final = 4096


class Placed(NamedTuple):
    """`sends` says that tasks should send each other what they find, if routes exist for that."""

    where: Placement
    why: str
    sends: bool = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of rows: of the stratum and its seeds, and of what its recursion reads from below."""

    own: int
    beside: int


def place(
    stratum: Stratum,
    wanted: Placement | None,
    sizes: Sizes,
    *,
    whole: bool,
    room: int,
    sends: bool = False,
    sent: bool = False,
) -> Placed:
    """The place of a stratum.

    With `whole`, every recursion runs on local engines. `room` is the number of rows that fit in the driver.
    With `sends`, tasks can send each other what they find; with `sent`, they did so in the last commit.
    """
    if not stratum.rules or stratum.grouping is not None:
        return Placed("shuffled", "it is not recursive")
    rows = sizes.own + sizes.beside
    if wanted is None and rows <= room:
        return Placed("driver", f"it and what it reads have {rows:,} rows")
    if not stratum.recursive:
        return Placed("shuffled", "it is not recursive")
    through = passed_through(stratum)
    if through is not None and (wanted == "tasks" or (wanted is None and sizes.beside <= BESIDE)):
        shown = ", ".join(f"column {column} of {name}" for name, column in sorted(through.items()))
        return Placed("tasks", f"its recursion passes {shown} through")
    beside = f"its recursion reads {sizes.beside:,} rows, too many to send to every task"
    apart = "no column passes through its recursion unchanged" if through is None else beside
    if stratum.best and sends and not whole and sizes.beside <= BESIDE and through is not None:
        sends = False  # the column that passes through divides it
    if stratum.best and sends and not whole and (wanted == "shuffled" or sent or rows > _ALONE):
        return Placed("shuffled", f"{apart}; tasks send each other what they find", True)
    if stratum.best or stratum.totals or whole:
        what = "recursive min and max need" if stratum.best else "the strategy needs"
        what = "recursive sum and count need" if stratum.totals else what
        parts = "in a single task" if through is None else "one for each partition"
        return Placed("tasks", f"{what} local engines, {parts}")
    how = "tasks send each other what they find" if sends else "by joins"
    return Placed("shuffled", f"{'as requested' if wanted == 'shuffled' else apart}; {how}", sends)


def passed_through(stratum: Stratum) -> Mapping[str, int] | None:
    """For each relation of a recursion, a column that no recursive rule changes; None if one has none.

    Every tuple derived from a tuple then has the same value in that column.
    """
    inner = [rule for rule in stratum.rules if any(_inner(rule, stratum))]
    if not inner:
        return None
    arity = {rule.head: len(rule.values) for rule in stratum.rules}
    names = sorted(stratum.relations)
    if any(not arity.get(name) for name in names):
        return None
    for columns in islice(product(*(range(arity[name]) for name in names)), _TRIES):
        chosen = dict(zip(names, columns, strict=True))
        if all(_passes(rule, stratum, chosen) for rule in inner):
            return chosen
    return None


def _inner(rule: FlatRule, stratum: Stratum) -> Iterator[Match]:
    return (x for x in rule.body if isinstance(x, Match) and x.relation in stratum.relations)


def _passes(rule: FlatRule, stratum: Stratum, columns: Mapping[str, int]) -> bool:
    value = rule.values[columns[rule.head]]
    return isinstance(value, Var) and all(
        atom.terms[columns[atom.relation]] == value for atom in _inner(rule, stratum)
    )
