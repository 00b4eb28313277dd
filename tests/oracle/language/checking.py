"""A case on sessions, compared with the model after each step: `difference` says what first differs.

Everything a user can see is compared: how the transaction ended, its changes and those that a preview told,
contents of every relation and what of them is asserted, what subscribers heard until they cancelled, and
what a query of each rule's body finds. Rows are compared by how they are written, so that -0.0, True or a
decimal of another scale differ.
"""

from __future__ import annotations

import decimal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

from oracle.language import host
from oracle.language.case import (
    Action,
    AddRule,
    Case,
    Clear,
    Delete,
    DeleteKeys,
    Insert,
    RemoveRule,
    Replace,
    RuleText,
    Step,
    Upsert,
)
from oracle.language.libraries import taken_back
from oracle.language.model import MAX_ROUNDS, Change, Contents, Outcome, outcomes
from tidelog.data.structs import Struct
from tidelog.engine.limits import Limits
from tidelog.engine.local.dense import matrix as bits
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError, ProgramError, TidelogError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import Draft
from tidelog.session.session import Session

__all__ = [
    "NAMES",
    "Opened",
    "Report",
    "Subject",
    "act",
    "difference",
    "names_for",
    "open_local",
    "shown",
]

Opened = Callable[[Case, str], Any]  # a session with the case's program, by a name such as a strategy's
Report = Counter[str]
Shown = list[str]

_CONTEXTS: Mapping[str, decimal.Context] = {
    "default": decimal.Context(),
    "short": decimal.Context(prec=3, rounding=decimal.ROUND_UP),
    "trapping": decimal.Context(prec=2, traps=[decimal.Inexact, decimal.FloatOperation]),
    "ceiling": decimal.Context(prec=6, rounding=decimal.ROUND_CEILING, Emax=9, Emin=-9),
}


NAMES = (*STRATEGIES, "updating", "dense")
_DENSE_ROWS = 4
CANCELS_AT = 3  # the step before which the last subscription ends


def names_for(seed: int) -> tuple[str, ...]:
    """Every strategy; elastic, the default, in one of its three ways."""
    elastic = ("elastic", "updating", "dense", "updating")[seed % 4]
    return (elastic, *(s for s in STRATEGIES if s != "elastic"))


def open_local(case: Case, name: str) -> Any:
    """A session in this process, by the name of a strategy, or elastic in another way.

    "updating" never gives an update up for a bootstrap; "dense" keeps closures as bits, however small.
    """
    limits = Limits(max_iterations=MAX_ROUNDS)
    try:
        if name != "updating":
            return Session(_draft(case.text), "elastic" if name == "dense" else name, limits)
        session = Session(host.draft(), "elastic", limits)
        _never_switch(session)
        with session.transaction() as tx:
            tx.load(case.text)
    except EngineError as error:
        _expect_stored(error)
        raise
    return session


@lru_cache(maxsize=4)
def _draft(text: str) -> Draft:
    """The program of a text, which several sessions begin with."""
    draft = host.draft()
    draft.load(text)
    return draft


def _never_switch(session: Any) -> None:
    commits = session._state.commits
    commits.scheduler = Scheduler(commits.engine, switch=None)


def difference(
    case: Case,
    names: Iterable[str] = NAMES,
    opened: Opened = open_local,
    report: Report | None = None,
    *,
    thorough: bool = False,
    made: Callable[[Case, str, Opened], Subject] | None = None,
) -> str | None:
    """What a session does that the model does not, in words; None if all of them agree.

    An exception that is not one of ours begins with "crash". What the model cannot take raises.

    Queries are put to one session a step, in turn, or to all of them if it is to be thorough. `made` makes
    subjects of another kind.
    """
    made = made or Subject
    expected = outcomes(case)
    try:
        with _context(case):
            subjects = [made(case, name, opened) for name in names]
        return _first_difference(case, expected, subjects, thorough=thorough)
    except Exception as error:
        if not isinstance(error, Unsupported) and not _is_not_stored(error):
            return f"crash: {type(error).__name__}: {error}"
        expected = []
        return None
    finally:
        _count(report, expected)


