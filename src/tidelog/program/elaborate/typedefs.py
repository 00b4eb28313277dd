"""Declaring the types of a text: aliases, structs and unions.

All names are added before any is resolved, so types may refer to each other in any order. What is invalid is
reported once; its name stays known, as a broken one, and so do the types that need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.data import types
from tidelog.data.types import Named, Type
from tidelog.errors import Span
from tidelog.program.elaborate.definitions import (
    BUILT_IN,
    Definition,
    Definitions,
    Endless,
    names_in,
    parameter_type,
    resolve_type,
)
from tidelog.program.elaborate.problems import Problems
from tidelog.syntax import tree

__all__ = ["declare_types", "restored", "twice"]


def declare_types(items: Iterable[tree.Item], known: Definitions, problems: Problems) -> None:
    """Add the types among the items."""
    new = _new(items, known, problems)
    definitions = [x for x in new.values() if isinstance(x, tree.TypeDefinition)]
    aliases = {name: x for name, x in new.items() if isinstance(x, tree.Alias)}
    for definition in definitions:
        _check_names(definition, known, problems)
        known.add(definition)
    _declare_aliases(aliases, known, problems)
    for definition in definitions:
        if not _has_valid_fields(definition, known, problems):
            known.broken.add(definition.name)
    _spread(new, known)
    for definition in definitions:
        if definition.name not in known.broken and not _is_finite(definition, known, problems):
            known.broken.add(definition.name)
    _spread(new, known)


def restored(aliases: Mapping[str, Type], items: Mapping[str, Definition]) -> Definitions:
    """The definitions of a program."""
    known = Definitions(dict(aliases))
    for item in items.values():
        if isinstance(item, tree.TypeDefinition):
            known.add(item)
        else:
            known.items[item.name] = item
    return known


def twice(name: str, what: str, span: Span, first: Span, problems: Problems) -> None:
    note = f"the first declaration is at {first!r}" if first.text else None
    problems.report("E112", span, f"the {what} `{name}` is declared twice", note=note)


def _new(items: Iterable[tree.Item], known: Definitions, problems: Problems) -> dict[str, Definition]:
    """The definitions that are not there yet; names that are taken are reported."""
    new: dict[str, Definition] = {}
    for item in items:
        if not isinstance(item, tree.Alias | tree.TypeDefinition):
            continue
        if item.name in BUILT_IN:
            problems.report("E112", item.name_span, f"`{item.name}` is a built-in type")
        elif item.name in ("()", "||"):
            problems.report("E121", item.name_span, f"a type cannot have the name `{item.name}`")
        elif item.name in new:
            twice(item.name, "type", item.name_span, new[item.name].name_span, problems)
        elif not _is_there(item, known, problems):
            new[item.name] = item
    return new


def _is_there(item: Definition, known: Definitions, problems: Problems) -> bool:
    """Whether a name is already defined; if it is defined differently, that is reported."""
    before = known.items.get(item.name)
    if item.name in known.aliases:
        same = item == before
        if isinstance(item, tree.Alias) and not same and not item.parameters:
            type_ = resolve_type(item.type, known, problems)
            same = type_ is None or type_ == known.aliases[item.name]
        if not same:
            shown = known.aliases[item.name]
            message = f"the type `{item.name}` is already defined as `{shown}`"
            problems.report("E112", item.name_span, message)
        return True
    if before is not None and before != item:
        note = f"the definition is at {before.name_span!r}" if before.name_span.text else None
        message = f"the type `{item.name}` is already defined differently"
        problems.report("E112", item.name_span, message, note=note)
    return before is not None


def _check_names(item: tree.TypeDefinition, known: Definitions, problems: Problems) -> None:
    """Report constructors, fields and type parameters with names that are taken."""
    _check_parameters(item, problems)
    seen: dict[str, Span] = {}
    for constructor in item.constructors:
        name = constructor.name
        other = known.constructors.get(name)
        if name in seen:
            twice(name, "constructor", constructor.name_span, seen[name], problems)
        elif other is not None and other != item.name:
            problems.report(
                "E112", constructor.name_span, f"the constructor `{name}` already belongs to `{other}`"
            )
        seen.setdefault(name, constructor.name_span)
        fields: set[str] = set()
        for column in constructor.fields:
            if column.name in fields:
                problems.report("E111", column.span, f"duplicate field `{column.name}`")
            fields.add(column.name)


def _check_parameters(item: Definition, problems: Problems) -> None:
    seen: set[str] = set()
    for parameter in item.parameters:
        if parameter.name in seen:
            problems.report("E111", parameter.span, f"duplicate type parameter `{parameter.name}`")
        seen.add(parameter.name)


def _bound(item: Definition) -> dict[str, Type]:
    return {p.name: parameter_type(p.name) for p in item.parameters}


# -- aliases


def _declare_aliases(aliases: Mapping[str, tree.Alias], known: Definitions, problems: Problems) -> None:
    """Add the aliases in order of their dependencies; report those in a cycle."""
    waiting = dict(aliases)
    known.items.update(aliases)
    needed = {name: set(names_in(alias.type)) & waiting.keys() for name, alias in waiting.items()}
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
        known.broken.add(alias.name)


def _declare_alias(alias: tree.Alias, known: Definitions, problems: Problems) -> None:
    _check_parameters(alias, problems)
    type_ = resolve_type(alias.type, known, problems, _bound(alias), make=False)
    if type_ is None:
        known.broken.add(alias.name)
    elif not alias.parameters:
        known.aliases[alias.name] = type_


# -- structs and unions


def _has_valid_fields(item: tree.TypeDefinition, known: Definitions, problems: Problems) -> bool:
    bound = _bound(item)
    found = [
        resolve_type(column.type, known, problems, bound, make=False)
        for constructor in item.constructors
        for column in constructor.fields
    ]
    return None not in found


def _spread(new: Mapping[str, Definition], known: Definitions) -> None:
    """What needs a broken type is broken, too."""
    if known.broken.isdisjoint(new):
        return
    using: dict[str, list[str]] = {}
    for name, item in new.items():
        columns = (
            [item.type]
            if isinstance(item, tree.Alias)
            else [f.type for c in item.constructors for f in c.fields]
        )
        for mentioned in {n for type_ in columns for n in names_in(type_)}:
            using.setdefault(mentioned, []).append(name)
    waiting = list(known.broken)
    for name in waiting:  # grows during the loop
        for user in using.get(name, ()):
            if user not in known.broken:
                known.broken.add(user)
                waiting.append(user)
    for name in known.broken:
        known.aliases.pop(name, None)


def _is_finite(item: tree.TypeDefinition, known: Definitions, problems: Problems) -> bool:
    """Whether a type has a finite number of instances and finite values; if not, it is reported."""
    whole = known.named(item, tuple(parameter_type(p.name) for p in item.parameters))
    try:
        known.instantiate(whole, Problems())
    except Endless:
        problems.report(
            "E116",
            item.name_span,
            f"`{whole}` needs types without end",
            hint="use its own parameters as the type arguments of the recursion",
        )
        return False
    if whole in _with_values(whole):
        return True
    problems.report(
        "E117",
        item.name_span,
        f"`{whole}` has no finite values: every value would contain another one",
        hint="add a constructor without it, or put it into an `option` or a collection",
    )
    return False


def _with_values(whole: Named) -> set[Named]:
    """The structs and unions inside a type that have finite values."""
    instances = _instances(whole)
    finite: set[Named] = set()
    size = -1
    while size != len(finite):
        size = len(finite)
        for type_ in instances:
            fields = ([f.type for f in c.fields] for c in type_.constructors)
            if type_ not in finite and any(all(_has_values(t, finite) for t in row) for row in fields):
                finite.add(type_)
    return finite


def _instances(whole: Named) -> list[Named]:
    found = {whole: None}
    for type_ in (waiting := [whole]):  # grows during the loop
        inside = [f.type for c in type_.constructors for f in c.fields]
        while inside:
            part = inside.pop()
            if not isinstance(part, Named):
                inside += types.parts(part)
            elif part in part.table and part not in found:
                found[part] = None
                waiting.append(part)
    return list(found)


def _has_values(type_: Type, finite: set[Named]) -> bool:
    match type_:
        case Named():
            return type_ in finite or type_ not in type_.table  # a type parameter
        case types.Tuple(items):
            return all(_has_values(t, finite) for t in items)
        case _:
            return True
