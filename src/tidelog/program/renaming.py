"""Giving the names of a module's items their full forms.

A name is resolved where it is used; see `modules` for the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tidelog.program.elaborate.definitions import BUILT_IN, STANDARD, TYPE_NAMES
from tidelog.program.folds import is_part
from tidelog.program.library.catalog import AGGREGATE_NAMES, FUNCTION_NAMES, STANDARD_MODULES
from tidelog.syntax import tree
from tidelog.syntax.rebuilding import rebuilt

__all__ = ["Declared", "Renaming", "declared_names", "renamed", "with_standard_names"]

_T = TypeVar("_T")
_STD = "std::"
_FUNCTIONS = frozenset(FUNCTION_NAMES)
_CONSTRUCTORS = frozenset(
    c.name for d in STANDARD.values() if isinstance(d, tree.TypeDefinition) for c in d.constructors
)


@dataclass(frozen=True, slots=True)
class Declared:
    """The names that items declare, by their kinds."""

    relations: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    constructors: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


def declared_names(items: Iterable[tree.Item]) -> Declared:
    items = tuple(items)
    definitions = [i for i in items if isinstance(i, tree.TypeDefinition)]
    return Declared(
        frozenset(i.name for i in items if isinstance(i, tree.Relation)),
        frozenset(i.name for i in items if isinstance(i, tree.Alias | tree.TypeDefinition)),
        frozenset(c.name for d in definitions for c in d.constructors),
        frozenset(i.name for i in items if isinstance(i, tree.Function | tree.Fold)),
    )


@dataclass(frozen=True, slots=True)
class Renaming:
    """From the names in a module to full names.

    `prefix` is empty for a text that is not a module. `outside` are the names of that text, which modules
    must not see.
    """

    prefix: str
    own: Declared
    imports: Mapping[str, str]
    outside: Declared

    def relation(self, name: str) -> str:
        """The relation or function that a literal names."""
        if name in self.own.relations or name in self.own.functions:
            return self.prefix + name
        if "::" in name:
            return self._imported(name)
        return self.prefix + name

    def type(self, name: str) -> str:
        is_row = name in self.own.relations and name not in TYPE_NAMES  # the type of its rows
        if name in self.own.types or is_row:
            return self.prefix + name
        if "::" in name:
            return self._imported(name)
        outside = self.outside.types | (self.outside.relations - TYPE_NAMES)
        is_outside = name in outside and name not in BUILT_IN
        return self.prefix + name if is_outside else name

    def constructor(self, name: str) -> str:
        if name in self.own.constructors:
            return self.prefix + name
        if "::" in name:
            return self._imported(name)
        return name if name in _CONSTRUCTORS else self.prefix + name

    def function(self, name: str) -> str:
        if name in self.own.functions or is_part(name, self.own.functions):
            return self.prefix + name
        if "::" in name:
            return self._imported(name)
        return self.prefix + name if name in self.outside.functions else name

    def _imported(self, name: str) -> str:
        """A qualified name, by the longest name of a module that it begins with."""
        end = name.rfind("::")
        while end > 0:
            module = self.imports.get(name[:end])
            if module is not None:
                return _without_std(module + name[end:])
            end = name.rfind("::", 0, end)
        return _without_std(name)


def _without_std(name: str) -> str:
    rest = name.removeprefix(_STD)
    module, _, function = rest.rpartition("::")
    if name.startswith(_STD) and function in STANDARD_MODULES.get(module, ()):
        return function
    is_known = rest in _FUNCTIONS or rest in STANDARD or rest in BUILT_IN or rest in _CONSTRUCTORS
    return rest if name.startswith(_STD) and is_known else name


def with_standard_names(body: tuple[tree.Literal, ...]) -> tuple[tree.Literal, ...]:
    """The literals of a query, with the names of the standard library without `std::`."""
    rule = tree.Rule((), body)
    nothing = Declared()
    return renamed(rule, Renaming("", nothing, {}, nothing)).body


def renamed(item: _T, names: Renaming) -> _T:
    """An item of a module with full names."""
    local = _local_names(item)
    return rebuilt(item, lambda node: _own_name(node, names, local))


def _local_names(item: object) -> frozenset[str]:
    """Type parameters, and parameters of functions, which may be closures."""
    match item:
        case tree.Function() | tree.Fold():
            parameters, types = item.parameters, item.type_parameters
            return frozenset(p.name for p in parameters) | frozenset(t.name for t in types)
        case tree.Alias() | tree.TypeDefinition():
            return frozenset(p.name for p in item.parameters)
        case _:
            return frozenset()


def _own_name(node: Any, names: Renaming, local: frozenset[str]) -> Any:
    """A node with the full form of the name that it declares or uses."""
    match node:
        case tree.TypeName(name) if name not in local:
            full = names.type(name)
            return node if full == name else replace(node, name=full)
        case tree.Alias(name) | tree.TypeDefinition(name):
            return replace(node, name=names.type(name))
        case tree.Constructor(name):
            return replace(node, name=names.constructor(name))
        case tree.Relation(name=name):
            return replace(node, name=names.prefix + name)
        case tree.Function(name) | tree.Fold(name) | tree.Index(name):
            return replace(node, name=names.prefix + name)
        case tree.Atom(name):
            full = names.relation(name)
            return node if full == name else replace(node, relation=full)
        case tree.Construct(name):
            full = names.constructor(name)
            return node if full == name else replace(node, constructor=full)
        case tree.Call(name) if name not in local:
            full = names.function(name)
            method = node.method and "::" not in full  # a method has no qualified name
            return node if full == name else replace(node, function=full, method=method)
        case tree.SubAggregate(name) | tree.Aggregate(function=name):
            full = _without_std(name)
            full = full if full in AGGREGATE_NAMES else names.function(full)
            return node if full == name else replace(node, function=full)
        case tree.StringLiteral(short=str()) if names.prefix:
            return replace(node, short=None)  # a module has prefixes of its own
        case _:
            return node
