"""The mapping between Tidelog types and Arrow types.

Every type has one Arrow type that holds all its values without loss. Integers of up to 64 bits map to the
smallest (u)intN that fits. Wider integers and `bigint` map to strings of digits: no Arrow decimal holds them
all, and every Arrow reader understands strings. An option maps to the same type, nullable; every other column
is declared not nullable. Structured types are nested, as `data.layouts` says.

A relation without columns is a table with one column named `UNIT`, true in every row: a table without columns
loses its row count as soon as it is sliced, concatenated or written.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final, assert_never

import pyarrow as pa

from tidelog.data import types
from tidelog.data.layouts import Cell, Json, Layout, Part, Record, Series, Word, layout
from tidelog.data.traits import traits
from tidelog.data.types import Type
from tidelog.errors import DataError
from tidelog.program.declared import Column, Relation, Role
from tidelog.program.elaborate.declarations import MAX_COLUMNS
from tidelog.syntax.quoting import written_column

__all__ = ["UNIT", "arrow_type", "is_list", "is_text", "is_wide", "relation_from_schema", "schema", "type_of"]

UNIT: Final = "()"


_DECIMAL: Final = re.compile(r"decimal128\((\d+), (\d+)\)")
_ZONED: Final = re.compile(r"timestamp\[(\w+), tz=(\w+)\]")


def is_wide(type_: Type) -> bool:
    """Whether this integer type can exceed 64 bits and is therefore stored as text in Arrow."""
    return traits(type_).is_wide


@lru_cache(maxsize=1024)
def arrow_type(type_: Type) -> Any:
    return _laid_out(layout(type_))


def _laid_out(found: Layout) -> Any:
    match found:
        case Cell(type_):
            return _scalar_type(type_)
        case Word():
            return pa.string()
        case Json():
            return pa.binary()
        case Series(item):
            return pa.list_(_field(item))
        case Record(parts):
            return pa.struct([_field(p) for p in parts])
        case _:
            assert_never(found)


def _field(part: Part) -> Any:
    return pa.field(part.name, _laid_out(part.layout), part.nullable)


def _scalar_type(type_: types.Scalar) -> Any:
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


def type_of(arrow: Any) -> types.Item | None:
    """The Tidelog type for an Arrow type; None if the Arrow type is not supported.

    Integers become `int` wherever it holds them, since programs compute with `int`. A struct has no type of
    its own: its type must be declared.
    """
    kinds = pa.types
    if kinds.is_map(arrow):
        key, value = type_of(arrow.key_type), _part_type(arrow.item_field)
        return None if key is None or value is None else types.Map(key, value)
    if is_list(arrow):
        item = _part_type(arrow.value_field)
        return None if item is None else types.Vec(item)
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
        (kinds.is_duration, types.DURATION),
    )
    return next((type_ for test, type_ in tests if test(arrow)), None)


def is_list(arrow: Any) -> bool:
    kinds = pa.types
    tests = (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list, kinds.is_list_view)
    return any(test(arrow) for test in (*tests, kinds.is_large_list_view))


def _part_type(field: Any) -> Type | None:
    item = type_of(field.type)
    return types.Option(item) if item is not None and field.nullable else item


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
    if not field.name:
        raise DataError(relation, "a column of the data has no name; name it")
    type_ = type_of(field.type)
    if type_ is None:
        raise DataError(relation, _unsupported(field), column=field.name)
    return Column(field.name, types.Option(type_) if option else type_)


def _unsupported(field: Any) -> str:
    """Why a column has no type of its own, with the declaration that gives it one."""
    definitions: list[str] = []
    text = _type_text(field, definitions)
    if text is None:
        return f"the Arrow type {field.type} is not supported; convert the column, or leave it out"
    listed = "\n".join(f"    {d}" for d in definitions)
    return (
        f"a struct needs a declared type; add this to the program, and declare the relation with a column "
        f"`{written_column(field.name)}: {text}`:\n{listed}"
    )


def _type_text(field: Any, definitions: list[str]) -> str | None:
    """The text of a part's type. The types of structs are added to the definitions, innermost first."""
    arrow = field.type
    if pa.types.is_struct(arrow):
        text = _struct_text(field.name, arrow, definitions)
    elif pa.types.is_map(arrow):
        key = _type_text(arrow.key_field.with_nullable(False), definitions)
        value = _type_text(arrow.item_field.with_name(field.name), definitions)
        text = None if key is None or value is None else f"map<{key}, {value}>"
    elif is_list(arrow):
        item = _type_text(arrow.value_field.with_name(field.name), definitions)
        text = None if item is None else f"vec<{item}>"
    else:
        type_ = type_of(arrow)
        text = None if type_ is None else str(type_)
    return f"option<{text}>" if text is not None and field.nullable else text


def _struct_text(name: str, arrow: Any, definitions: list[str]) -> str | None:
    parts = [(f.name, _type_text(f, definitions)) for f in arrow]
    if any(text is None or not part for part, text in parts):
        return None
    base = "".join(word[:1].upper() + word[1:] for word in re.findall(r"\w+", name)) or "Struct"
    taken = {d.split()[1] for d in definitions}
    typed = next(n for n in (base, *(f"{base}{i}" for i in range(2, 10_000))) if n not in taken)
    definitions.append(
        f"typedef {typed} = {typed}{{{', '.join(f'{written_column(n)}: {t}' for n, t in parts)}}}"
    )
    return typed
