"""What nested bodies bind by themselves, and what the rule around them must supply.

A parameter that a nested body binds (an atom has it as a term, or an equation gives its value) needs nothing
from outside. A parameter that it only tests is *demanded*: its values come from the rule around it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.data.types import BOOL
from tidelog.program import traversal
from tidelog.program.analysis.failing import fails, may_fail, succeeds
from tidelog.program.elaborate.ordering import definers_in_order
from tidelog.program.typed import Binary, Bind, Body, Each, Literal, Match, Nested, Stage, Test, Var, Without

__all__ = ["bound_variables", "demanded", "own_bodies", "sources", "support"]


def bound_variables(body: Iterable[Literal], given: Iterable[str] = ()) -> set[str]:
    """The variables that a body binds by itself, and those that are given."""
    literals = list(body)
    bound = {t.name for x in literals if isinstance(x, Match) for t in x.terms if isinstance(t, Var)}
    bound.update(v.name for x in literals if isinstance(x, Stage) for v in x.columns)
    bound.update(given)
    size = -1
    while size != len(bound):
        size = len(bound)
        for literal in literals:
            name = _computed(literal)
            if name is not None and name not in bound and _reads(literal) <= bound:
                bound.add(name)
    return bound


def _computed(literal: Literal) -> str | None:
    if isinstance(literal, Bind | Each):
        return literal.variable.name
    return literal.result.name if isinstance(literal, Nested) else None


def _reads(literal: Literal) -> set[str]:
    return {v.name for e in traversal.expressions(literal) for v in traversal.variables(e)}


def own_bodies(literal: Nested | Without) -> tuple[Body, ...]:
    """The nested bodies, with parameters bound by equations where nothing else in the body binds them.

    Demanded parameters have their values already. A parameter that is `none` equals nothing, so it does not
    matter that a binding takes any value.
    """
    given = {p.name for p in demanded(literal)}
    names = {p.name for p in literal.parameters} - given
    return tuple(_with_bindings(body, names, given) for body in literal.bodies)


def _with_bindings(body: Body, parameters: set[str], given: set[str]) -> Body:
    made = list(body)
    for i, literal in enumerate(made):
        bound = bound_variables(made, given)
        if isinstance(literal, Test) and isinstance(literal.condition, Binary):
            found = _equation(literal.condition, parameters - bound, bound)
            made[i] = found or literal
    return definers_in_order(made)


def _equation(condition: Binary, wanted: set[str], bound: set[str]) -> Bind | None:
    """An equation as the binding of a wanted variable."""
    if condition.op != "==":
        return None
    for side, value in ((condition.left, condition.right), (condition.right, condition.left)):
        known = all(v.name in bound for v in traversal.variables(value))
        if isinstance(side, Var) and side.name in wanted and known:
            return Bind(side, value)
    return None


def demanded(literal: Nested | Without) -> tuple[Var, ...]:
    """The parameters that some body of a literal does not bind."""
    names = {p.name for p in literal.parameters}
    wanted: set[str] = set()
    for body in literal.bodies:
        wanted |= names - bound_variables(_with_bindings(body, names, set()))
    return tuple(p for p in literal.parameters if p.name in wanted)


def sources(literal: Nested | Without, around: Body) -> set[str]:
    """The relations that give the parameters their values that a literal does not bind, if there are any."""
    wanted = demanded(literal)
    if not wanted:
        return set()
    return {x.relation for x in support(around, wanted) if isinstance(x, Match) and not x.delay}


def support(body: Body, parameters: Iterable[Var]) -> Body:
    """The part of a body that gives parameters their values: atoms, and what these and conditions need.

    Nested aggregates are part of it if their results are needed, other nested bodies are not. Rows in which
    the values fail are left out.
    """
    candidates = [x for x in body if not isinstance(x, Without)]
    bound = bound_variables(candidates)
    kept: list[Literal] = [x for x in candidates if isinstance(x, Match | Stage)]
    needed = {p.name for p in parameters}
    while True:
        new = [x for x in candidates if x not in kept and _computed(x) in needed and _reads(x) <= bound]
        if not new:
            break
        kept += new
        needed |= {name for x in new for name in _reads(x)}
    known = bound_variables(kept)
    kept += [
        x
        for x in candidates
        if _computed(x) is None and not isinstance(x, Match | Stage) and _reads(x) <= known
    ]
    return tuple(made for x in candidates if x in kept for made in _never_failing(x))


def _never_failing(literal: Literal) -> tuple[Literal, ...]:
    """The literal for rows in which it does not fail. A condition that fails holds.

    Whether a failure is an error depends on all literals of the body, so the rule itself decides that.
    """
    match literal:
        case Test(condition) if may_fail(condition):
            return (Test(Binary("or", fails(condition), condition, BOOL)),)
        case Bind(value=value) | Each(collection=value) if may_fail(value):
            return (literal, Test(succeeds(value)))
        case _:
            return (literal,)
