"""The types of columns and expressions.

A closed union of frozen values. Consumers `match` on it and end in `assert_never`, so the type checker finds
every place that must handle a new type. Invariants hold by construction: widths are 1 to 128 bits, a decimal
has a precision of 1 to 38 digits and a scale no greater than its precision, and an option cannot contain an
option (`none` would be ambiguous).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

__all__ = [
    "BIGINT",
    "BOOL",
    "BYTES",
    "DATE",
    "DOUBLE",
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
    "Date",
    "Decimal",
    "Double",
    "Float",
    "Int",
    "Option",
    "Scalar",
    "Signed",
    "String",
    "Timestamp",
    "Type",
    "int_range",
    "is_float",
    "is_integer",
    "is_number",
    "scalar",
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


Scalar: TypeAlias = (
    Bool | Int | BigInt | Bit | Signed | Float | Double | Decimal | String | Bytes | Date | Timestamp
)


@dataclass(frozen=True, slots=True)
class Option:
    """A value, or `none`."""

    item: Scalar

    def __post_init__(self) -> None:
        assert not isinstance(self.item, Option)

    def __str__(self) -> str:
        return f"option<{self.item}>"


Type: TypeAlias = Scalar | Option

BOOL: Final = Bool()
INT: Final = Int()
BIGINT: Final = BigInt()
FLOAT: Final = Float()
DOUBLE: Final = Double()
STRING: Final = String()
BYTES: Final = Bytes()
DATE: Final = Date()
TIMESTAMP: Final = Timestamp()


def scalar(type_: Type) -> Scalar:
    """The type itself, or the item of an option."""
    return type_.item if isinstance(type_, Option) else type_


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
        case Option():
            return None
        case _:
            assert_never(type_)
