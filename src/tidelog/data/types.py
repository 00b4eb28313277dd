"""The types of columns and expressions.

A closed union of frozen values. Consumers `match` on it and end in `assert_never`, so the type checker finds
every place that must handle a new type. Invariants hold by construction: widths are 1 to 128 bits, a decimal
has a precision of 1 to 38 digits and a scale no greater than its precision, a tuple has two items or more,
and an option cannot contain an option (`none` would be ambiguous).

A type is a *scalar*, a *structured* type, or an option of either. Structs and unions are nominal (`Named`):
their constructors are in the type table of the program, so they may be recursive. A type table only grows,
and holds each instance of a generic type with the type arguments filled in: nothing here has type parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

__all__ = [
    "BIGINT",
    "BOOL",
    "BYTES",
    "DATE",
    "DOUBLE",
    "DURATION",
    "FLOAT",
    "INT",
    "MAX_DIGITS",
    "MAX_WIDTH",
    "STRING",
    "TIMESTAMP",
    "BigInt",
    "Bit",
    "Bool",
    "Bytes",
    "Constructor",
    "Date",
    "Decimal",
    "Double",
    "Duration",
    "Field",
    "Float",
    "Int",
    "Item",
    "Map",
    "Named",
    "Option",
    "Scalar",
    "Set",
    "Signed",
    "String",
    "Structured",
    "Timestamp",
    "Tuple",
    "Type",
    "TypeTable",
    "Vec",
    "int_range",
    "is_float",
    "is_integer",
    "is_number",
    "is_recursive",
    "is_structured",
    "parts",
    "present",
]

MAX_WIDTH: Final = 128
MAX_DIGITS: Final = 38


@dataclass(frozen=True, slots=True)
class Bool:
    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class Int:
    """A signed 64-bit number; the default integer type."""

    def __str__(self) -> str:
        return "int"


@dataclass(frozen=True, slots=True)
class BigInt:
    def __str__(self) -> str:
        return "bigint"


@dataclass(frozen=True, slots=True)
class Bit:
    """An unsigned number of `width` bits."""

    width: int

    def __post_init__(self) -> None:
        assert 1 <= self.width <= MAX_WIDTH

    def __str__(self) -> str:
        return f"bit<{self.width}>"


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed number of `width` bits in two's complement."""

    width: int

    def __post_init__(self) -> None:
        assert 1 <= self.width <= MAX_WIDTH

    def __str__(self) -> str:
        return f"signed<{self.width}>"


@dataclass(frozen=True, slots=True)
class Float:
    """IEEE 754 single precision."""

    def __str__(self) -> str:
        return "float"


@dataclass(frozen=True, slots=True)
class Double:
    """IEEE 754 double precision."""

    def __str__(self) -> str:
        return "double"


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number with `precision` digits, `scale` of them after the decimal point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        assert 1 <= self.precision <= MAX_DIGITS
        assert 0 <= self.scale <= self.precision

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class String:
    def __str__(self) -> str:
        return "string"


@dataclass(frozen=True, slots=True)
class Bytes:
    def __str__(self) -> str:
        return "bytes"


@dataclass(frozen=True, slots=True)
class Date:
    def __str__(self) -> str:
        return "date"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time in UTC, with microsecond precision."""

    def __str__(self) -> str:
        return "timestamp"


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time, with microsecond precision."""

    def __str__(self) -> str:
        return "duration"


Scalar: TypeAlias = (
    Bool
    | Int
    | BigInt
    | Bit
    | Signed
    | Float
    | Double
    | Decimal
    | String
    | Bytes
    | Date
    | Timestamp
    | Duration
)


# -- structured types


@dataclass(frozen=True, slots=True)
class Tuple:
    """Two values or more, by position."""

    items: tuple[Type, ...]

    def __post_init__(self) -> None:
        assert len(self.items) >= 2

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class Vec:
    """Values in a sequence."""

    item: Type

    def __str__(self) -> str:
        return f"vec<{self.item}>"


@dataclass(frozen=True, slots=True)
class Set:
    """Distinct values, in their order."""

    item: Type

    def __str__(self) -> str:
        return f"set<{self.item}>"


