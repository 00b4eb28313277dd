"""The data types that describe the standard library.

- A function has at most one type variable, written `T`, that ranges over the types of one `Kind`.
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
    FRACTIONAL = "float, double or decimal"
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
    """The function's one type variable, or an option of it."""

    optional: bool = False

    def __str__(self) -> str:
        return "option<T>" if self.optional else "T"


T: Final = TypeVariable()
OPTION_T: Final = TypeVariable(optional=True)

ParamType: TypeAlias = Type | TypeVariable


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
    "option<int>": types.Option(types.INT),
    "option<string>": types.Option(types.STRING),
    **{str(t): t for t in (types.BOOL, types.INT, types.DOUBLE, types.STRING, types.BYTES)},
    **{str(t): t for t in (types.DATE, types.TIMESTAMP)},
}


def function(
    signature: str, doc: str, examples: dict[str, str | None], kind: Kind = Kind.ANY
) -> StandardFunction:
    """A function from its signature as shown to users: `name(parameter: type, …) -> type`."""
    head, result = signature.split(" -> ")
    name, parameters = head.removesuffix(")").split("(")
    pairs = [p.split(": ") for p in parameters.split(", ")]
    return StandardFunction(
        name,
        tuple(Parameter(n, _TYPES[t]) for n, t in pairs),
        _TYPES[result],
        kind,
        doc,
        tuple(Example(call, value) for call, value in examples.items()),
    )
