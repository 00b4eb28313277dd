"""Elastic maintenance by well-founded support: delete, re-derive, insert.

Every tuple of a recursive unit has a rank, and a count of the instances that support it: those whose tuples
of the same unit all rank below it. Following supports downwards therefore ends, so a tuple whose count falls
to zero has lost its ground, whatever cycle it is in; only such suspects are re-examined, and an insertion
never moves a tuple that is there.

- *Delete*: what is below goes from OLD to MIDDLE. The first round's delta is all that leaves below, rules
  and assertions that go; a head that loses its last support is a suspect and in the next delta.
- *Re-derive*: for suspects only, count the instances over what remains. In a unit that is not recursive every
  instance supports its head, so a count of zero says that there is none, and the step is left out; an engine
  that knows the same of a suspect of another unit may pass it over.
- *Insert*: what is below goes from MIDDLE to NEW. The first round's delta is all that enters below, rules
  and assertions that come, and the suspects that came back.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.data.types import BOOL
from tidelog.maintain.bootstrap import atoms, growth, inner
from tidelog.maintain.script import Assertions, Derive, EndRound, Mode, Repeat, Script, Step, Update, View
from tidelog.plan.flat import FlatRule, Role, Stratum
from tidelog.program.typed import Binary, Match, Term, Test, Var, Wildcard

__all__ = [
    "delete",
    "deletions",
    "insert",
    "insertions",
    "rederivation",
    "rederive",
    "retreat",
    "update_elastic",
]


def update_elastic(
    stratum: Stratum, kept: tuple[FlatRule, ...], added: tuple[FlatRule, ...], removed: tuple[FlatRule, ...]
) -> Update:
    again = rederive(stratum, kept) if stratum.recursive else ()
    return delete(stratum, kept, removed), again, insert(stratum, kept, added)


def delete(
    stratum: Stratum, kept: tuple[FlatRule, ...], removed: tuple[FlatRule, ...], mode: Mode = Mode.REMOVE
) -> Script:
    """`gone` are rules that were there before, `kept` those that were and still are."""
    end = EndRound(tuple(sorted(stratum.relations)), Mode.REMOVE)
    return (*deletions(stratum, kept, removed, mode), end, *retreat(stratum, kept, mode))


def deletions(
    stratum: Stratum, kept: tuple[FlatRule, ...], removed: tuple[FlatRule, ...], mode: Mode
) -> Script:
    """All instances that leave with what is below, with rules and with assertions, each once."""
    relations = tuple(sorted(stratum.relations))
    steps: list[Step] = [Assertions(relations, mode)]
    for rule in removed:  # the guard of a removed rule comes first: all else is as it was
        views = tuple(
            View.FULL if isinstance(x, Match) and x.relation in stratum.relations else View.OLD
            for x in rule.body
        )
        steps.append(Derive(rule, None, views, mode))
    for rule in kept:
        own = set(inner(rule, stratum))
        for i in atoms(rule):
            if i not in own:
                views = _views(rule, own, i, View.DELETED, (View.MIDDLE, View.REST), (View.OLD, View.FULL))
                steps.append(Derive(rule, i, views, mode))
    return tuple(steps)


def retreat(stratum: Stratum, kept: tuple[FlatRule, ...], mode: Mode = Mode.REMOVE) -> Script:
    """The rounds of a deletion that follow from a delta of the unit itself; at their ends it goes."""
    relations = tuple(sorted(stratum.relations))
    rounds: list[Step] = []
    for rule in kept:
        own = set(inner(rule, stratum))
        for i in own:
            views = _views(rule, own, i, View.DELTA, (View.MIDDLE, View.REST), (View.MIDDLE, View.FULL))
            rounds.append(Derive(rule, i, views, mode))
    end = EndRound(relations, Mode.REMOVE)
    return (Repeat(relations, (*rounds, end)),) if rounds else (end,)


def rederive(stratum: Stratum, kept: tuple[FlatRule, ...]) -> Script:
    """Count what the suspects still have; those that have anything come back."""
    relations = tuple(sorted(stratum.relations))
    steps: list[Step] = [Assertions(relations, Mode.REDERIVE)]
    for rule in kept:
        turned = rederivation(rule)
        views = tuple(
            View.FULL if isinstance(x, Match) and x.relation in stratum.relations else View.MIDDLE
            for x in turned.body[1:]
        )
        steps.append(Derive(turned, 0, (View.SUSPECTS, *views), Mode.REDERIVE))
    return (*steps, EndRound(relations, Mode.REDERIVE))


def insert(
    stratum: Stratum, kept: tuple[FlatRule, ...], added: tuple[FlatRule, ...], mode: Mode = Mode.INSERT
) -> Script:
    """`came` are rules that were not there before."""
    own = tuple(
        Derive(rule, i, _inserted(rule, stratum, i, View.DELTA), mode)
        for rule in kept
        for i in inner(rule, stratum)
    )
    end = EndRound(tuple(sorted(stratum.relations)), mode)
    return (*insertions(stratum, kept, added, mode), *own, end, *growth(stratum, (*kept, *added), mode))


def insertions(
    stratum: Stratum, kept: tuple[FlatRule, ...], added: tuple[FlatRule, ...], mode: Mode
) -> Script:
    """All instances that enter with what is below, with rules and with assertions, each once."""
    relations = tuple(sorted(stratum.relations))
    steps: list[Step] = [Assertions(relations, mode)]
    for rule in added:
        views = tuple(
            View.FULL if isinstance(x, Match) and x.relation in stratum.relations else View.NEW
            for x in rule.body
        )
        steps.append(Derive(rule, None, views, mode))
    for rule in kept:
        own = set(inner(rule, stratum))
        steps += (
            Derive(rule, i, _inserted(rule, stratum, i, View.INSERTED), mode)
            for i in atoms(rule)
            if i not in own
        )
    return tuple(steps)


def _inserted(rule: FlatRule, stratum: Stratum, driver: int, at: View) -> tuple[View, ...]:
    own = set(inner(rule, stratum))
    return _views(rule, own, driver, at, (View.MIDDLE, View.REST), (View.NEW, View.FULL))


def _views(
    rule: FlatRule,
    own: set[int],
    driver: int,
    at: View,
    before: tuple[View, View],
    after: tuple[View, View],
) -> tuple[View, ...]:
    """The views of a rule's literals; `before` and `after` the driver, below the unit and inside it."""
    return tuple(
        at if j == driver else (before if j < driver else after)[j in own] for j in range(len(rule.body))
    )


def rederivation(rule: FlatRule, value_column: int | None = None) -> FlatRule:
    """The rule with its head as the first atom of its body, so that it is asked about given heads.

    With a column left out, it is asked about given keys.
    """
    terms: list[Term] = []
    tests: list[Test] = []
    matched = {t.name for x in rule.body if isinstance(x, Match) for t in x.terms if isinstance(t, Var)}
    for i, value in enumerate(rule.values):
        if i == value_column:
            terms.append(Wildcard())
        elif isinstance(value, Var) and value.name in matched:
            matched.discard(value.name)  # a second column with the same variable is compared
            terms.append(value)
        else:
            head = Var(f"$head{i}", value.type)
            terms.append(head)
            # compared as elements, so that none is none
            tests.append(Test(Binary("is", head, value, BOOL)))
    body = (Match(rule.head, tuple(terms)), *rule.body, *tests)
    role = Role.REDERIVE if value_column is None else Role.BY_KEY
    return replace(rule, body=body, role=role)