def _first_difference(
    case: Case, expected: list[Outcome], subjects: list[Subject], *, thorough: bool
) -> str | None:
    for number, (step, outcome) in enumerate(zip(case.steps, expected, strict=True)):
        for place, subject in enumerate(subjects):
            asks = thorough or subject.asks(number, place == number % len(subjects))
            problem = subject.compare(step, outcome, asks=asks)
            if problem:
                return f"{subject.name}, step {number}: {problem}"
    return next((f"{s.name}, at the end: {found}" for s in subjects if (found := s.end())), None)


def _count(report: Report | None, expected: list[Outcome]) -> None:
    if report is not None:
        report["programs" if expected else "unsupported programs"] += 1
        for outcome in expected:
            report[outcome.ended] += 1
            report["refused actions"] += len(outcome.refused)
            report["previews"] += outcome.previewed is not None
            report["queries"] += len(outcome.answers)


def _context(case: Case) -> AbstractContextManager[decimal.Context]:
    return decimal.localcontext(_CONTEXTS[case.context])


@contextmanager
def _way(name: str) -> Iterator[None]:
    """While a session of this name works."""
    enough = bits._ENOUGH_ROWS
    if name == "dense":
        bits._ENOUGH_ROWS = _DENSE_ROWS
    try:
        yield
    finally:
        bits._ENOUGH_ROWS = enough


class Unsupported(Exception):
    """The case has a value that sessions refuse."""


class Subject:
    """A session, what its subscribers heard, and the contents that it should have."""

    def __init__(self, case: Case, name: str, opened: Opened) -> None:
        self.name = name
        self.case = case
        with _way(name):
            self.session = opened(case, name)
        self.heard: dict[str, list[tuple[int, Shown, Shown]]] = {name: [] for name in case.watched}
        self.steps = 0
        self.subscriptions = [self.session.subscribe(r, self._hear) for r in case.watched]

    def _hear(self, change: Any, commit: int) -> None:
        heard = commit, shown(change.inserted), shown(change.deleted)
        self.heard[change.relation.name].append(heard)

    def compare(self, step: Step, expected: Outcome, *, asks: bool) -> str | None:
        """Take a step; the first thing that is not as the model has it."""
        self.steps += 1
        if self.steps == CANCELS_AT and self.subscriptions:
            self.subscriptions[-1].cancel()
        with _context(self.case), _way(self.name):
            found = self._take(step)
            found |= self._state()
            if asks:
                found |= {f"what {n} is given": shown(self.session[n].given) for n in self.session}
                found |= {f"what {n} derives": shown(self.session[n].derived) for n in self.session}
                found |= {f"query `{r.query}`": self._answer(r) for r in expected.answers}
        wanted = self._wanted(step, expected, asks=asks)
        for what in wanted:
            if found[what] != wanted[what]:
                return f"{what} is\n    {found[what]}\nand should be\n    {wanted[what]}"
        return None

    def _wanted(self, step: Step, expected: Outcome, *, asks: bool) -> dict[str, object]:
        wanted: dict[str, object] = {
            "the end": expected.ended,
            "refused actions": list(expected.refused),
            "changes": _shown_changes(expected.changes),
        }
        if step.ending.preview:
            wanted["preview"] = _shown_changes(expected.previewed)
        for name, rows in self._known(expected.contents).items():
            wanted[f"contents of {name}"] = shown(rows)
        for name in self.heard:
            cancelled = self.steps >= CANCELS_AT and name == self.case.watched[-1]
            change = None if cancelled else expected.changes.get(name)
            wanted[f"subscription to {name}"] = (
                [(self.session.commit, shown(change[0]), shown(change[1]))] if change else []
            )
        if asks:
            for name, rows in self._known(expected.contents).items():
                given = expected.given.get(name, frozenset())
                wanted[f"what {name} is given"] = shown(given)
                wanted[f"what {name} derives"] = shown(frozenset(rows) - given)
            for rule, rows_ in expected.answers.items():
                wanted[f"query `{rule.query}`"] = None if rows_ is None else shown(rows_)
        return wanted

    def _known(self, contents: Contents) -> dict[str, Iterable[Any]]:
        return {name: contents.get(name, ()) for name in self.session}

    # -- what may be different on another kind of session

    def act(self, tx: Any, action: Action) -> None:
        act(tx, action)

    def asks(self, step: int, is_in_turn: bool) -> bool:
        """Whether a step is one after which this session answers queries."""
        return is_in_turn

    def end(self) -> str | None:
        """What is wrong with the session after all steps."""
        if self.name != "recompute":  # once for each case
            return None
        library, again = taken_back(self.session, "\n".join(self.case.declarations), self.case.seed or 0)
        for name in self.session:
            found, wanted = shown(again[name].given), shown(self.session[name])
            if found != wanted:
                return f"contents of {name} by {library} are\n    {found}\nand should be\n    {wanted}"
        return None

    # -- doing it

    def _tries(self, tx: Any, action: Action) -> bool:
        try:
            self.act(tx, action)
        except TidelogError:
            return False
        return True

    def _take(self, step: Step) -> dict[str, object]:
        found: dict[str, object] = {}
        tx = self.session.transaction()
        found["refused actions"] = [i for i, a in enumerate(step.actions) if not self._tries(tx, a)]
        if step.ending.preview:
            found["preview"] = _preview(tx)
        found["changes"] = {}
        if not step.ending.commit:
            tx.rollback()
            found["the end"] = "rolled back"
            return found
        found["the end"] = _commit(tx)
        if found["the end"] == "committed":
            found["changes"] = _read_changes(tx.changes)
        return found

    def _state(self) -> dict[str, object]:
        found: dict[str, object] = {f"contents of {n}": shown(self.session[n]) for n in self.session}
        for name, heard in self.heard.items():
            found[f"subscription to {name}"] = list(heard)
            heard.clear()
        return found

    def _answer(self, rule: RuleText) -> Shown | None:
        try:
            return shown(self.session.query(rule.query))
        except EngineError as error:
            _expect_stored(error)
            return None


