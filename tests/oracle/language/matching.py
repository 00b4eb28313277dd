"""Random patterns over structured types, `match`, and the ways in which expressions take values apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

from oracle.language.values import Values, bare
from tidelog.data import types
from tidelog.data.types import Constructor, Type

__all__ = ["Patterns", "readings"]

Scope = Mapping[str, Type]
Namer = Callable[[Type], str]  # a variable for a part of this type


class Patterns:
    def __init__(self, random: Random, values: Values) -> None:
        self.random = random
        self.values = values

    def make(self, type_: Type, name: Namer, depth: int = 2) -> str:
        """A pattern that some values of a type match; its variables get their names from `name`."""
        draw = self.random.random()
        if draw < 0.12:
            return "_"
        if draw < 0.22:
            text = None if isinstance(type_, types.Option) else bare(type_, self.values.value(type_))
            if text is not None and not text.startswith("-"):
                return text
        if depth > 0 and draw > 0.35:
            text = self._inside(type_, name, depth)
            if text is not None:
                return f"{name(type_)} @ {text}" if self.random.random() < 0.1 else text
        return name(type_)

    def structured(self, type_: Type, name: Namer) -> str:
        """A pattern that is more than a name, where the type has one."""
        return self._inside(type_, name, 2) or name(type_)

    def _inside(self, type_: Type, name: Namer, depth: int) -> str | None:
        match type_:
            case types.Tuple(items):
                return f"({', '.join(self.make(t, name, depth - 1) for t in items)})"
            case types.Named():
                return self._constructed(self.random.choice(type_.constructors), type_, name, depth)
            case types.Option(item):
                return "none" if self.random.random() < 0.3 else f"some({self.make(item, name, depth - 1)})"
            case _:
                return None

    def _constructed(self, constructor: Constructor, type_: types.Named, name: Namer, depth: int) -> str:
        if not constructor.fields:
            return constructor.name if len(type_.constructors) > 1 else f"{constructor.name}{{}}"
        draw = self.random.random()
        if draw < 0.15:
            return f"{constructor.name}{{..}}"
        parts = [(f.name, self.make(f.type, name, depth - 1)) for f in constructor.fields]
        if draw < 0.5:
            kept = [p for p in parts if p[1] != "_"] or parts[:1]
            self.random.shuffle(kept)
            return f"{constructor.name}{{{', '.join(f'.{n} = {p}' for n, p in kept)}}}"
        return f"{constructor.name}{{{', '.join(p for _, p in parts)}}}"

    def match(self, subject: str, type_: types.Named, name: str, value: Callable[[Scope], str]) -> str:
        """A `match` that has a case for every value; `value` makes one out of what its pattern binds."""
        constructors = list(type_.constructors)
        listed = constructors
        if self.random.random() < 0.5:
            listed = self.random.sample(constructors, self.random.randint(0, len(constructors) - 1))
        cases = [self._case(c, type_, name, value) for c in listed]
        if len(listed) < len(constructors):
            cases.append(f"_ -> {value({})}")
        return f"(match ({subject}) {{ {', '.join(cases)} }})"

    def _case(
        self, constructor: Constructor, type_: types.Named, name: str, value: Callable[[Scope], str]
    ) -> str:
        bound = {f"{name}{f.name}": f.type for f in constructor.fields}
        if not bound:
            bare_name = constructor.name if len(type_.constructors) > 1 else f"{constructor.name}{{}}"
            return f"{bare_name} -> {value({})}"
        if self.random.random() < 0.2:
            return f"{constructor.name}{{..}} -> {value({})}"
        return f"{constructor.name}{{{', '.join(bound)}}} -> {value(bound)}"


def readings(scope: Scope, wanted: Type) -> Iterator[str]:
    """Fields of structs and items of tuples among the variables that have a type."""
    for name, type_ in sorted(scope.items()):
        match type_:
            case types.Tuple(items):
                yield from (f"{name}.{i}" for i, t in enumerate(items) if t == wanted)
            case types.Named() if len(type_.constructors) == 1:
                yield from (f"{name}.{f.name}" for f in type_.constructors[0].fields if f.type == wanted)
            case _:
                pass
