"""Units that keep the best value per key: the values first, then what supports them.

A tuple is a key with its best value. An instance supports its head if its value is the head's and its tuples
of the same unit rank below it; so losing one of two equally good derivations is one count less, no more.

- *Delete* as in any unit; suspects have lost all that gave them their value.
- *Improve*: the best values of the keys of suspects, and of all that got better, on values alone.
- *Delete again*: the tuples of keys that got a better value leave; what only they supported keeps its value
  and needs another rank.
- *Settle*: tuples without a rank are what re-derivation and insertion aim at. One that they cannot reach,
  since it rests on values that were superseded, supports nothing, and is a suspect in every commit.
"""

from __future__ import annotations

from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.elastic import delete, insert, rederive, retreat
from tidelog.maintain.script import Aim, Clear, Doubt, EndRound, Improve, Mode, Rest, Script, Update
from tidelog.plan.flat import FlatRule, Stratum

__all__ = ["bootstrap_best", "update_best"]


def bootstrap_best(stratum: Stratum, *, ranked: bool) -> Script:
    """From nothing; without ranks if no update will ask for them."""
    relations = tuple(sorted(stratum.relations))
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
    values: Script = (Improve(relations, kept, added), EndRound(relations, Mode.REMOVE))
    return (
        (Doubt(relations), *delete(stratum, kept, removed, mode), *values, *retreat(stratum, kept, mode)),
        (Aim(relations), *rederive(stratum, kept)),
        (*insert(stratum, kept, added, Mode.SETTLE), Rest(relations)),
    )
