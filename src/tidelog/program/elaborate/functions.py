"""User-defined functions, in the language or in Python.

Functions in the language are typed like rules. Those that take closures cannot call themselves, directly or
indirectly, since they are expanded where they are called.
Python functions take their types from annotations: `bool`, `int`, `float` (a double), `str`, `bytes`,
`datetime.date`, `datetime.datetime`, each with `| None` for an option. Every other type of the language
is written as in `Annotated[int, "bit<32>"]`. Python functions must be pure. Other processes import them by
module and name, so lambdas and nested functions are rejected.
"""

from __future__ import annotations

import inspect
import types as python_types
import typing
from collections.abc import Callable, Iterable
from datetime import date, datetime

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import NOWHERE, Diagnostic, ProgramError, Source, shown
from tidelog.program.declared import Column, Function, PythonFunction
from tidelog.program.elaborate.declarations import Declarations, Signature, template_bound
from tidelog.program.elaborate.definitions import Definitions, resolve_type
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.instances import add_cycles, has_closures, recursive_templates
from tidelog.program.elaborate.problems import Problems
from tidelog.program.library.catalog import RESERVED_NAMES
from tidelog.syntax import tree
from tidelog.syntax.cursor import Cursor, Unexpected
from tidelog.syntax.expressions import type_name
from tidelog.syntax.lexer import KEYWORDS, tokenize

__all__ = ["elaborate_functions", "from_python"]


# -- in the language


def elaborate_functions(functions: Iterable[tree.Function], known: Declarations, problems: Problems) -> None:
    """Type the bodies of declared functions and add them to `known`."""
    functions = list(functions)
    endless = _report_endless(functions, known, problems)
    for name in endless:
        known.calls[name] = _broken(next(f for f in functions if f.name == name))
    made: dict[str, Function] = {}
    for function in functions:
        if function.name in known.templates:
            if function.name not in endless and not _is_sound(function, known, problems):
                known.calls[function.name] = _broken(function)
            continue
        elaborated = _elaborate(function, known, problems)
        if elaborated is not None:
            made[function.name] = elaborated
    known.functions.update(made)
    add_cycles(known)


def _broken(function: tree.Function) -> Signature:
    """The signature of a function whose calls are not checked, since its mistakes are reported."""
    return Signature(tuple((p.name, None) for p in function.parameters))


def _is_sound(function: tree.Function, known: Declarations, problems: Problems) -> bool:
    """Whether the body of a function that is expanded has its type, whatever its type parameters are."""
    typer = Typer(known, problems)
    return typer.check_template(function, template_bound(function))


def _report_endless(items: list[tree.Function], known: Declarations, problems: Problems) -> set[str]:
    """Report functions whose expansion has no end, since it contains their own; return their names."""
    new = {f.name: f for f in reversed(items) if f.name in known.templates}
    if not new:
        return set()
    groups, called = recursive_templates(known.templates)
    found: set[str] = set()
    for group in groups:
        if not any(has_closures(known.templates[name]) for name in group):
            known.recursive |= set(group)
            continue
        here = [name for name in group if name in new]
        found.update(here)
        first = min(here, key=lambda name: new[name].span.start, default="")
        for name in here:
            note = _circle(first, called) if name == first else f"`{name}` and `{first}` call each other"
            problems.report(
                "E109",
                new[name].name_span,
                f"the function `{name}` calls itself",
                note=note,
                hint="a function that takes a closure cannot be recursive, since it is expanded where it is "
                "called: pass values, or use `map`, `filter` and `fold`",
            )
    return found


def _elaborate(function: tree.Function, known: Declarations, problems: Problems) -> Function | None:
    signature = known.calls[function.name]
    assert signature.result is not None
    typer = Typer(known, problems)
    typer.variables = dict(signature.columns)
    body = typer.check_body(function.body, signature.result)
    parameters = tuple(Column(name, type_) for name, type_ in signature.columns if type_ is not None)
    if body is None:
        return None
    return Function(function.name, parameters, signature.result, body, function.span)


