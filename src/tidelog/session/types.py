"""The types of a program, as Python: `db.types.Payload.IPv4(src=1, dst=2)`.

A type has one class per constructor; the instances are the values that rows have (see `data.structs`). The
class works in `match` statements and `isinstance`. A type with one constructor can be called itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.data.structs import Struct, described_class
from tidelog.data.types import Named
from tidelog.errors import SessionError
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.program.elaborate.typedefs import restored
from tidelog.program.model import Program
from tidelog.syntax import tree

__all__ = ["TypeDescription", "TypeNamespace", "Types", "types_of"]


@dataclass(frozen=True, slots=True)
class TypeDescription:
    """A struct or union, generic or not: the names of the fields of its constructors."""

    name: str
    identity: str
    constructors: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, type_: Named) -> TypeDescription:
        fields = {c.name: tuple(f.name for f in c.fields) for c in type_.constructors}
        return cls(type_.name, type_.identity, fields)

    def made(self, constructor: str) -> type[Struct]:
        return described_class(self.name, self.identity, constructor, self.constructors[constructor])


class Types(Mapping[str, "TypeNamespace"]):
    """Types by name, as attributes or items. Names in modules are items: `db.types["net::Payload"]`."""

    def __init__(self, types: Mapping[str, TypeDescription]) -> None:
        self._types = types

    def __getitem__(self, name: str) -> TypeNamespace:
        return TypeNamespace(self._types[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def __getattr__(self, name: str) -> TypeNamespace:
        if name.startswith("_"):  # what Python itself asks for
            raise AttributeError(name)
        if name not in self._types:
            hint = did_you_mean(name, list(self._types)) or _listed("the types are", self._types)
            raise SessionError(f"unknown type `{name}`; {hint}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._types]

    def __repr__(self) -> str:
        return f"<types: {', '.join(self._types) or 'none'}>"


class TypeNamespace:
    """A struct or union; its constructors are attributes."""

    def __init__(self, described: TypeDescription) -> None:
        self._described = described

    def __getattr__(self, name: str) -> type[Struct]:
        if name.startswith("_"):
            raise AttributeError(name)
        names = list(self._described.constructors)
        if name not in names:
            hint = did_you_mean(name, names) or f"it has {', '.join(names)}"
            raise SessionError(f"the type {self._described.name} has no constructor `{name}`; {hint}")
        return self._described.made(name)

    def __call__(self, *args: Any, **fields: Any) -> Struct:
        """A value of a type with one constructor."""
        names = list(self._described.constructors)
        if len(names) > 1:
            listed = ", ".join(names)
            raise SessionError(
                f"the type {self._described.name} has several constructors: {listed}; call one"
            )
        return self._described.made(names[0])(*args, **fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._described.constructors]

    def __repr__(self) -> str:
        parts = (f"{tag}({', '.join(fields)})" for tag, fields in self._described.constructors.items())
        return f"<type {self._described.name}: {' | '.join(parts)}>"


def types_of(program: Program) -> Types:
    """The structs and unions of a program."""
    known = restored(program.aliases, program.types)
    described: dict[str, TypeDescription] = {}
    for name, item in program.types.items():
        if isinstance(item, tree.TypeDefinition):
            fields = {c.name: tuple(f.name for f in c.fields) for c in item.constructors}
            described[name] = TypeDescription(name, known.identity(name), fields)
    return Types(described)


def _listed(lead: str, names: Mapping[str, object]) -> str:
    return f"{lead} {', '.join(names)}" if names else "the program defines none"