@dataclass(frozen=True, slots=True)
class Map:
    """One value for each of some distinct keys, in the order of the keys."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Constructor:
    name: str
    fields: tuple[Field, ...]


class TypeTable:
    """The constructors of the structs and unions of a program. It only grows.

    It is keyed by the type's representation, which has the identities of all types inside it: a text that
    was rejected may have defined another type of the same name.
    """

    __slots__ = ("_constructors",)

    def __init__(self) -> None:
        self._constructors: dict[str, tuple[Constructor, ...]] = {}

    def define(self, type_: Named, constructors: tuple[Constructor, ...]) -> None:
        assert constructors
        self._constructors[repr(type_)] = constructors

    def __contains__(self, type_: Named) -> bool:
        return repr(type_) in self._constructors

    def constructors(self, type_: Named) -> tuple[Constructor, ...]:
        return self._constructors[repr(type_)]


@dataclass(frozen=True, slots=True)
class Named:
    """A struct (one constructor) or a union (several), with its type arguments.

    `identity` is a digest of the definitions that it depends on: types with one name and different
    definitions are different types.
    """

    name: str
    args: tuple[Type, ...]
    identity: str
    table: TypeTable = field(compare=False, repr=False)

    @property
    def constructors(self) -> tuple[Constructor, ...]:
        return self.table.constructors(self)

    def constructor(self, name: str) -> Constructor:
        return next(c for c in self.constructors if c.name == name)

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(map(str, self.args))}>" if self.args else self.name


Structured: TypeAlias = Tuple | Vec | Set | Map | Named
Item: TypeAlias = Scalar | Structured


@dataclass(frozen=True, slots=True)
class Option:
    """A value, or `none`."""

    item: Item

    def __post_init__(self) -> None:
        assert not isinstance(self.item, Option)

    def __str__(self) -> str:
        return f"option<{self.item}>"


Type: TypeAlias = Item | Option

BOOL: Final = Bool()
INT: Final = Int()
BIGINT: Final = BigInt()
FLOAT: Final = Float()
DOUBLE: Final = Double()
STRING: Final = String()
BYTES: Final = Bytes()
DATE: Final = Date()
TIMESTAMP: Final = Timestamp()
DURATION: Final = Duration()


def present(type_: Type) -> Item:
    """The type of a value that is not `none`: the type itself, or the item of an option."""
    return type_.item if isinstance(type_, Option) else type_


def is_structured(type_: Type) -> bool:
    return isinstance(type_, Tuple | Vec | Set | Map | Named)


def parts(type_: Type) -> tuple[Type, ...]:
    """The types of the values directly inside a value of this type."""
    match type_:
        case Option(item) | Vec(item) | Set(item):
            return (item,)
        case Tuple(items):
            return items
        case Map(key, value):
            return (key, value)
        case Named():
            return tuple(f.type for c in type_.constructors for f in c.fields)
        case Bool() | Int() | BigInt() | Bit() | Signed() | Float() | Double() | Decimal():
            return ()
        case String() | Bytes() | Date() | Timestamp() | Duration():
            return ()
        case _:
            assert_never(type_)


def _inside(type_: Type) -> Iterator[Type]:
    """The types at any depth inside a type, each once."""
    seen: set[Type] = set()
    waiting = list(parts(type_))
    while waiting:
        inner = waiting.pop()
        if inner not in seen:
            seen.add(inner)
            yield inner
            waiting += parts(inner)


def is_recursive(type_: Type) -> bool:
    """Whether a value of this type can contain values of a type that contains itself."""
    return any(isinstance(t, Named) and t in set(_inside(t)) for t in (type_, *_inside(type_)))


def is_integer(type_: Type) -> bool:
    return isinstance(type_, Int | BigInt | Bit | Signed)


def is_float(type_: Type) -> bool:
    return isinstance(type_, Float | Double)


def is_number(type_: Type) -> bool:
    return is_integer(type_) or is_float(type_) or isinstance(type_, Decimal)


def int_range(type_: Type) -> tuple[int, int] | None:
    """The smallest and largest value of a bounded integer type; None for every other type."""
    match type_:
        case Int():
            return -(2**63), 2**63 - 1
        case Signed(width):
            return -(2 ** (width - 1)), 2 ** (width - 1) - 1
        case Bit(width):
            return 0, 2**width - 1
        case BigInt() | Bool() | Float() | Double() | Decimal() | String() | Bytes() | Date() | Timestamp():
            return None
        case Duration() | Option() | Tuple() | Vec() | Set() | Map() | Named():
            return None
        case _:
            assert_never(type_)
