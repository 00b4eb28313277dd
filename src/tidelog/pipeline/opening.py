"""Opens the session of a pipeline at the last commit of its store.

If the store has a saved state of an earlier session (see `store.states`), the session resumes from it: first
with the program of that state, then, in one transaction, up to the last commit. Otherwise the input relations
are loaded and everything is recomputed. Both ways give the same contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.compute as pc

from tidelog.engine.local.storage.record import Corrupt
from tidelog.errors import TidelogError
from tidelog.pipeline.spec import Spec
from tidelog.program.draft import load
from tidelog.program.typed import Relation, Role
from tidelog.session import Session, open_session
from tidelog.session.backends.resume import can_save, resume, save, stamp
from tidelog.store.manifest import Manifest
from tidelog.store.reading import StoredVersion
from tidelog.store.states import KeptState, Offer, Unusable, usable_state
from tidelog.tables.signed import SIGN

__all__ = ["Opened", "Opening", "inputs"]

_IN_THE_DRIVER: Final = (None, "driver")  # at least initially


@dataclass(frozen=True, slots=True)
class Opened:
    """`reworked` says why the results were recomputed although there was a saved state."""

    session: Session
    reworked: str = ""


class Opening:
    """`report` receives the progress of sessions, `progress` that of all other steps.

    `facts` reads a relation from the store, as a table unless it is given.
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
    ) -> None:
        self._spec = spec
        self._facts = facts or store.table
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
        if current.state is None or self._spec.placement not in _IN_THE_DRIVER:
            return Opened(self._loaded(current))
        try:
            return Opened(self._resumed(current, current.state))
        except (Unusable, TidelogError) as problem:
            self._is_missed = True
            self._progress(f"recomputing everything: {problem}")
            return Opened(self._loaded(current), str(problem))

    def empty(self) -> Opened:
        """A session without a program, for a first commit that loads program and facts together."""
        return Opened(self._session(""))

    def offer(self, session: Session) -> Offer | None:
        """The state of a session, to be saved with its commit; None if its data is in DataFrames."""
        if not can_save(session):
            return None

        def write(out: Any) -> None:
            self._progress("saving the state")
            save(session, out)

        return Offer(write, self._stamp, self._is_missed)

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

    def _resumed(self, current: Manifest, kept: KeptState) -> Session:
        """A session resumed from a saved state and brought to the last commit; raises Unusable."""
        self._progress("resuming")
        state = usable_state(self._store.at, kept, self._stamp)
        file = self._store.at.where(kept.file)
        session = self._session("")
        program = load(kept.program, str(self._spec.program), self._functions)
        try:
            fits = resume(session, program, state)
        except Corrupt as problem:
            raise Unusable(f"the saved state {file} is corrupt: {problem}") from None
        except OSError as error:
            raise Unusable(f"the saved state {file} cannot be read: {error.strerror}") from None
        if not fits:
            raise Unusable(f"the saved state {file} belongs to another program")
        relations = tuple(inputs(program.relations.values()))
        with session.transaction() as tx:
            if kept.program != current.program:
                tx.replace_program(current.program, str(self._spec.program))
            for relation in relations:
                rows = self._store.asserted_since(relation)
                facts = rows.drop_columns([SIGN])
                tx.delete(relation.name, facts.filter(pc.less(rows[SIGN], 0)))
                tx.insert(relation.name, facts.filter(pc.greater(rows[SIGN], 0)))
        return session


def inputs(relations: Iterable[Relation]) -> Iterator[Relation]:
    """The relations whose facts a store keeps to start from."""
    return (r for r in relations if r.role is Role.INPUT)
