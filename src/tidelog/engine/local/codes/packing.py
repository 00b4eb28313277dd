"""Small structured types, whose values are packed into their codes and need no dictionary.

A struct, union or tuple is packed if the number of its constructor and the fields fit into 63 bits together.
The fields may be `bool`, integers with fewer than 64 bits, options of these, and other packed types.

The number of the constructor is in the highest bits, followed by the fields, from the first one down. The
least value of a field is 0; in an option this is `none`. So the order of the codes is the order of the
values, and a packed type is direct. Codes are not negative, so none is that of `none`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tidelog.data import types
from tidelog.data.structs import struct_class
from tidelog.data.types import Type, present
from tidelog.data.values import Value
from tidelog.engine.local.codes.interning import Codes
from tidelog.engine.local.kernels.layout import NONE

__all__ = ["Packed", "constructors_of", "packing"]

_BITS: Final = 63

_Shape: TypeAlias = types.Tuple | types.Named


class Slot(NamedTuple):
    """The bits of a field: the codes from `least` on, in `bits` bits above the lowest `shift`."""

    type: Type
    least: int
    bits: int
    shift: int

    @property
    def is_option(self) -> bool:
        return isinstance(self.type, types.Option)


class Packed:
    """How the values of one type are packed. `constructors` are the slots of their fields."""

    def __init__(self, type_: _Shape, named: Sequence[types.Constructor], sizes: Sequence[list[int]]) -> None:
        self.type = type_
        self.is_union = len(named) > 1
        self._names = [c.name for c in named]
        self._classes = [struct_class(type_, c.name) for c in named] if isinstance(type_, types.Named) else []
        self._tag = max(map(sum, sizes), default=0)  # the lowest bit of the number of the constructor
        self.bits = self._tag + (len(named) - 1).bit_length()
        self.constructors = [
            tuple(map(_slot, [f.type for f in c.fields], widths, _below(self._tag, widths)))
            for c, widths in zip(named, sizes, strict=True)
        ]

    # -- columns

    def number(self, constructor: str) -> int:
        """The number of a constructor."""
        return self._names.index(constructor)

    def name(self, number: int) -> str:
        """The name of a constructor."""
        return self._names[number]

    def types(self, number: int) -> list[Type]:
        """The types of the fields of a constructor."""
        return [slot.type for slot in self.constructors[number]]

    def make(self, constructor: str, fields: Sequence[Codes], count: int) -> Codes:
        """The codes of values with these fields, of which a column may have a single entry for all."""
        number = self.number(constructor)
        codes = np.full(count, number << self._tag, np.int64)
        for slot, given in zip(self.constructors[number], fields, strict=True):
            codes |= _packed(slot, given) << slot.shift
        return codes

    def make_mixed(self, tags: Codes, fields: Callable[[int, Codes], Sequence[Codes]]) -> Codes:
        """The codes of values with constructors of these numbers.

        `fields` returns the columns of a constructor's fields for some of the rows.
        """
        if not any(self.constructors):
            return tags << self._tag
        codes = np.empty(len(tags), np.int64)
        for number in np.unique(tags).tolist():
            chosen = np.flatnonzero(tags == number)
            codes[chosen] = self.make(self.name(number), fields(number, chosen), len(chosen))
        return codes

    def tag(self, codes: Codes) -> Codes:
        """The numbers of the constructors of values."""
        return codes >> self._tag if self.is_union else np.zeros(len(codes), np.int64)

    def field(self, number: int, codes: Codes, index: int) -> Codes:
        """A field of values that have the constructor of this number; without meaning for others."""
        slot = self.constructors[number][index]
        found = (codes >> slot.shift) & ((1 << slot.bits) - 1)
        if slot.is_option:
            return np.where(found == 0, NONE, found + (slot.least - 1))
        return found + slot.least if slot.least else found

    def are_sound(self, codes: Codes) -> bool:
        """Whether all codes are those of values."""
        if not len(codes):
            return True
        if int(codes.min()) < 0 or int(codes.max()) >> self.bits:
            return False
        tags = self.tag(codes)
        if int(tags.max()) >= len(self._names):
            return False
        return all(self._are_sound(n, codes[tags == n]) for n in range(len(self._names)))

    def _are_sound(self, number: int, codes: Codes) -> bool:
        """As above, for codes of one constructor."""
        fields = [self.field(number, codes, i) for i in range(len(self.constructors[number]))]
        if not np.array_equal(self.make(self.name(number), fields, len(codes)), codes):
            return False  # bits outside of all fields
        return all(_holds(s.type, c) for s, c in zip(self.constructors[number], fields, strict=True))

    # -- values

    def code(self, value: Any) -> int:
        number = self.number(value._tag) if isinstance(self.type, types.Named) else 0
        fields = value._values if isinstance(self.type, types.Named) else value
        code = number << self._tag
        for slot, v in zip(self.constructors[number], fields, strict=True):
            code |= _number(slot, v) << slot.shift
        return code

    def values(self, codes: Codes) -> list[Any]:
        """The values of codes."""
        tags = self.tag(codes)
        made: list[Any] = [None] * len(codes)
        for number in np.unique(tags).tolist():
            chosen = np.flatnonzero(tags == number)
            for i, value in zip(chosen.tolist(), self._built(number, codes[chosen]), strict=True):
                made[i] = value
        return made

    def _built(self, number: int, codes: Codes) -> list[Any]:
        """The values of codes that all have this constructor."""
        slots = self.constructors[number]
        columns = [_values(s.type, self.field(number, codes, i)) for i, s in enumerate(slots)]
        if isinstance(self.type, types.Tuple):
            return list(zip(*columns, strict=True))
        make = self._classes[number]._make
        return list(map(make, zip(*columns, strict=True))) if columns else [make(())] * len(codes)

    def decode(self, codes: Codes) -> list[Any]:
        """The values of codes; None for `none`."""
        there = codes != NONE
        if there.all():
            return self.values(codes)
        found = iter(self.values(codes[there]))
        return [next(found) if t else None for t in there.tolist()]


@lru_cache(maxsize=1024)
def packing(type_: types.Item) -> Packed | None:
    """How the values of a type are packed; None if they are not."""
    if not isinstance(type_, types.Tuple | types.Named) or types.is_recursive(type_):
        return None
    named = constructors_of(type_)
    sizes: list[list[int]] = []
    for constructor in named:
        widths = [_bits(f.type) for f in constructor.fields]
        if None in widths:
            return None
        sizes.append([w for w in widths if w is not None])
    made = Packed(type_, named, sizes)
    return made if made.bits <= _BITS else None


def constructors_of(type_: _Shape) -> tuple[types.Constructor, ...]:
    """The constructors of a type; a tuple has one without a name."""
    if isinstance(type_, types.Named):
        return type_.constructors
    fields = tuple(types.Field(f"_{i}", item) for i, item in enumerate(type_.items, 1))
    return (types.Constructor("", fields),)


def _below(top: int, widths: Sequence[int]) -> list[int]:
    """The lowest bits of fields, of which the first one ends below `top`."""
    return [top - end for end in accumulate(widths)]


def _slot(type_: Type, bits: int, shift: int) -> Slot:
    return Slot(type_, _bounds(present(type_))[0], bits, shift)


def _bits(type_: Type) -> int | None:
    """How many bits a field of a type takes; None if it is not packed."""
    item = present(type_)
    match item:
        case types.Bool():
            pass
        case types.Bit(width) | types.Signed(width) if width < 64:
            pass
        case _ if packing(item) is None:
            return None
        case _:
            pass
    least, most = _bounds(item)
    return (most - least + isinstance(type_, types.Option)).bit_length()


def _bounds(item: types.Item) -> tuple[int, int]:
    """The least and the largest code of a type that a field may have."""
    match item:
        case types.Bool():
            return 0, 1
        case types.Bit(width):
            return 0, (1 << width) - 1
        case types.Signed(width):
            return -(1 << (width - 1)), (1 << (width - 1)) - 1
        case _:
            inner = packing(item)
            assert inner is not None
            return 0, (1 << inner.bits) - 1


def _packed(slot: Slot, codes: Codes) -> Codes:
    """The bits of a field from its codes."""
    if slot.is_option:
        return np.where(codes == NONE, 0, codes - (slot.least - 1))
    return codes - slot.least if slot.least else codes


def _number(slot: Slot, value: Any) -> int:
    """The bits of a field from its value."""
    if value is None:
        return 0
    inner = packing(present(slot.type))
    code = int(value) if inner is None else inner.code(value)
    return code - slot.least + slot.is_option


def _values(type_: Type, codes: Codes) -> list[Value]:
    item = present(type_)
    inner = packing(item)
    if inner is not None:
        return inner.decode(codes)
    if isinstance(item, types.Bool):
        return [None if c == NONE else bool(c) for c in codes.tolist()]
    return [None if c == NONE else c for c in codes.tolist()]


def _holds(type_: Type, codes: Codes) -> bool:
    """Whether all codes are those of values of a field's type."""
    codes = codes[codes != NONE] if isinstance(type_, types.Option) else codes
    inner = packing(present(type_))
    if inner is not None:
        return inner.are_sound(codes)
    least, most = _bounds(present(type_))
    return not len(codes) or least <= int(codes.min()) <= int(codes.max()) <= most
