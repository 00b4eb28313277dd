"""The codec: values as 64-bit integer codes, and back.

Every column of the local engine is int64, so rows are rows of integers regardless of their types. A type is
*direct* if its values are numbers that fit into 64 bits (see `direct`). All other types are *interned*: a
code is the value's position in the dictionary of its type, which only grows while anything may refer to it.

Invariants:

- Codes are equal if and only if the values are equal.
- For direct types, the order of the codes is the order of the values.
- `NONE` is the code of `none` and of no other value.
- The dictionary of a structured type refers to those of the types inside it, which the codec has, too.

Dictionaries are in `interning`, `texts`, `terms` and `pools`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from tidelog.data import types
from tidelog.data.types import Type, present
from tidelog.data.values import Value
from tidelog.engine.local.codes.direct import double_codes, doubles, is_direct
from tidelog.engine.local.codes.interning import ADDING, Codes, Dictionary
from tidelog.engine.local.codes.packing import Packed, packing
from tidelog.engine.local.codes.parts import Part
from tidelog.engine.local.codes.pools import Pool
from tidelog.engine.local.codes.structures import Rows, Structures
from tidelog.engine.local.codes.terms import Terms
from tidelog.engine.local.codes.texts import Texts
from tidelog.engine.local.kernels.layout import NONE

__all__ = ["NONE", "Codec", "Codes", "Dictionary", "containing", "double_codes", "doubles", "is_direct"]


class Codec:
    """The dictionaries of a session."""

    def __init__(self) -> None:
        self.dictionaries: dict[types.Item, Dictionary] = {}

    def dictionary(self, type_: Type) -> Dictionary:
        item = present(type_)
        found = self.dictionaries.get(item)
        return self._add(item) if found is None else found

    def terms(self, type_: Type) -> Terms | Packed:
        """The codes of a struct, union or tuple: its dictionary, unless they are packed."""
        packed = packing(present(type_))
        if packed is not None:
            return packed
        found = self.dictionary(type_)
        assert isinstance(found, Terms)
        return found

    def pool(self, type_: Type) -> Pool:
        """The dictionary of a vec, set or map."""
        found = self.dictionary(type_)
        assert isinstance(found, Pool)
        return found

    def _add(self, item: types.Item) -> Dictionary:
        """Add the dictionary of a type, with those of the types inside it.

        They are bound to each other before another thread can find them.
        """
        assert packing(item) is None, f"{item} is packed"
        with ADDING:
            added: dict[types.Item, Dictionary] = {}
            waiting = [item]
            while waiting:
                inner = waiting.pop()
                if inner not in self.dictionaries and inner not in added:
                    added[inner] = _dictionary(inner)
                    waiting += [t for p in types.parts(inner) if not is_direct(t := present(p))]
            _bind(added, {**self.dictionaries, **added})
            for inner, made in added.items():
                self.dictionaries.setdefault(inner, made)
        return self.dictionaries[item]

    def keeping(self, kept: Mapping[types.Item, Codes]) -> Codec:
        """A codec with only the given values of some types, in this order, and all values of other types.

        With a type, every type that it is inside of must be given; their values must contain only given ones.
        """
        made = Codec()
        made.dictionaries = dict(self.dictionaries)
        renewed = {
            item: _dictionary(item) if types.is_structured(item) else self.dictionaries[item].part(codes)
            for item, codes in kept.items()
        }
        for item in containing(made.dictionaries, kept):  # a reader may have added an empty one meanwhile
            if item not in kept:
                renewed[item] = _dictionary(item)
        made.dictionaries.update(renewed)
        _bind(renewed, made.dictionaries)
        recoded = {item: _recoding(len(self.dictionaries[item]), codes) for item, codes in kept.items()}
        for item, codes in kept.items():
            old, new = self.dictionaries[item], renewed[item]
            if isinstance(old, Structures) and isinstance(new, Structures):
                new.fill(_recoded(old, old.rows(codes), recoded), len(codes))
        return made

    def part(self, type_: Type) -> Part:
        return Part(type_, None if is_direct(type_) else self.dictionary(type_))

    def encode(self, type_: Type, value: Value) -> int:
        """The code of one canonical value."""
        return NONE if value is None else self.part(type_).encode(value)

    def encode_column(self, type_: Type, values: Sequence[Value]) -> Codes:
        return self.part(type_).encode_many(values)

    def find(self, type_: Type, value: Value) -> int | None:
        """The code of a canonical value, or None if it has none, so that no row can contain it."""
        return self.part(type_).find(value)

    def decode(self, type_: Type, code: int) -> Value:
        return self.part(type_).decode(code)

    def decode_column(self, type_: Type, codes: Codes) -> list[Value]:
        return self.decode_listed(type_, codes.tolist())

    def decode_listed(self, type_: Type, listed: list[Any]) -> list[Value]:
        return self.part(type_).decode_many(listed)


def containing(items: Collection[types.Item], inside: Collection[types.Item]) -> set[types.Item]:
    """The types among these with values that may contain values of some types."""
    found: set[types.Item] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for item in items:
            if any((part := present(t)) in inside or part in found for t in types.parts(item)):
                found.add(item)
    return found


def _dictionary(item: types.Item) -> Dictionary:
    match item:
        case types.String() | types.Bytes():
            return Texts(isinstance(item, types.String))
        case types.Tuple() | types.Named():
            return Terms(item)
        case types.Vec() | types.Set() | types.Map():
            return Pool(item)
        case types.Bool() | types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.Float():
            return Dictionary()
        case types.Double() | types.Decimal() | types.Date() | types.Timestamp() | types.Duration():
            return Dictionary()
        case _:
            assert_never(item)


def _bind(made: Mapping[types.Item, Dictionary], known: Mapping[types.Item, Dictionary]) -> None:
    """Let new dictionaries refer to those of the types inside them."""
    for item, dictionary in made.items():
        if isinstance(dictionary, Structures):
            dictionary.bind([Part(t, None if is_direct(t) else known[present(t)]) for t in types.parts(item)])


def _recoding(size: int, kept: Codes) -> Codes:
    """For each old code, its place among the codes that are kept."""
    recoding = np.full(size, NONE)
    recoding[kept] = np.arange(len(kept))
    return recoding


def _recoded(dictionary: Structures, rows: Rows, recoded: Mapping[types.Item, Codes]) -> Rows:
    """Rows with the new codes of their parts."""
    content = rows.content.copy()
    for part, places in dictionary.split(rows):
        recoding = recoded.get(present(part.type))
        if recoding is not None:
            codes = content[places]
            content[places] = np.where(codes == NONE, NONE, recoding[np.maximum(codes, 0)])
    return Rows(content, rows.starts)
