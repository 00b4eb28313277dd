"""Differential maintenance: derivations have weights at each iteration, and weight changes are propagated.

A tuple of a recursive stratum is inserted at the first iteration at which it has a derivation. A derivation
is one iteration later than the latest tuple of the stratum that it uses. So the state of a stratum is that of
differential dataflow: for each tuple and iteration, the number of derivations there.

A commit changes weights and treats insertions and deletions alike:

- First, with the stratum's own tuples unchanged, instances deleted by changes of lower strata are subtracted,
  and instances inserted by them are added.
- Then, iteration by iteration: tuples that no longer have a derivation there, or have an earlier one now, are
  deleted, and the instances that use them, which are all later, are subtracted. Tuples with a first
  derivation there are inserted, and the instances that use them are added.

Iterations before the current one are final, so no cycle keeps itself alive, and a tuple is processed only
where its derivations changed. Nothing needs re-deriving, because all remaining derivations of a tuple are
known. In a nonrecursive stratum all derivations are at one iteration, so plain counting is equivalent.
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
    deleted = deletions(stratum, kept, removed, Mode.SUBTRACT)
    return deleted, insertions(stratum, kept, added, Mode.ADD), _iterations(stratum)


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
