"""The data types that describe the standard library.

- A function may have type variables, written as capitals; `T` ranges over the types of one `Kind`.
- Parameters may be closures: `f: |T|: bool`. Arguments for them come last.
- An example is a call and its result, both in the language. The result is None if the call fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.types import Type

__all__ = [
    "OPTION_T",
    "Applied",
    "Closure",
    "Example",
    "Kind",
    "ParamType",
    "Parameter",
    "StandardFunction",
    "T",
    "TypeVariable",
    "allows",
    "function",
]


class Kind(Enum):
    """The types that a type variable ranges over."""

    ANY = "any type except an option"
    EVERY = "any type"
    NUMBER = "a number"
    INTEGER = "an integer"
    FRACTIONAL = "float, double or decimal"
    FLOATING = "float or double"
    TEXT = "string or bytes"
    CALENDAR = "date or timestamp"
    TRUTH = "bool"
    STRING = "string"


def allows(kind: Kind, type_: Type) -> bool:
    match kind:
        case Kind.ANY:
            return not isinstance(type_, types.Option)
        case Kind.EVERY:
            return True
        case Kind.NUMBER:
            return types.is_number(type_)
        case Kind.INTEGER:
            return types.is_integer(type_)
        case Kind.FLOATING:
            return types.is_float(type_)
        case Kind.FRACTIONAL:
            return types.is_float(type_) or isinstance(type_, types.Decimal)
        case Kind.TEXT:
            return isinstance(type_, types.String | types.Bytes)
        case Kind.CALENDAR:
            return isinstance(type_, types.Date | types.Timestamp)
        case Kind.TRUTH:
            return isinstance(type_, types.Bool)
        case Kind.STRING:
            return isinstance(type_, types.String)
        case _:
            assert_never(kind)


@dataclass(frozen=True, slots=True)
class TypeVariable:
    """A type variable of a function, or an option of it."""

    optional: bool = False
    name: str = "T"

    def __str__(self) -> str:
        return f"option<{self.name}>" if self.optional else self.name


@dataclass(frozen=True, slots=True)
class Applied:
    """`vec<…>`, `set<…>`, `map<…, …>`, `result<…, …>`, or a tuple, whose name is "()"."""

    name: str
    args: tuple[ParamType, ...]

    def __str__(self) -> str:
        args = ", ".join(map(str, self.args))
        return f"({args})" if self.name == "()" else f"{self.name}<{args}>"


@dataclass(frozen=True, slots=True)
class Closure:
    """The type of a closure, `|A, B|: R`. It is the type of a parameter only."""

    parameters: tuple[ParamType, ...]
    result: ParamType

    def __str__(self) -> str:
        return f"|{', '.join(map(str, self.parameters))}|: {self.result}"


T: Final = TypeVariable()
OPTION_T: Final = TypeVariable(optional=True)

ParamType: TypeAlias = Type | TypeVariable | Applied | Closure


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: ParamType


@dataclass(frozen=True, slots=True)
class Example:
    call: str
    result: str | None

    @property
    def fails(self) -> bool:
        return self.result is None


@dataclass(frozen=True, slots=True)
class StandardFunction:
    name: str
    parameters: tuple[Parameter, ...]
    result: ParamType
    kind: Kind
    doc: str
    examples: tuple[Example, ...]

    @property
    def signature(self) -> str:
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        return f"{self.name}({parameters}) -> {self.result}"


_TYPES: dict[str, ParamType] = {
    "T": T,
    "option<T>": OPTION_T,
    **{str(t): t for t in (types.BOOL, types.INT, types.DOUBLE, types.STRING, types.BYTES)},
    **{str(t): t for t in (types.DATE, types.TIMESTAMP, types.DURATION)},
    **{str(t): t for t in map(types.Bit, (32, 64, 128))},
    **{f"option<{t}>": types.Option(t) for t in (types.BOOL, types.INT, types.DOUBLE, types.STRING)},
    **{f"option<{t}>": types.Option(t) for t in (types.DATE, types.TIMESTAMP)},
}


def function(
    signature: str, doc: str, examples: dict[str, str | None], kind: Kind = Kind.ANY
) -> StandardFunction:
    """A function from its signature as shown to users: `name(parameter: type, …) -> type`."""
    head, result = signature.split(" -> ")
    name, parameters = head.removesuffix(")").split("(", 1)
    pairs = [p.split(": ", 1) for p in _parts(parameters) if p]
    return StandardFunction(
        name,
        tuple(Parameter(n, _type(t)) for n, t in pairs),
        _type(result),
        kind,
        doc,
        tuple(Example(call, value) for call, value in examples.items()),
    )


def _parts(text: str) -> list[str]:
    """The parts between the commas outside brackets and bars."""
    found, depth, is_in_bars = [""], 0, False
    for c in text:
        depth += (c in "(<") - (c in ")>")
        is_in_bars ^= c == "|"
        if c == "," and not depth and not is_in_bars:
            found.append("")
        else:
            found[-1] += c
    return [part.strip() for part in found]


def _type(text: str) -> ParamType:
    if text in _TYPES:
        return _TYPES[text]
    if len(text) == 1:
        return TypeVariable(name=text)
    if text.startswith("|"):
        parameters, result = text[1:].split("|: ")
        return Closure(tuple(map(_type, _parts(parameters))), _type(result))
    name, inner = ("()", text[1:-1]) if text.startswith("(") else text.removesuffix(">").split("<", 1)
    args = tuple(map(_type, _parts(inner)))
    if name == "option":
        assert isinstance(args[0], TypeVariable)
        return TypeVariable(True, args[0].name)
    return Applied(name, args)
