"""Between a session and its backend: multisets, streams and delays over a backend that knows only sets.

The backend holds the program that `weighting` makes, and this layer turns what users say into facts of that
program and its changes into what users see. A commit asserts the new weights of the rows that a transaction
changes, deletes the rows of streams from the commit before, and moves delayed relations one commit on. If the
program has none of these, everything is passed on as it is.

Invariant: outside `carry_out`, the weights and delayed relations in the backend are those of the last commit.
The program as written is read from the backend's program, so that readers see both change at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tidelog.program.declared import Relation, RelationKind
from tidelog.program.model import Program, rule_changes
from tidelog.program.query import Query
from tidelog.program.weighting import (
    GIVEN,
    contributions,
    delays,
    has_versions,
    is_weighted,
    weighted_relation,
    without_kinds,
    without_kinds_in_query,
)
from tidelog.progress import Report
from tidelog.session.backends.protocol import Backend, Done, Staging
from tidelog.session.changes import Changes, RelationChanges
from tidelog.session.facts import Fact, Facts, WholeFacts
from tidelog.session.kinds.delays import History
from tidelog.session.kinds.views import WeightedChanges, WeightedView
from tidelog.session.kinds.weights import Row, WeightedStaging, table_of

__all__ = ["KindsLayer"]

_FEW: Final = 64  # rows whose weights are looked up one by one


class KindsLayer:
    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self._history = History()
        self._versions: frozenset[str] = frozenset()  # the rules that read earlier commits
        self._known: tuple[Program, Program] | None = None  # a program, and what it becomes

    @property
    def program(self) -> Program:
        found = self._inner.program
        return found.written or found

    @property
    def report(self) -> Report | None:
        return self._inner.report

    @property
    def is_needed(self) -> bool:
        """Whether the program has relations that the backend does not know."""
        return self._inner.program.written is not None

    # -- reading

    def view(self, relation: Relation) -> WholeFacts:
        """A relation as of the last commit; the caller holds the lock for reading."""
        if not is_weighted(relation):
            return self._inner.view(relation)
        held = self._inner.program.relations
        asserted = self._inner.view(held[contributions(relation.name)])
        return WeightedView(self._inner.view(held[relation.name]), lambda: _asserted(asserted))

    def answer(self, query: Query, check: Callable[[], None]) -> Facts:
        program = self.program
        if self.is_needed or has_versions(query.rule):
            query = without_kinds_in_query(query, program)
        return self._inner.answer(query, check)

    # -- writing

    def stage(self, relation: Relation) -> Staging:
        return WeightedStaging(relation) if is_weighted(relation) else self._inner.stage(relation)

    def carry_out(
        self, program: Program, staged: Mapping[str, Staging], check: Callable[[], None], *, keep: bool
    ) -> Done:
        versions = self._with_versions(program)
        if not self.is_needed and not versions and not self._has_kinds(program):
            return self._inner.carry_out(program, staged, check, keep=keep)
        before, made = self.program, self._made(program)
        given = {name: facts for name, facts in staged.items() if not isinstance(facts, WeightedStaging)}
        for name, relation in program.relations.items():
            if is_weighted(relation):
                self._stage_weights(relation, made, staged.get(name), given)
        for name in delays(program):
            facts = self._history.stage(name, lambda name=name: self._inner.stage(made.relations[name]))  # type: ignore[misc]
            if facts is not None:
                given[name] = facts
        streams = {
            n: self._contents(n) for n, r in program.relations.items() if r.kind is RelationKind.STREAM
        }
        done = self._inner.carry_out(made, given, check, keep=keep)
        if keep:
            self._versions = versions
            self._history.advance(
                delays(program), done.changes, lambda n: self._inner.view(made.relations[n])
            )
        return Done(_changes(before, program, done.changes, streams), done.stats)

    def _has_kinds(self, program: Program) -> bool:
        relations = program.relations
        return relations is not self._inner.program.relations and any(map(is_weighted, relations.values()))

    def _with_versions(self, program: Program) -> frozenset[str]:
        """The rules of a program that read earlier commits."""
        before = self.program
        if program is before:
            return self._versions
        added, removed = rule_changes(before, program)
        new = [id_ for id_ in added if has_versions(program.rules[id_])]
        return self._versions.difference(removed).union(new) if new or removed else self._versions

    def _made(self, program: Program) -> Program:
        """The program of sets."""
        if self._inner.program.written is program:
            return self._inner.program
        if self._known is None or self._known[0] is not program:
            self._known = program, without_kinds(program)
        return self._known[1]

    def _contents(self, name: str) -> WholeFacts | None:
        """A relation of the backend as of the last commit, if it is there."""
        held = self._inner.program.relations.get(name)
        return None if held is None else self._inner.view(held)

    def _stage_weights(
        self, relation: Relation, made: Program, staged: Staging | None, given: dict[str, Staging]
    ) -> None:
        """Add the changes of the asserted weights of a relation to what is given to the backend."""
        changes = staged if isinstance(staged, WeightedStaging) else WeightedStaging(relation)
        name = contributions(relation.name)
        held = self._contents(name)
        is_stream = relation.kind is RelationKind.STREAM
        before: dict[Row, int] = {}
        if held is not None:
            before = _weights_of(held, relation, changes, everything=is_stream or changes.is_cleared)
        after = changes.weights({}) if is_stream else changes.weights(before)
        if is_stream:
            after = dict.fromkeys(before, 0) | after
        old = [(*row, GIVEN, weight) for row, weight in before.items() if weight != after.get(row, weight)]
        new = [(*row, GIVEN, weight) for row, weight in after.items() if weight and weight != before.get(row)]
        if old or new:
            target = made.relations[name]
            staging = self._inner.stage(target)
            staging.delete(table_of(target, old))
            staging.insert(table_of(target, new))
            given[name] = staging


# -- weights


def _asserted(held: WholeFacts) -> list[Fact]:
    """The asserted rows among contributions, with their weights."""
    return [(*row[:-2], row[-1]) for row in held.given]


def _weights_of(
    held: WholeFacts, relation: Relation, changes: WeightedStaging, *, everything: bool
) -> dict[Row, int]:
    """The asserted weights of the rows that a transaction changes, or of all."""
    rows = list(changes.rows)
    names = [c.name for c in held.relation.columns]
    if everything or len(rows) > _FEW or "self" in names or not len(held):
        return {row[:-1]: row[-1] for row in _asserted(held)}
    found: dict[Row, int] = {}
    for row in rows:
        wanted = dict(zip(names, (*row, GIVEN), strict=False))
        for match in held.where(**wanted):
            found[row] = match[-1]
    return found


# -- changes


def _changes(
    before: Program, after: Program, changes: Changes, streams: Mapping[str, WholeFacts | None]
) -> Changes:
    """The changes as users see them."""
    relations = {**before.relations, **after.relations}
    changed: dict[str, RelationChanges] = {}
    for name, relation in relations.items():
        if name in streams:
            made = _stream(relation, streams[name], changes[name])
            if made is not None:
                changed[name] = made
        elif name in changes and relation.kind is not RelationKind.STREAM:
            found = changes[name]
            changed[name] = _weighted(relation, found) if is_weighted(relation) else found

    def nothing(relation: Relation) -> RelationChanges:
        found = changes[relation.name]
        if not is_weighted(relation):
            return found
        return WeightedChanges(relation, weighted_relation(relation), found.parts()[0], list)

    return Changes(changes.commit, changed, relations, nothing, stored=changes)


def _weighted(relation: Relation, change: RelationChanges) -> RelationChanges:
    """The changes of weights, from rows with their old and new weights."""
    inserted, deleted = change.parts()

    def made() -> list[tuple[Any, int]]:
        weights = {row[:-1]: row[-1] for row in inserted}
        for row in deleted:
            weights[row[:-1]] = weights.get(row[:-1], 0) - row[-1]
        return list(weights.items())

    return WeightedChanges(relation, weighted_relation(relation), inserted, made)


def _stream(relation: Relation, old: WholeFacts | None, change: RelationChanges) -> RelationChanges | None:
    """The rows of a stream in this commit, some of which it may have had in the commit before."""
    inserted, deleted = change.parts()
    size = len(inserted) - len(deleted) + (0 if old is None else len(old))
    if not size:
        return None

    def made() -> list[tuple[Any, int]]:
        weights = {} if old is None else {row[:-1]: row[-1] for row in old}
        for row in deleted:
            if weights.get(row[:-1]) == row[-1]:
                del weights[row[:-1]]
        return list((weights | {row[:-1]: row[-1] for row in inserted}).items())

    return WeightedChanges(relation, weighted_relation(relation), inserted, made)
