"""Rows as Arrow tables for Spark, and back, by the layouts that the documentation promises.

It shares no code with the package's own conversions. Where several layouts are accepted, one is drawn: unions
with or without their tag, sets in any order, maps as Arrow's maps or as lists of entries, values of recursive
types as text or as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa

from tidelog.data import types
from tidelog.data.structs import Struct
from tidelog.data.types import Named, Type
from tidelog.data.values import Row, canonical, from_text, to_text

__all__ = ["rows_of", "table_of"]

_MICROSECOND = timedelta(microseconds=1)


def table_of(random: Random, names: Sequence[str], columns: Sequence[Type], rows: Sequence[Row]) -> Any:
    """Rows, in the forms that Python programs give, as a table for Spark, with columns in any order."""
    made = {}
    for i, (name, type_) in enumerate(zip(names, columns, strict=True)):
        shape = _Shape(random)
        values = [canonical(type_, row[i]) for row in rows]
        made[name] = pa.array([shape.value(type_, v) for v in values], shape.type(type_))
    listed = random.sample(list(made), len(made))
    return pa.table({name: made[name] for name in listed})


class _Shape:
    """One way to lay out the values of a column."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.has_tags = random.random() < 0.5
        self.has_maps = random.random() < 0.5
        self.has_bytes = random.random() < 0.5

    # -- types

    def type(self, type_: Type) -> Any:
        match type_:
            case types.Option(item):
                return self.type(item)
            case _ if types.is_structured(type_) and types.is_recursive(type_):
                return pa.binary() if self.has_bytes else pa.string()
            case types.Tuple(items):
                return pa.struct([(f"_{i}", self.type(t)) for i, t in enumerate(items, 1)])
            case types.Vec(item) | types.Set(item):
                return pa.list_(self.type(item))
            case types.Map(key, value):
                if self._is_map(key):
                    return pa.map_(self.type(key), self.type(value))
                return pa.list_(pa.struct([("key", self.type(key)), ("value", self.type(value))]))
            case Named():
                return self._named(type_)
            case _:
                return _scalar_type(type_)

    def _is_map(self, key: Type) -> bool:
        """Whether maps with such keys are given as Arrow's, whose keys may not be missing."""
        return self.has_maps and not isinstance(key, types.Option)

    def _named(self, type_: Named) -> Any:
        records = [
            (c.name, pa.struct([(f.name, self.type(f.type)) for f in c.fields]))
            for c in type_.constructors
            if c.fields
        ]
        if not records:
            return pa.string()
        if len(type_.constructors) == 1:
            return records[0][1]
        return pa.struct([("tag", pa.string()), *records] if self._is_tagged(type_) else records)

    def _is_tagged(self, type_: Named) -> bool:
        return self.has_tags or any(not c.fields for c in type_.constructors)

    # -- values

    def value(self, type_: Type, value: Any) -> Any:
        match type_, value:
            case _, None:
                return None
            case types.Option(item), _:
                return self.value(item, value)
            case _ if types.is_structured(type_) and types.is_recursive(type_):
                text = to_text(type_, value)
                return text.encode() if self.has_bytes else text
            case types.Tuple(items), tuple():
                inner = zip(items, value, strict=True)
                return {f"_{i}": self.value(t, v) for i, (t, v) in enumerate(inner, 1)}
            case types.Vec(item), tuple():
                return [self.value(item, v) for v in value]
            case types.Set(item), frozenset():
                listed = sorted(value, key=lambda v: to_text(item, v))
                return [self.value(item, v) for v in self.random.sample(listed, len(listed))]
            case types.Map(key, inner), Mapping():
                pairs = [(self.value(key, k), self.value(inner, v)) for k, v in value.items()]
                return pairs if self._is_map(key) else [{"key": k, "value": v} for k, v in pairs]
            case Named(), Struct():
                return self._struct(type_, value)
            case _:
                return _scalar(type_, value)

    def _struct(self, type_: Named, value: Struct) -> Any:
        if not any(c.fields for c in type_.constructors):
            return value._tag
        constructor = type_.constructor(value._tag)
        inner = zip(constructor.fields, value._asdict().values(), strict=True)
        record = {f.name: self.value(f.type, v) for f, v in inner}
        if len(type_.constructors) == 1:
            return record
        tag = {"tag": value._tag} if self._is_tagged(type_) else {}
        return {**tag, **({value._tag: record} if record else {})}


def _scalar_type(type_: Type) -> Any:
    match type_:
        case types.Bool():
            return pa.bool_()
        case types.Int():
            return pa.int64()
        case types.Bit(width) if width <= 64:
            sizes = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
            return next((sizes[s] for s in sizes if width <= s), pa.decimal128(20, 0))
        case types.Signed(width) if width <= 64:
            sizes = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
            return next(sizes[s] for s in sizes if width <= s)
        case types.Float():
            return pa.float32()
        case types.Double():
            return pa.float64()
        case types.Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case types.Bytes():
            return pa.binary()
        case types.Date():
            return pa.date32()
        case types.Timestamp():
            return pa.timestamp("us", "UTC")
        case types.Duration():
            return pa.duration("us")
        case _:  # texts, and numbers that no Arrow type holds
            return pa.string()


def _scalar(type_: Type, value: Any) -> Any:
    match type_:
        case types.BigInt() | types.Bit() | types.Signed() if pa.types.is_string(_scalar_type(type_)):
            return str(value)
        case types.Duration():
            return value // _MICROSECOND
        case _:
            return value


# -- and back


def rows_of(columns: Sequence[Type], table: Any) -> list[Row]:
    """The rows of a table from Spark, as canonical values."""
    if not columns:
        return [()] * table.num_rows
    read = [[_read(t, v) for v in c.to_pylist()] for t, c in zip(columns, table.columns, strict=True)]
    return list(zip(*read, strict=True))


def _read(type_: Type, value: Any) -> Any:
    return canonical(type_, _plain(type_, value))


def _plain(type_: Type, value: Any) -> Any:
    """A form in which programs give the value."""
    match type_:
        case _ if value is None:
            return None
        case types.Option(item):
            return _plain(item, value)
        case _ if types.is_structured(type_) and types.is_recursive(type_):
            return from_text(type_, value.decode())
        case types.Tuple(items):
            return [_plain(t, value[f"_{i}"]) for i, t in enumerate(items, 1)]
        case types.Vec(item) | types.Set(item):
            return [_plain(item, v) for v in value]
        case types.Map(key, inner):
            return [(_plain(key, e["key"]), _plain(inner, e["value"])) for e in value]
        case Named():
            return _read_named(type_, value)
        case types.BigInt() | types.Bit() | types.Signed():
            return int(value)
        case _:
            return value


def _read_named(type_: Named, value: Any) -> Any:
    if isinstance(value, str):
        return value if len(type_.constructors) > 1 else {}
    if len(type_.constructors) == 1:
        return {f.name: _plain(f.type, value[f.name]) for f in type_.constructors[0].fields}
    tag = value["tag"]
    for other in type_.constructors:
        assert (value.get(other.name) is None) == (other.name != tag or not other.fields)
    fields = type_.constructor(tag).fields
    return {tag: {f.name: _plain(f.type, value[tag][f.name]) for f in fields}}
