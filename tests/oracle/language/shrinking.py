"""The smallest case that still fails: steps, actions, rows, rules, literals and declarations are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from oracle.language.case import AddRule, Case, Ending, RemoveRule, Replace, RuleText, Step
from oracle.language.model import TooLarge
from tidelog.errors import TidelogError

__all__ = ["shrink"]


def shrink(case: Case, fails: Callable[[Case], bool], tries: int = 2_000) -> Case:
    """Leave out what the failure does not need, greedily, until nothing more can go."""
    left = tries
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(case):
            left -= 1
            if left < 0:
                return case
            if _still(smaller, fails):
                case, progress = smaller, True
                break
    return case


def _still(case: Case, fails: Callable[[Case], bool]) -> bool:
    try:
        return fails(case)
    except (TidelogError, TooLarge, KeyError):
        return False  # not a case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with one thing less, the largest things first."""
    for i in reversed(range(len(case.steps))):
        yield replace(case, steps=_without(case.steps, i))
    for i in reversed(range(len(case.rules))):
        yield replace(case, rules=_without(case.rules, i))
    for i, step in enumerate(case.steps):
        for smaller in _smaller_steps(step):
            yield replace(case, steps=(*case.steps[:i], smaller, *case.steps[i + 1 :]))
    for rule in _all_rules(case):
        for smaller_rule in _smaller_rules(rule):
            yield _with_rule(case, rule, smaller_rule)
    for i in reversed(range(len(case.declarations))):
        yield replace(case, declarations=_without(case.declarations, i))
    if case.watched:
        yield replace(case, watched=())
    if case.context != "default":
        yield replace(case, context="default")


def _smaller_steps(step: Step) -> Iterator[Step]:
    for i, action in enumerate(step.actions):
        yield replace(step, actions=_without(step.actions, i))
        rows: tuple[Any, ...] = getattr(action, "rows", ())
        for j in range(len(rows)):
            fewer: Any = replace(action, rows=_without(rows, j))  # type: ignore[arg-type]
            yield replace(step, actions=(*step.actions[:i], fewer, *step.actions[i + 1 :]))
        if isinstance(action, Replace):
            for j in range(len(action.rules)):
                other = replace(action, rules=_without(action.rules, j))
                yield replace(step, actions=(*step.actions[:i], other, *step.actions[i + 1 :]))
    if step.ending != Ending():
        yield replace(step, ending=Ending())


def _smaller_rules(rule: RuleText) -> Iterator[RuleText]:
    for i in range(len(rule.body)):
        yield replace(rule, body=_without(rule.body, i))
    if len(rule.heads) > 1:
        for i in range(len(rule.heads)):
            yield replace(rule, heads=_without(rule.heads, i))


def _all_rules(case: Case) -> list[RuleText]:
    found = list(case.rules)
    for step in case.steps:
        for action in step.actions:
            match action:
                case AddRule(rule) | RemoveRule(rule):
                    found.append(rule)
                case Replace(_, rules):
                    found += rules
                case _:
                    pass
    return list(dict.fromkeys(found))


def _with_rule(case: Case, old: RuleText, new: RuleText) -> Case:
    """The case with another rule wherever one stands."""

    def changed(value: Any) -> Any:
        if value == old and isinstance(value, RuleText):
            return new
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        if isinstance(value, Step | AddRule | RemoveRule | Replace):
            return replace(value, **{f.name: changed(getattr(value, f.name)) for f in fields(value)})
        return value

    return replace(case, rules=changed(case.rules), steps=changed(case.steps))


def _without(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*items[:place], *items[place + 1 :])
