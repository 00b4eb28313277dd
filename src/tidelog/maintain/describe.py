"""Scripts as people read them: what `tidelog show script` prints."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.maintain.script import Regroup, Script, print_script
from tidelog.maintain.strategy import is_traced, make, update
from tidelog.plan.flat import FlatProgram, Unit

__all__ = ["describe_scripts"]

_TRACED = ("take away", "add", "iterate")


def describe_scripts(program: FlatProgram, strategy: str = "elastic") -> str:
    """For each unit with rules, how it is made from nothing and how it follows a change of facts."""
    units = (unit for unit in program.units if unit.rules or unit.grouping)
    return "\n\n".join("\n".join(_unit(unit, strategy)) for unit in units)


def _unit(unit: Unit, strategy: str) -> Iterator[str]:
    yield unit.name
    if unit.grouping is not None:
        yield from _part("bootstrap", (Regroup(unit.grouping, all=True),))
        yield from _part("update", (Regroup(unit.grouping),))
        return
    yield from _part("bootstrap", make(strategy, unit))
    titles = _TRACED if is_traced(strategy, unit) else ("delete", "re-derive", "insert")
    for title, script in zip(titles, update(strategy, unit, unit.rules, (), ()), strict=True):
        yield from _part(f"update: {title}", script)


def _part(title: str, script: Script) -> Iterator[str]:
    if script:
        yield f"  {title}"
        yield from (f"    {line}" for line in print_script(script).split("\n"))
