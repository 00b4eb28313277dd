"""The session: a program and its facts in this process, changed in transactions.

One transaction is open at a time; another thread's waits for it. Reading never waits for a transaction, nor
for a commit at work: readers see the last commit, whole (see `reading`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tidelog.engine.run import Limits
from tidelog.errors import SessionError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import Draft
from tidelog.program.model import Program
from tidelog.program.problems import did_you_mean
from tidelog.program.typed import Role
from tidelog.session.facts import Facts, View
from tidelog.session.folders import FORMATS, write_folder
from tidelog.session.interrupt import interrupts_noted
from tidelog.session.names import find_relation, unknown_relation
from tidelog.session.rules import SessionRule
from tidelog.session.state import Done, State
from tidelog.session.stats import CommitStats
from tidelog.session.subscriptions import Callback, Subscription, Subscriptions
from tidelog.session.transaction import Transaction

__all__ = ["Session", "Snapshot", "open_session"]


class Snapshot(Mapping[str, View]):
    """All relations as of one commit, by name."""

    def __init__(self, commit: int, views: Mapping[str, View]) -> None:
        self.commit = commit
        self._views = views

    def __getitem__(self, name: str) -> View:
        if name not in self._views:
            raise unknown_relation(name, self._views)
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __contains__(self, name: object) -> bool:
        return name in self._views


class Session:
    """Made by `tidelog.open`."""

    def __init__(self, draft: Draft, strategy: str = "elastic", limits: Limits | None = None) -> None:
        if strategy not in STRATEGIES:
            hint = did_you_mean(strategy, STRATEGIES) or f"the strategies are {', '.join(STRATEGIES)}"
            raise SessionError(f"there is no strategy `{strategy}`; {hint}")
        self._state = State(strategy, limits or Limits())
        self._subscriptions = Subscriptions()
        self._writing = threading.Lock()
        self._writer: int | None = None
        program = draft.finish()
        with interrupts_noted() as check:
            done = self._state.carry_out(program, {}, check, keep=True)
        self._stats = CommitStats(self._state.commit, done.stats)

    # -- writing

    def transaction(self) -> Transaction:
        """Begin a transaction; waits while another thread has one open."""
        me = threading.get_ident()
        if self._writer == me:
            raise SessionError(
                "this thread has a transaction open already; commit it or roll it back before the next"
            )
        self._writing.acquire()
        self._writer = me
        try:
            return Transaction(self)
        except BaseException:
            self._release()
            raise

    def relation_from(self, name: str, data: object) -> View:
        """Declare an input relation with the columns of a frame and fill it, in a transaction of its own."""
        with self.transaction() as tx:
            tx.relation_from(name, data)
        return self[name]

    # -- reading

    def __getitem__(self, name: str) -> View:
        """A relation as it is at the last commit; what comes later does not change it."""
        with self._state.readers.mutex:
            relation = find_relation(name, self._state.program.relations)
            return View(relation, self._state.decoder, self._state.readers.source(name))

    def snapshot(self) -> Snapshot:
        """All relations at one commit, for whoever reads several."""
        with self._state.readers.mutex:
            return Snapshot(self._state.commit, {name: self[name] for name in self._state.program.relations})

    def query(self, text: str) -> Facts:
        """The answers to the body of a rule: a row for each, a column for each variable, in order.

        It may have conditions, negation, assignments and aggregates, as any body. Waits for a commit at work.
        """
        with self._state.turn, interrupts_noted() as check:
            query = Draft(self._state.program).query(text)
            return Facts(query.relation, self._state.decoder, self._state.answer(query, check))

    def write_folder(self, folder: str | Path, form: str = "csv") -> tuple[Path, ...]:
        """Write every output relation, as of one commit, to a file of its name in a folder."""
        if form not in FORMATS:
            raise SessionError(f"there is no format `{form}`; the formats are {', '.join(FORMATS)}")
        outputs = [v for v in self.snapshot().values() if v.relation.role is Role.OUTPUT]
        return write_folder(((v.relation.name, v.to_arrow()) for v in outputs), Path(folder), form)

    def __contains__(self, name: object) -> bool:
        return name in self._state.program.relations

    def __iter__(self) -> Iterator[str]:
        return iter(self._state.program.relations)

    def __len__(self) -> int:
        return len(self._state.program.relations)

    # -- about itself

    @property
    def program(self) -> Program:
        return self._state.program

    @property
    def rules(self) -> tuple[SessionRule, ...]:
        return tuple(SessionRule(rule) for rule in self._state.program.rules.values())

    @property
    def commit(self) -> int:
        """The number of the last commit; the program's own is 0."""
        return self._state.commit

    @property
    def stats(self) -> CommitStats:
        """What the last commit did."""
        return self._stats

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Call back with the changes of a relation and the commit's number, after each commit that has some.

        Callbacks run in the order of the commits. One that fails is logged, and undoes nothing.
        """
        find_relation(relation, self._state.program.relations)
        return self._subscriptions.add(relation, callback)

    def __repr__(self) -> str:
        relations, rules = len(self), len(self._state.program.rules)
        return f"<tidelog session: {relations} relations, {rules} rules, commit {self.commit}>"

    # -- for transactions

    def _committed(self, done: Done) -> None:
        self._stats = CommitStats(self._state.commit, done.stats)
        self._subscriptions.enqueue(done.changes, self._state.commit)

    def _deliver(self) -> None:
        self._subscriptions.deliver()

    def _release(self) -> None:
        self._writer = None
        self._writing.release()


def open_session(
    path: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    name: str = "<text>",
    functions: Iterable[Callable[..., object]] = (),
    strategy: str = "elastic",
    max_iterations: int | None = 100_000,
    max_rows: int | None = None,
    timeout: float | None = None,
) -> Session:
    """A session with the program of a file, or of a text, or with none yet.

    Messages about a text call it `name`. `functions` are Python functions that the program calls. `strategy`
    is one of `STRATEGIES` and says how commits are carried out; the results are the same. A commit that takes
    more than `max_iterations` rounds in one recursion, gives relations that depend on each other more than
    `max_rows` rows, or takes longer than `timeout` seconds is an EngineError and changes nothing.
    """
    if path is not None and text is not None:
        raise SessionError("give the program as a file or as a text, not as both")
    _expect_limits(max_iterations=max_iterations, max_rows=max_rows, timeout=timeout)
    draft = Draft()
    for function in functions:
        draft.register(function)
    if path is not None:
        draft.load(_read(path), os.fspath(path))
    elif text is not None:
        draft.load(text, name)
    return Session(draft, strategy, Limits(max_iterations, max_rows, timeout))


def _expect_limits(**limits: object) -> None:
    for name, value in limits.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and value > 0):  # type: ignore[operator]
            raise SessionError(f"`{name}` is {value!r}; give a number above 0, or None for no limit")


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SessionError(f"{path} is not UTF-8 text (at byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "; to give the program itself, write text=…" if "(" in str(path) else ""
        raise SessionError(f"{path} cannot be read: {reason}{hint}") from None
