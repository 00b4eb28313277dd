"""Declarations: relations and functions by name, for lookup by the rest of elaboration.

Invariant: the declarations are valid (types resolve, arities are within limits, keys name columns). An
invalid declaration is reported, and its signature is added as far as it is known, so that its uses cause no
further errors. A column of unknown type has the type None, in `Signature` only.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.data import types
from tidelog.data.short_names import NO_NAMES, WELL_KNOWN, ShortNames
from tidelog.data.types import Type
from tidelog.errors import NOWHERE
from tidelog.program.declared import Column, Function, Index, PythonFunction, Relation, RelationKind, Role
from tidelog.program.elaborate.attributes import file_options
from tidelog.program.elaborate.definitions import TYPE_NAMES, Definitions, parameter_type, resolve_type
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.typedefs import declare_types, twice
from tidelog.program.library.catalog import RESERVED_NAMES
from tidelog.program.text import type_tree
from tidelog.syntax import tree
from tidelog.syntax.rebuilding import nodes_of
from tidelog.syntax.whole import used_whole

__all__ = ["MAX_COLUMNS", "Declarations", "Signature", "declare", "needed_row_types", "template_bound"]

MAX_COLUMNS = 64
MAX_WEIGHTED = 62  # of a multiset or stream, whose rows have a weight and an origin
_OF_INSTANCES = re.compile(r"[<(]")  # in the names of instances of generic functions
_RESERVED = re.compile(r"^<query>$| \[.*\]$", re.DOTALL)  # the names of hidden relations


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
    """`relations` and `functions` are valid; `known` and `calls` also include invalid ones.

    `templates` are functions that are expanded where they are called: those with type parameters, with
    closures as parameters, or with several forms. `rows` are the types of the rows of relations, which become
    definitions where a program needs them. `folds` are the aggregates with a state, whose functions are among
    the others. `recursive` are the templates that become
    instances (see `instances`).
    """

    relations: dict[str, Relation] = field(default_factory=dict)
    types: Definitions = field(default_factory=Definitions)
    functions: dict[str, Function | PythonFunction] = field(default_factory=dict)
    known: dict[str, Signature] = field(default_factory=dict)
    calls: dict[str, Signature] = field(default_factory=dict)
    templates: dict[str, tuple[tree.Function, ...]] = field(default_factory=dict)
    rows: dict[str, tree.TypeDefinition] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)
    folds: dict[str, tree.Fold] = field(default_factory=dict)
    recursive: set[str] = field(default_factory=set)
    names: ShortNames = NO_NAMES

    def copy(self) -> Declarations:
        return Declarations(
            dict(self.relations),
            self.types.copy(),
            dict(self.functions),
            dict(self.known),
            dict(self.calls),
            dict(self.templates),
            dict(self.rows),
            dict(self.indexes),
            dict(self.folds),
            set(self.recursive),
            self.names,
        )

    def add_relation(self, relation: Relation) -> None:
        self.relations[relation.name] = relation
        if relation.row is None and relation.name not in self.rows:
            columns = tuple(tree.Column(c.name, type_tree(c.type)) for c in relation.columns)
            self.rows[relation.name] = _row_definition(relation.name, columns)
        self.known[relation.name] = Signature(tuple((c.name, c.type) for c in relation.columns))

    def add_prefixes(self, prefixes: Mapping[str, str]) -> None:
        """Show terms by these prefixes, too, in all relations."""
        self.names = ShortNames({**WELL_KNOWN, **self.names.prefixes, **prefixes})
        for name, relation in self.relations.items():
            self.relations[name] = replace(relation, names=self.names)

    def add_function(self, function: Function | PythonFunction) -> None:
        self.functions[function.name] = function
        columns = tuple((p.name, p.type) for p in function.parameters)
        self.calls[function.name] = Signature(columns, function.result)


# -- declarations


def declare(items: Iterable[tree.Item], known: Declarations, problems: Problems) -> list[tree.Function]:
    """Add all declarations among the items; return the functions whose bodies are still to be typed."""
    items = list(items)
    prefixes = _prefixes(items, problems)
    if prefixes:
        known.add_prefixes(prefixes)
    for item in items:
        if isinstance(item, tree.Relation) and item.row is None and item.name not in known.relations:
            known.rows[item.name] = _row_definition(item.name, item.columns)
    declare_types([*items, *needed_row_types(items, known)], known.types, problems)
    for item in items:
        if isinstance(item, tree.Relation):
            _declare_relation(item, known, problems)
            _expect_other_name(item, known.calls, "function", problems)
    functions: dict[str, tree.Function] = {}
    forms: dict[str, list[tree.Function]] = {}
    for item in items:
        if isinstance(item, tree.Function):
            forms.setdefault(item.name, []).append(item)
    sound: list[tree.Function] = []
    for item in items:
        if isinstance(item, tree.Function):
            _expect_other_name(item, known.known, "relation", problems)
            if _is_template(item, forms[item.name], known):
                sound += _declare_template(item, known, problems)
                continue
            if _declare_function(item, functions.get(item.name), known, problems):
                sound.append(item)
            functions.setdefault(item.name, item)
    return sound


def _prefixes(items: Iterable[tree.Item], problems: Problems) -> dict[str, str]:
    """The prefixes with their namespaces. In one file, each has one."""
    found: dict[str, tree.Prefix] = {}
    for item in items:
        if isinstance(item, tree.Prefix):
            before = found.setdefault(item.name, item)
            if before.namespace != item.namespace and before.span.source is item.span.source:
                problems.report("E111", item.span, f"the prefix `{item.name}:` already has a namespace")
            found[item.name] = item
    return {name: item.namespace for name, item in found.items()}


def _expect_other_name(
    item: tree.Relation | tree.Function, others: Container[str], kind: str, problems: Problems
) -> None:
    """Report a relation and a function of one name: a literal could not tell which is meant."""
    if item.name in others:
        problems.report("E112", item.name_span, f"`{item.name}` is already the name of a {kind}")


def _columns(
    columns: tuple[tree.Column, ...], what: str, known: Declarations, problems: Problems
) -> tuple[tuple[str, Type | None], ...]:
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            problems.report("E111", column.span, f"duplicate {what} `{column.name}`")
        seen.add(column.name)
    return tuple((c.name, resolve_type(c.type, known.types, problems)) for c in columns)


def _declare_relation(item: tree.Relation, known: Declarations, problems: Problems) -> None:
    if _RESERVED.search(item.name):
        message = "names of relations cannot be `<query>` or end in brackets, ` […]`"
        problems.report("E121", item.name_span, message)
    row, columns = _row_columns(item, known, problems)
    options = file_options(item, problems)
    key = _key(item, columns, problems)
    if len(columns) > MAX_COLUMNS:
        message = f"`{item.name}` has {len(columns)} columns, which exceeds the limit of {MAX_COLUMNS}"
        problems.report("E110", item.name_span, message)
    role = Role(item.role) if item.role else Role.INTERNAL
    sound = tuple(Column(name, type_) for name, type_ in columns if type_ is not None)
    if len(sound) < len(columns) or (item.row is not None and row is None):
        known.known.setdefault(item.name, Signature(columns))
        return
    kind = RelationKind(item.kind) if item.kind else RelationKind.SET
    _expect_weights(item, len(columns), problems)
    relation = Relation(item.name, sound, role, key, item.span, options, row, kind, known.names)
    before = known.relations.get(item.name)
    if before is None:
        known.add_relation(relation)
    elif before != relation or before.span.source is item.span.source:
        twice(item.name, "relation", item.name_span, before.span, problems)


def _expect_weights(item: tree.Relation, columns: int, problems: Problems) -> None:
    """Report what a multiset or stream cannot have, since it has a weight for each row."""
    if not item.kind:
        return
    if item.key is not None:
        message = f"`{item.name}` is a {item.kind}, which cannot have a primary key"
        hint = "rows of a key are single; declare a `relation`"
        problems.report("E510", item.name_span, message, hint=hint)
    if MAX_WEIGHTED < columns <= MAX_COLUMNS:
        message = f"`{item.name}` has {columns} columns, which exceeds the limit of {MAX_WEIGHTED}"
        problems.report("E110", item.name_span, f"{message} for a {item.kind}")


def _row_columns(
    item: tree.Relation, known: Declarations, problems: Problems
) -> tuple[Type | None, tuple[tuple[str, Type | None], ...]]:
    """The type that a relation is declared with, if any, and its columns."""
    if item.row is None:
        return None, _columns(item.columns, "column", known, problems)
    row = resolve_type(item.row, known.types, problems)
    if isinstance(row, types.Named) and len(row.constructors) == 1:
        return row, tuple((f.name, f.type) for f in row.constructors[0].fields)
    return row, (("value", row),)


def _key(
    item: tree.Relation, columns: tuple[tuple[str, Type | None], ...], problems: Problems
) -> tuple[int, ...] | None:
    if item.key is None:
        return None
    if item.role != "input":
        problems.report(
            "E107", item.name_span, f"`{item.name}` has a primary key, which only input relations can have"
        )
    positions = {name: i for i, (name, _) in reversed([*enumerate(columns)])}
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
            if isinstance(columns[positions[column.name]][1], types.Option):
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
    signature = Signature(columns, resolve_type(item.result, known.types, problems))
    if not _is_free(item, known, problems):
        return False
    if item.name in known.calls:
        before = earlier or known.functions.get(item.name)
        first = before.span if isinstance(before, Function | tree.Function) else NOWHERE
        if earlier or first.text != item.span.text:
            twice(item.name, "function", item.name_span, first, problems)
        return False
    known.calls[item.name] = signature
    return None not in (signature.result, *(t for _, t in columns))


def _is_free(item: tree.Function, known: Declarations, problems: Problems) -> bool:
    """Whether a function may have its name."""
    if item.name in RESERVED_NAMES:
        problems.report("E112", item.name_span, f"`{item.name}` is a standard function")
        return False
    if item.name in known.folds:
        twice(item.name, "aggregate", item.name_span, known.folds[item.name].span, problems)
        return False
    if _OF_INSTANCES.search(item.name):
        problems.report("E121", item.name_span, "names of functions cannot contain `<` or `(`")
        return False
    return True


# -- types of rows


def _row_definition(name: str, columns: tuple[tree.Column, ...]) -> tree.TypeDefinition:
    return tree.TypeDefinition(name, (), (tree.Constructor(name, columns),))


def needed_row_types(parts: Iterable[object], known: Declarations) -> list[tree.TypeDefinition]:
    """The types of rows that items or literals need, as far as their names are free."""
    parts = list(parts)
    taken = {p.name for p in parts if isinstance(p, tree.Alias | tree.TypeDefinition)}
    taken |= {c.name for p in parts if isinstance(p, tree.TypeDefinition) for c in p.constructors}
    found: dict[str, tree.TypeDefinition] = {}
    waiting: list[object] = parts
    while waiting:
        names = {name for part in waiting for name in _mentioned(part)} & known.rows.keys()
        waiting = []
        for name in sorted(names - taken - found.keys() - TYPE_NAMES):
            is_free = name not in known.types.items and name not in known.types.aliases
            if is_free and known.types.type_of(name) is None:
                found[name] = known.rows[name]
                waiting.append(known.rows[name])
    return list(found.values())


def _mentioned(part: object) -> Iterator[str]:
    """The names of types and constructors, and of relations whose rows are used as a whole."""
    nodes = nodes_of(part)
    if any(isinstance(n, tree.Row) for n in nodes):
        whole = used_whole(part)
        yield from (n.atom.relation for n in nodes if isinstance(n, tree.Row) and n.name in whole)
    for node in nodes:
        match node:
            case tree.TypeName(name):
                yield name
            case tree.Construct(constructor):
                yield constructor
            case tree.Atom(relation, is_whole=True):
                yield relation


# -- templates


def _is_template(item: tree.Function, same: Sequence[tree.Function], known: Declarations) -> bool:
    """Whether a function is expanded where it is called; `same` are all of its name."""
    if item.type_parameters or item.name in known.templates:
        return True
    forms = {tuple(p.type for p in x.parameters) for x in same}
    return len(forms) > 1 or any(p.type.name == "||" for x in same for p in x.parameters)


def template_bound(item: tree.Function | tree.Fold) -> dict[str, Type]:
    """The type parameters of a function inside it."""
    return {p.name: parameter_type(p.name) for p in item.type_parameters}


def _declare_template(item: tree.Function, known: Declarations, problems: Problems) -> list[tree.Function]:
    """Add a form of a function; returns it if its body is to be typed."""
    if not _is_free(item, known, problems):
        return []
    if item.name in known.calls:
        twice(item.name, "function", item.name_span, NOWHERE, problems)
        return []
    for other in known.templates.get(item.name, ()):
        if [p.type for p in other.parameters] == [p.type for p in item.parameters]:
            if other != item or other.span.source is item.span.source:
                twice(item.name, "function", item.name_span, other.span, problems)
            return []
    _check_duplicates(item, problems)
    bound = template_bound(item)
    names = [t for p in (*item.parameters,) for t in _value_types(p.type)] + [item.result]
    found = [resolve_type(name, known.types, problems, bound, make=False) for name in names]
    if None in found:
        known.calls[item.name] = Signature(tuple((p.name, None) for p in item.parameters))
        return []
    known.templates[item.name] = (*known.templates.get(item.name, ()), item)
    return [item]


def _value_types(type_: tree.TypeName) -> list[tree.TypeName]:
    """A type, or the types of the parameters and the result of a closure."""
    return [a for a in type_.args if isinstance(a, tree.TypeName)] if type_.name == "||" else [type_]


def _check_duplicates(item: tree.Function, problems: Problems) -> None:
    for what, names in (("parameter", item.parameters), ("type parameter", item.type_parameters)):
        seen: set[str] = set()
        for named in names:
            if named.name in seen:
                problems.report("E111", named.span, f"duplicate {what} `{named.name}`")
            seen.add(named.name)
