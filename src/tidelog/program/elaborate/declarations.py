"""Declarations: types, relations and functions by name, for lookup by the rest of elaboration.

Invariant: the declarations are valid (types resolve, arities are within limits, keys name columns). An
invalid declaration is reported, and its signature is added as far as it is known, so that its uses cause no
further errors. A column of unknown type has the type None, in `Signature` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import NOWHERE, Span
from tidelog.program.elaborate.problems import Problems
from tidelog.program.library.catalog import FUNCTION_NAMES
from tidelog.program.typed import Column, Function, PythonFunction, Relation, Role
from tidelog.syntax import tree

__all__ = ["MAX_COLUMNS", "Declarations", "Signature", "declare", "resolve_type"]

MAX_COLUMNS = 64
_SIMPLE: dict[str, Type] = {
    str(t): t
    for t in (
        types.BOOL,
        types.INT,
        types.BIGINT,
        types.FLOAT,
        types.DOUBLE,
        types.STRING,
        types.BYTES,
        types.DATE,
        types.TIMESTAMP,
    )
}
_SIZED: dict[str, Callable[[int], Type]] = {"bit": types.Bit, "signed": types.Signed}
_BUILT_IN = (*_SIMPLE, *_SIZED, "decimal", "option")


@dataclass(frozen=True, slots=True)
class Signature:
    """The columns of a relation, or the parameters and result of a function; an unresolved type is None."""

    columns: tuple[tuple[str, Type | None], ...]
    result: Type | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(slots=True)
class Declarations:
    """`relations`, `aliases` and `functions` are valid; `known` and `calls` also include invalid ones."""

    relations: dict[str, Relation] = field(default_factory=dict)
    aliases: dict[str, Type] = field(default_factory=dict)
    functions: dict[str, Function | PythonFunction] = field(default_factory=dict)
    known: dict[str, Signature] = field(default_factory=dict)
    calls: dict[str, Signature] = field(default_factory=dict)
    broken_types: set[str] = field(default_factory=set)

    def copy(self) -> Declarations:
        return Declarations(
            dict(self.relations),
            dict(self.aliases),
            dict(self.functions),
            dict(self.known),
            dict(self.calls),
            set(self.broken_types),
        )

    def add_relation(self, relation: Relation) -> None:
        self.relations[relation.name] = relation
        self.known[relation.name] = Signature(tuple((c.name, c.type) for c in relation.columns))

    def add_function(self, function: Function | PythonFunction) -> None:
        self.functions[function.name] = function
        columns = tuple((p.name, p.type) for p in function.parameters)
        self.calls[function.name] = Signature(columns, function.result)


# -- types


def resolve_type(name: tree.TypeName, known: Declarations, problems: Problems) -> Type | None:
    """The type a name stands for, or None after reporting an error."""
    if name.name in known.aliases:
        return _without_arguments(name, known.aliases[name.name], problems)
    if name.name in known.broken_types:
        return None
    if name.name in _SIMPLE:
        return _without_arguments(name, _SIMPLE[name.name], problems)
    if name.name in _SIZED:
        return _sized(name, problems)
    if name.name == "decimal":
        return _decimal(name, problems)
    if name.name == "option":
        return _option(name, known, problems)
    hint = problems.suggest(name.name, _BUILT_IN, known.aliases)
    problems.report("E103", name.span, f"unknown type `{name.name}`", hint=hint)
    return None


def _without_arguments(name: tree.TypeName, type_: Type, problems: Problems) -> Type | None:
    if not name.args:
        return type_
    problems.report("E104", name.span, f"the type `{name.name}` takes no arguments")
    return None


def _sized(name: tree.TypeName, problems: Problems) -> Type | None:
    match name.args:
        case (int(width),) if 1 <= width <= types.MAX_WIDTH:
            return _SIZED[name.name](width)
    problems.report(
        "E104",
        name.span,
        f"`{name.name}` takes a number of bits from 1 to {types.MAX_WIDTH}",
        hint=f"write `{name.name}<32>`, for example",
    )
    return None


def _decimal(name: tree.TypeName, problems: Problems) -> Type | None:
    match name.args:
        case (int(precision), int(scale)) if 1 <= precision <= types.MAX_DIGITS and scale <= precision:
            return types.Decimal(precision, scale)
    problems.report(
        "E104",
        name.span,
        f"`decimal` takes a precision from 1 to {types.MAX_DIGITS} and a scale no greater than the precision",
        hint="write `decimal(10, 2)`, for example",
    )
    return None


def _option(name: tree.TypeName, known: Declarations, problems: Problems) -> Type | None:
    match name.args:
        case (tree.TypeName() as inner,):
            item = resolve_type(inner, known, problems)
            if isinstance(item, types.Option):
                problems.report("E104", name.span, f"`{item}` is already an option")
                return None
            return None if item is None else types.Option(item)
    problems.report("E104", name.span, "`option` takes one type", hint="write `option<int>`, for example")
    return None


# -- declarations


def declare(items: Iterable[tree.Item], known: Declarations, problems: Problems) -> list[tree.Function]:
    """Add all declarations among the items; return the functions whose bodies are still to be typed."""
    items = list(items)
    _declare_aliases([i for i in items if isinstance(i, tree.Alias)], known, problems)
    for item in items:
        if isinstance(item, tree.Relation):
            _declare_relation(item, known, problems)
    functions: dict[str, tree.Function] = {}
    sound: list[tree.Function] = []
    for item in items:
        if isinstance(item, tree.Function):
            if _declare_function(item, functions.get(item.name), known, problems):
                sound.append(item)
            functions.setdefault(item.name, item)
    return sound


def _declare_aliases(aliases: list[tree.Alias], known: Declarations, problems: Problems) -> None:
    """Add the aliases in order of their dependencies; report those in a cycle."""
    waiting: dict[str, tree.Alias] = {}
    for alias in aliases:
        if alias.name in _BUILT_IN:
            problems.report("E112", alias.name_span, f"`{alias.name}` is a built-in type")
        elif alias.name in waiting:
            _twice(alias.name, "type", alias.name_span, waiting[alias.name].name_span, problems)
        else:
            waiting[alias.name] = alias
    needed = {name: _mentioned(alias.type) & waiting.keys() for name, alias in waiting.items()}
    needing: dict[str, list[str]] = {}
    for name, others in needed.items():
        for other in others:
            needing.setdefault(other, []).append(name)
    ready = [name for name, others in needed.items() if not others]
    for name in ready:
        _declare_alias(waiting.pop(name), known, problems)
        for other in needing.get(name, ()):
            needed[other].discard(name)
            if not needed[other]:
                ready.append(other)
    for alias in waiting.values():
        problems.report("E104", alias.name_span, f"the type `{alias.name}` is defined in terms of itself")
        known.broken_types.add(alias.name)


def _mentioned(type_: tree.TypeName) -> set[str]:
    """The names in a type, at any depth."""
    names = {type_.name}
    for arg in type_.args:
        if isinstance(arg, tree.TypeName):
            names |= _mentioned(arg)
    return names


def _declare_alias(alias: tree.Alias, known: Declarations, problems: Problems) -> None:
    type_ = resolve_type(alias.type, known, problems)
    if type_ is None:
        known.broken_types.add(alias.name)
    elif known.aliases.get(alias.name, type_) != type_:
        problems.report(
            "E112",
            alias.name_span,
            f"the type `{alias.name}` is already defined as `{known.aliases[alias.name]}`",
        )
    else:
        known.aliases[alias.name] = type_


def _twice(name: str, what: str, span: Span, first: Span, problems: Problems) -> None:
    note = f"the first declaration is at {first!r}" if first.text else None
    problems.report("E112", span, f"the {what} `{name}` is declared twice", note=note)


def _columns(
    columns: tuple[tree.Column, ...], what: str, known: Declarations, problems: Problems
) -> tuple[tuple[str, Type | None], ...]:
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            problems.report("E111", column.span, f"duplicate {what} `{column.name}`")
        seen.add(column.name)
    return tuple((c.name, resolve_type(c.type, known, problems)) for c in columns)


def _declare_relation(item: tree.Relation, known: Declarations, problems: Problems) -> None:
    columns = _columns(item.columns, "column", known, problems)
    key = _key(item, [type_ for _, type_ in columns], problems)
    if len(columns) > MAX_COLUMNS:
        message = f"`{item.name}` has {len(columns)} columns, which exceeds the limit of {MAX_COLUMNS}"
        problems.report("E110", item.name_span, message)
    role = Role(item.role) if item.role else Role.INTERNAL
    sound = tuple(Column(name, type_) for name, type_ in columns if type_ is not None)
    if len(sound) < len(columns):
        known.known.setdefault(item.name, Signature(columns))
        return
    relation = Relation(item.name, sound, role, key, item.span)
    before = known.relations.get(item.name)
    if before is None:
        known.add_relation(relation)
    elif before != relation or before.span.source is item.span.source:
        _twice(item.name, "relation", item.name_span, before.span, problems)


def _key(item: tree.Relation, column_types: list[Type | None], problems: Problems) -> tuple[int, ...] | None:
    if item.key is None:
        return None
    if item.role != "input":
        problems.report(
            "E107", item.name_span, f"`{item.name}` has a primary key, which only input relations can have"
        )
    positions = {c.name: i for i, c in reversed([*enumerate(item.columns)])}
    key: dict[int, None] = {}
    for column in item.key:
        if column.name not in positions:
            hint = problems.suggest(column.name, positions)
            problems.report(
                "E102", column.span, f"unknown column `{column.name}` in `{item.name}`", hint=hint
            )
        elif positions[column.name] in key:
            problems.report("E111", column.span, f"`{column.name}` is in the primary key twice")
        else:
            key[positions[column.name]] = None
            if isinstance(column_types[positions[column.name]], types.Option):
                message = f"`{column.name}` is an option, so it cannot be part of a primary key"
                problems.report("E107", column.span, message)
    if not item.key:
        problems.report("E107", item.name_span, f"the primary key of `{item.name}` has no columns")
    return tuple(key)


def _declare_function(
    item: tree.Function, earlier: tree.Function | None, known: Declarations, problems: Problems
) -> bool:
    """Add a function's signature; return whether to type its body. `earlier` is in the same text."""
    columns = _columns(item.parameters, "parameter", known, problems)
    signature = Signature(columns, resolve_type(item.result, known, problems))
    if item.name in FUNCTION_NAMES:
        problems.report("E112", item.name_span, f"`{item.name}` is a standard function")
        return False
    if item.name in known.calls:
        before = earlier or known.functions.get(item.name)
        first = before.span if isinstance(before, Function | tree.Function) else NOWHERE
        if earlier or first.text != item.span.text:
            _twice(item.name, "function", item.name_span, first, problems)
        return False
    known.calls[item.name] = signature
    return None not in (signature.result, *(t for _, t in columns))
