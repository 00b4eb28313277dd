"""Differential maintenance: derivations have weights, for each iteration, and a change of them is propagated.

A tuple of a recursive unit comes at the first iteration at which it has a derivation, and a derivation is one
iteration later than the latest of the unit's own tuples that it uses. So the state of a unit is what
differential dataflow keeps: for each tuple and iteration, how many derivations came there.

A commit changes weights, and treats what comes and what goes alike:

- First the instances that leave with what is below are taken away and those that enter are added; the unit's
  own tuples are as they were.
- Then, iteration by iteration: tuples that no longer come there, or that come sooner, leave and take away
  the instances that use them, all of which are later; tuples that come there get their place and add theirs.

Iterations before the one at work are final, so no cycle keeps itself alive, and a tuple is looked at only
where its derivations changed. There is nothing to re-derive: what a tuple still has is known. In a unit that
is not recursive all derivations are at one iteration, and counting up and down is the same thing.
"""

from __future__ import annotations

from tidelog.maintain.bootstrap import first_round, follow
from tidelog.maintain.elastic import deletions, insertions
from tidelog.maintain.script import Arrive, Clear, Depart, EndRound, Examine, Iterate, Mode, Script, Update
from tidelog.plan.flat import FlatRule, Stratum

__all__ = ["bootstrap_differential", "update_differential"]


def bootstrap_differential(stratum: Stratum) -> Script:
    cleared = Clear(tuple(sorted(stratum.relations)), traced=True)
    return (cleared, *first_round(stratum, Mode.ADD), *_iterations(stratum))


def update_differential(
    stratum: Stratum, kept: tuple[FlatRule, ...], added: tuple[FlatRule, ...], removed: tuple[FlatRule, ...]
) -> Update:
    went = deletions(stratum, kept, removed, Mode.SUBTRACT)
    return went, insertions(stratum, kept, added, Mode.ADD), _iterations(stratum)


def _iterations(stratum: Stratum) -> Script:
    relations = tuple(sorted(stratum.relations))
    steps = (
        Depart(relations),
        *follow(stratum, stratum.rules, Mode.SUBTRACT),
        Arrive(relations),
        *follow(stratum, stratum.rules, Mode.ADD),
        EndRound(relations, Mode.ADD),
    )
    return Iterate(relations, steps), Examine(stratum.rules)
