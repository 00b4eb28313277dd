"""Steps in a recursion that keeps one row per key: its rounds are replayed for the keys that matter.

Over the final rows, a fact may support itself: the best value of `a` follows from that of `b`, which follows
from that of `a`. It then rests on a value that was replaced, or, for a total that only has to exceed
something, on the total of fewer contributions. So the keys that it depends on are collected, backwards over
the final rows, and their rows are computed again, forwards from none. Every row on the way is a step that
rests on earlier rows.

Better values and larger totals only lead to more instances (see `program.analysis.monotonicity` and
`totals`), so the instances over the final rows show all dependencies between keys.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tidelog.data.values import Row, Value, order_key
from tidelog.program.typed import Best, Stratum
from tidelog.proofs.candidates import Candidates, Deriving
from tidelog.proofs.kinds import instance_weight
from tidelog.proofs.model import Added, Asserted, Derived, Fact, Failed, Instance, Part, Step, premises
from tidelog.proofs.state import Budget, same

__all__ = ["replayed"]

Group: TypeAlias = tuple[str, Row]


def replayed(goal: Fact, stratum: Stratum, candidates: Candidates, budget: Budget) -> dict[Fact, Step] | None:
    """The steps to a fact and the facts of its stratum that they rest on; None if it does not follow."""
    return _Replay(stratum, candidates, budget).steps(goal)


class _Replay:
    def __init__(self, stratum: Stratum, candidates: Candidates, budget: Budget) -> None:
        self._stratum = stratum
        self._candidates = candidates
        self._budget = budget
        self._state = candidates.bodies.state
        self._best: Mapping[str, Best] = dict(stratum.best)
        self._rows: defaultdict[str, dict[Row, Row]] = defaultdict(dict)  # by relation and key
        self._found: dict[Fact, Step] = {}

    def steps(self, goal: Fact) -> dict[Fact, Step] | None:
        readers = self._readers(self._group(goal))
        agenda = deque(readers)
        waiting = set(agenda)
        while goal not in self._found and agenda:
            group = agenda.popleft()
            waiting.discard(group)
            self._budget.spend()
            if self._improve(group):
                more = [g for g in readers[group] if g not in waiting]
                agenda.extend(more)
                waiting.update(more)
        return self._needed(goal) if goal in self._found else None

    def _needed(self, goal: Fact) -> dict[Fact, Step]:
        needed, agenda = {goal}, [goal]
        while agenda:
            for fact in premises(self._found[agenda.pop()]):
                if fact.relation in self._stratum.relations and fact not in needed:
                    needed.add(fact)
                    agenda.append(fact)
        return {fact: step for fact, step in self._found.items() if fact in needed}

    # -- groups: a relation and a key

    def _group(self, fact: Fact) -> Group:
        column = self._candidates.strata.key(fact.relation)
        row = fact.row
        return fact.relation, row if column is None else (*row[:column], *row[column + 1 :])

    def _bound(self, group: Group) -> dict[int, Value]:
        """The values of a group's key, by column."""
        relation, key = group
        column = self._candidates.strata.key(relation)
        return {i if column is None or i < column else i + 1: v for i, v in enumerate(key)}

    def _readers(self, goal: Group) -> dict[Group, dict[Group, None]]:
        """The groups that a group depends on and itself, each with those that read it."""
        readers: dict[Group, dict[Group, None]] = {goal: {}}
        agenda = [goal]
        while agenda:
            group = agenda.pop()
            for fact in self._read_by(group):
                self._budget.spend()
                below = self._group(fact)
                if below not in readers:
                    readers[below] = {}
                    agenda.append(below)
                readers[below][group] = None
        return dict(reversed(readers.items()))

    def _read_by(self, group: Group) -> Iterator[Fact]:
        """The facts of the stratum that the instances of a group read, over the final rows."""
        for deriving in self._candidates.strata.deriving(group[0]):
            for _, instance in self._candidates.rows(deriving, self._bound(group)):
                yield from (f for f in instance.facts.values() if f.relation in self._stratum.relations)
            if deriving.body is None:
                for step in self._candidates.steps(deriving, Fact(*group)):
                    yield from (f for f in premises(step) if f.relation in self._stratum.relations)

    # -- forwards

    def _read(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Row]:
        """The current rows of a relation of the stratum."""
        for row in list(self._rows[relation].values()):
            if all(same(row[i], v) for i, v in bound.items()):
                yield row

    def _instances(self, group: Group) -> Iterator[tuple[Deriving, Row, Instance]]:
        for deriving in self._candidates.strata.deriving(group[0]):
            reads = dict.fromkeys(deriving.own_atoms(self._stratum), self._read)
            for row, instance in self._candidates.rows(deriving, self._bound(group), reads):
                yield deriving, row, instance

    def _improve(self, group: Group) -> bool:
        """Compute the row of a group again; returns whether it is new or better."""
        relation, key = group
        best, column = self._best.get(relation), self._candidates.strata.key(relation)
        if best is not None:
            return self._choose(group, best)
        if column is not None:
            return self._add_up(group, column)
        if key in self._rows[relation]:
            return False
        fact = Fact(relation, key)
        if self._state.is_asserted(fact):
            return self._put(group, Asserted(fact))
        for deriving, _, instance in self._instances(group):
            return self._put(group, Derived(fact, deriving.rule, deriving.head, instance))
        for deriving in self._candidates.strata.deriving(relation):
            for step in self._candidates.steps(deriving, fact) if deriving.body is None else ():
                return self._put(group, step)
        return False

    def _put(self, group: Group, step: Step) -> bool:
        self._rows[group[0]][group[1]] = step.fact.row
        self._found.setdefault(step.fact, step)
        return True

    def _choose(self, group: Group, best: Best) -> bool:
        """Replace the row of a group by a better one."""
        relation, key = group
        type_ = self._candidates.strata.program.relations[relation].columns[best.column].type

        def value(step: Step) -> Any:
            return order_key(type_, step.fact.row[best.column])

        steps: list[Step] = [
            Derived(Fact(relation, row), deriving.rule, deriving.head, instance)
            for deriving, row, instance in self._instances(group)
        ]
        steps += [Asserted(Fact(relation, row)) for row in self._state.asserted(relation, self._bound(group))]
        if not steps:
            return False
        chosen = (min if best.function == "min" else max)(steps, key=value)
        before = self._rows[relation].get(key)
        if before is not None and not self._is_better(
            value(chosen), order_key(type_, before[best.column]), best
        ):
            return False
        return self._put(group, chosen)

    @staticmethod
    def _is_better(new: object, old: object, best: Best) -> bool:
        return bool(new < old if best.function == "min" else new > old)  # type: ignore[operator]

    def _add_up(self, group: Group, column: int) -> bool:
        """Replace the row of a group by the total of its contributions."""
        relation, key = group
        parts = [
            Part(row[column], d.rule, instance, instance_weight(instance, self._state))
            for d, row, instance in self._instances(group)
        ]
        asserted = self._state.asserted(relation, self._bound(group))
        parts += [Part(row[column], None, None) for row in asserted]
        if not parts:
            return False
        type_ = self._candidates.strata.program.relations[relation].columns[column].type
        values, weights = [part.value for part in parts], [part.weight for part in parts]
        total = self._candidates.bodies.calculator.total(type_, values, weights)
        row: Row = (*key[:column], total, *key[column:])  # type: ignore[arg-type]
        if isinstance(total, Failed) or self._rows[relation].get(key) == row:
            return False
        return self._put(group, Added(Fact(relation, row), sum(weights), tuple(parts)))
