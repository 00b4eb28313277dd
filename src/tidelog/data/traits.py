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

Arrow and Spark types are text, since this layer knows neither library. Those of structured types follow from
their layout (`layouts`).
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import assert_never

from tidelog.data import types
from tidelog.data.layouts import Cell, Json, Layout, Part, Record, Series, Word, layout
from tidelog.data.structs import FrozenMap, Struct

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


_DURATION = Traits(
    timedelta,
    "a datetime.timedelta",
    "duration[us]",
    "interval day to second",
    "by length",
    example="90s or 1 hour 30 minutes",
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
        case types.Duration():
            return _DURATION
        case types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            return _structured(type_)
        case _:
            assert_never(type_)


def _whole(width: int, sizes: tuple[tuple[int, str, str], ...], larger: Traits) -> Traits:
    """Whole numbers of so many bits, in the smallest types that hold them."""
    for most, arrow, spark in sizes:
        if width <= most:
            return Traits(int, "an int", arrow, spark, _NUMERIC)
    return larger if width <= 64 else _WIDE


# -- structured types


def _structured(type_: types.Structured) -> Traits:
    found = layout(type_)
    arrow, spark = _arrow_text(found), _spark_text(found)
    match type_:
        case types.Tuple():
            return Traits(tuple, "a tuple", arrow, spark, "lexicographic", is_direct=False, example='[1,"a"]')
        case types.Vec():
            return Traits(tuple, "a list", arrow, spark, "lexicographic", is_direct=False, example="[1,2]")
        case types.Set():
            return Traits(
                frozenset, "a set", arrow, spark, "as sorted lists", is_direct=False, example="[1,2]"
            )
        case types.Map():
            example = '{"a":1}' if isinstance(type_.key, types.String) else "[[1,2]]"
            return Traits(
                FrozenMap, "a dict", arrow, spark, "as sorted lists", is_direct=False, example=example
            )
        case types.Named():
            order = "by constructor, then fields" if len(type_.constructors) > 1 else "by fields"
            return Traits(
                Struct, "a dict, or a dataclass", arrow, spark, order, is_direct=False, example=_json(type_)
            )
        case _:
            assert_never(type_)


def _json(type_: types.Named) -> str:
    """How the first constructor is written as JSON."""
    first = type_.constructors[0]
    if len(type_.constructors) == 1:
        return f"{{{_fields(first)}}}"
    return f'{{"{first.name}":{{{_fields(first)}}}}}' if first.fields else f'"{first.name}"'


def _fields(constructor: types.Constructor) -> str:
    return ",".join(f'"{f.name}":…' for f in constructor.fields)


def _arrow_text(found: Layout) -> str:
    match found:
        case Cell(type_):
            return traits(type_).arrow
        case Word():
            return "string"
        case Json():
            return "binary"
        case Series(item):
            return f"list<{_arrow_part(item)}>"
        case Record(parts):
            return f"struct<{', '.join(map(_arrow_part, parts))}>"
        case _:
            assert_never(found)


def _arrow_part(part: Part) -> str:
    return f"{part.name}: {_arrow_text(part.layout)}{'' if part.nullable else ' not null'}"


def _spark_text(found: Layout) -> str:
    match found:
        case Cell(type_):
            return traits(type_).spark
        case Word():
            return "string"
        case Json():
            return "binary"
        case Series(item):
            return f"array<{_spark_text(item.layout)}>"
        case Record(parts):
            return f"struct<{','.join(f'{_spark_name(p.name)}:{_spark_text(p.layout)}' for p in parts)}>"
        case _:
            assert_never(found)


def _spark_name(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else f"`{name.replace('`', '``')}`"
