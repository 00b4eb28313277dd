"""Dictionaries of interned types in a record.

Scalars are saved as the bytes of their values, and their lengths in bytes. Structured values are saved as
their rows of codes. A row that is read must have codes of the dictionaries beside it, sets and maps must be
in order, and no value may contain itself.
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, assert_never

import numpy as np

from tidelog.data import types
from tidelog.data.types import Item, Type, present
from tidelog.engine.local.codes.codec import NONE, Codec, is_direct
from tidelog.engine.local.codes.interning import Dictionary
from tidelog.engine.local.codes.packing import packing
from tidelog.engine.local.codes.pools import Pool
from tidelog.engine.local.codes.structures import Rows, Structures
from tidelog.engine.local.codes.terms import Terms
from tidelog.engine.local.codes.texts import Texts
from tidelog.engine.local.storage.record import Record, expect, expect_within

__all__ = ["described", "put_dictionaries", "take_dictionaries"]


def put_dictionaries(record: Record, codec: Codec, columns: Iterable[Type]) -> list[Any]:
    """Save the dictionaries of the types of columns, and of the types inside them."""
    return [
        [described(item), *_put(record, item, codec.dictionaries[item])]
        for item in _interned(columns)
        if item in codec.dictionaries and len(codec.dictionaries[item])
    ]


def take_dictionaries(record: Record, saved: Any, columns: Iterable[Type], codec: Codec) -> None:
    """Restore the dictionaries of an empty codec. Raises Corrupt or ValueError."""
    known = {json.dumps(described(item)): item for item in _interned(columns)}
    found: dict[Item, Sequence[Any]] = {}
    expect(isinstance(saved, list), "invalid dictionaries")
    for entry in saved:
        expect(isinstance(entry, list) and len(entry) == 3, "invalid dictionary")
        item = known.get(json.dumps(entry[0]))
        expect(item is not None, "invalid type of a dictionary")
        assert item is not None
        found[item] = entry[1:]
    for item, entry in found.items():
        if not types.is_structured(item):
            codec.dictionaries[item] = _take_scalars(record, item, entry)
    restored = [(codec.dictionary(i), entry) for i, entry in found.items() if types.is_structured(i)]
    for dictionary, entry in restored:
        assert isinstance(dictionary, Structures)
        _fill(record, dictionary, entry)
    _expect_sound([d for d, _ in restored if isinstance(d, Structures)])


def _interned(columns: Iterable[Type]) -> list[Item]:
    """The interned types among these and inside them, each once."""
    found: dict[Item, None] = {}
    waiting = list(columns)
    while waiting:
        item = present(waiting.pop())
        if item not in found and not is_direct(item):
            found[item] = None
            waiting += types.parts(item)
    return list(found)


def described(type_: Type) -> Any:
    """A description of a type that identifies it, in values of JSON."""
    match type_:
        case types.Option(item) | types.Vec(item) | types.Set(item):
            return [type(type_).__name__, described(item)]
        case types.Tuple(items):
            return ["Tuple", *map(described, items)]
        case types.Map(key, value):
            return ["Map", described(key), described(value)]
        case types.Named(name, args, identity):
            return ["Named", name, identity, *map(described, args)]
        case types.Bool() | types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.Float():
            return str(type_)
        case types.Double() | types.Decimal() | types.String() | types.Bytes():
            return str(type_)
        case types.Date() | types.Timestamp() | types.Duration():
            return str(type_)
        case _:
            assert_never(type_)


def _put(record: Record, item: Item, dictionary: Dictionary) -> tuple[int, int]:
    if isinstance(dictionary, Structures):
        rows = dictionary.contents()
        starts = np.empty(0, np.int64) if rows.starts is None else rows.starts
        return record.put(starts), record.put(rows.content)
    if isinstance(dictionary, Texts):
        lengths, content = dictionary.contents()
    else:
        parts = [part.encode() for part in _texts(item, list(dictionary.values))]
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        content = np.frombuffer(b"".join(parts), np.uint8)
    return record.put(lengths), record.put(content)


# -- scalars


def _take_scalars(record: Record, item: Item, saved: Sequence[Any]) -> Dictionary:
    """The dictionary of distinct values."""
    lengths = record.array(saved[0], np.int64, None)
    content = record.array(saved[1], np.uint8, None)
    expect_within(lengths, 0, len(content) + 1, "length of a value")
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    expect(int(ends[-1]) == len(content) and bool((np.diff(ends) >= 0).all()), "invalid lengths of values")
    if isinstance(item, types.String | types.Bytes):
        return Texts.of_contents(isinstance(item, types.String), lengths, content)
    whole = content.tobytes().decode()
    return Dictionary.of(_values(item, [whole[start:end] for start, end in pairwise(ends.tolist())]))


def _texts(item: Item, values: Sequence[Any]) -> Sequence[str]:
    if isinstance(item, types.Decimal):
        return list(map(str, values))
    return [f"{value:x}" for value in values]  # Python limits the length of decimal texts, not of hex


def _values(item: Item, parts: list[Any]) -> list[Any]:
    if isinstance(item, types.Decimal):
        return list(map(decimal.Decimal, parts))
    return [int(part, 16) for part in parts]


# -- structured values


def _fill(record: Record, dictionary: Structures, saved: Sequence[Any]) -> None:
    """Add the saved rows to an empty dictionary."""
    starts = record.array(saved[0], np.int64, None)
    content = np.array(record.array(saved[1], np.int64, None))
    if isinstance(dictionary, Terms):
        expect(len(starts) == 0 and len(content) % dictionary.each == 0, "invalid length of terms")
        rows = Rows(content, None)
        expect(dictionary.is_sound(rows), "invalid terms")
        dictionary.fill(rows, len(content) // dictionary.each)
        return
    assert isinstance(dictionary, Pool)
    expect(len(starts) > 0 and starts[0] == 0 and starts[-1] == len(content), "invalid places of collections")
    lengths = np.diff(starts)
    expect(bool((lengths >= 0).all() and not (lengths % dictionary.step).any()), "invalid lengths")
    rows = Rows(content if len(content) else np.zeros(1, np.int64), np.array(starts))
    dictionary.fill(rows, len(starts) - 1)


def _expect_sound(restored: Sequence[Structures]) -> None:
    """Raise Corrupt unless all codes inside values mean values, of which none contains itself."""
    for dictionary in restored:
        rows = dictionary.contents()
        for part, places in dictionary.split(rows):
            codes = rows.content[places]
            codes = codes[codes != NONE] if part.is_option else codes
            packed = packing(present(part.type))
            if part.dictionary is not None:
                expect_within(codes, 0, len(part.dictionary), "code")
            elif packed is not None:
                expect(packed.are_sound(codes), "invalid code")
    expect(_is_grounded([d for d in restored if d.is_recursive]), "a value that contains itself")
    for dictionary in restored:
        expect(not isinstance(dictionary, Pool) or dictionary.is_in_order(), "collection out of order")


def _is_grounded(restored: Sequence[Structures]) -> bool:
    done: set[tuple[int, int]] = set()
    begun: set[tuple[int, int]] = set()
    for dictionary in restored:
        waiting = [(dictionary, code) for code in range(len(dictionary))]
        while waiting:
            owner, code = waiting[-1]
            key = id(owner), code
            if key in done or key in begun:  # with all that is inside
                done.add(key)
                begun.discard(key)
                waiting.pop()
                continue
            begun.add(key)
            for part, inner in owner.inside(code):
                known = None if part is None else part.dictionary
                if not isinstance(known, Structures) or inner == NONE or (id(known), inner) in done:
                    continue
                if (id(known), inner) in begun:
                    return False
                waiting.append((known, inner))
    return True
