"""Answers of a session to why a row is there, why it is not, and why a commit changed it.

Explanations are about the last commit. Those that are in use share what they have read of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from weakref import ref

from tidelog.errors import SessionError
from tidelog.program.model import Program
from tidelog.program.typed import Relation
from tidelog.proofs.change import arrival, departure
from tidelog.proofs.drawing import Drawing
from tidelog.proofs.model import Fact
from tidelog.proofs.overlay import Overlay
from tidelog.proofs.proof import Proof, prove
from tidelog.proofs.refutation import Refutation, refute
from tidelog.proofs.wording import Wording
from tidelog.session.backends.protocol import Backend
from tidelog.session.changes import Changes
from tidelog.session.facts import WholeFacts
from tidelog.session.kinds.layer import KindsLayer
from tidelog.session.names import find_relation
from tidelog.session.proving import SessionState, Undone, fact_of, pattern_of

__all__ = ["Explainer"]


class Explainer:
    """Explains rows of a session; `snapshot` gives its relations as of the last commit."""

    def __init__(
        self, backend: Backend, kinds: KindsLayer, snapshot: Callable[[], Mapping[str, WholeFacts]]
    ) -> None:
        self._backend = backend
        self._kinds = kinds
        self._snapshot = snapshot
        self._in_use: ref[SessionState] | None = None

    def proof(self, relation: str, row: object, limit: int | None) -> Proof:
        state, declared = self._asked(relation)
        fact = fact_of(declared, row)
        if not state.rows(fact.relation, dict(enumerate(fact.row))):
            shown = Wording(state.program).fact(fact)
            raise SessionError(f"{shown} is not there; `why_not` says why")
        return prove(state, fact, limit)

    def refutation(self, relation: str, row: object, limit: int | None) -> Refutation:
        state, declared = self._asked(relation)
        goal = pattern_of(declared, row)
        found = state.some(goal.relation, goal.bound, 1)
        if found:
            shown = Wording(state.program).fact(Fact(goal.relation, found[0]))
            raise SessionError(f"{shown} is there; `why` says why")
        return refute(state, goal, limit)

    def change(
        self, before: Program, changes: Changes, relation: str, row: object, limit: int | None
    ) -> Drawing:
        """Why a commit inserted or deleted a row; `before` is the program before it."""
        with self._backend.locks.reading:
            state, declared = self._asked(relation, {**before.relations, **self._kinds.program.relations})
            if changes.commit != self._backend.commit:
                raise SessionError(
                    f"these are the changes of commit {changes.commit}; only the last one can be explained, "
                    f"which is {self._backend.commit}"
                )
        fact, undone = fact_of(declared, row), Undone(changes, before)
        earlier = Overlay(state, undone, before)
        if undone.is_removed(fact):
            return arrival(state, earlier, fact, limit)
        if undone.added(fact.relation, dict(enumerate(fact.row))):
            return departure(state, earlier, fact, limit)
        shown = Wording(Program(relations={declared.name: declared})).fact(fact)
        raise SessionError(f"commit {changes.commit} neither inserted nor deleted {shown}")

    def _asked(
        self, relation: str, among: Mapping[str, Relation] | None = None
    ) -> tuple[SessionState, Relation]:
        """The state that an explanation is about, and the relation of the row that a user asks for."""
        with self._backend.locks.reading:
            declared = find_relation(relation, self._kinds.program.relations if among is None else among)
            if self._kinds.is_needed:
                raise SessionError("proofs do not know multisets, streams and delays yet")
            state = None if self._in_use is None else self._in_use()
            if state is None or state.commit != self._backend.commit:
                state = SessionState(self._backend.program, self._backend.commit, self._snapshot())
                self._in_use = ref(state)
            return state, declared
