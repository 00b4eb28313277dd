"""The forms of a function: their parameters and results, with type variables as unknowns of one call.

A standard function is called by its name. A function of the program with type parameters, closures or several
forms is expanded where it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.elaborate.definitions import STANDARD, Definitions, resolve_type
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.unknowns import Unknowns
from tidelog.program.library import catalog as library
from tidelog.program.library.catalog import StandardFunction
from tidelog.syntax import tree
from tidelog.syntax.inline import print_type

__all__ = [
    "ClosureType",
    "Form",
    "Opened",
    "Unfit",
    "open_form",
    "opened_template",
    "signature_of",
    "takes_closures",
]

Form: TypeAlias = StandardFunction | tree.Function


class Unfit(Exception):
    """A function cannot have these types for its type parameters; the text says why."""


@dataclass(frozen=True, slots=True)
class ClosureType:
    parameters: tuple[Type, ...]
    result: Type


@dataclass(frozen=True, slots=True)
class Opened:
    """A form with its type variables as unknowns, which are `bound` by their names."""

    parameters: tuple[Type | ClosureType, ...]
    result: Type
    bound: dict[str, Type] = field(default_factory=dict)


def signature_of(form: Form) -> str:
    if isinstance(form, StandardFunction):
        return form.signature
    parameters = ", ".join(f"{p.name}: {print_type(p.type)}" for p in form.parameters)
    return f"{form.name}({parameters}) -> {print_type(form.result)}"


def takes_closures(form: Form, is_closure: list[bool]) -> bool:
    """Whether a form has parameters for the arguments that are closures."""
    if isinstance(form, StandardFunction):
        wanted = [isinstance(p.type, library.Closure) for p in form.parameters]
    else:
        wanted = [p.type.name == "||" for p in form.parameters]
    return all(w or not c for w, c in zip(wanted, is_closure, strict=True))


def open_form(form: Form, known: Definitions, unknowns: Unknowns) -> Opened:
    if isinstance(form, StandardFunction):
        return _open_standard(form, known, unknowns)
    items = {name for type_ in (form.result, *(p.type for p in form.parameters)) for name in _items(type_)}
    bound = {p.name: unknowns.fresh(p.name in items) for p in form.type_parameters}
    return opened_template(form, known, bound)


def _items(type_: tree.TypeName) -> Iterator[str]:
    """The names of the types of which a type has options."""
    for arg in type_.args:
        if isinstance(arg, tree.TypeName):
            if type_.name == "option":
                yield arg.name
            yield from _items(arg)


def opened_template(form: tree.Function, known: Definitions, bound: dict[str, Type]) -> Opened:
    """A function of the program with these types for its type parameters.

    Raises Unfit if they make a type that there is not, such as an option of an option.
    """
    problems = Problems()

    def type_of(name: tree.TypeName) -> Type:
        found = resolve_type(name, known, problems, bound, make=False)
        if found is None:
            raise Unfit(problems.found[0].message)
        return found

    parameters: list[Type | ClosureType] = []
    for parameter in form.parameters:
        if parameter.type.name == "||":
            *taken, result = (type_of(a) for a in parameter.type.args if isinstance(a, tree.TypeName))
            parameters.append(ClosureType(tuple(taken), result))
        else:
            parameters.append(type_of(parameter.type))
    return Opened(tuple(parameters), type_of(form.result), bound)


def _open_standard(form: StandardFunction, known: Definitions, unknowns: Unknowns) -> Opened:
    strict = _never_options(form)
    bound: dict[str, Type] = {}

    def variable(name: str) -> Type:
        if name not in bound:
            bound[name] = unknowns.fresh(name in strict)
        return bound[name]

    def type_of(param: library.ParamType) -> Type:
        match param:
            case library.TypeVariable(optional, name):
                made = variable(name)
                return types.Option(made) if optional else made  # type: ignore[arg-type]
            case library.Applied(name, args):
                return _applied(name, tuple(map(type_of, args)), known)
            case library.Closure():
                raise AssertionError("a closure is no value")
            case _:
                return param

    parameters = tuple(_parameter(p.type, type_of) for p in form.parameters)
    return Opened(parameters, type_of(form.result), bound)


def _parameter(param: library.ParamType, type_of: Callable[[library.ParamType], Type]) -> Type | ClosureType:
    if isinstance(param, library.Closure):
        return ClosureType(tuple(map(type_of, param.parameters)), type_of(param.result))
    return type_of(param)


def _applied(name: str, args: tuple[Type, ...], known: Definitions) -> Type:
    match name:
        case "vec":
            return types.Vec(args[0])
        case "set":
            return types.Set(args[0])
        case "map":
            return types.Map(*args)
        case "()":
            return types.Tuple(args)
        case _:
            definition = STANDARD[name]
            assert isinstance(definition, tree.TypeDefinition)
            return known.named(definition, args)


def _never_options(function: StandardFunction) -> frozenset[str]:
    """The type variables that cannot be options."""
    shown = (function.result, *(p.type for p in function.parameters))
    found = {t.name for t in shown if isinstance(t, library.TypeVariable) and t.optional}
    return frozenset(found | ({"T"} if function.kind is library.Kind.ANY else set()))
