"""Groups the steps of a script into rounds that an engine may run in one call.

If little changes, a commit spends most of its time between steps. So an engine prepares once what it needs to
run several of them together, and keeps it for an object that lives as long as the script: `Rounds` are
compared by identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.maintain.script import Derive, EndRound, Repeat, Script, Step, View
from tidelog.program.typed import Absent, Match

__all__ = ["Part", "Rounds", "in_rounds"]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Rounds:
    """Consecutive rounds; the steps from number `repeated` on are repeated while there is a delta.

    Every derivation starts from the rows of a literal. Every round ends with a step equal to `end`, also the
    last one; `ends` is the number of those that are not repeated. `rules` are the texts of the rules that the
    derivations evaluate, one for each. `starts` has a derivation, and the relation of its first literal, for
    each list of rows that derivations start from, except the delta. `rest` is the repetition alone, if there
    are rounds before it.
    """

    steps: tuple[Derive | EndRound, ...]
    repeated: int
    end: EndRound
    ends: int
    derivations: tuple[Derive, ...]
    rules: tuple[str, ...]
    starts: tuple[tuple[str, Derive], ...]
    rest: Rounds | None

    @property
    def once(self) -> tuple[Derive | EndRound, ...]:
        """The steps that are not repeated."""
        return self.steps[: self.repeated]

    @property
    def repetition(self) -> Rounds | None:
        return self.rest if self.repeated else self


Part: TypeAlias = Step | Rounds


def in_rounds(script: Script) -> tuple[Part, ...]:
    """The parts of a script: rounds that can be run together, and other steps."""
    parts: list[Part] = []
    waiting: list[Derive | EndRound] = []
    for step in script:
        match step:
            case Derive(driver=int()) | EndRound():
                waiting.append(step)
            case Repeat():
                parts += _before(waiting, _repeating(step))
                waiting = []
            case _:
                parts += [*_before(waiting, None), step]
                waiting = []
    return (*parts, *_before(waiting, None))


def _repeating(step: Repeat) -> Rounds:
    steps = tuple(part for part in step.steps if isinstance(part, Derive | EndRound))
    assert steps == step.steps, "a repetition consists of derivations and the end of a round"
    return _rounds(steps, None, 0)


def _before(steps: list[Derive | EndRound], repetition: Rounds | None) -> list[Part]:
    """Rounds and the repetition that follows them; single steps, if they are not whole rounds of one kind."""
    ends = {step for step in steps if isinstance(step, EndRound)}
    if (
        steps
        and isinstance(steps[-1], EndRound)
        and len(ends | ({repetition.end} if repetition else ends)) == 1
    ):
        return [_rounds(tuple(steps), repetition, len(steps))]
    return [*steps, *([repetition] if repetition else [])]


def _rounds(steps: tuple[Derive | EndRound, ...], repetition: Rounds | None, repeated: int) -> Rounds:
    end, more = steps[-1], () if repetition is None else repetition.steps
    assert isinstance(end, EndRound)
    derivations = tuple(step for step in (*steps, *more) if isinstance(step, Derive))
    rules = tuple(derivation.rule.origin for derivation in derivations)
    starts: dict[object, tuple[str, Derive]] = {}
    for derivation in derivations:
        view, literal = _start(derivation)
        if view is not View.DELTA:
            starts[view, literal.relation, type(literal)] = literal.relation, derivation
    ends = sum(isinstance(step, EndRound) for step in steps[:repeated])
    return Rounds(
        (*steps, *more), repeated, end, ends, derivations, rules, tuple(starts.values()), repetition
    )


def _start(step: Derive) -> tuple[View, Match | Absent]:
    """The literal that a derivation starts from, and the view of its relation."""
    assert step.driver is not None
    literal = step.rule.body[step.driver]
    assert isinstance(literal, Match | Absent)
    return step.views[step.driver], literal
