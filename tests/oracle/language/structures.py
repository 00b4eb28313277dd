"""Random definitions of types, and structured types over them: nested, recursive and generic ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from tidelog.data import types
from tidelog.data.types import Constructor, Field, Item, Named, Type, TypeTable

__all__ = ["Structures"]

Template = Callable[["Structures", tuple[Type, ...]], tuple[Constructor, ...]]


def _constructor(name: str, *fields: Type) -> Constructor:
    return Constructor(name, tuple(Field(f"f{i}", t) for i, t in enumerate(fields)))


# generic types: their parameters, how they are written, and their constructors for some arguments
_GENERIC: Final[Mapping[str, tuple[int, str, Template]]] = {
    "Pair": (2, "Pair<A, B> = Pair{f0: A, f1: B}", lambda _, a: (_constructor("Pair", *a),)),
    "Maybe": (
        1,
        "Maybe<A> = No | Yes{f0: A}",
        lambda _, a: (_constructor("No"), _constructor("Yes", *a)),
    ),
    "List": (
        1,
        "List<A> = Nil | Cons{f0: A, f1: List<A>}",
        lambda s, a: (_constructor("Nil"), _constructor("Cons", a[0], s.named("List", a))),
    ),
    "Wrap": (
        1,
        "Wrap<A> = Wrap{f0: vec<A>, f1: Maybe<A>}",
        lambda s, a: (_constructor("Wrap", types.Vec(a[0]), s.instance("Maybe", a)),),
    ),
}


class Structures:
    """The definitions of a case. `types` are those that columns have; `texts` are the definitions."""

    def __init__(self, random: Random, scalars: Sequence[Type]) -> None:
        self.random = random
        self.table = TypeTable()
        self._scalars = [types.present(t) for t in scalars]
        self._own: list[Named] = []
        self.texts: list[str] = []
        for i in range(random.choice([0, 1, 1, 2])):
            self._define(f"S{i}")
        self.types: list[Type] = [self._column() for _ in range(random.choice([1, 2, 2, 3]))]

    def _define(self, name: str) -> None:
        """A struct, union or enumeration; it may contain itself, and those before it."""
        type_ = self.named(name, ())
        makers = (self._struct, self._union, self._union, self._enumeration, self._tree)
        constructors = self.random.choice(makers)(type_)
        self.table.define(type_, constructors)
        self._own.append(type_)
        listed = " | ".join(map(_definition, constructors))
        if len(constructors) == 1 and not constructors[0].fields:
            listed += "{}"
        self.texts.append(f"typedef {name} = {listed}")

    def _struct(self, type_: Named) -> tuple[Constructor, ...]:
        return (
            _constructor(type_.name, *(self.draw(1) for _ in range(self.random.choice([0, 1, 2, 2, 3])))),
        )

    def _union(self, type_: Named) -> tuple[Constructor, ...]:
        counts = [self.random.choice([0, 1, 1, 2]) for _ in range(self.random.choice([2, 2, 3]))]
        return tuple(
            _constructor(f"{type_.name}{letter}", *(self.draw(1) for _ in range(count)))
            for letter, count in zip("XYZ", counts, strict=False)
        )

    def _enumeration(self, type_: Named) -> tuple[Constructor, ...]:
        return tuple(_constructor(f"{type_.name}{letter}") for letter in "XYZ"[: self.random.choice([2, 3])])

    def _tree(self, type_: Named) -> tuple[Constructor, ...]:
        choices: list[Type] = [type_, types.Vec(type_), types.Option(type_)]
        inner = self.random.choice(choices)
        return (
            _constructor(f"{type_.name}X", self.draw(0)),
            _constructor(f"{type_.name}Y", inner, self.random.choice([inner, self.draw(0)])),
        )

    # -- types

    def columns(self, count: int) -> list[Type]:
        """Types of so many columns, of more definitions."""
        for i in range(len(self._own), 4):
            self._define(f"S{i}")
        return [self._column() for _ in range(count)]

    def _column(self) -> Type:
        """A structured type, mostly, or an option of one."""
        item = self._structured(2)
        return types.Option(item) if self.random.random() < 0.12 else item

    def draw(self, depth: int) -> Type:
        """A type for a part of another."""
        if depth <= 0 or self.random.random() < 0.6:
            scalar = self.random.choice(self._scalars)
            return types.Option(scalar) if self.random.random() < 0.2 else scalar
        return self._structured(depth)

    def _structured(self, depth: int) -> Item:
        makers: list[Callable[[], Item]] = [
            lambda: types.Tuple((self.draw(depth - 1), self.draw(depth - 1))),
            lambda: types.Vec(self.draw(depth - 1)),
            lambda: types.Vec(self.draw(depth - 1)),
            lambda: types.Set(self.draw(depth - 1)),
            lambda: types.Map(self.draw(depth - 1), self.draw(depth - 1)),
            lambda: self._some_instance(depth),
        ]
        if self._own:
            makers += [lambda: self.random.choice(self._own)] * 4
        return self.random.choice(makers)()

    def _some_instance(self, depth: int) -> Named:
        name = self.random.choice(["result", *_GENERIC])
        count = 2 if name == "result" else _GENERIC[name][0]
        return self.instance(name, tuple(self.draw(depth - 1) for _ in range(count)))

    def instance(self, name: str, args: tuple[Type, ...]) -> Named:
        """A generic type with these arguments, whose definition is part of the case from now on."""
        type_ = self.named(name, args)
        if type_ in self.table:
            return type_
        if name == "result":
            ok, error = Field("value", args[0]), Field("error", args[1])
            self.table.define(type_, (Constructor("Ok", (ok,)), Constructor("Err", (error,))))
            return type_
        _, text, template = _GENERIC[name]
        self.table.define(type_, template(self, args))
        if f"typedef {text}" not in self.texts:
            self.texts.append(f"typedef {text}")
        return type_

    def named(self, name: str, args: tuple[Type, ...]) -> Named:
        return Named(name, args, "", self.table)


def _definition(constructor: Constructor) -> str:
    fields = ", ".join(f"{f.name}: {f.type}" for f in constructor.fields)
    return f"{constructor.name}{{{fields}}}" if fields else constructor.name
