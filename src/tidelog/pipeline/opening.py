"""Opens the session of a pipeline at the last commit of its store.

If the store has a saved state of an earlier session (see `store.states`), the session resumes from it: first
with the program of that state, then, in one transaction, up to the last commit. Otherwise the input relations
are loaded and everything is recomputed. Both ways give the same contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from tidelog.errors import TidelogError
from tidelog.pipeline.spec import Spec
from tidelog.program.declared import Relation, Role
from tidelog.program.draft import load
from tidelog.session import Session, open_session
from tidelog.session.backends.resume import offer, resume, stamp
from tidelog.store.manifest import Manifest
from tidelog.store.reading import StoredVersion
from tidelog.store.states import IN_FRAMES, KeptState, Offer, Unusable
from tidelog.tables.signed import SIGN

__all__ = ["Opened", "Opening", "inputs", "lost_and_gained"]


@dataclass(frozen=True, slots=True)
class Opened:
    """`reworked` says why all results were recomputed although there was a saved state.

    `partly` says so of single strata, by their names.
    """

    session: Session
    reworked: str = ""
    partly: Mapping[str, str] = field(default_factory=dict)


class Opening:
    """`report` receives the progress of sessions, `progress` that of all other steps.

    `facts` reads a relation from the store, as a table unless it is given. `since` reads what it lost and
    gained since the saved state, for sessions in frames.
    """

    def __init__(
        self,
        spec: Spec,
        functions: Sequence[Callable[..., object]],
        spark: Any,
        store: StoredVersion,
        report: Callable[[Any], object] | None,
        progress: Callable[[str], object],
        facts: Callable[[Relation], Any] | None = None,
        since: Callable[[Relation], tuple[Any, Any]] | None = None,
    ) -> None:
        self._spec = spec
        self._facts = facts or store.table
        self._since = since
        self._functions = functions
        self._spark = spark
        self._store = store
        self._report = report
        self._progress = progress
        self._stamp = stamp(functions)
        self._is_missed = False  # whether a saved state could not be used

    def open(self, text: str) -> Opened:
        """A session at the last commit; without commits, a session with the program `text`."""
        current = self._store.current
        if current is None:
            return Opened(self._session(text))  # for reading only: a first commit starts from `empty`
        if current.state is None:
            return Opened(self._loaded(current))
        try:
            return self._resumed(current, current.state)
        except (Unusable, TidelogError) as problem:
            self._is_missed = True
            self._progress(f"recomputing everything: {problem}")
            return Opened(self._loaded(current), str(problem))

    def empty(self) -> Opened:
        """A session without a program, for a first commit that loads program and facts together."""
        return Opened(self._session(""))

    def offer(self, session: Session) -> Offer | None:
        """The state of a session, to be saved with its commit; None if not all of it can be saved."""
        return offer(session, self._stamp, self._progress, is_missed=self._is_missed)

    def committed(self) -> None:
        """The offered state was saved: no state is missing any more."""
        self._is_missed = False

    # -- how

    def _session(self, text: str) -> Session:
        return open_session(
            text=text,
            name=str(self._spec.program),
            functions=self._functions,
            spark=self._spark,
            placement=self._spec.placement,
            progress=self._report or False,
        )

    def _loaded(self, current: Manifest) -> Session:
        session = self._session("")
        self._progress("loading the store")
        with session.transaction() as tx:
            tx.load(current.program, str(self._spec.program))
            for relation in inputs(tx.relations.values()):
                tx.insert(relation.name, self._facts(relation))
        return session

    def _resumed(self, current: Manifest, kept: KeptState) -> Opened:
        """A session resumed from a saved state and brought to the last commit; raises Unusable."""
        self._progress("resuming")
        session = self._session("")
        program = load(kept.program, str(self._spec.program), self._functions)
        lost = resume(session, program, kept, self._store.at, self._stamp)
        relations = tuple(inputs(program.relations.values()))
        with session.transaction() as tx:
            if kept.program != current.program:
                tx.replace_program(current.program, str(self._spec.program))
            for relation in relations:
                gone, new = self._changes_since(relation, kept)
                tx.delete(relation.name, gone)
                tx.insert(relation.name, new)
        return Opened(session, partly=lost)

    def _changes_since(self, relation: Relation, kept: KeptState) -> tuple[Any, Any]:
        if self._since is not None and kept.place == IN_FRAMES:
            return self._since(relation)
        return lost_and_gained(self._store.asserted_since(relation))


def lost_and_gained(rows: Any) -> tuple[Any, Any]:
    """The rows that signed rows delete and insert."""
    facts = rows.drop_columns([SIGN])
    return facts.filter(pc.less(rows[SIGN], 0)), facts.filter(pc.greater(rows[SIGN], 0))


def inputs(relations: Iterable[Relation]) -> Iterator[Relation]:
    """The relations whose facts a store keeps to start from."""
    return (r for r in relations if r.role is Role.INPUT)
