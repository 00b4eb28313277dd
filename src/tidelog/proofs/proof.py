"""The proof that users hold: text for terminals, JSON, HTML, SVG; it can check itself."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Final, assert_never

from tidelog.data.values import to_text
from tidelog.errors import SessionError
from tidelog.program.typed import Match
from tidelog.proofs.checking import problems
from tidelog.proofs.model import Added, Asserted, Derived, Fact, Grouped, Instance, Members, Step, Steps
from tidelog.proofs.search import Prover
from tidelog.proofs.state import State
from tidelog.proofs.wording import Wording, is_shown, rule_text

__all__ = ["Line", "Proof", "prove"]

_SHOWN: Final = 300  # lines in a notebook
_LETTERS: Final = 500  # of each
_MARGIN: Final = 12
_LINE: Final = 20  # pixels of a line in SVG


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a shown proof, and what is below it."""

    text: str
    kind: str
    below: tuple[Line, ...] = ()


class Proof:
    """Why a fact is there. `steps` has a step for each fact; each rests on earlier ones."""

    def __init__(self, state: State, goal: Fact, steps: Steps, limit: int | None) -> None:
        self.goal = goal
        self.steps = steps
        self._state = state
        self._limit = limit
        self._wording = Wording(state.program)

    def check(self) -> None:
        """Verify each step against the rows of the commit that it is about; SessionError if one fails."""
        found = next(problems(self.steps, self.goal, Prover(self._state, self._limit).candidates), None)
        if found is not None:
            raise SessionError(f"the proof does not hold: {found}")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The asserted facts that the proof rests on."""
        return tuple(fact for fact, step in self.steps.items() if isinstance(step, Asserted))

    @property
    def replaced(self) -> frozenset[Fact]:
        """The facts that steps rest on although the relation has another row for their key by now."""
        return frozenset(f for f in self.steps if not self._is_present(f))

    def _is_present(self, fact: Fact) -> bool:
        return bool(self._state.rows(fact.relation, dict(enumerate(fact.row))))

    # -- shown

    def lines(self) -> Line:
        """The proof as a tree of lines; a fact that occurs again refers to its first occurrence."""
        made: dict[Fact, Line] = {}
        for fact in self.steps:  # bottom-up, since proofs may be deep
            made[fact] = self._line(fact, made)
        return made[self.goal]

    def _line(self, fact: Fact, made: Mapping[Fact, Line]) -> Line:
        step, text = self.steps[fact], self._wording.fact(fact)
        mark = "" if self._is_present(fact) else "  (replaced since)"
        match step:
            case Asserted():
                return Line(f"{text}  asserted{mark}", "fact")
            case Derived(rule=rule, instance=instance):
                if not instance.body:
                    return Line(f"{text}  stated in the program{mark}", "fact")
                return Line(f"{text}{mark}  by {rule_text(rule)}", "rule", self._literals(instance, made))
            case Grouped(rule=rule, members=members, after=after):
                below = (*self._members(members, made), *self._literals(after, made))
                return Line(f"{text}{mark}  by {rule_text(rule)}", "group", below)
            case Added(count=count, parts=parts):
                below = tuple(self._part(p.value, p.instance, made) for p in parts)
                if count > len(parts):
                    below += (Line(f"… and {count - len(parts):,} more contributions", "more"),)
                noun = "contribution" if count == 1 else "contributions"
                return Line(f"{text}{mark}  the total of {count:,} {noun}", "total", below)
            case _:
                assert_never(step)

    def _part(self, value: object, instance: Instance | None, made: Mapping[Fact, Line]) -> Line:
        if instance is None:
            return Line(f"{value}  asserted", "fact")
        return Line(f"{value}  from", "part", self._literals(instance, made))

    def _literals(self, instance: Instance, made: Mapping[Fact, Line]) -> tuple[Line, ...]:
        lines: list[Line] = []
        for number, literal in enumerate(instance.body):
            if isinstance(literal, Match):
                lines.append(made[instance.facts[number]])
            elif is_shown(literal):
                members = instance.inner.get(number)
                below = () if members is None else tuple(self._members(members, made))
                lines.append(Line(self._wording.literal(literal, instance.values), "condition", below))
        return tuple(lines)

    def _members(self, members: Members, made: Mapping[Fact, Line]) -> Iterator[Line]:
        for instance in members.shown:
            lines = self._literals(instance, made)
            if len(lines) == 1:
                yield lines[0]
            elif lines:
                yield Line("together", "part", lines)
        if members.count > len(members.shown):
            yield Line(f"… and {members.count - len(members.shown):,} more", "more")

    def __str__(self) -> str:
        return "\n".join(_text(self.lines()))

    def __repr__(self) -> str:
        return f"<proof of {self._wording.fact(self.goal)}: {len(self.steps):,} steps>"

    def to_dict(self) -> dict[str, Any]:
        """The steps as plain data: facts are numbered, and steps refer to them by number."""
        numbers = {fact: number for number, fact in enumerate(self.steps)}
        steps = [self._data(step, numbers) for step in self.steps.values()]
        return {"goal": numbers[self.goal], "steps": steps}

    def _data(self, step: Step, numbers: Mapping[Fact, int]) -> dict[str, Any]:
        fact = step.fact
        types = self._state.program.relations[fact.relation].types
        row = [None if v is None else to_text(t, v) for t, v in zip(types, fact.row, strict=True)]
        data: dict[str, Any] = {"relation": fact.relation, "row": row, "fact": self._wording.fact(fact)}
        match step:
            case Asserted():
                data["kind"] = "asserted"
            case Derived(rule=rule, instance=instance):
                data |= {"kind": "derived", "rule": rule_text(rule), **self._instance(instance, numbers)}
            case Grouped(rule=rule, members=members, after=after):
                shown = [self._instance(x, numbers) for x in members.shown]
                data |= {"kind": "group", "rule": rule_text(rule), "instances": members.count}
                data |= {"shown": shown, **self._instance(after, numbers)}
            case Added(count=count, parts=parts):
                shown = [self._instance(p.instance, numbers) for p in parts if p.instance is not None]
                data |= {"kind": "total", "contributions": count, "shown": shown}
            case _:
                assert_never(step)
        return data if self._is_present(fact) else {**data, "replaced": True}

    def _instance(self, instance: Instance, numbers: Mapping[Fact, int]) -> dict[str, Any]:
        wording = self._wording
        holds = [
            wording.literal(x, instance.values)
            for x in instance.body
            if not isinstance(x, Match) and is_shown(x)
        ]
        return {"from": [numbers[f] for f in instance.facts.values()], "conditions": holds}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_html(self) -> str:
        """A page with steps that fold; a fact that occurs again is shown folded."""
        return "".join(_html(self.lines()))

    def _repr_html_(self) -> str:
        """The first lines, for notebooks; `to_html` has all."""
        return "".join(_html(self.lines(), _SHOWN))

    def to_svg(self) -> str:
        lines = list(_text(self.lines()))
        width = 2 * _MARGIN + 8 * max(map(len, lines))
        rows = "".join(
            f'<text x="{_MARGIN}" y="{_LINE * (i + 1)}" xml:space="preserve">{escape(line)}</text>'
            for i, line in enumerate(lines)
        )
        size = f'width="{width}" height="{_LINE * (len(lines) + 1)}"'
        font = 'font-family="monospace" font-size="13"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{rows}</svg>'


def _text(root: Line) -> Iterator[str]:
    """The lines of a tree, drawn for a terminal. What was shown before is not repeated."""
    seen: set[int] = set()
    waiting: list[tuple[Line, str, str]] = [(root, "", "")]
    while waiting:
        line, first, rest = waiting.pop()
        if line.below and id(line) in seen:
            yield f"{first}{line.text.partition('  by ')[0]}  (see above)"
            continue
        seen.add(id(line))
        yield first + line.text
        last = len(line.below) - 1
        for number, below in reversed(tuple(enumerate(line.below))):
            branch, bar = ("└─ ", "   ") if number == last else ("├─ ", "│  ")
            waiting.append((below, rest + branch, rest + bar))


def _html(root: Line, most: float = math.inf) -> Iterator[str]:
    """The lines of a tree as HTML; those after the first `most` are only counted, and long ones are cut."""
    seen: set[int] = set()
    number = 0
    waiting: list[Line | str] = [root]
    while waiting:
        line = waiting.pop()
        if isinstance(line, str):
            yield line
            continue
        number += 1
        if number > most:
            continue
        text = line.text if most == math.inf or len(line.text) <= _LETTERS else line.text[:_LETTERS] + "…"
        text = f"<code>{escape(text)}</code>"
        if not line.below or id(line) in seen:
            yield f'<div style="margin-left:1.5em">{text}</div>'
            continue
        seen.add(id(line))
        yield f'<details open style="margin-left:1.5em"><summary>{text}</summary>'
        waiting.append("</details>")
        waiting.extend(reversed(line.below))
    if number > most:
        yield f"<p>… and {number - most:,.0f} more lines: print the proof, or use to_html()</p>"


def prove(state: State, goal: Fact, limit: int | None) -> Proof:
    """The proof of a fact that is present."""
    prover = Prover(state, limit)
    prover.prove(goal)
    return Proof(state, goal, prover.steps, limit)
