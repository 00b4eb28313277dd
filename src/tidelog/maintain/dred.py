"""Delete and re-derive (DRed): delete all that may have lost a derivation, then re-insert what still follows.

- *Over-delete*: lower strata change from OLD to MIDDLE. In rounds, every head of an instance that used a
  deleted tuple becomes a suspect, even if it has other derivations.
- *Re-derive*: suspects that follow from the remaining state are inserted again.
- *Insert*: lower strata change from MIDDLE to NEW. The first delta consists of inserted and re-derived
  tuples.

No state is needed besides the tuples. The cost of a deletion depends on everything derived from the deleted
tuples, which can be most of a recursive relation with many alternative derivations. Ranks and counts stay
correct: tuples that are not suspects have lost no instance, and suspects are counted again. So groups have
correct weights.
"""

from __future__ import annotations

from tidelog.maintain.elastic import delete, insert, rederive
from tidelog.maintain.script import Mode, Update
from tidelog.plan.flat import FlatRule, Stratum

__all__ = ["update_dred"]


def update_dred(
    stratum: Stratum, kept: tuple[FlatRule, ...], added: tuple[FlatRule, ...], removed: tuple[FlatRule, ...]
) -> Update:
    return (
        delete(stratum, kept, removed, Mode.OVERDELETE),
        rederive(stratum, kept),
        insert(stratum, kept, added),
    )
