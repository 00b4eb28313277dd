"""Answers of a session to why a row is there, why it is not, and why a commit changed it.

Explanations are about the last commit. Those that are in use share what they have read of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import ref

from tidelog.errors import SessionError
from tidelog.program.declared import Relation, RelationKind
from tidelog.program.model import Program
from tidelog.program.weighting import without_kinds
from tidelog.proofs.change import Arrival, Departure, arrival, departure
from tidelog.proofs.kinds import with_kinds
from tidelog.proofs.model import Fact
from tidelog.proofs.overlay import Overlay
from tidelog.proofs.proof import Proof, prove
from tidelog.proofs.refutation import Refutation, refute
from tidelog.proofs.state import State
from tidelog.proofs.wording import Wording
from tidelog.session.backends.protocol import Backend
from tidelog.session.changes import Changes
from tidelog.session.kinds.layer import KindsLayer
from tidelog.session.names import find_relation
from tidelog.session.proving import SessionState, Undone, fact_of, pattern_of

__all__ = ["Explainer"]


class Explainer:
    """Explains rows of a session. What is read are the rows of the backend."""

    def __init__(self, backend: Backend, kinds: KindsLayer) -> None:
        self._backend = backend
        self._kinds = kinds
        self._in_use: ref[SessionState] | None = None

    def proof(self, relation: str, row: object, limit: int | None) -> Proof:
        below, declared = self._asked(relation)
        state = with_kinds(below)
        fact, weight = fact_of(declared, row)
        if not state.rows(fact.relation, dict(enumerate(fact.row))):
            shown = Wording(state.program).fact(fact)
            raise SessionError(f"{shown} is not there; `why_not` says why")
        _expect_weight(state, fact, weight)
        return prove(state, fact, limit)

    def refutation(self, relation: str, row: object, limit: int | None) -> Refutation:
        below, declared = self._asked(relation)
        state = with_kinds(below)
        goal = pattern_of(declared, row)
        found = state.some(goal.relation, goal.bound, 1)
        if found:
            shown = Wording(state.program).fact(Fact(goal.relation, found[0]))
            raise SessionError(f"{shown} is there; `why` says why")
        return refute(state, goal, limit)

    def change(
        self, before: Program, changes: Changes, relation: str, row: object, limit: int | None
    ) -> Arrival | Departure:
        """Why a commit inserted or deleted a row; `before` is the program before it."""
        with self._backend.locks.reading:
            below, declared = self._asked(relation, {**before.relations, **self._kinds.program.relations})
            if changes.commit != self._backend.commit:
                raise SessionError(
                    f"these are the changes of commit {changes.commit}; only the last one can be explained, "
                    f"which is {self._backend.commit}"
                )
        fact, _ = fact_of(declared, row)
        stored = without_kinds(before)
        undone = Undone(changes.stored or changes, stored)
        state, earlier = with_kinds(below), with_kinds(Overlay(below, undone, stored, back=1))
        is_momentary = declared.kind is RelationKind.STREAM
        now, then = _weight(state, fact), 0 if is_momentary else _weight(earlier, fact)
        if now > then:
            return arrival(state, earlier, fact, limit)
        if now < then:
            return departure(state, earlier, fact, limit)
        shown = Wording(Program(relations={declared.name: declared})).fact(fact)
        raise SessionError(f"the commit neither inserted nor deleted {shown}")

    def _asked(
        self, relation: str, among: Mapping[str, Relation] | None = None
    ) -> tuple[SessionState, Relation]:
        """The state that an explanation is about, and the relation of the row that a user asks for."""
        with self._backend.locks.reading:
            declared = find_relation(relation, self._kinds.program.relations if among is None else among)
            state = None if self._in_use is None else self._in_use()
            if state is None or state.commit != self._backend.commit:
                program = self._backend.program
                views = {name: self._backend.view(r) for name, r in program.relations.items()}
                state = SessionState(program, self._backend.commit, views)
                self._in_use = ref(state)
            return state, declared


def _weight(state: State, fact: Fact) -> int:
    """The weight of a row; 0 if it is not there."""
    return state.weight(fact) if state.some(fact.relation, dict(enumerate(fact.row)), 1) else 0


def _expect_weight(state: State, fact: Fact, weight: int | None) -> None:
    """Raise SessionError if a row is there with another weight than a user says."""
    found = state.weight(fact)
    if weight is not None and weight != found:
        shown = Wording(state.program).fact(fact)
        raise SessionError(f"{shown} is there with the weight {found:,}, not {weight:,}")