def _circle(function: str, called: dict[str, list[str]]) -> str:
    """A shortest chain of calls from a function to itself."""
    callers: dict[str, str] = {}
    queue = [function]
    for name in queue:
        for other in called[name]:
            if other not in callers:
                callers[other] = name
                queue.append(other)
        if function in callers:
            break
    way = [function, callers[function]]
    while way[-1] != function:
        way.append(callers[way[-1]])
    return " calls ".join(f"`{name}`" for name in reversed(way))


# -- in Python

_PYTHON: dict[object, Type] = {
    bool: types.BOOL,
    int: types.INT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    date: types.DATE,
    datetime: types.TIMESTAMP,
}


def from_python(function: Callable[..., object], name: str | None = None) -> PythonFunction:
    """A Python function with types from its annotations; raises ProgramError if it cannot be used."""
    qualname = getattr(function, "__qualname__", "")
    module = getattr(function, "__module__", None)
    known_as = name or str(getattr(function, "__name__", None) or shown(function))
    if not module or not qualname or "<" in qualname or not inspect.isfunction(function):
        raise _refusal(known_as, "it is not a Python function that can be imported by name")
    if not known_as.isidentifier() or not known_as[0].islower():
        raise _refusal(known_as, "its name must be an identifier that starts with a lowercase letter")
    if known_as in RESERVED_NAMES:
        raise _refusal(known_as, "a standard function has the same name")
    if known_as in KEYWORDS:
        raise _refusal(known_as, "its name is a keyword; register it under another name")
    hints = _hints(function, known_as)
    parameters = tuple(
        _parameter(p, hints, known_as) for p in inspect.signature(function).parameters.values()
    )
    if "return" not in hints:
        raise _refusal(known_as, "its result has no annotation")
    result = _type(hints["return"], known_as, "result")
    return PythonFunction(known_as, parameters, result, module, qualname, function)


def _refusal(name: str, reason: str) -> ProgramError:
    return ProgramError(
        [Diagnostic("E115", NOWHERE, f"the Python function `{name}` cannot be used: {reason}")]
    )


def _hints(function: Callable[..., object], name: str) -> dict[str, object]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:  # a quoted annotation can be any code
        raise _refusal(name, f"its annotations cannot be read ({error})") from None


def _parameter(parameter: inspect.Parameter, hints: dict[str, object], name: str) -> Column:
    if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
        raise _refusal(name, f"`{parameter}` is not a positional parameter")
    if parameter.name not in hints:
        raise _refusal(name, f"the parameter `{parameter.name}` has no annotation")
    return Column(parameter.name, _type(hints[parameter.name], name, f"parameter `{parameter.name}`"))


def _type(hint: object, name: str, what: str) -> Type:
    if isinstance(hint, type) and hint in _PYTHON:
        return _PYTHON[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        text = next((a for a in args[1:] if isinstance(a, str)), None)
        if text is not None:
            return _named_type(text, name, what)
    if origin in (typing.Union, python_types.UnionType) and len(args) == 2 and type(None) in args:
        item = _type(next(a for a in args if a is not type(None)), name, what)
        if not isinstance(item, types.Option):
            return types.Option(item)
    raise _refusal(
        name, f'its {what} has an unsupported type; write `Annotated[…, "decimal(10, 2)"]`, for example'
    )


def _named_type(text: str, name: str, what: str) -> Type:
    source = Source(f"<type of the {what}>", text)
    problems = Problems()
    cursor = Cursor(source, tokenize(source)[0], problems.found)
    try:
        type_ = resolve_type(type_name(cursor), Definitions(), problems)
    except Unexpected:
        type_ = None
    if type_ is None or cursor.token.kind != "end":
        raise _refusal(name, f"`{text}`, the type of its {what}, is not a type of the language")
    return type_
