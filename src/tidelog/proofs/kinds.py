"""The state of a program with multisets, streams or delays, over the rows of the program that it becomes.

The rows below are those of `weighting.without_kinds`: they have their weights as a last column, and the
assertions are among the contributions. Here, rows are as people declare them, and weights are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.data.values import Row, Value
from tidelog.program.declared import Relation, RelationKind
from tidelog.program.model import Program
from tidelog.program.typed import Match
from tidelog.program.weighting import GIVEN, contributions, delays, is_weighted
from tidelog.proofs.model import Fact, Instance
from tidelog.proofs.state import State

__all__ = ["instance_weight", "is_momentary", "is_stream", "relation_read", "weighted", "with_kinds"]


def with_kinds(state: State) -> State:
    """A state of sets as one of the program that they were made from."""
    written = state.program.written
    return state if written is None else _KindsState(state, written)


def relation_read(program: Program, name: str) -> tuple[Relation | None, int]:
    """The relation of a fact, and its delay."""
    relation = program.relations.get(name)
    if relation is not None:
        return relation, 0
    found = delays(program).get(name)
    return (None, 0) if found is None else (program.relations.get(found[0]), found[1])


def weighted(program: Program, name: str) -> bool:
    """Whether the rows of a relation, which may be a delayed one, have weights."""
    relation, _ = relation_read(program, name)
    return relation is not None and is_weighted(relation)


def is_stream(program: Program, name: str) -> bool:
    relation = program.relations.get(name)
    return relation is not None and relation.kind is RelationKind.STREAM


def is_momentary(program: Program) -> bool:
    """Whether the next commit changes results even if it changes no fact and no rule."""
    return any(is_stream(program, name) for name in program.relations) or bool(delays(program))


def instance_weight(instance: Instance, state: State) -> int:
    """How often an instance counts: the product of the weights of its rows."""
    weight = 1
    for number, fact in instance.facts.items():
        atom = instance.body[number]
        if not (isinstance(atom, Match) and atom.is_prime):
            weight *= state.weight(fact)
    return weight


class _KindsState:
    def __init__(self, below: State, program: Program) -> None:
        self._below = below
        self.program = program
        self._delays = delays(program)
        self._weighted = {name for name, relation in program.relations.items() if is_weighted(relation)}
        self._weighted |= {name for name, (source, _) in self._delays.items() if source in self._weighted}

    @property
    def commit(self) -> int:
        return self._below.commit

    def size(self, relation: str) -> int:
        return self._below.size(relation)

    def rows(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        return self._without_weights(relation, self._below.rows(relation, bound))

    def some(self, relation: str, bound: Mapping[int, Value], count: int) -> Sequence[Row]:
        return self._without_weights(relation, self._below.some(relation, bound, count))

    def _without_weights(self, relation: str, rows: Sequence[Row]) -> Sequence[Row]:
        return [row[:-1] for row in rows] if relation in self._weighted else rows

    def asserted(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        if relation not in self._weighted:
            return () if relation in self._delays else self._below.asserted(relation, bound)
        return [row[:-2] for row in self._given(relation, bound)]

    def _given(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        """The asserted rows of a relation with weights, with the origin and the weight."""
        if relation in self._delays:
            return ()
        origin = len(self.program.relations[relation].columns)
        return self._below.rows(contributions(relation), {**bound, origin: GIVEN})

    def is_asserted(self, fact: Fact) -> bool:
        if fact.relation in self._delays:
            return False
        if fact.relation in self._weighted:
            return self.asserted_weight(fact) > 0
        return self._below.is_asserted(fact)

    def was_asserted(self, fact: Fact) -> bool:
        is_set = fact.relation not in self._weighted and fact.relation not in self._delays
        return is_set and self._below.was_asserted(fact)

    def rank(self, fact: Fact) -> int | None:
        is_set = fact.relation not in self._weighted and fact.relation not in self._delays
        return self._below.rank(fact) if is_set else None

    def weight(self, fact: Fact) -> int:
        if fact.relation not in self._weighted:
            return 1
        rows = self._below.rows(fact.relation, dict(enumerate(fact.row)))
        return int(rows[0][-1]) if rows else 0  # type: ignore[arg-type]

    def asserted_weight(self, fact: Fact) -> int:
        if fact.relation not in self._weighted:
            return int(self.is_asserted(fact))
        rows = self._given(fact.relation, dict(enumerate(fact.row)))
        return int(rows[0][-1]) if rows else 0  # type: ignore[arg-type]
