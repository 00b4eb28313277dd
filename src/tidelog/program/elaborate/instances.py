"""Instances of recursive functions with type parameters or several forms.

A function that is expanded where it is called cannot contain itself. So a recursive one becomes an ordinary
function for each combination of types that it is called with: `last<T>` becomes `last<int>`, a form
`size(int)`. Calls name the function as written until their types are known; then they name the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from tidelog.data.types import Type
from tidelog.errors import Span, clip
from tidelog.program.analysis.calls import calls as calls_of
from tidelog.program.analysis.order import components
from tidelog.program.declared import Column, Function
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.forms import ClosureType, Opened, Unfit, open_form, opened_template
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.retyping import rewritten
from tidelog.program.elaborate.unknowns import Unknowns, inner, is_open
from tidelog.program.folds import shown_aggregate
from tidelog.program.typed import Call, Expr, Var
from tidelog.syntax import tree
from tidelog.syntax.variables import calls

__all__ = ["Instance", "Making", "add_cycles", "has_closures", "recursive_templates", "with_instances"]

_MOST: Final = 500  # functions
_DEEPEST: Final = 24  # types inside each other

Templates: TypeAlias = Mapping[str, Sequence[tree.Function]]


class Instance:
    """A form of a function with types for its type parameters."""

    def __init__(self, form: tree.Function, opened: Opened, name: str) -> None:
        self.form = form
        self.name = name
        self.bound = opened.bound
        self.result = opened.result
        self.parameters: list[tuple[str, Type]] = []
        for parameter, type_ in zip(form.parameters, opened.parameters, strict=True):
            assert not isinstance(type_, ClosureType), "functions with closures are expanded"
            self.parameters.append((parameter.name, type_))

    @property
    def depth(self) -> int:
        """How deep its types are nested."""
        return max((_depth(t) for t in self.bound.values()), default=0)


def with_instances(
    expr: Expr,
    known: Declarations,
    problems: Problems,
    span: Span,
    body: Callable[[Instance, Problems], Expr | None],
) -> Expr | None:
    """The expression with the names of instances in its calls; None after reporting an error.

    New instances are added to the functions; `body` makes their bodies, which may call others.
    """
    making = Making(known, problems, span, body)
    made = rewritten(expr, making.named)
    return made if making.is_sound else None


class Making:
    """Makes instances, for an expression in which mistakes are reported."""

    def __init__(
        self,
        known: Declarations,
        problems: Problems,
        span: Span,
        body: Callable[[Instance, Problems], Expr | None],
    ) -> None:
        self.known = known
        self.problems = problems
        self.span = span
        self.body = body
        self.is_sound = True

    def named(self, part: Expr) -> Expr:
        if not isinstance(part, Call) or part.function not in self.known.recursive:
            return part
        name = self._instance(part)
        self.is_sound = self.is_sound and name is not None
        return part if name is None else replace(part, function=name)

    def add(self, form: tree.Function, bound: Mapping[str, Type]) -> bool:
        """Add the only form of a function with these types for its type parameters; whether it has a body."""
        try:
            opened = opened_template(form, self.known.types, dict(bound))
        except Unfit as unfit:
            message = f"`{shown_aggregate(form.name)}` cannot be used with these types"
            self.problems.report("E201", self.span, message, note=str(unfit))
            return False
        made = Instance(form, opened, _name(form, opened, several=False))
        return made.name in self.known.functions or self._added(made, form.name)

    def _instance(self, call: Call) -> str | None:
        made = _instance_of(call, self.known)
        if made is None:
            message = f"a type parameter of `{call.function}` is not determined by this call"
            self.problems.report("E209", self.span, message)
            return None
        if made.name in self.known.functions:
            return made.name
        if made.depth > _DEEPEST or len(self.known.functions) > _MOST:
            message = f"`{call.function}` calls itself with ever larger types"
            self.problems.report("E006", self.span, message, note=f"such as `{clip(made.name, 200)}`")
            return None
        return made.name if self._added(made, call.function) else None

    def _added(self, instance: Instance, function: str) -> bool:
        """Add an instance to the functions, with those that it calls; whether it has a body."""
        functions, before = self.known.functions, set(self.known.functions)
        parameters = tuple(Column(name, type_) for name, type_ in instance.parameters)
        span = instance.form.span
        promised = Function(instance.name, parameters, instance.result, Var("", instance.result), span)
        functions[instance.name] = promised
        quiet = Problems()
        body = self.body(instance, quiet)
        if body is not None:
            functions[instance.name] = replace(promised, body=body)
            return True
        for name in functions.keys() - before:
            del functions[name]
        self._report(function, quiet)
        return False

    def _report(self, function: str, inside: Problems) -> None:
        found = inside.found[0]
        if found.code == "E006":
            self.problems.report("E006", self.span, found.message, note=found.note)
        else:
            message = f"`{shown_aggregate(function)}` cannot be used with these types"
            self.problems.report("E201", self.span, message, note=found.message)


def add_cycles(known: Declarations) -> None:
    """Tell functions that call themselves which others they do that with."""
    new = {n: f for n, f in known.functions.items() if isinstance(f, Function) and not f.cycle}
    called = {name: [c for c in calls_of(f) if c in new] for name, f in new.items()}
    for component in components(called):
        if len(component) > 1 or component[0] in called[component[0]]:
            for name in component:
                known.functions[name] = replace(new[name], cycle=tuple(sorted(component)))


def _instance_of(call: Call, known: Declarations) -> Instance | None:
    """The instance that a call with known types means; None if a type parameter is in none of them."""
    forms = known.templates[call.function]
    for form in forms:
        if len(form.parameters) != len(call.args):
            continue
        unknowns = Unknowns()
        opened = open_form(form, known.types, unknowns)
        pairs = [
            *zip(opened.parameters, (a.type for a in call.args), strict=True),
            (opened.result, call.type),
        ]
        if all(not isinstance(p, ClosureType) and unknowns.unify(p, t) for p, t in pairs):
            bound = {name: unknowns.known(type_) for name, type_ in opened.bound.items()}
            if any(map(is_open, bound.values())):
                return None
            made = opened_template(form, known.types, bound)
            return Instance(form, made, _name(form, made, several=len(forms) > 1))
    raise AssertionError(f"no form of {call.function} fits")


def _name(form: tree.Function, opened: Opened, *, several: bool) -> str:
    types = f"<{', '.join(map(str, opened.bound.values()))}>" if opened.bound else ""
    return (
        f"{form.name}{types}({', '.join(map(str, opened.parameters))})" if several else f"{form.name}{types}"
    )


def _depth(type_: Type) -> int:
    return 1 + max(map(_depth, inner(type_)), default=0)


def recursive_templates(templates: Templates) -> tuple[list[list[str]], dict[str, list[str]]]:
    """The functions that are expanded and call each other, in groups; and which of them each one calls."""
    called: dict[str, list[str]] = {}
    for name, forms in templates.items():
        names = (c.function for form in forms for c in calls(form.body))
        called[name] = list(dict.fromkeys(n for n in names if n in templates))
    found = [list(group) for group in components(called)]
    return [group for group in found if len(group) > 1 or group[0] in called[group[0]]], called


def has_closures(forms: Iterable[tree.Function]) -> bool:
    return any(p.type.name == "||" for form in forms for p in form.parameters)
