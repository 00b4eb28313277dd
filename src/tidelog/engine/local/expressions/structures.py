"""Building structured values and taking them apart: constructors, fields, tests and list literals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tidelog.data import types
from tidelog.data.structs import struct_class
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.expressions.operations import Operation, Undefined
from tidelog.engine.local.expressions.vectors import Mask, Vector

__all__ = ["each_item", "getting", "listing", "making", "testing"]


def each_item(codec: Codec, type_: Type, codes: Codes) -> tuple[Codes, Codes]:
    """The items of collections: for each, the number of its collection, and its code.

    An item of a map is a tuple of a key and its value.
    """
    pool = codec.pool(type_)
    rows = pool.items(codes)
    owners = np.repeat(np.arange(len(codes)), pool.lengths(codes))
    if not isinstance(type_, types.Map):
        return owners, rows.content
    pairs = codec.terms(types.Tuple((type_.key, type_.value)))
    return owners, pairs.make("", [rows.content[::2], rows.content[1::2]], len(owners))


def making(constructor: str, fields: tuple[Type, ...], type_: Type, codec: Codec) -> Operation:
    """A value from its fields."""
    terms = codec.terms(type_)

    def fast(*given: Vector) -> tuple[Vector, Mask | None]:
        size = max(map(len, given), default=1)
        return Vector(terms.make(constructor, [v.codes for v in given], size)), None

    def plain(*given: Any) -> Any:
        return struct_class(type_, constructor)._make(given) if isinstance(type_, types.Named) else given

    return Operation(fields, type_, plain, fast)


def getting(operand: Type, constructor: str, field: int, type_: Type, codec: Codec) -> Operation:
    """A field of a value; values of other constructors are left to the plain form, which fails."""
    terms = codec.terms(operand)
    number = terms.number(constructor)

    def fast(value: Vector) -> tuple[Vector, Mask | None]:
        codes = value.codes
        others = terms.tag(codes) != number if terms.is_union else None
        return Vector(terms.field(number, codes, field)), others

    def plain(value: Any) -> Any:
        if constructor and value._tag != constructor:
            raise Undefined(f"the value is {value._tag}, not {constructor}")
        return value._values[field] if constructor else value[field]

    return Operation((operand,), type_, plain, fast)


def testing(operand: Type, constructor: str, codec: Codec) -> Operation:
    """Whether a value has a constructor."""
    terms = codec.terms(operand)
    number = terms.number(constructor)

    def fast(value: Vector) -> tuple[Vector, Mask | None]:
        return Vector((terms.tag(value.codes) == number).astype(np.int64)), None

    def plain(value: Any) -> bool:
        return not constructor or bool(value._tag == constructor)

    return Operation((operand,), types.BOOL, plain, fast)


def listing(items: tuple[Type, ...], type_: Type, codec: Codec) -> Operation:
    """A vec of items."""
    pool = codec.pool(type_)

    def fast(*given: Vector) -> tuple[Vector, Mask | None]:
        size, width = max(map(len, given), default=1), len(given)
        table = np.empty((size, width), np.int64)
        for place, vector in enumerate(given):
            table[:, place] = vector.codes
        return Vector(pool.from_items(Rows(table.reshape(-1), np.arange(size + 1) * width))), None

    return Operation(items, type_, lambda *given: given, fast)
