"""Elastic maintenance by well-founded support: delete, re-derive, insert.

Every tuple of a recursive stratum has a rank, and a count of the instances that support it: those whose
tuples of the same stratum all have lower ranks. Following supports downwards therefore terminates, so a tuple
whose count falls to zero is no longer supported, even if it is part of a cycle. Only such suspects are
re-examined, and an insertion never changes the rank of an existing tuple.

- *Delete*: lower strata change from OLD to MIDDLE. The first delta consists of the tuples deleted below,
  removed rules and retracted facts. A head that loses its last support becomes a suspect and enters the next
  delta.
- *Re-derive*: for suspects only, count the instances over the remaining state. In a nonrecursive stratum
  every instance supports its head, so a count of zero means that there is none, and the step is omitted. An
  engine that knows the same about a suspect of another stratum may skip it.
- *Insert*: lower strata change from MIDDLE to NEW. The first delta consists of the tuples inserted below,
  added rules and asserted facts, and the re-derived suspects.
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
    """The deletion phase. `removed` are rules of the old program only, `kept` rules of both programs."""
    end = EndRound(tuple(sorted(stratum.relations)), Mode.REMOVE)
    return (*deletions(stratum, kept, removed, mode), end, *retreat(stratum, kept, mode))


def deletions(
    stratum: Stratum, kept: tuple[FlatRule, ...], removed: tuple[FlatRule, ...], mode: Mode
) -> Script:
    """All instances deleted by changes of lower strata, rules and asserted facts, each once."""
    relations = tuple(sorted(stratum.relations))
    steps: list[Step] = [Assertions(relations, mode)]
    for rule in removed:  # a removed rule loses all its old instances
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
    """The rounds of a deletion that follow from deltas of the stratum itself; each deletes its delta."""
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
    """Count the remaining instances of suspects; those that have any are inserted again."""
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
    """The insertion phase. `added` are rules of the new program only."""
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
    """All instances inserted by changes of lower strata, rules and asserted facts, each once."""
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
    """The views of a rule's literals: `before` and `after` the driver, each for lower strata and its own."""
    return tuple(
        at if j == driver else (before if j < driver else after)[j in own] for j in range(len(rule.body))
    )


def rederivation(rule: FlatRule, value_column: int | None = None) -> FlatRule:
    """The rule with its head as the first atom of its body, to find the instances of given heads.

    Without the value column, it finds the instances of given keys.
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
            # compared by identity, so that `none` equals `none`
            tests.append(Test(Binary("is", head, value, BOOL)))
    body = (Match(rule.head, tuple(terms)), *rule.body, *tests)
    role = Role.REDERIVE if value_column is None else Role.BY_KEY
    return replace(rule, body=body, role=role)
