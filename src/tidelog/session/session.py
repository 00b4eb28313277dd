"""The session: a program and its facts, changed in transactions.

One transaction is open at a time; other threads wait for it. Readers never wait for a transaction or a
running commit: they see the last commit as a whole (see `readers`, and `locks` for all locks).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.engine.limits import Limits, bytes_of
from tidelog.engine.statistics import Stats
from tidelog.errors import SessionError, shown
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.declared import Index, Role
from tidelog.program.draft import Draft
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.program.model import Program
from tidelog.program.modules import folders
from tidelog.progress import Line, Report, end
from tidelog.proofs.proof import Proof
from tidelog.proofs.refutation import Refutation
from tidelog.session.backends.local.state import LocalBackend
from tidelog.session.backends.protocol import Done, MakeBackend
from tidelog.session.explain import Explanation, explain
from tidelog.session.explainer import Explainer
from tidelog.session.facts import Facts, WholeFacts
from tidelog.session.indexes import IndexView, find_index
from tidelog.session.interrupt import interrupts_noted
from tidelog.session.kinds.layer import KindsLayer
from tidelog.session.logs import log_commit, span_of_commit
from tidelog.session.names import as_path, expect_text, find_relation, is_name, unknown_relation
from tidelog.session.pictures import strata_picture
from tidelog.session.profiles.collecting import Recorder
from tidelog.session.profiles.profile import Profile, profile_of
from tidelog.session.rendering import LISTED, clip, html_table
from tidelog.session.rules import SessionRule
from tidelog.session.statistics import CommitStats
from tidelog.session.subscriptions import Callback, CommitCallback, Subscription, Subscriptions
from tidelog.session.transaction import Transaction
from tidelog.session.types import Types, types_of
from tidelog.syntax.written import Written

__all__ = ["PLACEMENTS", "Session", "Snapshot", "open_session"]

PLACEMENTS = ("driver", "tasks", "shuffled")
_OF_TRANSACTIONS = (
    *(
        "insert",
        "delete",
        "upsert",
        "delete_keys",
        "clear",
        "insert_folder",
        "load",
        "add_rule",
        "remove_rule",
    ),
    *("replace_program", "drop", "register", "preview", "rollback"),
)
WHY_LIMIT = 10_000_000  # rows that an explanation reads at most


class Snapshot(Mapping[str, WholeFacts]):
    """All relations as of one commit, by name."""

    def __init__(self, commit: int, views: Mapping[str, WholeFacts]) -> None:
        self.commit = commit
        self._views = views

    def __getitem__(self, name: str) -> WholeFacts:
        if not is_name(name, self._views):
            raise unknown_relation(name, self._views)
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __contains__(self, name: object) -> bool:
        return is_name(name, self._views)

    def table(self, title: str) -> str:
        """The relations with their sizes, as HTML."""
        shown = list(islice(self.values(), LISTED))
        rows = [[v.relation.role.value, *(clip(t, 200) for t in v.titled()), f"{len(v):,}"] for v in shown]
        return html_table(title, ("role", "relation", "columns", "rows"), rows, len(self) - len(shown))

    def _repr_html_(self) -> str:
        return self.table(f"{len(self)} relations, commit {self.commit}")

    def __repr__(self) -> str:
        return f"<snapshot of commit {self.commit}: {', '.join(self._views) or 'no relations'}>"


class Session:
    """Made by `tidelog.open`."""

    def __init__(
        self,
        draft: Draft,
        strategy: str = "elastic",
        limits: Limits | None = None,
        report: Report | None = None,
        backend: MakeBackend = LocalBackend,
        say: Callable[[Transaction], object] = lambda _: None,
    ) -> None:
        """`say` adds facts to the first transaction, so that program and facts are one commit."""
        if strategy not in STRATEGIES:
            hint = did_you_mean(strategy, STRATEGIES) or f"the strategies are {', '.join(STRATEGIES)}"
            raise SessionError(f"unknown strategy `{strategy}`; {hint}")
        self._state = backend(STRATEGIES[strategy], limits or Limits(), report)
        self._kinds = KindsLayer(self._state)
        self._search = draft.search
        self._subscriptions = Subscriptions()
        self._stats = CommitStats(self._state.commit, Stats())
        self._recorder: Recorder | None = None  # of commits, if they are added up
        self._explainer = Explainer(self._state, self._kinds)
        with self.transaction() as tx:
            tx.begin_with(draft)
            say(tx)

    # -- writing

    def transaction(self) -> Transaction:
        """Begin a transaction; waits while another thread has one open."""
        self._state.locks.begin_writing()
        try:
            return Transaction(self)
        except BaseException:
            self._release()
            raise

    def relation_from(self, name: str, data: object) -> WholeFacts:
        """Declare an input relation with the columns of a frame and fill it, in its own transaction."""
        with self.transaction() as tx:
            tx.relation_from(name, data)
        return self[name]

    # -- reading

    def __getitem__(self, name: str) -> WholeFacts:
        """A relation as of the last commit; later commits do not change it."""
        with self._state.locks.reading:
            return self._kinds.view(find_relation(name, self._kinds.program.relations))

    def snapshot(self) -> Snapshot:
        """All relations as of one commit, to read several consistently."""
        with self._state.locks.reading:
            return Snapshot(self._state.commit, {name: self[name] for name in self._kinds.program.relations})

    def query(self, text: str | Written, /, **parameters: object) -> Facts:
        """The answers to the body of a rule: one row for each, one column for each variable, in order.

        It may have conditions, negation, assignments and aggregates, like any body. `parameters` are the
        values of some variables: `query("Reach(place, x)", place="a")`. Waits for a running commit.
        """
        text = expect_text("query", text)
        with self._state.locks.turn, interrupts_noted() as check:
            query = Draft(self._kinds.program).query(text, parameters)
            return self._kinds.answer(query, check)

    def index(self, name: str) -> IndexView:
        """An index that the program declares, to look up rows: `db.index("ByName").lookup(n="x")`."""

        def read() -> tuple[Index, WholeFacts]:
            with self._state.locks.reading:
                found = find_index(name, self._kinds.program.indexes)
                return found, self[found.relation]

        return IndexView(read)

    def why(self, relation: str, row: object, *, limit: int | None = WHY_LIMIT) -> Proof:
        """Why a row is there: a proof down to asserted facts. Print it, or call `check()` on it.

        SessionError if the row is not there, or if the search reads more than `limit` rows.
        """
        return self._explainer.proof(relation, row, limit)

    def why_not(self, relation: str, row: object, *, limit: int | None = WHY_LIMIT) -> Refutation:
        """Why a row is not there: for each rule, what fails first, and the single changes that would help.

        In a tuple, `...` stands for any value; in a dict, columns may be left out. SessionError if there is
        such a row, or if the search reads more than `limit` rows.
        """
        return self._explainer.refutation(relation, row, limit)

    def write_folder(self, folder: str | Path, form: str = "csv") -> tuple[Path, ...]:
        """Write every output relation, as of one commit, to a file named after it in a folder.

        Files of the same relations in other formats, from an earlier run, are left alone with a warning.
        """
        from tidelog.session.folders import FORMATS, others_beside, write_folder  # imports many libraries

        if form not in FORMATS:
            raise SessionError(f"unknown format `{form}`; the formats are {', '.join(FORMATS)}")
        outputs = [v for v in self.snapshot().values() if v.relation.role is Role.OUTPUT]
        try:
            written = write_folder(outputs, as_path("write_folder", folder), form, self._state.report)
        finally:
            end(self._state.report)
        for other in others_beside(written):
            warnings.warn(f"{other} is from an earlier run; remove it", stacklevel=2)
        return written

    def __contains__(self, name: object) -> bool:
        return is_name(name, self._kinds.program.relations)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds.program.relations)

    def __len__(self) -> int:
        return len(self._kinds.program.relations)

    # -- inspection

    @property
    def program(self) -> Program:
        return self._kinds.program

    @property
    def types(self) -> Types:
        """The structs and unions of the program: `db.types.Payload.IPv4(src=1, dst=2)` is a value."""
        return types_of(self._kinds.program)

    @property
    def rules(self) -> tuple[SessionRule, ...]:
        return tuple(SessionRule(rule) for rule in self._kinds.program.rules.values())

    @property
    def commit(self) -> int:
        """The number of the last commit; the first, which loads the program, is 0."""
        return self._state.commit

    @property
    def stats(self) -> CommitStats:
        """Statistics of the last commit."""
        return self._stats

    def explain(self) -> Explanation:
        """The strata of the current program; on Spark, with where each is evaluated at its current size."""
        return explain(self._state.placed())

    def plan(self, *rules: SessionRule) -> str:
        """The join orders of rules, or of all, at the current sizes, with the instances they should find.

        Each rule has an order for each literal that may have changed. For the rules of the last commit, what
        was found stands beside the estimate. On Spark, sizes alone decide, and Spark adapts the plan.
        """
        found = {r: (s.instances, s.expected) for r, s in self.stats.by_rule.items() if s.is_counted}
        return self._state.plan(found, [r.rule.id for r in rules] or None)

    def profile(self, *, last: bool = False, reset: bool = False) -> Profile:
        """Where the time of commits goes, by stratum and by rule, and which rule to look at.

        It is about the last commit. After a call with `reset`, it is about all commits since then, or with
        `last` about the last one still. `reset` returns the profile so far and begins again.
        """
        recorder = self._recorder
        if recorder is None or last:
            recorder = Recorder()
            recorder.add(self._stats)
        found = profile_of(recorder, self._state.observed)
        if reset:
            self._recorder = Recorder()
        return found

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Call `callback` with the changes of a relation and the commit number, after each commit with some.

        It is called for commits after the last one, whose number is `commit`. Callbacks run in the order of
        the commits. A callback that fails is logged, and the commit stands.
        """
        find_relation(relation, self._kinds.program.relations)
        if not callable(callback):
            raise SessionError(
                f"`callback` is {shown(callback)}; give a function of the changes and the commit number"
            )
        return self._subscriptions.add(relation, callback, since=self._state.commit)

    def on_commit(self, callback: CommitCallback) -> Subscription:
        """Call `callback` with the changes and statistics of every later commit, even one without changes.

        It is called like the callbacks of `subscribe`: after the commit, in order; failures are logged.
        """
        if not callable(callback):
            raise SessionError(
                f"`callback` is {shown(callback)}; give a function of the changes and the statistics"
            )
        return self._subscriptions.add_for_all(callback, since=self._state.commit)

    def trace(self, tracer: Any) -> Subscription:
        """Record every later commit as a span of an OpenTelemetry tracer, with its numbers as attributes."""
        if not callable(getattr(tracer, "start_span", None)):
            raise SessionError(f"`tracer` is {shown(tracer)}; give a tracer, as provider.get_tracer(…) makes")
        return self.on_commit(partial(span_of_commit, tracer))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Say where a method is that a session does not have."""
            if name in _OF_TRANSACTIONS:
                where = f"changes are made in transactions: `with db.transaction() as tx: tx.{name}(…)`"
            elif name in ("to_pandas", "to_polars", "to_arrow", "where", "head"):
                where = f'relations have it: `db["Relation"].{name}(…)`'
            else:
                raise AttributeError(f"a session has no `{name}`", name=name, obj=self)
            raise AttributeError(f"a session has no `{name}`; {where}", name=name, obj=self)

    def __repr__(self) -> str:
        relations, rules = len(self), len(self._kinds.program.rules)
        return f"<tidelog session: {relations} relations, {rules} rules, commit {self.commit}>"

    def _repr_html_(self) -> str:
        """The relations with their sizes, and the strata as a picture."""
        views = self.snapshot()
        title = f"{len(self)} relations, {len(self._kinds.program.rules)} rules, commit {views.commit}"
        return views.table(title) + strata_picture(self._kinds.program)

    # -- for transactions

    def _committed(self, done: Done, before: Program) -> None:
        done.changes.explained_by(partial(self._explainer.change, before))
        self._stats = CommitStats(self._state.commit, done.stats)
        if self._recorder is not None:
            self._recorder.add(self._stats)
        log_commit(self._stats, done.changes)
        self._subscriptions.enqueue(done.changes, self._stats)

    def _deliver(self) -> None:
        self._subscriptions.deliver()

    def _release(self) -> None:
        self._state.locks.end_writing()


def open_session(
    path: str | os.PathLike[str] | Written | None = None,
    *,
    text: str | Written | None = None,
    name: str = "<text>",
    facts: str | os.PathLike[str] | Mapping[str, object] | None = None,
    functions: Iterable[Callable[..., object]] = (),
    strategy: str = "elastic",
    max_iterations: int | None = 100_000,
    max_rows: int | None = None,
    timeout: float | None = None,
    max_memory: int | str | None = None,
    max_threads: int | None = None,
    progress: bool | Report = False,
    spark: Any = None,
    placement: str | None = None,
    search: Iterable[str | os.PathLike[str]] = (),
) -> Session:
    """Open a session with the program of a file, of a text or of `tidelog.build`, or without one.

    Messages call the text `name`. `facts` is a folder, as for `insert_folder`, or data by relation; program
    and facts are one commit. `functions` are Python functions that the program calls. `strategy` is one of
    `STRATEGIES` and says how commits are evaluated; the results are the same.

    A commit raises EngineError and changes nothing if it exceeds a limit: `max_iterations` rounds in one
    recursion, `max_rows` rows in relations that depend on each other, `timeout` seconds, or `max_memory`
    (bytes, or a text such as "4GB"). It uses at most `max_threads` threads, by default one for each core that
    the process may use. `progress` shows the progress of long work on a terminal; a function in
    its place is called with the progress, about ten times a second.

    With `spark`, a SparkSession, `insert` and `delete` accept DataFrames and `to_spark()` returns them.
    `placement` says where the work is done: in the "driver", in "tasks", or "shuffled" between executors; by
    default, wherever the data fits.

    `search` are folders in which modules are found that the program, or a text loaded later, imports.
    """
    if path is not None and text is not None:
        raise SessionError("give the program as a file or as a text, not both")
    memory = _bytes(max_memory) if isinstance(max_memory, str) else max_memory
    _expect_limits(max_iterations=max_iterations, max_rows=max_rows, timeout=timeout, max_memory=memory)
    if max_threads is not None and not (type(max_threads) is int and max_threads > 0):
        raise SessionError(
            f"`max_threads` is {shown(max_threads)}; give a whole number above 0, or None for one per core"
        )
    draft = Draft(search=folders(search))
    _expect_list(functions)
    for function in functions:
        draft.register(function)
    if isinstance(path, Written):
        draft.load(str(path), name)
    elif path is not None:
        draft.load(_read(path), os.fspath(path))
    elif text is not None:
        draft.load(expect_text("open(text=…)", text), name)
    limits = Limits(max_iterations, max_rows, timeout, memory, max_threads)
    return Session(draft, strategy, limits, _report(progress), _backend(spark, placement), _saying(facts))


def _saying(facts: str | os.PathLike[str] | Mapping[str, object] | None) -> Callable[[Transaction], object]:
    """A function that inserts the facts in the first transaction."""
    if facts is None:
        return lambda _: None
    if isinstance(facts, str | os.PathLike):
        return lambda tx: tx.insert_folder(Path(facts))
    if not isinstance(facts, Mapping):
        raise SessionError(f"`facts` is {type(facts).__name__}; give a folder, or data by relation")

    def insert(tx: Transaction) -> None:
        for relation, data in facts.items():
            tx.insert(relation, data)

    return insert


def _report(progress: bool | Report) -> Report | None:
    if callable(progress):
        return progress
    if not isinstance(progress, bool):
        raise SessionError(f"`progress` is {shown(progress)}; give True, or a function of one argument")
    return Line(sys.stderr) if progress and sys.stderr.isatty() else None


def _bytes(text: str) -> int:
    """Parse a size such as "4GB" into a number of bytes; SessionError if it is not a size."""
    size = bytes_of(text)
    if size is None:
        raise SessionError(
            f'`max_memory` is "{text}"; write it as "500MB" or "4GB", or give a number of bytes'
        )
    return size


def _backend(spark: Any, placement: str | None) -> MakeBackend:
    """The backend for the data; Spark's is imported only if it is used."""
    if placement is not None and placement not in PLACEMENTS:
        hint = did_you_mean(placement, PLACEMENTS) or f"the placements are {', '.join(PLACEMENTS)}"
        raise SessionError(f"unknown placement `{placement}`; {hint}")
    if spark is None:
        if placement is not None:
            raise SessionError("`placement` requires a session on Spark; give `spark`, a SparkSession, too")
        return LocalBackend
    if not callable(getattr(spark, "createDataFrame", None)):
        raise SessionError(f"`spark` is {shown(spark)}; give a SparkSession")
    backend: MakeBackend = import_module("tidelog.session.backends.choose").backend(spark, placement)
    return backend


def _expect_limits(**limits: object) -> None:
    for name, value in limits.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and value > 0):  # type: ignore[operator]
            raise SessionError(f"`{name}` is {shown(value)}; give a number above 0, or None for no limit")


def _expect_list(functions: object) -> None:
    if not isinstance(functions, Iterable) or isinstance(functions, str | bytes):
        raise SessionError(f"`functions` is {shown(functions)}; give a list of functions")


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return as_path("open", path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SessionError(f"{path} is not UTF-8 text (at byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "; to give the program itself, write text=…" if "(" in str(path) else ""
        raise SessionError(f"{path} cannot be read: {reason}{hint}") from None
