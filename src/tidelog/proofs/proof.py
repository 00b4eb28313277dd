"""The proof that users hold: a drawing that can check itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

from tidelog.data.values import to_text
from tidelog.errors import SessionError
from tidelog.program.typed import Match, Rule
from tidelog.program.weighting import is_weighted
from tidelog.proofs.checking import problems
from tidelog.proofs.drawing import Drawing, Line
from tidelog.proofs.kinds import instance_weight, relation_read, weighted
from tidelog.proofs.model import (
    Added,
    Asserted,
    Copies,
    Derived,
    Earlier,
    Fact,
    Grouped,
    Instance,
    Members,
    Part,
    Share,
    Step,
    Steps,
    single_steps,
)
from tidelog.proofs.search import Prover
from tidelog.proofs.state import State
from tidelog.proofs.wording import Wording, is_shown, rule_text

__all__ = ["Proof", "prove"]


class Proof(Drawing):
    """Why a fact is there. `steps` has a step for each fact; each rests on earlier ones."""

    def __init__(self, state: State, goal: Fact, steps: Steps, limit: int | None) -> None:
        self.goal = goal
        self.steps = steps
        self._state = state
        self._limit = limit
        self._wording = Wording(state.program)
        self.names = state.program.names

    def check(self) -> None:
        """Verify each step against the rows of the commit that it is about; SessionError if one fails."""
        found = next(problems(self.steps, self.goal, Prover(self._state, self._limit).candidates), None)
        if found is not None:
            raise SessionError(f"the proof does not hold: {found}")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The asserted facts that the proof rests on."""
        return tuple(
            fact
            for fact, step in self.steps.items()
            if any(isinstance(single, Asserted) for single in single_steps(step))
        )

    @property
    def earlier(self) -> tuple[Fact, ...]:
        """The rows of earlier commits that the proof rests on."""
        return tuple(fact for fact, step in self.steps.items() if isinstance(step, Earlier))

    @property
    def replaced(self) -> frozenset[Fact]:
        """The facts that steps rest on although the relation has another row for their key by now."""
        return frozenset(f for f in self.steps if not self._is_present(f))

    def _is_present(self, fact: Fact) -> bool:
        return bool(self._state.rows(fact.relation, dict(enumerate(fact.row))))

    # -- what an explanation of a change shows in another way

    def _mark(self, fact: Fact) -> str:
        """What is said of a fact behind its text, besides its weight."""
        return "" if self._is_present(fact) else "  (replaced since)"

    def _is_open(self, fact: Fact) -> bool:
        """Whether the step to a fact is shown below it."""
        return True

    def _rule(self, rule: Rule) -> str:
        return rule_text(rule)

    def _condition(self, instance: Instance, number: int) -> str:
        return self._wording.literal(instance.body[number], instance.values)

    def _left(self, rule: Rule, after: Instance) -> Iterable[Line]:
        """Members that the group of a rule had in another state."""
        return ()

    # -- shown

    def lines(self) -> Line:
        """The proof as a tree of lines; a fact that occurs again refers to its first occurrence."""
        made: dict[Fact, Line] = {}
        for fact in self.steps:  # bottom-up, since proofs may be deep
            made[fact] = self._line(fact, made)
        return made[self.goal]

    def _line(self, fact: Fact, made: Mapping[Fact, Line]) -> Line:
        step, text, mark = self.steps[fact], self._text(fact), self._mark(fact)
        if not self._is_open(fact):
            return Line(f"{text}{mark}", "fact")
        return self._by(step, text, mark, made)

    def _by(self, step: Step, text: str, mark: str, made: Mapping[Fact, Line]) -> Line:
        """A fact, or a part of its weight, with the step to it."""
        match step:
            case Asserted():
                return Line(f"{text}  asserted{mark}", "fact")
            case Earlier(commit=commit):
                return Line(f"{text}  as of commit {commit}{mark}", "fact")
            case Derived(rule=rule, instance=instance):
                if not instance.body:
                    return Line(f"{text}  stated in the program{mark}", "fact")
                return Line(f"{text}{mark}  by {self._rule(rule)}", "rule", self._literals(instance, made))
            case Grouped(rule=rule, members=members, after=after):
                shown = self._members(members, made)
                below = (*shown, *self._left(rule, after), *self._literals(after, made))
                return Line(f"{text}{mark}  by {self._rule(rule)}", "group", below)
            case Added(count=count, parts=parts):
                below = tuple(self._part(p, made) for p in parts)
                below += self._more(count - sum(part.weight for part in parts))
                return Line(f"{text}{mark}  the total of {_contributions(count)}", "total", below)
            case Copies(count=1, shares=(share,)):
                return self._by(share.step, text, mark, made)
            case Copies(count=count, shares=shares):
                below = tuple(self._share(share, made) for share in shares)
                below += self._more(count - len(shares))
                return Line(f"{text}{mark}  the total of {_contributions(count)}", "total", below)
            case _:
                assert_never(step)

    def _text(self, fact: Fact) -> str:
        """A fact, with its weight if it has one."""
        text, program = self._wording.fact(fact), self._state.program
        return f"{text} ×{self._state.weight(fact):,}" if weighted(program, fact.relation) else text

    @staticmethod
    def _more(count: int) -> tuple[Line, ...]:
        return (Line(f"… and {_contributions(count, 'more ')}", "more"),) if count > 0 else ()

    def _part(self, part: Part, made: Mapping[Fact, Line]) -> Line:
        if part.instance is None:
            return Line(f"{part.value}  asserted", "fact")
        copies = f" ×{part.weight:,}" if part.weight != 1 else ""
        return Line(f"{part.value}{copies}  from", "part", self._literals(part.instance, made))

    def _share(self, share: Share, made: Mapping[Fact, Line]) -> Line:
        return self._by(share.step, f"×{share.weight:,}", "", made)

    def _literals(self, instance: Instance, made: Mapping[Fact, Line]) -> tuple[Line, ...]:
        lines: list[Line] = []
        for number, literal in enumerate(instance.body):
            if isinstance(literal, Match):
                lines.append(made[instance.facts[number]])
            elif is_shown(literal):
                members = instance.inner.get(number)
                below = () if members is None else tuple(self._members(members, made))
                lines.append(Line(self._condition(instance, number), "condition", below))
        return tuple(lines)

    def _members(self, members: Members, made: Mapping[Fact, Line]) -> Iterator[Line]:
        for instance in members.shown:
            lines = self._literals(instance, made)
            if len(lines) == 1:
                yield lines[0]
            elif lines:
                yield Line("together", "part", lines)
        more = members.count - sum(instance_weight(x, self._state) for x in members.shown)
        if more > 0:
            yield Line(f"… and {more:,} more", "more")

    def __repr__(self) -> str:
        return self.names.in_text(f"<proof of {self._wording.fact(self.goal)}: {len(self.steps):,} steps>")

    def to_dict(self) -> dict[str, Any]:
        """The steps as plain data: facts are numbered, and steps refer to them by number."""
        numbers = {fact: number for number, fact in enumerate(self.steps)}
        steps = [self._data(step, numbers) for step in self.steps.values()]
        return {"goal": numbers[self.goal], "steps": steps}

    def _data(self, step: Step, numbers: Mapping[Fact, int]) -> dict[str, Any]:
        fact = step.fact
        relation, delay = relation_read(self._state.program, fact.relation)
        assert relation is not None, "facts are of relations of the program"
        row = [None if v is None else to_text(t, v) for t, v in zip(relation.types, fact.row, strict=True)]
        data: dict[str, Any] = {"relation": relation.name, "row": row, "fact": self._wording.fact(fact)}
        data |= {"delay": delay} if delay else {}
        data |= {"weight": self._state.weight(fact)} if is_weighted(relation) else {}
        data |= self._kind(step, numbers)
        return data if self._is_present(fact) else {**data, "replaced": True}

    def _kind(self, step: Step, numbers: Mapping[Fact, int]) -> dict[str, Any]:
        match step:
            case Asserted():
                return {"kind": "asserted"}
            case Earlier(commit=commit):
                return {"kind": "earlier", "commit": commit}
            case Derived(rule=rule, instance=instance):
                return {"kind": "derived", "rule": rule_text(rule), **self._instance(instance, numbers)}
            case Grouped(rule=rule, members=members, after=after):
                group = {"kind": "group", "rule": rule_text(rule), "instances": members.count}
                shown = [self._instance(x, numbers) for x in members.shown]
                return {**group, "shown": shown, **self._instance(after, numbers)}
            case Added(count=count, parts=parts):
                shown = [self._instance(p.instance, numbers) for p in parts if p.instance is not None]
                return {"kind": "total", "contributions": count, "shown": shown}
            case Copies(count=count, shares=shares):
                shown = [{"weight": s.weight, **self._kind(s.step, numbers)} for s in shares]
                return {"kind": "copies", "contributions": count, "shown": shown}
            case _:
                assert_never(step)

    def _instance(self, instance: Instance, numbers: Mapping[Fact, int]) -> dict[str, Any]:
        wording = self._wording
        holds = [
            wording.literal(x, instance.values)
            for x in instance.body
            if not isinstance(x, Match) and is_shown(x)
        ]
        return {"from": [numbers[f] for f in instance.facts.values()], "conditions": holds}


def _contributions(count: int, more: str = "") -> str:
    return f"{count:,} {more}contribution{'s' * (count != 1)}"


def prove(state: State, goal: Fact, limit: int | None) -> Proof:
    """The proof of a fact that is present."""
    prover = Prover(state, limit)
    prover.prove(goal)
    return Proof(state, goal, prover.steps, limit)
