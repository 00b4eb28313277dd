"""Formats scripts for people: the output of `tidelog show script`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidelog.maintain.script import (
    Accumulate,
    Aim,
    Arrive,
    Assertions,
    Clear,
    Compare,
    Conclude,
    Depart,
    Derive,
    Doubt,
    EndRound,
    Examine,
    Improve,
    Iterate,
    Regroup,
    Repeat,
    Rest,
    Script,
)
from tidelog.maintain.strategy import ELASTIC, RuleChanges, Strategy
from tidelog.plan.describe import print_flat_literal
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum
from tidelog.program.text import print_value
from tidelog.program.typed import Match

__all__ = ["describe_scripts", "print_script"]

_TRACED = ("subtract", "add", "iterate")


def describe_scripts(program: FlatProgram, strategy: Strategy = ELASTIC) -> str:
    """The scripts that bootstrap and update each stratum with rules."""
    strata = (stratum for stratum in program.strata if stratum.rules or stratum.grouping)
    return "\n\n".join("\n".join(_stratum(program, stratum, strategy)) for stratum in strata)


def _stratum(program: FlatProgram, stratum: Stratum, strategy: Strategy) -> Iterator[str]:
    yield stratum.name
    for title, script in _scripts(stratum, strategy):
        if script:
            yield f"  {title}"
            yield from (f"    {line}" for line in print_script(script, program).split("\n"))


def _scripts(stratum: Stratum, strategy: Strategy) -> Iterator[tuple[str, Script]]:
    if stratum.grouping is not None:
        yield "bootstrap", (Regroup(stratum.grouping, all=True),)
        yield "update", (Regroup(stratum.grouping),)
        return
    yield "bootstrap", strategy.bootstrap(stratum)
    titles = _TRACED if strategy.traces(stratum) else ("delete", "re-derive", "insert")
    rules = RuleChanges(stratum.rules, (), ())
    for title, script in zip(titles, strategy.update(stratum, rules), strict=True):
        yield f"update: {title}", script


def print_script(script: Script, program: FlatProgram) -> str:
    """Format a script, one step per line."""
    return "\n".join(_lines(script, program, 0))


def _lines(script: Script, program: FlatProgram, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for step in script:
        match step:
            case Derive(rule, driver, views, mode):
                first = "" if driver is None else f", literal {driver} first"
                ranges = ", ".join(v.value for v in views)
                yield f"{indent}{mode.value}: {_rule(program, rule)}  over ({ranges}){first}"
            case Assertions(relations, mode, everything, again):
                which = "all" if everything else "suspect" if again else "changed"
                yield f"{indent}{mode.value}: {which} asserted facts of {_titles(program, relations)}"
            case EndRound(_, mode):
                yield f"{indent}end of round ({mode.value})"
            case Repeat(_, steps):
                yield f"{indent}while there is a delta:"
                yield from _lines(steps, program, depth + 1)
            case Iterate(_, steps):
                yield f"{indent}for each iteration that changed:"
                yield from _lines(steps, program, depth + 1)
            case Depart():
                yield f"{indent}make the tuples deleted at this iteration the delta"
            case Arrive():
                yield f"{indent}delete the delta; make the tuples inserted at this iteration the delta"
            case Examine():
                yield f"{indent}raise errors of instances that still fail"
            case Clear(relations):
                yield f"{indent}clear {_titles(program, relations)}"
            case Doubt():
                yield f"{indent}make tuples without a rank suspects"
            case Improve(_, _, _, everything):
                yield f"{indent}improve the values of {'all' if everything else 'suspect and touched'} keys"
            case Aim():
                yield f"{indent}make tuples that need a rank suspects"
            case Rest():
                yield f"{indent}insert the remaining ones without a rank"
            case Compare():
                yield f"{indent}from now on, compare heads with the tuples of their keys"
            case Conclude():
                yield f"{indent}end the comparison; raise errors of instances that still fail"
            case Regroup(grouping, everything):
                touched = "all" if everything else "touched"
                yield f"{indent}regroup {touched} {program.title(grouping.results)}"
            case Accumulate():
                yield f"{indent}total {'all' if step.all else 'touched'} groups, in their order:"
                derivations = (*step.leaving, *step.retreating, *step.entering, *step.following)
                yield from _lines(derivations, program, depth + 1)
            case _:
                assert_never(step)


def _titles(program: FlatProgram, relations: tuple[str, ...]) -> str:
    return ", ".join(map(program.title, relations))


def _rule(program: FlatProgram, rule: FlatRule) -> str:
    """A flat rule, which is one head and one alternative of the original rule."""
    head = print_flat_literal(program, Match(rule.head, ()))
    values = ", ".join(map(print_value, rule.values))
    body = ", ".join(print_flat_literal(program, x) for x in rule.body)
    return f"{head.removesuffix('()')}({values}){f' :- {body}' if body else ''}."
