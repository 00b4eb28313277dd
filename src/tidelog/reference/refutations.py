"""A second opinion on refutations: no rule derives a row of the goal, and every claim is tried out.

Nothing is believed but the program and the asserted facts. The rows of all relations are computed by `chibi`.
What a change of one fact or rule would do is found by making it and computing all rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from tidelog.data.values import Row, joins
from tidelog.errors import EngineError
from tidelog.program.model import Program
from tidelog.program.typed import Body, Constant, Match, Rule, Stratum, Var
from tidelog.program.weighting import delays
from tidelog.proofs.absence import (
    Blocked,
    Change,
    Delete,
    Drop,
    Insert,
    Kept,
    Mismatch,
    Obstacle,
    Other,
    Pattern,
)
from tidelog.proofs.model import Fact
from tidelog.reference.chibi import consequences, derivations
from tidelog.reference.facts import IndexedFacts, stored
from tidelog.reference.replay import Change as Edit
from tidelog.reference.replay import Replay

__all__ = ["RefutationChecker"]


class RefutationChecker:
    """Checks refutations about one state: a program and its asserted facts, or what a replay has reached."""

    def __init__(
        self, program: Program, given: Mapping[str, Iterable[Row]], replay: Replay | None = None
    ) -> None:
        self._program = program
        self._given = {name: frozenset(rows) for name, rows in given.items()}
        self._replay = replay
        self._facts = IndexedFacts(consequences(program, self._given)) if replay is None else replay.facts
        self._delays = {name: f"{r}-{n}" for name, (r, n) in delays(program).items()}
        self._kept = {name: best.column for stratum in program.strata for name, best in stratum.best}
        for stratum in program.strata:
            totals = () if stratum.totals is None else stratum.totals.kept
            self._kept |= {name: total.column for name, total in totals}
        self._derived: dict[str, list[Row]] = {}

    @classmethod
    def of(cls, replay: Replay) -> RefutationChecker:
        """A checker of the last commit of a replay: changes are made in that commit."""
        return cls(replay.program, {name: list(rows) for name, rows in replay.given.items()}, replay)

    def problem(self, goal: Pattern, obstacles: Iterable[Obstacle]) -> str | None:
        """What is wrong with a refutation first; None if it holds."""
        return next(self._problems(goal, list(obstacles)), None)

    def _problems(self, goal: Pattern, obstacles: list[Obstacle]) -> Iterator[str]:
        if self._has(self._facts.rows[goal.relation], goal):
            yield f"{goal} follows"
        for rule in self._program.rules.values():
            for head in (n for n, h in enumerate(rule.heads) if h.relation == goal.relation):
                if not any(o.rule == rule and o.head == head for o in obstacles):
                    yield f"{rule.id} has no obstacle"
        if any(
            self._is_free(goal, row) for row in self._rows(goal.relation) if self._is_candidate(goal, row)
        ):
            yield f"a rule derives {goal}"
        for obstacle in obstacles:
            if self._program.rules.get(obstacle.rule.id) != obstacle.rule:
                yield f"{obstacle.rule.id} is no rule"
            elif not self._is_sound(goal, obstacle):
                yield f"the obstacle to {obstacle.rule.id} is none"

    # -- what rules derive

    def _rows(self, relation: str) -> list[Row]:
        """The rows that the rules of a relation derive from the rows of all relations, in one step."""
        found = self._derived.get(relation)
        if found is None:
            found = self._derived[relation] = list(derivations(self._program, relation, self._facts))
        return found

    def _is_candidate(self, goal: Pattern, row: Row) -> bool:
        column = self._kept.get(goal.relation)
        return all(_same(row[i], v) for i, v in goal.bound.items() if i != column)

    def _is_free(self, goal: Pattern, row: Row) -> bool:
        """Whether a derived row is one of the goal, and nothing better is there for its key."""
        column = self._kept.get(goal.relation)
        if column is None:
            return True
        key = {i: v for i, v in enumerate(row) if i != column}
        there = [r for r in self._facts.rows[goal.relation] if all(_same(r[i], v) for i, v in key.items())]
        return not there or self._has(there, goal)

    @staticmethod
    def _has(rows: Iterable[Row], goal: Pattern) -> bool:
        return any(all(_same(row[i], v) for i, v in goal.bound.items()) for row in rows)

    # -- obstacles

    def _is_sound(self, goal: Pattern, obstacle: Obstacle) -> bool:
        match obstacle:
            case Mismatch(rule, head):
                return not self._could_be(goal, rule.heads[head].values)
            case Other(row=row):
                return row is None or not self._has([row], goal)
            case Kept(kept=kept):
                return kept.row in self._facts.rows[kept.relation] and not self._has([kept.row], goal)
            case Blocked():
                return self._is_blocked(obstacle) and all(
                    self._works(goal, obstacle, c) for c in obstacle.changes
                )
            case _:
                assert_never(obstacle)

    def _could_be(self, goal: Pattern, values: tuple[object, ...]) -> bool:
        """Whether constants and variables of a head can be the values of a goal."""
        found: dict[str, object] = {}
        for i, wanted in goal.bound.items():
            value = values[i]
            if i == self._kept.get(goal.relation):
                continue
            if isinstance(value, Constant) and not _same(value.value, wanted):
                return False
            if isinstance(value, Var) and not _same(found.setdefault(value.name, wanted), wanted):
                return False
        return True

    def _is_blocked(self, obstacle: Blocked) -> bool:
        """Whether the atoms that hold match present rows, and a failing atom matches none."""
        instance = obstacle.instance
        shown = [*instance.facts.values(), *obstacle.near]
        if not all(fact.row in self._facts.rows[self._stored(fact)] for fact in shown):
            return False
        for number, fact in instance.facts.items():
            atom = obstacle.body[number]
            alone = IndexedFacts({self._stored(fact): [fact.row]})
            if not isinstance(atom, Match) or not any(
                True for _ in alone.unifying(stored(atom).removesuffix("'"), atom.terms, {})
            ):
                return False
        failing = obstacle.body[obstacle.literal]
        if not isinstance(failing, Match):
            return True
        return next(self._facts.unifying(stored(failing), failing.terms, instance.values), None) is None

    def _stored(self, fact: Fact) -> str:
        """The name under which the rows of a fact's relation are stored here."""
        return self._delays.get(fact.relation, fact.relation)

    # -- changes

    def _works(self, goal: Pattern, obstacle: Blocked, change: Change) -> bool:
        """Whether the goal follows after a change."""
        try:
            match change:
                case Insert(pattern):
                    row = self._completed(pattern)
                    return row is None or self._follows(goal, {pattern.relation: {row}}, {})
                case Delete(fact):
                    is_asserted = fact.row in self._given.get(fact.relation, ())
                    return is_asserted and self._follows(goal, {}, {fact.relation: {fact.row}})
                case Drop(literal):
                    program = _without(self._program, obstacle.rule, obstacle.body, literal)
                    return self._has_after(goal, program, self._given, [])
                case _:
                    assert_never(change)
        except EngineError:
            return True  # some other rule fails then

    def _completed(self, pattern: Pattern) -> Row | None:
        """A row with these values and any others; None if no others are known."""
        columns = range(len(self._program.relations[pattern.relation].columns))
        rows = sorted(self._facts.rows[pattern.relation], key=repr)
        if len(pattern.bound) < len(columns) and not rows:
            return None
        return tuple(pattern.bound[i] if i in pattern.bound else rows[0][i] for i in columns)

    def _follows(self, goal: Pattern, more: Mapping[str, set[Row]], less: Mapping[str, set[Row]]) -> bool:
        given = {name: set(rows) - less.get(name, set()) for name, rows in self._given.items()}
        for name, rows in more.items():
            given[name] = given.get(name, set()) | rows
        changes: list[Edit] = [("delete", name, row) for name, rows in less.items() for row in rows]
        changes += [("insert", name, row) for name, rows in more.items() for row in rows]
        return self._has_after(goal, self._program, given, changes)

    def _has_after(
        self, goal: Pattern, program: Program, given: Mapping[str, Iterable[Row]], changes: list[Edit]
    ) -> bool:
        """Whether the goal follows from other facts, or from more changes in the last commit."""
        if self._replay is None:
            return self._has(consequences(program, given).get(goal.relation, ()), goal)
        return self._has(self._replay.supposing(program, changes).facts.rows[goal.relation], goal)


def _without(program: Program, rule: Rule, body: Body, literal: int) -> Program:
    """The program with a rule that lacks one literal of a body."""
    shorter = (*body[:literal], *body[literal + 1 :])

    def changed(bodies: tuple[Body, ...]) -> tuple[Body, ...]:
        return tuple(shorter if b == body else b for b in bodies)

    other = replace(rule, bodies=changed(rule.bodies), after=changed(rule.after))

    def of(stratum: Stratum) -> Stratum:
        return replace(stratum, rules=tuple(other if r.id == rule.id else r for r in stratum.rules))

    rules = {id_: other if id_ == rule.id else r for id_, r in program.rules.items()}
    strata = tuple(map(of, program.strata))
    return Program(program.relations, program.aliases, program.functions, rules, strata)


def _same(left: object, right: object) -> bool:
    return (left is None and right is None) or joins(left, right)  # type: ignore[arg-type]
