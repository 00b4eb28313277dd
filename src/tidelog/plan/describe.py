"""Plans as people read them: what `tidelog show plan` and `show indexes` print.

Without live sizes all relations count as equally large, so an engine may order joins otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plan.flat import FlatProgram, FlatRule, Unit
from tidelog.plan.order import Compute, Filter, Join, Refute, Step, order
from tidelog.program.text import print_body_literal
from tidelog.program.typed import Absent, Match

__all__ = ["demanded_indexes", "describe_indexes", "describe_plan"]


def describe_plan(program: FlatProgram) -> str:
    """Each unit with its rules, and each rule's join order from nothing and from each of its atoms."""
    return "\n\n".join("\n".join(_unit(unit)) for unit in program.units if unit.rules or unit.grouping)


def _unit(unit: Unit) -> Iterator[str]:
    yield f"{unit.name}{' (recursive)' if unit.recursive else ''}"
    for name, best in unit.best:
        yield f"  keeps the {best.function} of column {best.column} of {name} per key"
    if unit.grouping is not None:
        functions = ", ".join(a.function for a in unit.grouping.aggregates)
        yield f"  {functions} by the first {unit.grouping.keys} of the columns of {unit.grouping.instances}"
    for rule in unit.rules:
        yield f"  {rule.origin}"
        for first in (None, *_atoms(rule)):
            start = "from nothing" if first is None else f"from {print_body_literal(rule.body[first])}"
            steps = [_step(rule, step) for step in order(rule, first, _equal)]
            yield f"    {start}: {', '.join(steps) or 'nothing to look up'}"


def _equal(_: str) -> int:
    return 0


def _atoms(rule: FlatRule) -> Iterator[int]:
    return (i for i, x in enumerate(rule.body) if isinstance(x, Match | Absent))


def _step(rule: FlatRule, step: Step) -> str:
    text = print_body_literal(rule.body[step.position])
    match step:
        case Join(key=(), bounds=(bound, *_)):
            return f"look up {text} by the order of {bound.column}"
        case Join(key=()):
            return f"scan {text}"
        case Join(key=key):
            return f"look up {text} by {', '.join(map(str, key))}"
        case Refute():
            return f"check {text}"
        case Compute(variable, _, _):
            return f"compute {variable.name}"
        case Filter():
            return f"test {text}"


# -- indexes


def demanded_indexes(program: FlatProgram) -> dict[str, set[tuple[tuple[int, ...], int | None]]]:
    """For each relation, the columns that some join order looks it up by, and the one whose order it uses."""
    found: dict[str, set[tuple[tuple[int, ...], int | None]]] = {}
    for rule in program.rules.values():
        for first in (None, *_atoms(rule)):
            for number, step in enumerate(order(rule, first, _equal)):
                is_driver = number == 0 and first is not None
                if isinstance(step, Join) and not is_driver and len(step.key) < len(step.terms):
                    wanted = found.setdefault(step.relation, set())
                    if step.key:
                        wanted.add((step.key, None))
                    if step.bounds:
                        wanted.add((step.key, step.bounds[0].column))
    return found


def describe_indexes(program: FlatProgram) -> str:
    """One line for each index: the relation, and the columns by number."""
    return "\n".join(
        f"{relation} {_index(key, ordered)}"
        for relation, wanted in sorted(demanded_indexes(program).items())
        for key, ordered in sorted(wanted, key=lambda w: (w[0], -1 if w[1] is None else w[1]))
    )


def _index(key: tuple[int, ...], ordered: int | None) -> str:
    by = f"by {', '.join(map(str, key))}"
    if ordered is None:
        return by
    return (
        f"in the order of {ordered}" if not key else f"{by} in the order of {ordered}, if keys have many rows"
    )
