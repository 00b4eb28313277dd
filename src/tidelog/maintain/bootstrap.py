"""Bootstrap: semi-naive evaluation of a stratum from nothing. `recompute` does this on every commit.

The first round derives what follows from asserted facts and lower strata. Each later round derives what
follows from the delta of the round before. Each instance is found once: at the literal that matches the
delta, the literals before it range over the state without the delta, and those after it over the state with
it.
"""

from __future__ import annotations

from tidelog.maintain.script import Assertions, Clear, Derive, EndRound, Mode, Repeat, Script, Step, View
from tidelog.plan.flat import FlatRule, Stratum
from tidelog.program.typed import Absent, Match

__all__ = ["atoms", "bootstrap", "first_round", "follow", "growth", "inner"]


def bootstrap(stratum: Stratum, mode: Mode = Mode.INSERT) -> Script:
    relations = tuple(sorted(stratum.relations))
    end = EndRound(relations, mode)
    return (Clear(relations), *first_round(stratum, mode), end, *growth(stratum, stratum.rules, mode))


def first_round(stratum: Stratum, mode: Mode) -> Script:
    """Asserted facts, and what follows from lower strata alone."""
    steps: list[Step] = [Assertions(tuple(sorted(stratum.relations)), mode, all=True)]
    for rule in stratum.rules:
        if not inner(rule, stratum):
            steps.append(Derive(rule, None, (View.NEW,) * len(rule.body), mode))
    return tuple(steps)


def growth(stratum: Stratum, rules: tuple[FlatRule, ...], mode: Mode = Mode.INSERT) -> Script:
    """The rounds after the first one, once all lower strata are final."""
    relations = tuple(sorted(stratum.relations))
    steps = follow(stratum, rules, mode)
    return (Repeat(relations, (*steps, EndRound(relations, mode))),) if steps else ()


def follow(stratum: Stratum, rules: tuple[FlatRule, ...], mode: Mode) -> Script:
    """What follows from the delta of the stratum itself, each instance once."""
    return tuple(
        Derive(rule, i, _semi_naive(rule, stratum, i), mode) for rule in rules for i in inner(rule, stratum)
    )


def _semi_naive(rule: FlatRule, stratum: Stratum, driver: int) -> tuple[View, ...]:
    own = set(inner(rule, stratum))
    return tuple(
        View.NEW if j not in own else View.DELTA if j == driver else View.REST if j < driver else View.FULL
        for j in range(len(rule.body))
    )


def atoms(rule: FlatRule) -> tuple[int, ...]:
    """The positions of a rule's atoms, negated or not."""
    return tuple(i for i, x in enumerate(rule.body) if isinstance(x, Match | Absent))


def inner(rule: FlatRule, stratum: Stratum) -> tuple[int, ...]:
    """The positions of the atoms over relations of the stratum itself, which are never negated."""
    return tuple(
        i for i, x in enumerate(rule.body) if isinstance(x, Match) and x.relation in stratum.relations
    )
