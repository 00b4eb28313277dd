"""Maintenance of strata that keep the best value per key: first the values, then their support.

A tuple is a key with its best value. An instance supports its head if it has the head's value and its tuples
of the same stratum have lower ranks. So losing one of two equally good derivations only lowers the count.

- *Delete* as in any stratum; suspects have lost all derivations of their value.
- *Improve*: find the best values of the keys of suspects, and of all keys with better candidates, by values
  alone.
- *Delete again*: the tuples of keys with a better value are deleted. Tuples that only they supported keep
  their value and need another rank.
- *Settle*: re-derivation and insertion give ranks to the tuples that need one. A tuple that they cannot
  reach, because it depends on superseded values, supports nothing and is a suspect in every commit.

If all rules are strict (see `plan.strictness`), heads that a superseded tuple supported get better values,
too, and are counted again. So values, ranks and counts are found together, by the same steps as in any other
stratum, with two differences: suspects are re-derived by their keys, and a better head replaces the tuple of
its key.
"""

from __future__ import annotations

from tidelog.maintain.bootstrap import bootstrap, growth
from tidelog.maintain.elastic import delete, insert, insertions, rederivation, rederive, retreat
from tidelog.maintain.script import (
    Aim,
    Assertions,
    Clear,
    Compare,
    Conclude,
    Derive,
    Doubt,
    EndRound,
    Improve,
    Mode,
    Rest,
    Script,
    Step,
    Update,
    View,
)
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.plan.strictness import is_strict
from tidelog.program.typed import Match

__all__ = ["bootstrap_best", "update_best"]


def bootstrap_best(stratum: Stratum, *, ranked: bool) -> Script:
    """Evaluate a stratum from nothing; without ranks if it is never updated."""
    relations = tuple(sorted(stratum.relations))
    if is_strict(stratum):
        clear, *steps = bootstrap(stratum, Mode.REPLACE)
        return (clear, Compare(relations, all=True), *steps, Conclude(relations, stratum.rules))
    values = (Clear(relations), Improve(relations, stratum.rules, all=True), Aim(relations))
    settling = bootstrap(stratum, Mode.SETTLE)[1:] if ranked else ()
    return (*values, *settling, Rest(relations))


def update_best(
    stratum: Stratum,
    kept: tuple[FlatRule, ...],
    added: tuple[FlatRule, ...],
    removed: tuple[FlatRule, ...],
    mode: Mode = Mode.REMOVE,
) -> Update:
    relations = tuple(sorted(stratum.relations))
    if is_strict(stratum):
        grown = growth(stratum, (*kept, *added), Mode.REPLACE)
        entering = (*insertions(stratum, kept, added, Mode.REPLACE), EndRound(relations, Mode.REPLACE))
        return (
            (Doubt(relations), *delete(stratum, kept, removed, mode)),
            (Compare(relations), *_rederive_keys(stratum, kept)),
            (*entering, *grown, Conclude(relations, stratum.rules)),
        )
    values: Script = (Improve(relations, kept, added), EndRound(relations, Mode.REMOVE))
    return (
        (Doubt(relations), *delete(stratum, kept, removed, mode), *values, *retreat(stratum, kept, mode)),
        (Aim(relations), *rederive(stratum, kept)),
        (*insert(stratum, kept, added, Mode.SETTLE), Rest(relations)),
    )


def _rederive_keys(stratum: Stratum, kept: tuple[FlatRule, ...]) -> Script:
    """Find the best of the remaining instances with the keys of suspects, and count them.

    What is found is not in the state until the end of the round that the insertion begins with.
    """
    relations, best = tuple(sorted(stratum.relations)), dict(stratum.best)
    steps: list[Step] = [Assertions(relations, Mode.REPLACE, again=True)]
    for rule in kept:
        turned = rederivation(rule, best[rule.head].column)
        views = tuple(
            View.FULL if isinstance(x, Match) and x.relation in stratum.relations else View.MIDDLE
            for x in turned.body[1:]
        )
        steps.append(Derive(turned, 0, (View.SUSPECTS, *views), Mode.REPLACE))
    return tuple(steps)
