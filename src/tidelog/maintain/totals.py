"""Maintenance of recursions with totals: by the instances that change, and the order of groups.

Contributions are kept as instances with exact counts, which need no ranks: that nothing depends on itself is
known from the order of groups. A changed row takes its old instances away and adds new ones, in groups of
later levels. The same step serves every strategy.

In the threshold form there is no order, and groups may depend on themselves. So a row that lost an instance
is deleted with everything that follows from it, before rows are derived again from what is left.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.maintain.bootstrap import first_round, follow
from tidelog.maintain.elastic import deletions, insertions, retreat
from tidelog.maintain.script import Accumulate, Clear, Derive, Mode, Repeat, Script, Step, Update
from tidelog.plan.flat import FlatRule, Stratum

__all__ = ["bootstrap_totals", "update_totals"]


def bootstrap_totals(stratum: Stratum) -> Script:
    relations = tuple(sorted(stratum.relations))
    entering = _derivations(first_round(stratum, Mode.INSERT))
    following = _derivations(follow(stratum, stratum.rules, Mode.INSERT))
    return Clear(relations), Accumulate(relations, (), (), entering, following, all=True)


def update_totals(
    stratum: Stratum, kept: tuple[FlatRule, ...], added: tuple[FlatRule, ...], removed: tuple[FlatRule, ...]
) -> Update:
    step = Accumulate(
        tuple(sorted(stratum.relations)),
        _derivations(deletions(stratum, kept, removed, Mode.REMOVE)),
        _derivations(retreat(stratum, kept)),
        _derivations(insertions(stratum, kept, added, Mode.INSERT)),
        _derivations(follow(stratum, (*kept, *added), Mode.INSERT)),
    )
    return (step,), (), ()


def _derivations(steps: Iterable[Step]) -> tuple[Derive, ...]:
    """The derivations among steps. Asserted facts are instances of rules here, and rounds end otherwise."""
    found: list[Derive] = []
    for step in steps:
        if isinstance(step, Derive):
            found.append(step)
        elif isinstance(step, Repeat):
            found += _derivations(step.steps)
    return tuple(found)