def act(tx: Any, action: Action) -> None:
    match action:
        case Insert(name, rows):
            tx.insert(name, list(rows))
        case Upsert(name, rows):
            tx.upsert(name, list(rows))
        case Delete(name, rows):
            tx.delete(name, list(rows))
        case DeleteKeys(name, rows):
            tx.delete_keys(name, list(rows))
        case Clear(name):
            tx.clear(name)
        case AddRule(rule):
            tx.add_rule(rule.text)
        case RemoveRule(rule):
            tx.remove_rule(rule.text)
        case Replace(declarations, rules):
            tx.replace_program("\n".join([*declarations, *(r.text for r in rules)]))


def _commit(tx: Any) -> str:
    try:
        tx.commit()
    except ProgramError:
        return "refused"
    except EngineError as error:
        _expect_stored(error)
        return "failed"
    return "committed"


def _expect_stored(error: EngineError) -> None:
    if _is_not_stored(error):
        raise Unsupported


def _is_not_stored(error: Exception) -> bool:
    """A session refuses to store the smallest number as an option, which the model does not know."""
    return "stands for none" in str(error)


def _preview(tx: Any) -> object:
    try:
        return _read_changes(tx.preview())
    except ProgramError:
        return None
    except EngineError as error:
        _expect_stored(error)
        return None


def _read_changes(changes: Any) -> dict[str, tuple[Shown, Shown]]:
    return {name: (shown(c.inserted), shown(c.deleted)) for name, c in changes.items()}


def _shown_changes(changes: Mapping[str, Change] | None) -> dict[str, tuple[Shown, Shown]] | None:
    if changes is None:
        return None
    return {name: (shown(came), shown(went)) for name, (came, went) in changes.items()}


def shown(rows: Iterable[Any]) -> Shown:
    return sorted(_shown(tuple(row)) for row in rows)


def _shown(value: Any) -> str:
    """How a value is written, whatever the order in which its collections are listed."""
    match value:
        case tuple():
            return f"({', '.join(map(_shown, value))},)"
        case frozenset():
            return f"{{{', '.join(sorted(map(_shown, value)))}}}"
        case Mapping():
            return f"[{', '.join(sorted(f'{_shown(k)} -> {_shown(v)}' for k, v in value.items()))}]"
        case Struct():
            return f"{value._type}.{value._tag}{_shown(value._values)}"
        case _:
            return repr(value)
