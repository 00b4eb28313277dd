"""The traits of types: one table with a row for each type, from which all others are derived.

| trait | meaning |
|---|---|
| `python` | the class of its values in Python |
| `given` | what people give for a value, in words |
| `arrow` | its Arrow type, as Arrow writes it; it holds every value without loss |
| `spark` | its Spark type, as Spark writes it |
| `is_direct` | its codes are numbers in the order of its values; other types are interned |
| `is_wide` | its numbers may exceed 64 bits, so Arrow and Spark hold them as digits |
| `example` | how a value is written as text, where people often write it differently |
| `order` | how its values are ordered |

Arrow and Spark types are text, since this layer knows neither library.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import assert_never

from tidelog.data import types

__all__ = ["Traits", "traits"]

_UNSIGNED = ((8, "uint8", "smallint"), (16, "uint16", "int"), (32, "uint32", "bigint"))
_SIGNED = ((8, "int8", "tinyint"), (16, "int16", "smallint"), (32, "int32", "int"), (64, "int64", "bigint"))
_NUMERIC = "by number"
_FLOATING = "by number, NaN last"


@dataclass(frozen=True, slots=True)
class Traits:
    python: type
    given: str
    arrow: str
    spark: str
    order: str
    is_direct: bool = True
    is_wide: bool = False
    example: str = ""


_WIDE = Traits(int, "an int", "string", "string", _NUMERIC, is_direct=False, is_wide=True)
_STRING = Traits(str, "a str", "string", "string", "by Unicode code point", is_direct=False)
_BYTES = Traits(bytes, "bytes", "binary", "binary", "by byte", is_direct=False, example="hexadecimal digits")
_BOOL = Traits(bool, "True or False", "bool", "boolean", "false, true", example="true or false")
_DATE = Traits(date, "a datetime.date", "date32", "date", "by time", example="2024-12-31")
_TIMESTAMP = Traits(
    datetime,
    "a datetime.datetime",
    "timestamp[us, tz=UTC]",
    "timestamp",
    "by time",
    example="2024-12-31T23:59:59Z",
)


@lru_cache(maxsize=1024)
def traits(type_: types.Type) -> Traits:
    """The traits of a type; those of an option are those of its item."""
    match type_:
        case types.Option(item):
            return traits(item)
        case types.Bool():
            return _BOOL
        case types.Int():
            return Traits(int, "an int", "int64", "bigint", _NUMERIC)
        case types.BigInt():
            return _WIDE
        case types.Bit(64):  # Spark has no unsigned type, and a code has 63 bits for numbers above 0
            return Traits(int, "an int", "uint64", "decimal(20,0)", _NUMERIC, is_direct=False)
        case types.Bit(width):
            return _whole(width, _UNSIGNED, Traits(int, "an int", "uint64", "decimal(20,0)", _NUMERIC))
        case types.Signed(width):
            return _whole(width, _SIGNED, _WIDE)
        case types.Float():
            return Traits(float, "a float", "float", "float", _FLOATING)
        case types.Double():
            return Traits(float, "a float", "double", "double", _FLOATING)
        case types.Decimal(precision, scale):
            given = "a decimal.Decimal or an int"
            arrow, spark = f"decimal128({precision}, {scale})", f"decimal({precision},{scale})"
            fits = precision <= 18  # as a 64-bit number of units of the last digit
            return Traits(decimal.Decimal, given, arrow, spark, _NUMERIC, is_direct=fits)
        case types.String():
            return _STRING
        case types.Bytes():
            return _BYTES
        case types.Date():
            return _DATE
        case types.Timestamp():
            return _TIMESTAMP
        case _:
            assert_never(type_)


def _whole(width: int, sizes: tuple[tuple[int, str, str], ...], larger: Traits) -> Traits:
    """Whole numbers of so many bits, in the smallest types that hold them."""
    for most, arrow, spark in sizes:
        if width <= most:
            return Traits(int, "an int", arrow, spark, _NUMERIC)
    return larger if width <= 64 else _WIDE
