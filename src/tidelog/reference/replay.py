"""The meaning of multisets, streams and delays: every commit from scratch, with the history of all commits.

What holds after a commit depends on the weights of the asserted facts, on the rows that this commit inserts
into streams, and on what held after earlier commits, all of which are kept. `chibi` evaluates each commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tidelog.data.values import Row
from tidelog.program.declared import RelationKind
from tidelog.program.model import EMPTY, Program
from tidelog.program.typed import Absent, Body, Match, Nested, Stage, Without
from tidelog.reference.chibi import extend
from tidelog.reference.facts import Facts, IndexedFacts

__all__ = ["Contents", "Replay"]

Contents: TypeAlias = dict[str, Counter[Row]]  # the weights of rows; 1 in a set
Change: TypeAlias = tuple[str, str, Row]  # "insert" or "delete", a relation and a row


class Replay:
    """`contents` are the rows of all relations after the last commit, with their weights.

    `facts` are the same rows, and those of earlier commits that rules read.
    """

    def __init__(self) -> None:
        self.program: Program = EMPTY
        self.given: Contents = {}
        self.history: list[Contents] = []
        self.facts = IndexedFacts()
        self._asked: dict[tuple[str, int], int] = {}  # the first commit that reads a delayed relation
        self._last: tuple[Replay, Sequence[Change]] | None = None  # before the last commit, and its changes

    @property
    def contents(self) -> Contents:
        return self.history[-1] if self.history else {}

    def commit(self, program: Program, changes: Sequence[Change] = ()) -> Contents:
        """Commit a program and changes of facts, in order; returns the contents.

        If this raises, nothing has changed.
        """
        given = self._with(program, changes)
        number = len(self.history)
        asked = {key: self._asked.get(key, number) for key in _delays(program)}
        facts = IndexedFacts()
        for name, rows in given.items():
            self._add(program, facts, name, rows)
        for (name, delay), first in asked.items():
            if number - delay >= first:
                for row, weight in self.history[number - delay].get(name, Counter()).items():
                    facts.add(f"{name}-{delay}", row)
                    facts.weights[f"{name}-{delay}", row] = weight
        extend(program, facts)
        self._last = self.copy(), changes
        contents = {
            name: Counter({row: facts.weights.get((name, row), 1) for row in facts.rows[name]})
            for name in program.relations
        }
        self.program, self.given, self._asked, self.facts = program, given, asked, facts
        self.history.append(contents)
        return contents

    def supposing(self, program: Program, changes: Sequence[Change]) -> Replay:
        """What would be if the last commit had had another program, and more changes."""
        assert self._last is not None, "there is a commit"
        before, made = self._last
        other = before.copy()
        other.commit(program, [*made, *changes])
        return other

    def copy(self) -> Replay:
        other = Replay()
        other.program, other.given = self.program, self.given
        other.history, other.facts, other._asked = list(self.history), self.facts, dict(self._asked)
        return other

    def _with(self, program: Program, changes: Sequence[Change]) -> Contents:
        given: Contents = {}
        for name, relation in program.relations.items():
            is_kept = relation.kind is not RelationKind.STREAM and name in self.program.relations
            given[name] = Counter(self.given.get(name, Counter()) if is_kept else Counter())
        for action, name, row in changes:
            is_set = program.relations[name].kind is RelationKind.SET
            before = given[name][row]
            if action == "insert":
                given[name][row] = 1 if is_set else before + 1
            else:
                given[name][row] = 0 if is_set else max(before - 1, 0)
        return {name: +rows for name, rows in given.items()}

    @staticmethod
    def _add(program: Program, facts: Facts, name: str, rows: Mapping[Row, int]) -> None:
        is_set = program.relations[name].kind is RelationKind.SET
        for row, weight in rows.items():
            if is_set:
                facts.add(name, row)
            else:
                facts.add_copy(name, row, weight)


def _delays(program: Program) -> set[tuple[str, int]]:
    bodies = (body for rule in program.rules.values() for body in (*rule.bodies, *rule.after))
    return set(_delays_in(bodies))


def _delays_in(bodies: Iterable[Body]) -> Iterable[tuple[str, int]]:
    for literal in (x for body in bodies for x in body):
        if isinstance(literal, Match | Absent):
            if literal.delay:
                yield literal.relation, literal.delay
        elif isinstance(literal, Nested | Without | Stage):
            yield from _delays_in(literal.bodies)
