"""The refutation that users hold: a drawing that can check itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, assert_never

from tidelog.data.values import Value, to_text
from tidelog.errors import SessionError
from tidelog.program.declared import Role
from tidelog.program.typed import Absent, Match, Rule
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
from tidelog.proofs.confirming import refutation_problems
from tidelog.proofs.drawing import Drawing, Line
from tidelog.proofs.kinds import is_momentary
from tidelog.proofs.model import Fact, Members
from tidelog.proofs.nearest import nearest
from tidelog.proofs.refuting import Refuter
from tidelog.proofs.state import State
from tidelog.proofs.wording import Wording, is_shown, literal_text, rule_text, value_text, values_text

__all__ = ["Refutation", "refute"]


class Refutation(Drawing):
    """Why no row matches a goal: for each alternative of each rule, what is in its way.

    `kept` is the row that the relation keeps for the goal's key instead. `near` are the rows of a relation
    without rules that come closest.
    """

    def __init__(
        self,
        state: State,
        goal: Pattern,
        obstacles: tuple[Obstacle, ...],
        kept: tuple[Fact, ...],
        near: tuple[Fact, ...],
        limit: int | None,
    ) -> None:
        self.goal = goal
        self.obstacles = obstacles
        self.kept = kept
        self.near = near
        self._state = state
        self._limit = limit
        self._wording = Wording(state.program)
        self.names = state.program.names

    def check(self) -> None:
        """Verify it against the rows of the commit that it is about; SessionError if it does not hold."""
        found = next(refutation_problems(self.goal, self.obstacles, self._state, self._limit), None)
        if found is not None:
            raise SessionError(f"the refutation does not hold: {found}")

    @property
    def changes(self) -> tuple[str, ...]:
        """The single changes after which there is such a row, in words."""
        lines = [text for o in self.obstacles if isinstance(o, Blocked) for text in self._changes(o)]
        return tuple(dict.fromkeys([*self._assertion(), *lines]))

    # -- shown

    def lines(self) -> Line:
        below = [Line(f"{self._wording.fact(fact)} is kept for this key", "kept") for fact in self.kept]
        below += [self._line(obstacle) for obstacle in self.obstacles]
        if not self.obstacles:
            below.append(Line("it is not asserted, and no rule derives it", "condition"))
            below += [Line(f"nearest: {self._wording.fact(fact)}", "near") for fact in self.near]
        below += [Line(text, "change") for text in self._assertion()]
        return Line(f"no {self._wording.pattern(self.goal)}", "goal", tuple(below))

    def _assertion(self) -> Iterator[str]:
        """The assertion of a row that no rule derives."""
        relation = self._state.program.relations[self.goal.relation]
        if not self.obstacles and relation.role is Role.INPUT:
            yield f"it would be there if {self._wording.pattern(self.goal)} {self._were} asserted{self._when}"

    @cached_property
    def _is_momentary(self) -> bool:
        return is_momentary(self._state.program)

    @property
    def _were(self) -> str:
        return "had been" if self._is_momentary else "were"

    @property
    def _when(self) -> str:
        """In such programs, the next commit would change more than what it is told."""
        return f" in commit {self._state.commit}" if self._is_momentary else ""

    def _line(self, obstacle: Obstacle) -> Line:
        return Line(f"not by {rule_text(obstacle.rule)}", "rule", tuple(self._below(obstacle)))

    def _below(self, obstacle: Obstacle) -> Iterator[Line]:
        match obstacle:
            case Mismatch():
                yield Line("its head never has these values", "fails")
            case Kept(instance=instance, kept=kept):
                shown = values_text(instance)
                yield Line(
                    f"{self._wording.fact(kept)} is kept{f' (with {shown})' if shown else ''}", "fails"
                )
            case Other(members=members, row=row, values=values):
                if members is not None:
                    yield self._group(obstacle.rule, members, values)
                if row is not None:
                    yield Line(f"it derives {self._wording.fact(Fact(self.goal.relation, row))}", "fails")
            case Blocked():
                yield from self._blocked(obstacle)
            case _:
                assert_never(obstacle)

    @staticmethod
    def _group(rule: Rule, members: Members, values: Mapping[str, Value]) -> Line:
        columns = () if rule.group is None else rule.group.columns
        shown = [f"{v.name} = {value_text(v.type, values[v.name])}" for v in columns if v.name in values]
        noun = "instance" if members.count == 1 else "instances"
        return Line(f"a group of {members.count:,} {noun} has {', '.join(shown)}", "fails")

    def _blocked(self, obstacle: Blocked) -> Iterator[Line]:
        values = obstacle.instance.values
        if obstacle.members is not None:
            group = self._group(obstacle.rule, obstacle.members, values)
            yield replace(group, kind="condition")
        for number, literal in enumerate(obstacle.body):
            if number == obstacle.literal:
                text = self._wording.failure(literal, values, obstacle.instead, obstacle.near)
                yield Line(text, "fails", tuple(self._near(obstacle)))
            elif number in obstacle.holds and is_shown(literal):
                yield Line(self._wording.literal(literal, values), "condition")
        yield from (Line(text, "change") for text in self._changes(obstacle))

    def _near(self, obstacle: Blocked) -> Iterator[Line]:
        literal = obstacle.body[obstacle.literal]
        label = "nearest: " if isinstance(literal, Match) else ""
        is_told = isinstance(literal, Absent) and len(obstacle.near) == 1
        for fact in () if is_told else obstacle.near:
            yield Line(f"{label}{self._wording.fact(fact)}", "near")

    def _changes(self, obstacle: Blocked) -> Iterator[str]:
        for change in obstacle.changes:
            yield f"it would be there {self._change(obstacle, change)}"

    def _change(self, obstacle: Blocked, change: Change) -> str:
        match change:
            case Insert(pattern):
                is_input = self._state.program.relations[pattern.relation].role is Role.INPUT
                what = "asserted" if is_input else "there"
                return f"if {self._wording.pattern(pattern)} {self._were} {what}{self._when}"
            case Delete(fact):
                return f"if {self._wording.fact(fact)} {self._were} deleted{self._when}"
            case Drop(literal):
                did = "had not had" if self._is_momentary else "did not have"
                return f"if the rule {did} `{literal_text(obstacle.body[literal])}`{self._when}"
            case _:
                assert_never(change)

    def __repr__(self) -> str:
        return self.names.in_text(
            f"<refutation of {self._wording.pattern(self.goal)}: {len(self.obstacles):,} obstacles>"
        )

    # -- as data

    def to_dict(self) -> dict[str, Any]:
        types = self._state.program.relations[self.goal.relation].types
        row = [_value_data(t, self.goal.bound, i) for i, t in enumerate(types)]
        return {
            "relation": self.goal.relation,
            "row": row,
            "goal": self._wording.pattern(self.goal),
            "kept": [self._wording.fact(fact) for fact in self.kept],
            "near": [self._wording.fact(fact) for fact in self.near],
            "rules": [self._data(obstacle) for obstacle in self.obstacles],
            "changes": list(self.changes),
        }

    def _data(self, obstacle: Obstacle) -> dict[str, Any]:
        lines = list(self._below(obstacle))
        return {
            "rule": rule_text(obstacle.rule),
            "holds": [line.text for line in lines if line.kind == "condition"],
            "fails": [line.text for line in lines if line.kind == "fails"],
            "near": [near.text for line in lines for near in line.below],
            "changes": [line.text for line in lines if line.kind == "change"],
        }


def _value_data(type_: Any, bound: Mapping[int, Value], column: int) -> str | None:
    """A value of a goal as text; None for a missing value and for a column that may have any."""
    value = bound.get(column)
    return None if value is None else to_text(type_, value)


def refute(state: State, goal: Pattern, limit: int | None) -> Refutation:
    """The refutation of a goal that no row matches."""
    refuter = Refuter(state, limit)
    obstacles = refuter.obstacles(goal)
    near = () if obstacles else nearest(state, goal.relation, goal.bound)
    return Refutation(state, goal, obstacles, refuter.kept(goal), near, limit)
