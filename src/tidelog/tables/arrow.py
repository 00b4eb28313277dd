"""The mapping between Tidelog types and Arrow types.

Every type has one Arrow type that holds all its values without loss. Integers of up to 64 bits map to the
smallest (u)intN that fits. Wider integers and `bigint` map to strings of digits: no Arrow decimal holds them
all, and every Arrow reader understands strings. An option maps to the same type, nullable; every other column
is declared not nullable.

A relation without columns is a table with one column named `UNIT`, true in every row: a table without columns
loses its row count as soon as it is sliced, concatenated or written.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from tidelog.data import types
from tidelog.data.traits import traits
from tidelog.data.types import Type
from tidelog.errors import DataError
from tidelog.program.elaborate.declarations import MAX_COLUMNS
from tidelog.program.typed import Column, Relation, Role

__all__ = ["UNIT", "arrow_type", "is_text", "is_wide", "relation_from_schema", "schema", "type_of"]

UNIT: Final = "()"
_NAME: Final = re.compile(r"[^\W\d]\w*")


_DECIMAL: Final = re.compile(r"decimal128\((\d+), (\d+)\)")
_ZONED: Final = re.compile(r"timestamp\[(\w+), tz=(\w+)\]")


def is_wide(type_: Type) -> bool:
    """Whether this integer type can exceed 64 bits and is therefore stored as text in Arrow."""
    return traits(type_).is_wide


@lru_cache(maxsize=1024)
def arrow_type(type_: Type) -> Any:
    name = traits(type_).arrow
    if found := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(found[1]), int(found[2]))
    if found := _ZONED.fullmatch(name):
        return pa.timestamp(found[1], found[2])
    return pa.type_for_alias(name)


def schema(relation: Relation) -> Any:
    """The schema of a relation's tables."""
    if not relation.columns:
        return pa.schema([pa.field(UNIT, pa.bool_(), nullable=False)])
    return pa.schema(
        [pa.field(c.name, arrow_type(c.type), isinstance(c.type, types.Option)) for c in relation.columns]
    )


# -- from Arrow


def is_text(arrow: Any) -> bool:
    return bool(
        pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow)
    )


def type_of(arrow: Any) -> types.Scalar | None:
    """The Tidelog type for an Arrow type; None if the Arrow type is not supported.

    Integers become `int` wherever it holds them, since programs compute with `int`.
    """
    kinds = pa.types
    if kinds.is_dictionary(arrow) or kinds.is_run_end_encoded(arrow):
        return type_of(arrow.value_type)
    if kinds.is_decimal(arrow):
        fits = arrow.precision <= types.MAX_DIGITS and 0 <= arrow.scale <= arrow.precision
        return types.Decimal(arrow.precision, arrow.scale) if fits else None
    if kinds.is_uint64(arrow):
        return types.Bit(64)
    tests = (
        (kinds.is_boolean, types.BOOL),
        (kinds.is_integer, types.INT),
        (kinds.is_float64, types.DOUBLE),
        (kinds.is_floating, types.FLOAT),
        (is_text, types.STRING),
        (_is_bytes, types.BYTES),
        (kinds.is_date, types.DATE),
        (kinds.is_timestamp, types.TIMESTAMP),
    )
    return next((type_ for test, type_ in tests if test(arrow)), None)


def _is_bytes(arrow: Any) -> bool:
    kinds = pa.types
    tests = (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view, kinds.is_fixed_size_binary)
    return any(test(arrow) for test in tests)


def relation_from_schema(name: str, given: Any, *, options: Collection[str] | None = None) -> Relation:
    """The input relation for tables of a schema.

    `options` names the columns that may have missing values. By default these are the nullable columns.
    """
    if len(given) > MAX_COLUMNS:
        raise DataError(
            name,
            f"the data has {len(given)} columns, which exceeds the limit of {MAX_COLUMNS}; leave some out",
        )
    missing = {f.name for f in given if f.nullable} if options is None else set(options)
    unknown = sorted(missing.difference(given.names))
    if unknown:
        raise DataError(name, f"unknown columns in `options`: {', '.join(unknown)}; name columns of the data")
    if given.names == [UNIT]:
        return Relation(name, (), Role.INPUT)
    return Relation(name, tuple(_column(name, f, f.name in missing) for f in given), Role.INPUT)


def _column(relation: str, field: Any, option: bool) -> Column:
    if not _NAME.fullmatch(field.name) or field.name == "_":
        problem = f"{field.name!r} is not a valid column name; rename it (letters, digits and underscores)"
        raise DataError(relation, problem)
    type_ = type_of(field.type)
    if type_ is None:
        problem = f"the Arrow type {field.type} is not supported; convert the column, or leave it out"
        raise DataError(relation, problem, column=field.name)
    return Column(field.name, types.Option(type_) if option else type_)
