"""The types that a program defines, and their instances.

A definition is kept as it was written. An *instance* of a struct or union is a definition with its type
arguments filled in; its constructors are in the program's type table. `resolve_type` makes the instances that
a type needs, so whoever holds a type can take it apart.

The identity of a definition is a digest of the texts of all definitions that it reaches by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeAlias

from tidelog.data import types
from tidelog.data.types import Constructor, Field, Named, Type, TypeTable
from tidelog.program.elaborate.foreign import type_hint
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.unknowns import inner, is_open
from tidelog.syntax import tree

__all__ = [
    "BUILT_IN",
    "STANDARD",
    "TYPE_NAMES",
    "Definition",
    "Definitions",
    "Endless",
    "names_in",
    "parameter_type",
    "resolve_type",
]

Definition: TypeAlias = tree.Alias | tree.TypeDefinition

_SIMPLE: Final[dict[str, Type]] = {
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
_SIZED: Final[dict[str, Callable[[int], Type]]] = {"bit": types.Bit, "signed": types.Signed}
BUILT_IN: Final = (*_SIMPLE, *_SIZED, "decimal", "option")  # no program may define these

# Programs may define these names otherwise.
_LATER: Final[dict[str, Type]] = {
    "duration": types.DURATION,
    "usize": types.Bit(64),
    **{f"u{width}": types.Bit(width) for width in (8, 16, 32, 64, 128)},
    **{f"s{width}": types.Signed(width) for width in (8, 16, 32, 64, 128)},
}
_COLLECTIONS: Final = ("vec", "set", "map")
TYPE_NAMES: Final = frozenset([*BUILT_IN, *_LATER, *_COLLECTIONS, "result", "()", "||"])
_PARAMETER: Final = "type parameter"
_MOST_INSTANCES: Final = 1000  # that one type may need
_LARGEST: Final = 200  # names in a type that is an instance


def _standard() -> dict[str, Definition]:
    fields = (("Ok", "value", "T"), ("Err", "error", "E"))
    made = tuple(tree.Constructor(c, (tree.Column(f, tree.TypeName(t)),)) for c, f, t in fields)
    return {"result": tree.TypeDefinition("result", (tree.Variable("T"), tree.Variable("E")), made)}


STANDARD: Final = _standard()


class Endless(Exception):
    """A type needs instances without end."""


def parameter_type(name: str) -> Type:
    """A type parameter inside its own definition: equal to itself only."""
    return Named(name, (), _PARAMETER, TypeTable())


@dataclass(slots=True)
class Definitions:
    """`aliases` are the types of aliases without parameters; `broken` names are defined, but not validly."""

    aliases: dict[str, Type] = field(default_factory=dict)
    items: dict[str, Definition] = field(default_factory=dict)
    constructors: dict[str, str] = field(default_factory=dict)  # the type of each
    broken: set[str] = field(default_factory=set)
    table: TypeTable = field(default_factory=TypeTable)
    _identities: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Definitions:
        return Definitions(
            dict(self.aliases),
            dict(self.items),
            dict(self.constructors),
            set(self.broken),
            self.table,  # it only grows
            dict(self._identities),
        )

    def find(self, name: str) -> Definition | None:
        """The definition of a name that is not broken, of the program or of the standard library."""
        return self.items.get(name) or (None if name in self.aliases else STANDARD.get(name))

    def type_of(self, constructor: str) -> tree.TypeDefinition | None:
        """The definition that has a constructor."""
        name = self.constructors.get(constructor)
        found = self.items[name] if name is not None else _STANDARD_CONSTRUCTORS.get(constructor)
        return found if isinstance(found, tree.TypeDefinition) else None

    def add(self, item: tree.TypeDefinition) -> None:
        self.items[item.name] = item
        for constructor in item.constructors:
            self.constructors[constructor.name] = item.name

    def identity(self, name: str) -> str:
        """A digest of the definitions that a definition reaches."""
        found = self._identities.get(name)
        if found is None:
            texts = sorted(_text(item) for item in self._reached(name))
            found = self._identities[name] = sha256("\n".join(texts).encode()).hexdigest()[:16]
        return found

    def _reached(self, name: str) -> Iterator[Definition]:
        seen = {name}
        waiting = [name]
        for current in waiting:  # grows during the loop
            item = self.find(current)
            if item is not None:
                yield item
                own = {p.name for p in item.parameters}
                new = [n for n in dict.fromkeys(_mentions(item)) if n not in own and n not in seen]
                seen.update(new)
                waiting += new

    # -- instances

    def named(self, definition: tree.TypeDefinition, args: tuple[Type, ...]) -> Named:
        """A struct or union with these type arguments, without making its instance."""
        return Named(definition.name, args, self.identity(definition.name), self.table)

    def fields(self, type_: Named, constructor: str) -> tuple[Field, ...]:
        """The fields of a constructor, also if the type has unknowns."""
        if not any(map(is_open, type_.args)) and type_ in type_.table:
            return type_.constructor(constructor).fields
        definition = self.find(type_.name)
        assert isinstance(definition, tree.TypeDefinition)
        bound = {p.name: a for p, a in zip(definition.parameters, type_.args, strict=True)}
        found = next(c for c in definition.constructors if c.name == constructor)
        quiet = Problems()
        made = [(f.name, resolve_type(f.type, self, quiet, bound, make=False)) for f in found.fields]
        return tuple(Field(name, t) for name, t in made if t is not None)

    def instantiate(self, type_: Type, problems: Problems) -> None:
        """Make the instances that a type without unknowns needs. Raises Endless."""
        made: list[Named] = []
        waiting = [type_]
        while waiting:
            found = waiting.pop()
            if not isinstance(found, Named):
                waiting += types.parts(found)
                continue
            if _is_larger(found, _LARGEST):
                raise Endless
            waiting += found.args
            if found.identity == _PARAMETER or found in found.table:
                continue
            constructors = self._constructors(found, problems)
            if not constructors:
                continue
            found.table.define(found, constructors)
            made.append(found)
            waiting += types.parts(found)
            if len(made) > _MOST_INSTANCES:
                raise Endless

    def _constructors(self, type_: Named, problems: Problems) -> tuple[Constructor, ...]:
        definition = self.find(type_.name)
        assert isinstance(definition, tree.TypeDefinition)
        bound = {p.name: a for p, a in zip(definition.parameters, type_.args, strict=True)}
        made: list[Constructor] = []
        for constructor in definition.constructors:
            named = [
                (f.name, resolve_type(f.type, self, problems, bound, make=False)) for f in constructor.fields
            ]
            fields = tuple(Field(name, t) for name, t in named if t is not None)
            if len(fields) < len(named):
                return ()
            made.append(Constructor(constructor.name, fields))
        return tuple(made)


def _is_larger(type_: Type, limit: int) -> bool:
    """Whether a type is written with more names than this."""
    waiting = [type_]
    while waiting and limit >= 0:
        limit -= 1
        waiting += inner(waiting.pop())
    return limit < 0


def names_in(type_: tree.TypeName) -> Iterator[str]:
    """The names in a type, at any depth."""
    yield type_.name
    for arg in type_.args:
        if isinstance(arg, tree.TypeName):
            yield from names_in(arg)


def _mentions(item: Definition) -> Iterator[str]:
    if isinstance(item, tree.Alias):
        yield from names_in(item.type)
        return
    for constructor in item.constructors:
        for column in constructor.fields:
            yield from names_in(column.type)


def _text(item: Definition) -> str:
    parameters = ",".join(p.name for p in item.parameters)
    if isinstance(item, tree.Alias):
        return f"{item.name}<{parameters}>={_type_text(item.type)}"
    constructors = "|".join(
        f"{c.name}{{{','.join(f'{f.name}:{_type_text(f.type)}' for f in c.fields)}}}"
        for c in item.constructors
    )
    return f"{item.name}<{parameters}>={constructors}"


def _type_text(type_: tree.TypeName) -> str:
    args = ",".join(str(a) if isinstance(a, int) else _type_text(a) for a in type_.args)
    return f"{type_.name}<{args}>" if args else type_.name


_STANDARD_CONSTRUCTORS: Final = {
    c.name: item
    for item in STANDARD.values()
    if isinstance(item, tree.TypeDefinition)
    for c in item.constructors
}


# -- from names to types


def resolve_type(
    name: tree.TypeName,
    known: Definitions,
    problems: Problems,
    bound: Mapping[str, Type] | None = None,
    *,
    make: bool = True,
) -> Type | None:
    """The type a name stands for, or None after reporting an error; `bound` are type parameters.

    Its instances are made unless `make` is false.
    """
    type_ = _resolve(name, known, problems, bound or {})
    if type_ is None or not make or is_open(type_):
        return type_
    quiet = Problems()
    try:
        known.instantiate(type_, quiet)
    except Endless:
        problems.report("E116", name.span, f"`{type_}` needs types without end")
        return None
    if quiet.found:
        note = quiet.found[0].message
        problems.report("E104", name.span, f"`{type_}` has invalid fields", note=note)
        return None
    return type_


def _resolve(
    name: tree.TypeName, known: Definitions, problems: Problems, bound: Mapping[str, Type]
) -> Type | None:
    text = name.name
    if text in bound:
        return _without_arguments(name, bound[text], problems)
    if text in known.aliases:
        return _without_arguments(name, known.aliases[text], problems)
    if text in known.broken:
        return None
    if text in known.items:
        return _defined(name, known.items[text], known, problems, bound)
    if text in _SIMPLE or text in _LATER:
        return _without_arguments(name, _SIMPLE.get(text) or _LATER[text], problems)
    if text in _SIZED:
        return _sized(name, problems)
    if text == "decimal":
        return _decimal(name, problems)
    if text == "option":
        return _option(name, known, problems, bound)
    if text in _COLLECTIONS or text == "()":
        return _collection(name, known, problems, bound)
    if text in STANDARD:
        return _defined(name, STANDARD[text], known, problems, bound)
    if text == "||":
        message = "only parameters of functions can be closures"
        problems.report("E104", name.span, message)
        return None
    names = (BUILT_IN, known.aliases, known.items, (*_LATER, *_COLLECTIONS, *STANDARD))
    hint = type_hint(text) or problems.suggest(text, *names)
    problems.report("E103", name.span, f"unknown type `{text}`", hint=hint)
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


def _option(
    name: tree.TypeName, known: Definitions, problems: Problems, bound: Mapping[str, Type]
) -> Type | None:
    match name.args:
        case (tree.TypeName() as item_name,):
            item = _resolve(item_name, known, problems, bound)
            if isinstance(item, types.Option):
                problems.report("E104", name.span, f"`{item}` is already an option")
                return None
            return None if item is None else types.Option(item)
    problems.report("E104", name.span, "`option` takes one type", hint="write `option<int>`, for example")
    return None


def _arguments(
    name: tree.TypeName, known: Definitions, problems: Problems, bound: Mapping[str, Type]
) -> tuple[Type, ...] | None:
    """The type arguments of a name; None after an error."""
    found: list[Type] = []
    for arg in name.args:
        if isinstance(arg, int):
            problems.report("E104", name.span, f"`{name.name}` takes types, not numbers")
            return None
        type_ = _resolve(arg, known, problems, bound)
        if type_ is not None:
            found.append(type_)
    return tuple(found) if len(found) == len(name.args) else None


_EXAMPLES: Final = {"vec": "vec<int>", "set": "set<string>", "map": "map<string, int>"}


def _collection(
    name: tree.TypeName, known: Definitions, problems: Problems, bound: Mapping[str, Type]
) -> Type | None:
    count = 2 if name.name == "map" else 1
    if name.name != "()" and len(name.args) != count:
        message = f"`{name.name}` takes {'two types' if count == 2 else 'one type'}"
        problems.report("E104", name.span, message, hint=f"write `{_EXAMPLES[name.name]}`, for example")
        return None
    args = _arguments(name, known, problems, bound)
    if args is None:
        return None
    match name.name:
        case "vec":
            return types.Vec(args[0])
        case "set":
            return types.Set(args[0])
        case "map":
            return types.Map(*args)
        case _:
            return types.Tuple(args)


def _defined(
    name: tree.TypeName,
    item: Definition,
    known: Definitions,
    problems: Problems,
    bound: Mapping[str, Type],
) -> Type | None:
    """An instance of a definition, or of an alias with parameters."""
    if len(name.args) != len(item.parameters):
        parameters = ", ".join(p.name for p in item.parameters)
        shown = f"{item.name}<{parameters}>" if parameters else item.name
        message = f"the type `{item.name}` takes {_count(len(item.parameters))}, but got {len(name.args)}"
        problems.report("E104", name.span, message, note=f"it is defined as `{shown}`")
        return None
    args = _arguments(name, known, problems, bound)
    if args is None:
        return None
    if isinstance(item, tree.TypeDefinition):
        return known.named(item, args)
    own = {p.name: a for p, a in zip(item.parameters, args, strict=True)}
    inside = Problems()
    type_ = _resolve(item.type, known, inside, own)
    if inside.found:
        problems.report("E104", name.span, f"`{name.name}` is invalid here", note=inside.found[0].message)
    return type_


def _count(number: int) -> str:
    return "no arguments" if not number else "1 argument" if number == 1 else f"{number} arguments"
