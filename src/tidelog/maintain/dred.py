"""Delete and re-derive: whatever may have lost its ground goes, and what still follows comes back.

- *Over-delete*: what is below goes from OLD to MIDDLE, and every head of an instance that used something that
  leaves is a suspect, in rounds, whatever else it follows from.
- *Re-derive*: suspects that follow from what remains come back.
- *Insert*: what is below goes from MIDDLE to NEW; what enters, and what came back, is the first delta.

No state is needed beside the tuples; a deletion costs what followed from what was deleted, which in a
recursion with many ways may be nearly all of it. Ranks and counts stay right all the same: a tuple that is no
suspect has lost no instance, and the others are counted anew. So groups have the weights of their rows.
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
