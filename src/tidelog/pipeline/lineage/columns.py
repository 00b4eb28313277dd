"""Which columns of inputs the values of a result come from.

A value comes from the columns of all atoms that bind one of its variables, through bindings, groups and
hidden relations. What only decides whether there is a row, such as a condition or a negated atom, does not
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from tidelog.plan.flat import FlatBody, FlatProgram, FlatRule, Role
from tidelog.plan.flatten import flatten
from tidelog.program import declared
from tidelog.program.model import Program
from tidelog.program.traversal import variables
from tidelog.program.typed import Bind, Each, Expr, Match, Var

__all__ = ["column_origins"]

Place: TypeAlias = tuple[str, int]  # a column of a relation
Flows: TypeAlias = dict[Place, set[Place]]


def column_origins(program: Program, results: Iterable[str]) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """For each column of these relations the columns of input relations that it comes from, by name."""
    flows = _flows(flatten(program))
    return {
        name: {
            column.name: [
                (origin, program.relations[origin].columns[place].name)
                for origin, place in sorted(_inputs((name, number), flows, program))
            ]
            for number, column in enumerate(program.relations[name].columns)
        }
        for name in results
    }


def _inputs(place: Place, flows: Mapping[Place, set[Place]], program: Program) -> set[Place]:
    """The columns of inputs that a column comes from; itself, if it is one."""
    seen, waiting = {place}, [place]
    while waiting:
        for below in flows.get(waiting.pop(), ()):
            if below not in seen:
                seen.add(below)
                waiting.append(below)
    relations = program.relations
    return {p for p in seen if p[0] in relations and relations[p[0]].role is declared.Role.INPUT}


def _flows(flat: FlatProgram) -> Flows:
    flows: Flows = {}
    for rule in flat.rules.values():
        if rule.role is Role.DERIVE:
            for number, value in enumerate(rule.values):
                flows.setdefault((rule.head, number), set()).update(_of_value(value, rule))
    for grouping in flat.groupings.values():
        columns = [(number,) for number in range(grouping.keys)] + [*grouping.arguments]
        for number, arguments in enumerate(columns):
            flows.setdefault((grouping.results, number), set()).update(
                (grouping.instances, argument) for argument in arguments
            )
    for stratum in flat.strata:
        for kept in () if stratum.totals is None else stratum.totals.kept:
            wholes = [*kept.keys, *([] if kept.total is None else [kept.total])]
            for number, column in enumerate(wholes):
                flows.setdefault((kept.relation, column), set()).add((kept.instances, number))
    return flows


def _of_value(value: Expr, rule: FlatRule) -> Iterator[Place]:
    """The columns that bind the variables of a value, also through other variables."""
    seen: set[str] = set()
    waiting = [v.name for v in variables(value)]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield from _bound(name, rule.body)
            waiting += [v.name for made in _made(name, rule.body) for v in variables(made)]


def _bound(name: str, body: FlatBody) -> Iterator[Place]:
    for literal in body:
        if isinstance(literal, Match):
            for number, term in enumerate(literal.terms):
                if isinstance(term, Var) and term.name == name:
                    yield literal.relation, number


def _made(name: str, body: FlatBody) -> Iterator[Expr]:
    for literal in body:
        if isinstance(literal, Bind) and literal.variable.name == name:
            yield literal.value
        elif isinstance(literal, Each) and literal.variable.name == name:
            yield literal.collection
