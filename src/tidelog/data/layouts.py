"""How structured values are laid out in columns, for Arrow and Spark alike.

| type | layout |
|---|---|
| struct | a record of its fields |
| tuple | a record with the fields `_1`, `_2`, … |
| vec, set | a series of items; sets are sorted |
| map | a series of records of `key` and `value`, sorted by key |
| union | a record of `tag`, and for each constructor with fields a record of its name, null for the others |
| struct or union without any fields | a word: the name of the constructor |
| a type with values that can contain values of the same type | the bytes of its JSON |

Options are nullable parts; everything else but the records of a union's constructors is not null.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.types import Named, Scalar, Structured, Type

__all__ = ["TAG", "Cell", "Json", "Layout", "Part", "Record", "Series", "Word", "layout"]

TAG: Final = "tag"


@dataclass(frozen=True, slots=True)
class Cell:
    """A scalar, as in a column of its own."""

    type: Scalar


@dataclass(frozen=True, slots=True)
class Word:
    """The name of a constructor."""


@dataclass(frozen=True, slots=True)
class Json:
    """Canonical JSON in UTF-8."""


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a record, or the item of a series."""

    name: str
    layout: Layout
    nullable: bool


@dataclass(frozen=True, slots=True)
class Series:
    item: Part


@dataclass(frozen=True, slots=True)
class Record:
    parts: tuple[Part, ...]


Layout: TypeAlias = Cell | Word | Json | Series | Record


@lru_cache(maxsize=1024)
def layout(type_: Type) -> Layout:
    """The layout of a type; that of an option is that of its item, in a nullable part."""
    item = types.present(type_)
    if not isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        return Cell(item)
    return Json() if types.is_recursive(item) else _structured(item)


def _structured(type_: Structured) -> Layout:
    match type_:
        case types.Tuple(items):
            return Record(tuple(_part(f"_{i}", t) for i, t in enumerate(items, 1)))
        case types.Vec(item) | types.Set(item):
            return Series(_part("element", item))
        case types.Map(key, value):
            return Series(Part("element", Record((_part("key", key), _part("value", value))), nullable=False))
        case types.Named():
            return _named(type_)
        case _:
            assert_never(type_)


def _part(name: str, type_: Type) -> Part:
    return Part(name, layout(type_), isinstance(type_, types.Option))


def _named(type_: Named) -> Layout:
    records = [
        (c.name, Record(tuple(_part(f.name, f.type) for f in c.fields)))
        for c in type_.constructors
        if c.fields
    ]
    if not records:
        return Word()
    if len(type_.constructors) == 1:
        return records[0][1]
    return Record((Part(TAG, Word(), nullable=False), *(Part(n, r, nullable=True) for n, r in records)))
